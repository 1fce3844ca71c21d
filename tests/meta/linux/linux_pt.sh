#!/bin/sh
# Goal: perf record in a stock kernel, on one CPU and two, of a simple program and of one
# that makes tracing hard, compared with the ground truth: every byte that perf got is
# what the unit wrote, every instruction what was executed; perf outside agrees; a byte
# that is changed, missing or surplus and a flag that is wrong are found.
# Method: Debian's 6.1 cloud kernel from the cache of ./bootstrap test; a small program; a
# perf.data that is broken on purpose, byte by byte. Without the kernel only the bad input.
# usage: linux_pt.sh TOPAZ
topaz=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0
name=linux_pt

. "$here/expect.sh"

expect 2 "what shall it trace" 0 record
expect 2 "absent: No such file" 1 record --kernel "$topaz" --workload absent
expect 2 "not a kernel" 1 record --kernel "$topaz.files" --workload "$topaz"
expect 2 "FILE:/DEST" 1 run linux-pt --workload "$topaz" --put relative:x
bad_input=$bad

. "$here/linux/linux.sh"

cat >prog.c <<-'END'
	#include <signal.h>
	static void trapped(int signal) { (void)signal; }
	int main(int n, char **v)
	{
		(void)v;
		signal(SIGTRAP, trapped);
		__asm__ volatile("int3");
		for (int i = 0; i < 1000; i++)
			n = n & 1 ? 3 * n + 1 : n / 2;
		return n > 5;
	}
END
mkdir bin && cc -O1 -o bin/prog prog.c || exit 1
# The kernel is that of the cache, the program that of the shell's search.
PATH=$dir/bin:$PATH
expect 0 "topaz verify bundle" 0 run linux-pt --workload prog --perf '-B -N -e intel_pt/cyc/u -e instructions:u -c 1000' -o bundle
grep -q '^RDMSR  0x' bundle/unknown.txt ||
    { echo "linux_pt: unknown MSRs are not listed:"; cat bundle/unknown.txt; bad=1; }
"$topaz" verify bundle >own || { echo "linux_pt:"; cat own; exit 1; }
insns=$(sed -n 's/^cpu0 *\([0-9]*\) instructions .*/\1/p' own)
[ "${insns:-0}" -gt 10000 ] || { echo "linux_pt: $insns instructions"; bad=1; }
grep -q '^instructions:u  period 1000  MATCH  (\([1-9][0-9]*\) of \1 samples as executed' own ||
    { echo "linux_pt: no samples compared:"; cat own; bad=1; }
perf script -i bundle/perf.data --itrace=i0ns -F cpu,ip,period 2>messages |
    sed -n 's/\(\[[0-9]*\]\)  *1  */\1 /p' >list
"$topaz" verify bundle --decoded list >theirs ||
    { echo "linux_pt: perf outside:"; cat theirs messages; bad=1; }
grep -q "^cpu0  $insns instructions  MATCH" theirs ||
    { echo "linux_pt: not all is listed:"; cat theirs; bad=1; }

expect 0 EQUAL 0 reencode --bytes bundle

# Places in the file: of the first AUX record and of the trace.
perf script -i bundle/perf.data --show-mmap-events -D >dump 2>/dev/null
aux=$(sed -n 's/.* \(0x[0-9a-f]*\) \[0x[0-9a-f]*\]: PERF_RECORD_AUX .*/\1/p' dump | head -n 1)
trace=$(sed -n 's/.* \(0x[0-9a-f]*\) \[\(0x[0-9a-f]*\)\]: PERF_RECORD_AUXTRACE size.*/\1 + \2/p' dump | head -n 1)
[ -n "$aux" ] && [ -n "$trace" ] || { echo "linux_pt: no AUX in the dump"; exit 1; }

sample=$(sed -n 's/.* \(0x[0-9a-f]*\) \[0x[0-9a-f]*\]: PERF_RECORD_SAMPLE.*/\1/p' dump | tail -n 1)
broken bundle "a sample" $((sample + 16)) 1 'executed was'
entry=$(od -An -tu8 -j 16 -N 8 bundle/perf.data | tr -d ' ')
attrs=$(od -An -tu8 -j 24 -N 8 bundle/perf.data | tr -d ' ')
broken bundle "a period" $((attrs + entry + 16)) 1 'its overflow 1 came after 1000 events, not after 1001'
broken bundle "a byte of the trace" $(($trace + 1000)) 1 'byte 1000 is not what cpu0 wrote'
broken bundle "a byte less in an AUX record" $((aux + 16)) 255 'no AUX record names'
broken bundle "a byte more in an AUX record" $((aux + 16)) 1 'has not written\|goes back\|did not fall'
broken bundle "eight bytes less" $(($trace - 32)) 8 'bytes never reported'
broken bundle "TRUNCATED" $((aux + 24)) 1 'says TRUNCATED, but cpu0 did not stop'
# Both rings and all processes of two CPUs; a debugger's breakpoint on data.
cat >watch.c <<-'END'
	#include <signal.h>
	#include <stddef.h>
	#include <sys/ptrace.h>
	#include <sys/user.h>
	#include <sys/wait.h>
	#include <unistd.h>
	#define REGISTER(n) offsetof(struct user, u_debugreg[n])
	static int watched;
	int main(void)
	{
		pid_t child = fork();
		int status;
		if (child == 0) {
			ptrace(PTRACE_TRACEME, 0, 0, 0);
			raise(SIGSTOP);
			_exit(watched);
		}
		waitpid(child, 0, 0);
		ptrace(PTRACE_POKEUSER, child, REGISTER(0), &watched);
		ptrace(PTRACE_POKEUSER, child, REGISTER(7), 0xf0001L);
		ptrace(PTRACE_CONT, child, 0, 0);
		waitpid(child, &status, 0);
		return !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP;
	}
END
cc -O1 -o bin/watch watch.c || exit 1
# What makes tracing hard, with the kernel's part of it: PT is off while others run.
cc -O1 -pthread -o bin/busy "$here/linux/busy.c" || exit 1
expect 0 "" 0 record --workload busy --cpus 2 \
    --perf '-B -N -e intel_pt/cyc/ -e branches:k -c 500' -o all
"$topaz" verify all >hard || { echo "linux_pt: a busy program:"; cat hard; bad=1; }
[ "$(grep -c '^cpu[01]  [0-9]* instructions  MATCH' hard)" = 2 ] &&
    grep -q '^branches:k  period 500  MATCH  ([1-9]' hard ||
    { echo "linux_pt: a busy program is not compared:"; cat hard; bad=1; }
# The kernel's code, which is in no file, is that of the execution logs.
"$topaz" reencode --bytes all >again 2>&1
[ $? = 0 ] && [ "$(grep -c '^EQUAL$' again)" = 2 ] && ! grep -q 'missing:\|left out' again ||
    { echo "linux_pt: a busy program, re-encoded:"; cat again; bad=1; }
# Bytes that the kernel does not tell of: one cause, and what follows is compared.
expect 0 "" 0 record --workload busy --perf '-B -N -e intel_pt//' -o one
gone=$(python3 "$here/linux/drop_aux.py" one/perf.data changed) || bad=1
"$topaz" verify one --perf-data changed >found 2>&1
[ $? = 1 ] && grep -q "no AUX record names the $gone bytes that cpu0 wrote from offset" found &&
    grep -q "cpu0: $gone bytes never reported" found &&
    [ "$(grep -c '^FINDING' found)" = 2 ] && grep -q '^cpu0 .*  MATCH ' found ||
    { echo "linux_pt: an AUX record without its bytes:"; cat found; bad=1; }
# A hybrid part: the kernel has a PMU for each kind of core.
expect 0 "" 0 record --workload watch --cpus 2 --profile alderlake-p,alderlake-e \
    --perf '-a -e intel_pt// -e instructions -c 100000' -o two
"$topaz" verify two >both || { echo "linux_pt: two CPUs:"; cat both; bad=1; }
[ "$(grep -c '^cpu[01]  [0-9]* instructions  MATCH' both)" = 2 ] ||
    { echo "linux_pt: not both CPUs:"; cat both; bad=1; }
[ "$(grep -c '^cpu_.*/instructions/  period 100000  MATCH  ([1-9]' both)" = 2 ] ||
    { echo "linux_pt: not both PMUs:"; cat both; bad=1; }
exit $bad
