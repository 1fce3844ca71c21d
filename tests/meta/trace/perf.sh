#!/bin/sh
# Goal: what perf, which shares nothing with libipt, makes of our traces is what was
# executed, and it reads every packet as libipt does. Method: bundles exported, decoded
# by perf script and compared by topaz verify --decoded; the packets of perf script -D
# beside those of topaz decode. Skipped where perf is not installed.
# usage: perf.sh TOPAZ PT_PERF_PACKETS
topaz=$(realpath "$1")
packets=$(realpath "$2")
here=$(realpath "$(dirname "$0")/..")
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
# A TIP.PGD without an IP at a branch out of the range: perf must know the range. It
# ends with a function: perf differs where code runs on across the end of a range.
kernel=0xffffffff80204000
next=$(nm both/objects/00-kernel |
    awk '$2 ~ /[tT]/ && $1 >= "ffffffff80206000" { print $1 }' | sort | head -n 1)
end=$(printf '0xffffffff%08x' $((0x${next#ffffffff} - 1)))
run filter --set ranges=1 --set range0a=$kernel --set range0b="$end"
list filter --itrace=i0nse
expect 0 "MATCH" 0 verify filter --decoded list

# theirs TRACE_DATA NAME: of each packet of perf.data, but PAD, its offset, its name and
# what it holds, where perf and libipt say that alike; files NAME0, NAME1 ... for its
# streams. perf has one name for both lengths of a TNT, libipt one for both kinds of
# MODE.
theirs() {
	perf script -i "$1" -D 2>messages | awk -v to="$2" '
	function bare(number) {
		sub(/^0x0*/, "", number)
		return number
	}
	/Intel Processor Trace data/ { n++; next }
	n && /^\.  [0-9a-f]+: / && length($2) == 9 {
		split(substr($0, 63), word, " ")
		name = tolower(word[1])
		sub(/\.(exec|tsx)$/, "", name)
		sub("tracestop", "stop", name)
		sub("ptwrite", "ptw", name)
		sub(":", "", $2)
		value = ""
		if (name == "tma")
			value = bare(word[3]) "," bare(word[5])
		else if (name == "tnt")
			value = word[2]
		else if (name ~ /^(tip|fup|tsc|mtc|cyc|cbr)/)
			value = word[2] == "no" ? "----" : bare(word[2])
		if (name != "pad")
			print $2, name, value >(to n - 1)
	}'
}

# ours RAW: the same of the file RAW by libipt.
ours() {
	"$topaz" decode "$1" 2>messages | awk '
	function bare(number) {
		sub(/^0+/, "", number)
		return number
	}
	/^[0-9a-f]+  / {
		name = $2
		sub(/^tnt.*/, "tnt", name)
		sub(",", "", $3)
		value = ""
		if (name == "tma")
			value = bare($3) "," bare($4)
		else if (name == "tnt") {
			value = $3
			gsub("!", "T", value)
			gsub(/\./, "N", value)
		} else if (name ~ /^(tip|fup)/)
			value = bare($4)
		else if (name ~ /^(tsc|mtc|cyc|cbr)/)
			value = bare($3)
		print substr($1, 9), name, value
	}'
}

# The packets of each kind, and those of a run with time and a buffer that overflows.
"$packets" packets.data raw0 raw1 || bad=1
theirs packets.data theirs
ours raw0 >names0
ours raw1 >names1
run small --pt-buffer 256,1/8,4 --core-ratio 20 --set ctl=0xe60e
theirs perf.data small
ours small/cpu0.pt >small1
if ! cmp -s small0 small1; then
	echo "perf and libipt read the run otherwise:"
	diff small0 small1 | head -20
	bad=1
fi
[ "$(grep -c ovf small0)" -gt 1 ] || { echo "no overflow in it"; bad=1; }
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
