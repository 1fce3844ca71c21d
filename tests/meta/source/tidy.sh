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

# rank FILE: the row of the folder table; a lower rank never includes a higher.
rank() {
	case $1 in
	emu/base/* | emu/guest_abi.h) echo 1 ;;
	emu/profile/* | emu/pt/* | emu/pmu/* | emu/ds/* | emu/apic/* | emu/board/*) echo 2 ;;
	emu/cpu/*) echo 3 ;;
	emu/*) echo 4 ;;
	harness/guest/* | harness/kpi/* | harness/load/* | harness/host/*) echo 5 ;;
	traces/*) echo 6 ;;
	harness/finding/finding.h | harness/finding/mistakes.h | harness/check/* | harness/manifest/*) echo 7 ;;
	harness/explore/*) echo 9 ;;
	harness/mutate/*) echo 10 ;;
	harness/cmd/*) echo 11 ;;
	harness/*) echo 8 ;;
	driver/*) echo 5 ;;
	*) echo 12 ;;
	esac
}

sources=$(find emu harness traces driver -name '*.[ch]' | sort)
for file in $sources; do
	from=$(rank "$file")
	for target in $(sed -n 's/^#[ ]*include "\([^"]*\)".*/\1/p' "$file"); do
		[ -e "$target" ] || continue
		[ "$(rank "$target")" -le "$from" ] ||
		    complain "$file includes $target, which is of a higher rank"
	done
	lines=$(wc -l <"$file")
	case $file in
	*.h) limit=300 ;;
	*) limit=700 ;;
	esac
	[ "$lines" -le "$limit" ] ||
	    complain "$file has $lines lines; $limit are the limit"
done

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
only unicorn/ emu/cpu/engine/engine_state.h
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
