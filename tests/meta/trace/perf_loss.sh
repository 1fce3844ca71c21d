#!/bin/sh
# Goal: perf, which shares nothing with libipt, lists of traces that lost something
# what was executed, in order, and leaves out only what we know to be lost.
# Method: bundles with overflows of the internal buffer, with buffers that went round
# and with both, exported, decoded by perf script and compared by topaz verify
# --decoded; the numbers are those of topaz verify. Lists with a piece cut out or moved
# are refused. Skipped where perf is not installed.
# usage: perf_loss.sh TOPAZ
topaz=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

. "$here/expect.sh"

if ! perf --version >version 2>/dev/null; then
	echo "perf_loss: skipped: perf (Debian: linux-perf) is not installed"
	exit 77
fi

# number TEXT FILE: of the last line like TEXT what stands for \1 in it
number() {
	sed -n "s/.*$1.*/\1/p" "$2" | tail -n 1
}

# check GAPS ARG...: a bundle made with ARG..., whose list has at least GAPS gaps
check() {
	gaps=$1
	shift
	rm -rf bundle
	expect 0 "1 passed" 0 run -o bundle "$@"
	expect 0 "perf.data: " 0 export bundle --perf-data -o perf.data
	perf script -i perf.data --symfs bundle --itrace=i0nse -F cpu,ip \
	    >list 2>messages || { echo "perf script: fails"; cat messages; bad=1; }
	"$topaz" verify bundle >own || { echo "$*: libipt:"; cat own; bad=1; }
	"$topaz" verify bundle --decoded list >theirs ||
	    { echo "$*: perf:"; cat theirs; bad=1; }
	ours=$(number '(\([0-9]*\) decoded.*' own)
	listed=$(number ', \([0-9]*\) equal.*' theirs)
	# Before an overflow perf may go on to the next branch, where libipt stops, or stop first.
	more=$((${listed:-0} - ${ours:-1}))
	lost=$(number ' \([0-9]*\) instructions lost to.*' own)
	unseen=$(number '  \([0-9]*\) instructions are behind gaps.*' theirs)
	[ "$more" = 0 ] || { [ "$more" -ge -64 ] && [ "$more" -le 64 ] &&
	    [ "$more" = $((${lost:-0} - ${unseen:-0})) ]; } ||
	    { echo "$*: libipt $ours, perf $listed instructions"; bad=1; }
	seen=$(number ' \([0-9]*\) gaps*).*' theirs)
	[ "${seen:-0}" -ge "$gaps" ] ||
	    { echo "$*: $seen gaps, should be $gaps"; bad=1; }
}

# Overflows: an error line of perf for each; with kernel, without, with time and
# TIPs that are all whole.
slow=256,1/8,100,500
check 10 --pt-buffer $slow
lost=$(number ' \([0-9]*\) instructions lost to.*' own)
unseen=$(number '  \([0-9]*\) instructions are behind gaps.*' theirs)
[ "$lost" = "$unseen" ] || { echo "lost $lost, unseen $unseen"; bad=1; }
cp -r bundle overflows
cp list complete
check 2 --pt-buffer 256,1/64,100 --no-kernel --workload fault,sort,branch
check 8 --pt-buffer 256,1/16,100,500 --set ctl=0x280c
check 10 --pt-buffer 256,1/8,0,0 --cpus 2 --set ctl=0xe60e
# A buffer that went round; one that did and lost to overflows, too; one that is full.
check 1 --buffer 16384 --rounds 3
check 10 --buffer 16384 --rounds 6 --pt-buffer $slow
check 0 --buffer 16384 --rounds 3 --set full=1

# Of what was not lost nothing may be missing, and nothing may stand elsewhere.
error="instruction trace error type 1 time 0 cpu 0 pid 1 tid 1 ip 0 code 7: x"
sed "2001,2300d;2000a $error" complete >cut
expect 1 "MISMATCH at instruction 2000, cut:2001" 0 verify overflows --decoded cut
expect 1 "a gap where the trace has lost nothing" 0 verify overflows --decoded cut
sed "2001,\$d;2000a $error" complete >end
expect 1 "a gap where the trace has lost nothing" 0 verify overflows --decoded end
{ sed -n 1001,2000p complete; sed 1001,2000d complete; } >moved
expect 1 "MISMATCH" 0 verify overflows --decoded moved
grep -v error complete >joined
expect 1 "another instruction" 0 verify overflows --decoded joined
exit $bad
