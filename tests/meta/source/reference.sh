#!/bin/sh
# Goal: the reference of the native kernel interface has every name that a driver can
# use, and no other.  Method: the names that the headers declare, and those in the first
# column of the reference's tables, "X_*" for all that begin so; the compiler knows each
# function that the reader of headers found.
# usage: reference.sh SOURCE_ROOT COMPILER...
root=$1
shift
here=$(realpath "$(dirname "$0")")
page=$root/harness/kpi/native/README.md
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0

complain() {
	echo "reference: $*"
	bad=1
}

# Each header that the two that a driver includes bring.
cat >"$dir/all.c" <<'EOF'
#include "harness/guest/kern.h"
#include "harness/kpi/native/module.h"
#include "harness/kpi/native/trace.h"
EOF
headers=$("$@" -ffreestanding -I"$root" -M "$dir/all.c" | tr ' \\' '\n\n' |
    grep -o 'emu/.*\.h$\|harness/.*\.h$' | sort -u)
[ "$(echo "$headers" | wc -l)" -ge 10 ] || complain "too few headers: $headers"
for header in $headers; do
	awk -f "$here/names.awk" "$root/$header"
done | sort -u >"$dir/declared"
[ "$(wc -l <"$dir/declared")" -gt 250 ] || complain "too few names"

# What the compiler makes of it: each function is declared, and no function is missed.
{
	cat "$dir/all.c"
	sed -n 's/^\([a-z].*\)()$/void *use_\1 = (void *)\1;/p' "$dir/declared"
	sed -n 's/^\(struct .*\)$/extern \1 *p;/p' "$dir/declared" |
	    awk '{ sub(/p;/, "p" NR ";"); print }'
} >"$dir/use.c"
"$@" -std=gnu17 -ffreestanding -w -I"$root" -fsyntax-only "$dir/use.c" ||
    complain "a name that is none"
"$@" -std=gnu17 -ffreestanding -w -I"$root" -E -P "$dir/all.c" | tr '\n' ' ' |
    sed 's/__attribute__((\([^()]*\|[^()]*([^()]*)[^()]*\)))//g' |
    grep -o '[a-z_][a-z0-9_]*([^(){}]*\(([^()]*)[^(){}]*\)*) *[;{]' |
    sed 's/(.*/()/' | sort -u >"$dir/called"
for name in $(grep -v '^__\|^volatile()' "$dir/called"); do
	grep -q -x -F -- "$name" "$dir/declared" ||
	    complain "names.awk does not find $name"
done

# The first cell of each row of a table.
sed -n '/^## Modules/,$p' "$page" | sed -n 's/^| \([^|]*\) |.*/\1/p' |
    grep -o '`[^`]*`' | tr -d '`' | grep -v '=$' |
    grep -v -x 'actor_device\|tracer_device' | sort >"$dir/described"
[ "$(uniq -d "$dir/described")" = "" ] ||
    complain "twice: $(uniq -d "$dir/described")"

# covers PATTERN NAME
covers() {
	case $1 in
	*'*') case $2 in "${1%?}"*) return 0 ;; esac ;;
	*) [ "$1" = "$2" ] && return 0 ;;
	esac
	return 1
}
grep '\*$' "$dir/described" >"$dir/patterns"
while read -r name; do
	grep -q -x -F -- "$name" "$dir/described" && continue
	found=no
	while read -r pattern; do
		covers "$pattern" "$name" && found=yes
	done <"$dir/patterns"
	[ $found = yes ] || complain "$name is not in harness/kpi/native/README.md"
done <"$dir/declared"
while read -r entry; do
	case $entry in
	*'*') grep -q "^$(echo "$entry" | sed 's/\*$//')" "$dir/declared" ;;
	*) grep -q -x -F -- "$entry" "$dir/declared" ;;
	esac || complain "$entry is in no header"
done <"$dir/described"
exit $bad
