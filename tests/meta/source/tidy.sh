#!/bin/sh
# Goal: what the layout promises stays true. Method: look at every file of the tree
# for includes that go up a rank, libraries outside the one file that may know
# them, files that grew too long, and what must not be left behind.
# usage: tidy.sh SOURCE_ROOT
set -u
cd "$1" || exit 1
bad=0

complain() {
	echo "tidy: $*"
	bad=1
}

# By the row of the folder table: a lower rank never includes a higher.
sources=$(find emu harness traces driver -name '*.[ch]' | sort)
upward=$(grep -H -o '^#[ ]*include "[^"]*"' $sources | awk -F '[:"]' '
function rank(file) {
	if (file ~ /^emu\/base\// || file == "emu/guest_abi.h") return 1
	if (file ~ /^emu\/(profile|pt|pmu|ds|apic|board)\//) return 2
	if (file ~ /^emu\/cpu\//) return 3
	if (file ~ /^emu\//) return 4
	if (file ~ /^harness\/(guest|kpi|load|host)\// || file ~ /^driver\//) return 5
	if (file ~ /^traces\//) return 6
	if (file ~ /^harness\/(check|manifest)\// ||
	    file ~ /^harness\/finding\/(finding|mistakes)\.h$/) return 7
	if (file ~ /^harness\/explore\//) return 9
	if (file ~ /^harness\/mutate\//) return 10
	if (file ~ /^harness\/cmd\//) return 11
	if (file ~ /^harness\//) return 8
	return 12
}
# Other files are those of the system.
$3 ~ /^(emu|harness|traces|driver|tests)\// && rank($3) > rank($1) {
	print $1 " includes " $3 ", which is of a higher rank"
}')
[ -z "$upward" ] || complain "$upward"
long=$(wc -l $sources | awk '
$2 == "total" { next }
{ limit = $2 ~ /\.h$/ ? 300 : 700 }
$1 > limit { print $2 " has " $1 " lines; " limit " are the limit" }')
[ -z "$long" ] || complain "$long"
wide=$(awk '
function width(text, at, column) {
	for (at = 1; at <= length(text); at++)
		column += substr(text, at, 1) == "\t" ? 8 - column % 8 : 1
	return column
}
/^[ \t]*(\/?\*|\/\/)/ && length($0) > 60 && width($0) > 92 {
	print FILENAME ":" FNR
}' $sources $(find tests -name '*.[ch]'))
[ -z "$wide" ] || complain "comments wider than 92 columns:" $wide

# What verifies a bundle shares nothing with what made its traces.
for file in $(find traces -name '*.[ch]' ! -path '*/reencode/*'); do
	grep -n -E '^#include "(emu/(pt|cpu)|traces/reencode)/' "$file" /dev/null &&
	    complain "$file uses the generator"
done

# The core of insntrace depends on no operating system, and on no front end.
for file in $(find driver/insntrace/core -name '*.[ch]'); do
	grep -n '^#[ ]*include "' "$file" /dev/null |
	    grep -v -E '"driver/insntrace/(core/.*|insntrace)\.h"' &&
	    complain "$file includes what is not the core's"
done

# only PATTERN GLOB...: includes of a library stay with its owner.
only() {
	pattern=$1
	shift
	for file in $(grep -l "^#[ ]*include <$pattern" $sources); do
		owner=no
		for allowed in "$@"; do
			case $file in
			$allowed) owner=yes ;;
			esac
		done
		[ $owner = yes ] || complain "$file includes <$pattern...>"
	done
}
only unicorn/ emu/cpu/engine/engine_state.h emu/cpu/engine/startup.c
only Zydis/ 'emu/cpu/insn*' 'traces/*'
only intel-pt 'traces/*'
only gelf 'harness/load/*'
only libelf 'harness/load/*'
only elfutils/ 'harness/load/*'
only cyaml harness/manifest/schema.c
only yaml.h harness/manifest/yaml_position.c
only zstd 'traces/bundle/zfile.c'
only archive harness/boot/image/cpio.c harness/boot/image/unpack.c
only clang-c/ harness/mutate/syntax/clang.c

# A file of harness/check calls only files that internal.h lists before it.
later=
for file in $(sed -n 's,^/\* \([a-z_/]*\.c\).*,\1,p' harness/check/internal.h | tac); do
	[ -n "$later" ] &&
	    grep -n -E "\b($later)_[a-z_]+\(" "harness/check/$file" /dev/null &&
	    complain "harness/check/$file calls a file of a higher level"
	later=${later:+$later|}$(basename "$file" .c)
done
[ -n "$later" ] || complain "harness/check/internal.h lists no files"

# No file calls another one that calls it, be it over others.
callers=$(find emu harness traces -name '*.c' ! -path 'harness/guest/*' \
    ! -path 'harness/kpi/*' | sort)
circles=$(awk -f tests/meta/source/calls.awk $callers $callers | tsort 2>&1 >/dev/null |
    sed -n 's/^tsort: \(.*\.c\)$/\1/p' | sort -u)
[ -z "$circles" ] ||
    complain "these files call one another in a circle:" $circles

for file in $sources $(find tests -name '*.[ch]'); do
	grep -n -E '\b(TODO|FIXME|XXX|HACK)\b' "$file" /dev/null && bad=1
done

for entry in $(ls -A); do
	case $entry in
	emu | driver | harness | traces | tests | meson.build | README.md) ;;
	ARCHITECTURE.md | CONTRIBUTING.md | CHANGELOG.md) ;;
	LICENSE | bootstrap | .* | build* | out) ;;
	*) complain "$entry does not belong at the top" ;;
	esac
done

for folder in emu/ emu/*/ emu/*/*/ harness/ harness/*/ harness/*/*/ traces/ traces/*/ traces/*/*/ driver/ driver/*/; do
	case $folder in
	harness/kpi/ | driver/freebsd-pt/ | driver/linux-ds/) continue ;;
	esac
	[ -e "${folder}README.md" ] || complain "$folder has no README.md"
done

exit $bad
