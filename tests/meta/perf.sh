#!/bin/sh
# Goal: what perf, which shares nothing with libipt, makes of our traces is what was
# executed, and it names every packet as libipt does. Method: bundles exported, decoded
# by perf script and compared by topaz verify --decoded; the packets of perf script -D
# beside those of topaz decode. Skipped where perf is not installed.
# usage: perf.sh TOPAZ PT_PERF_PACKETS
topaz=$(realpath "$1")
packets=$(realpath "$2")
here=$(realpath "$(dirname "$0")")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

. "$here/expect.sh"

if ! perf --version >version 2>/dev/null; then
	echo "perf: skipped: perf (Debian: linux-perf) is not installed"
	exit 77
fi

# run BUNDLE ARG...
run() {
	bundle=$1
	shift
	expect 0 "1 passed" 0 run -o "$bundle" "$@"
	expect 0 "perf.data: " 0 export "$bundle" --perf-data -o perf.data
}

# list BUNDLE ARG...: perf's list of instructions, into the file list
list() {
	bundle=$1
	shift
	perf script -i perf.data --symfs "$bundle" "$@" >list 2>messages ||
	    { echo "perf script $*: fails"; cat messages; bad=1; }
}

# Kernel and user mode, user mode alone, two CPUs with time, filtered by address,
# without return compression.
run both
list both --itrace=i0ns
expect 0 "list: perf lines" 0 verify both --decoded list
list both --insn-trace -F comm,tid,ip,insn
expect 0 "perf lines" 0 verify both --decoded list
list both --itrace=i0ns -F ip
expect 0 "plain lines" 0 verify both --decoded list
run user --no-kernel --workload fault,sort
list user --itrace=i0ns -F +insn
expect 0 "MATCH" 0 verify user --decoded list
run time --cpus 2 --set ctl=0xe60e
list time --itrace=i0ns -F cpu,time,ip,sym
expect 0 "cpu1  " 0 verify time --decoded list
expect 0 "cpu0  " 0 verify time --decoded list --cpu 0
run plain --set ctl=0x280c
list plain --itrace=i0ns
expect 0 "MATCH" 0 verify plain --decoded list
# A TIP.PGD without an IP at a branch out of the range: perf must know the range.
kernel=0xffffffff80204000
run filter --set ranges=1 --set range0a=$kernel --set range0b=0xffffffff80206000
list filter --itrace=i0nse
expect 0 "MATCH" 0 verify filter --decoded list

# The packets: offsets and names, but PAD. perf has one name for both lengths of a
# TNT, libipt one for both kinds of MODE.
"$packets" packets.data raw0 raw1 || bad=1
perf script -i packets.data -D 2>messages |
    awk '/Intel Processor Trace data/ { n++; next }
	n && /^\.  [0-9a-f]+: / && length($2) == 9 {
		name = substr($0, 63)
		split(name, word, " ")
		sub(":", "", $2)
		if (word[1] != "PAD")
			print $2, word[1] >("perf" n - 1)
	}'
for n in 0 1; do
	"$topaz" decode raw$n 2>messages |
	    awk '/^[0-9a-f]+  / { print substr($1, 9), $2 }' >ours$n
	tr 'A-Z' 'a-z' <perf$n | sed 's/\.exec$//; s/\.tsx$//
	    s/tracestop/stop/; s/ptwrite/ptw/' >theirs$n
	sed 's/tnt\.[0-9]*/tnt/' ours$n >names$n
done
if ! cmp -s names0 theirs0; then
	echo "perf and libipt read the stream otherwise:"
	diff names0 theirs0
	bad=1
fi
kinds=$(cut -d' ' -f2 theirs0 | sort -u | wc -l)
echo "$kinds kinds of packets alike"
# All that libipt knows, but PAD.
[ "$kinds" = 25 ] || { echo "they should be 25"; bad=1; }
# libipt ends at the first block; until there both agree, and perf goes on.
grep -v error: names1 >known1
head -n "$(wc -l <known1)" theirs1 | cmp -s - known1 ||
    { echo "before the PEBS blocks:"; diff theirs1 known1; bad=1; }
rest=$(tail -n +"$(($(wc -l <known1) + 1))" theirs1 | cut -d' ' -f2 | tr '\n' ' ')
[ "$rest" = "bbp bip bip bbp bip bep fup bbp bip bip bep fup tip.pgd " ] || { echo "PEBS blocks: $rest"; bad=1; }
grep -q 'bad' theirs0 theirs1 && { echo "perf: bad packets"; bad=1; }
exit $bad
