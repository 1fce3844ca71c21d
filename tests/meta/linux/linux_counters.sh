#!/bin/sh
# Goal: what perf in a stock kernel gets of performance counters and of the Debug Store is
# compared with the ground truth: samples by NMI and by PEBS, counts of perf stat, branch
# records; a sample, a count, a period, a record or a flag that is wrong is found.
# Method: Debian's 6.1 cloud kernel from the cache of ./bootstrap test; a small program
# with a thread; a perf.data that is broken on purpose, byte by byte.
# usage: linux_counters.sh TOPAZ
topaz=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0
name=linux_counters

. "$here/expect.sh"

expect 2 "not both" 0 record --workload "$topaz" --perf x --stat y
expect 2 "the script calls perf" 0 record --run x --stat y
expect 2 "a line break" 1 record --workload "$topaz" --kernel "$topaz" --perf "-e x
y"
bad_input=$bad

. "$here/linux/linux.sh"

cat >prog.c <<-'END'
	#include <pthread.h>
	static volatile int sum;
	static void *work(void *arg)
	{
		for (int i = 0; i < 6000; i++)
			sum += i & 3 ? i : -i;
		return arg;
	}
	int main(void)
	{
		pthread_t thread;
		pthread_create(&thread, 0, work, 0);
		work(0);
		return pthread_join(thread, 0);
	}
END
cc -O1 -pthread -o prog prog.c || exit 1

# judged BUNDLE LINE...: the bundle is a MATCH, with lines like these.
judged() {
	bundle=$1
	shift
	"$topaz" verify "$bundle" >own 2>&1 ||
	    { echo "linux_counters: $bundle: no MATCH:"; cat own; bad=1; }
	for line; do
		grep -q "$line" own ||
		    { echo "linux_counters: $bundle: no '$line':"; cat own; bad=1; }
	done
}

# place BUNDLE RECORD: the places of such records in the file, the last or the first one.
places() {
	perf script -i "$1"/perf.data --show-mmap-events -D 2>/dev/null |
	    sed -n "s/.*\(0x[0-9a-f]*\) \[0x[0-9a-f]*\]: PERF_RECORD_$2\([^A-Z_].*\)*$/\1/p"
}
place() { places "$1" "$2" | tail -n 1; }
first() { places "$1" "$2" | head -n 1; }

# Samples of rings 0 and 3 by NMIs, of ring 3 by PEBS; branch records into an AUX area that is so
# small that perf is too slow for it. Where it wraps, perf leaves out bytes.
perf='-B -N -m 64,4 --per-thread -c 500 -e branches -e instructions:upp -e intel_bts//u'
expect 0 "record" 0 record --workload ./prog -o all --perf "$perf"
judged all '^branches  period 500  MATCH  (\([1-9][0-9]*\) of \1 samples' \
    '^instructions:upp  period 500  MATCH  (\([1-9][0-9]*\) of \1 samples' \
    ' [1-9][0-9]* PEBS records' \
    '^cpu0  \([1-9][0-9]*\) branch records  MATCH  (\1 read, \1 as executed' \
    'AUX records, [1-9][0-9]* TRUNCATED'
broken all "a sample" $(($(place all SAMPLE) + 16)) 1 'executed was\|no sample\|no overflow'
broken all "a branch record" $(($(first all AUXTRACE) + 48 + 24 * 9)) 1 'record 10 is'
broken all "a size" $(($(place all AUX) + 16)) 232 'executed was\|are missing'

# Cycles of the cost model; reference cycles are not counted again: the CPU says when they overflow.
perf='-B -N -c 5001 -e cycles:upp -e ref-cycles'
expect 0 "cycles" 0 record --workload ./prog -o cycles --perf "$perf"
judged cycles '^cycles:upp  period 5001  MATCH  (\([1-9][0-9]*\) of \1 samples' \
    '^  overflows \([1-9][0-9]*\) = \1 read' \
    '^  overflows \([1-9][0-9]*\) (reported by the CPUs: reference cycles) = \1 read' \
    ' [1-9][0-9]* PEBS records'
broken cycles "a sample of them" $(($(place cycles SAMPLE) + 8)) 1 'executed was\|no sample\|no overflow'

expect 0 "stat" 0 record --workload ./prog -o counts --cost 1 --stat instructions:u,branches:k,cycles
right='counted  MATCH  ([1-9][0-9]* events; 1 of 1 values as executed)'
judged counts "^instructions:u  $right" "^branches:k  $right" "^cycles  $right"
expect 0 "cycles:k" 0 record --workload ./prog -o clocks --stat cycles:u,cycles:k
judged clocks "^cycles:u  $right" "^cycles:k  $right"
broken counts "a count" $(($(place counts STAT) + 24)) 1 'perf stat has'
exit $bad
