#!/bin/sh
# Goal: of a FreeBSD tree each source of the framework, each header and the driver
# come first, ours step in for those that it lacks, and one header is enough. Method:
# a tree of stubs under the names that ours have; its driver panics with what its
# framework counted.
# usage: tree.sh TOPAZ ROOT
topaz=$(realpath "$1")
kpi=$2/harness/kpi/freebsd
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export CCACHE_NODIRECT=1 # headers here hide others
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
headers=$(cd "$kpi/include" && ls dev/hwt/*.h sys/hwt*.h amd64/pt/*.h \
    x86/include/specialreg.h)
sources=$(cd "$kpi/hwt" && ls ./*.c | sed 's,^\./,sys/dev/hwt/,')
for header in $headers; do
	name=tree_$(echo "$header" | tr -c 'a-z0-9\n' _)
	mkdir -p "tree/sys/$(dirname "$header")"
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
[ $count -gt 10 ] || { echo "only these sources in $kpi: $sources"; exit 1; }
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
for header in $headers; do
	mv "tree/sys/$header" away
	expect 2 "not of the tree: $header" freebsd-pt --freebsd-tree tree
	mv away "tree/sys/$header"
done
for file in $sources; do
	mv "tree/$file" away
	expect 2 "$(basename "$file")" freebsd-pt --freebsd-tree tree
	mv away "tree/$file"
done
grep -F "topaz: from the tree: sys/dev/hwt/hwt_backend.h" stderr |
    grep -q "sys/amd64/pt/pt.c$" || { echo "it does not say:"; cat stderr; bad=1; }
rm tree/sys/amd64/pt/pt.c
expect 2 "tree/sys/amd64/pt/pt.c: No such file" freebsd-pt --freebsd-tree tree
# One header, with ours around it.
mkdir -p one/sys/amd64/pt
{ cat "$kpi/include/amd64/pt/pt.h"; echo "#define ONE 7"; } >one/sys/amd64/pt/pt.h
sed -n '/^#include <sys/p' mine.c | sort -u >one.c
cat >>one.c <<'EOF'
#include <amd64/pt/pt.h>
static int
one_event(module_t module, int what, void *arg)
{
	panic("%d of the header", ONE);
}
static moduledata_t one = { "one", one_event, 0 };
DECLARE_MODULE(one, one, SI_SUB_DRIVERS, SI_ORDER_FIRST);
EOF
expect 1 "7 of the header" freebsd-pt --freebsd-tree one --source one.c
rm -r bundle
mkdir empty
expect 2 "none of the files that topaz takes from a tree" freebsd-pt \
    --freebsd-tree empty --source mine.c
expect 2 "--freebsd-tree DIR with sys/amd64/pt/pt.c" freebsd-pt
expect 2 "none/sys/amd64/pt/pt.c: No such file" freebsd-pt --freebsd-tree none
expect 2 "--freebsd-tree none: No such file" freebsd-pt --freebsd-tree none \
    --source mine.c
expect 2 "insntrace is no driver of FreeBSD" --freebsd-tree tree
[ ! -e bundle ] || { echo "a failed run left a bundle"; bad=1; }
exit $bad
