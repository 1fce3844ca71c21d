#!/bin/sh
# Goal: of a FreeBSD tree its framework, its headers and its driver come first, and
# a tree that lacks one of them is one clear line. Method: a tree of stubs under the
# names that kpi.json has; its driver panics with what its framework counted.
# usage: tree.sh TOPAZ ROOT
topaz=$(realpath "$1")
kpi=$2/harness/kpi/freebsd/kpi.json
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

# expect CODE TEXT ARG...: exit code of a run of the driver, a part of what it says.
expect() {
	want=$1
	text=$2
	shift 2
	"$topaz" run -o bundle "$@" >stdout 2>stderr
	code=$?
	[ $code = "$want" ] ||
	    { echo "run $*: exit $code, not $want"; cat stderr; bad=1; }
	cat stdout stderr | grep -q -F -- "$text" ||
	    { echo "run $*: does not say: $text"; cat stdout stderr; bad=1; }
}

# Every header defines its own name, every source wants all of them.
headers=$(grep -o '"[a-z0-9_/]*\.h"' "$kpi" | tr -d '"')
sources=$(grep -o 'sys/dev/hwt/[a-z_]*\.c' "$kpi")
mkdir -p tree/sys/dev/hwt tree/sys/sys tree/sys/amd64/pt
for header in $headers; do
	name=tree_$(echo "$header" | tr -c 'a-z0-9\n' _)
	echo "#define $name 1" >"tree/sys/$header"
	printf '#include <%s>\n#ifndef %s\n#error not of the tree: %s\n#endif\n' \
	    "$header" "$name" "$header" >>all.h
done
count=0
calls=0
for source in $sources; do
	name=$(basename "$source" .c)_counts
	{ cat all.h; echo "int $name(void); int $name(void) { return 1; }"; } \
	    >"tree/$source"
	echo "int $name(void);" >>calls.h
	calls="$calls + $name()"
	count=$((count + 1))
done
[ $count -gt 1 ] || { echo "no sources in $kpi"; exit 1; }
cat all.h calls.h - >tree/sys/amd64/pt/pt.c <<EOF
#include <sys/systm.h>
#include <sys/kernel.h>
#include <sys/module.h>
static int
stub_event(module_t module, int what, void *arg)
{
	panic("%d sources of the tree", $calls);
}
static moduledata_t stub = { "stub", stub_event, 0 };
DECLARE_MODULE(stub, stub, SI_SUB_DRIVERS, SI_ORDER_FIRST);
EOF

expect 1 "$count sources of the tree" freebsd-pt --freebsd-tree tree
cp tree/sys/amd64/pt/pt.c mine.c
expect 1 "$count sources of the tree" freebsd-pt --freebsd-tree tree \
    --source mine.c
rm -r bundle
for file in $sources sys/amd64/pt/pt.c $(echo "$headers" | sed 's,^,sys/,'); do
	mv "tree/$file" away
	expect 2 "tree/$file: No such file" freebsd-pt --freebsd-tree tree
	[ "$(wc -l <stderr)" = 1 ] ||
	    { echo "without $file: not 1 line:"; cat stderr; bad=1; }
	mv away "tree/$file"
done
expect 2 "--freebsd-tree DIR with sys/amd64/pt/pt.c" freebsd-pt
expect 2 "none/sys/amd64/pt/pt.c: No such file" freebsd-pt --freebsd-tree none
expect 2 "none: No such file" freebsd-pt --freebsd-tree none --source mine.c
expect 2 "insntrace is no driver of FreeBSD" --freebsd-tree tree
[ ! -e bundle ] || { echo "a failed run left a bundle"; bad=1; }
exit $bad
