#!/bin/sh
# Goal: insntrace as a module of a stock kernel traces CPUs and threads, and topaz record
# finds what its program wrote in what the PT units wrote: every byte and every
# instruction; what is missing or changed is found.
# Method: the module is built for Debian's 6.1 cloud kernel and loaded there, by topaz
# record --run --trace; buffers that are written around and that are full, a thread that
# goes from CPU to CPU; files that are changed on purpose.
# usage: linux_module.sh TOPAZ ROOT
topaz=$(realpath "$1")
root=$(realpath "$2")
here=$(realpath "$(dirname "$0")/..")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0
name=linux_module

. "$here/expect.sh"

echo true >script
expect 2 "neither cpuN=/FILE nor threadN=/FILE" 0 record --run script --trace gpu0=/tmp/x
expect 2 "neither cpuN=/FILE nor threadN=/FILE" 0 record --run script --trace cpu0=x
expect 2 "neither cpuN=/FILE nor threadN=/FILE" 0 record --run script --trace cpu99=/x
expect 2 "the guest has 2 CPUs" 0 record --run script --cpus 2 --trace cpu2=/tmp/x
expect 2 "is for --run" 0 record --workload true --trace cpu0=/tmp/x
bad_input=$bad

. "$here/linux/linux.sh"

# The kernel's headers; linux-image-VERSION_REVISION_ARCH.deb.
version=${kernel##*/linux-image-}
version=${version%%_*}
headers=/usr/src/linux-headers-$version
if [ ! -e "$headers/Makefile" ] || ! command -v make >/dev/null 2>&1; then
	echo "$name: no linux-headers-$version, or no make"
	[ "$bad_input" = 0 ] && exit 77
	exit 1
fi
make -C "$root/driver/insntrace/linux" BUILD="$dir/ko" KDIR="$headers" >log 2>&1 ||
    { echo "$name: the module does not compile:"; cat log; exit 1; }
! grep -i warning log || { echo "$name: warnings"; bad=1; }

cat >prog.c <<-'END'
	#define _GNU_SOURCE
	#include <sched.h>
	int main(int n, char **v)
	{
		cpu_set_t set;
		(void)v;
		for (int i = 0; i < 40000; i++) {
			n = n & 1 ? 3 * n + 1 : n / 2;
			if (i % 4000 != 0)
				continue;
			CPU_ZERO(&set);
			CPU_SET(i / 4000 & 1, &set);
			sched_setaffinity(0, sizeof(set), &set);
		}
		return n == 0;
	}
END
cc -O1 -o prog prog.c || exit 1

# record BUNDLE STREAMS OPTION...: runs ./script, with the NMI watchdog off.
record() {
	bundle=$1
	streams=$2
	shift 2
	set -- record --run script --put ko/insntrace.ko --put ko/insntrace --put prog -o "$bundle" "$@"
	for stream in $streams; do
		set -- "$@" --trace "$stream"
	done
	expect 0 "topaz verify $bundle" 0 "$@"
	"$topaz" verify "$bundle" >"$bundle.txt"
}

# says BUNDLE PATTERN: one of its lines.
says() {
	grep -q "$2" "$1.txt" || { echo "$name: $1: no '$2':"; cat "$1.txt"; bad=1; }
}

# One CPU, all that it does, written around; a thread in a buffer that holds all, that
# is written around, that is full.
cat >script <<-'END'
	set -e
	echo 0 >/proc/sys/kernel/nmi_watchdog
	insmod /insntrace.ko
	/insntrace -b 16384 -k -o /tmp/c /prog
	/insntrace -t -b 131072 -o /tmp/s /prog
	/insntrace -t -b 16384 -o /tmp/t /prog
	/insntrace -t -b 8192 -f -o /tmp/u /prog
	rmmod insntrace
	insmod /insntrace.ko
	rmmod insntrace
END
record one "cpu0=/tmp/c0 thread0=/tmp/s0 thread1=/tmp/t0 thread2=/tmp/u0"
[ "$(grep -c '^\(cpu0\|thread[012]\)  [1-9][0-9]* instructions  MATCH' one.txt)" = 4 ] ||
    { echo "$name: not all four streams:"; cat one.txt; bad=1; }
[ "$(grep -c ' overwritten' one.txt)" = 2 ] || { echo "$name: not two were written around:"; cat one.txt; bad=1; }
says one '^  bytes *8192 written = 8192 reported'
says one '^MATCH$'

# With a counter of perf's active, whose handler clears all bits of
# GLOBAL_STATUS; and an owner that is killed.
cat >script <<-'END'
	set -e
	insmod /insntrace.ko
	/insntrace -t -b 16384 -o /tmp/t /prog
	/insntrace -t -o /tmp/u /prog
	/insntrace -t -o /tmp/v /prog
	/insntrace -o /tmp/k sleep 1000 &
	sleep 0.02
	rmmod insntrace && exit 9
	kill -9 $!
	wait $! || true
	rmmod insntrace
	printf Z | dd of=/tmp/u0 bs=1 seek=1000 conv=notrunc
	tail -c +2 /tmp/v0 >/tmp/w0
END
record watched "thread0=/tmp/t0 thread1=/tmp/u0 thread2=/tmp/w0"
says watched '^thread0  [1-9][0-9]* instructions  MATCH'
! grep -q '^FINDING  thread0' watched.txt || { echo "$name: the watchdog disturbs:"; cat watched.txt; bad=1; }
says watched '^FINDING  thread1.pt: its first [0-9]* bytes are not .*: byte 1000 differs'
says watched '^FINDING  thread2: 1 bytes never reported'
says watched '^MISMATCH$'

# Two CPUs of two kinds: a thread that goes to and fro; a CPU that goes offline.
cat >script <<-'END'
	set -e
	echo 0 >/proc/sys/kernel/nmi_watchdog
	insmod /insntrace.ko
	/insntrace -t -b 16384 -o /tmp/t /prog
	/insntrace -k -o /tmp/c sh -c 'echo 0 >/sys/devices/system/cpu/cpu1/online; /prog' >/tmp/said
	grep -q '^tracing had stopped' /tmp/said
	rmmod insntrace
END
record two "thread0=/tmp/t0 cpu0=/tmp/c0 cpu1=/tmp/c1" --cpus 2 --profile alderlake-p,alderlake-e
[ "$(grep -c '^\(cpu[01]\|thread0\)  [1-9][0-9]* instructions  MATCH' two.txt)" = 3 ] ||
    { echo "$name: not all three streams:"; cat two.txt; bad=1; }
says two '^MATCH$'
exit $bad
