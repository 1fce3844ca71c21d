#!/bin/sh
# Goal: a token means the same wherever topaz was built. Method: its check is made of
# the guest's kernels, too; they say nothing of where tree and build folder are.
# usage: paths.sh SOURCE_ROOT BUILD_ROOT KERNEL...
root=$1
build=$2
shift 2
bad=0
for kernel in "$@"; do
	grep -a -q -F "./harness/guest/boot.c" "$kernel" ||
	    { echo "$kernel: no source by its place in the tree"; bad=1; }
	for place in ../ "$root" "$build"; do
		grep -a -q -F -e "$place" "$kernel" &&
		    { echo "$kernel has $place"; bad=1; }
	done
done
exit $bad
