#!/bin/sh
# Goal: a stock kernel boots on two CPUs with the same bytes each time, finds nothing to
# complain of, touches nothing that is not modelled but what emu/board/README.md
# lists, and takes a CPU offline and back. Method: Debian's 6.12 and 6.1 cloud kernels from
# the cache of ./bootstrap test.
# usage: boot_smp.sh TOPAZ
topaz=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

. "$here/expect.sh"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/topaz/packages
old=$(ls "$cache"/linux-image-6.1.*-cloud-amd64_*.deb 2>/dev/null | head -n 1)
new=$(ls "$cache"/linux-image-6.12.*-cloud-amd64_*.deb 2>/dev/null | head -n 1)
command -v busybox >/dev/null 2>&1 || { echo "boot_smp: no busybox-static"; exit 77; }
[ -n "$new$old" ] || { echo "boot_smp: no cloud kernel in the cache"; exit 77; }

# Each CPU writes a number that the other one waits for; then what the kernel has found.
printf '#!/bin/sh
mkfifo /tmp/a /tmp/b
taskset 2 sh -c "while read n; do echo \\$((n + 1)); done" </tmp/a >/tmp/b &
exec 3>/tmp/a 4</tmp/b
n=0
while [ $n -lt 20 ]; do echo $n >&3; read n <&4; done
echo $n $(nproc)
cat /sys/devices/system/clocksource/clocksource0/current_clocksource
grep -c Vulnerable /sys/devices/system/cpu/vulnerabilities/* | grep -v ":0"
grep -o -w xsaves /proc/cpuinfo | head -n 1
for to in 0 1 0 1; do echo $to >/sys/devices/system/cpu/cpu1/online; nproc; done
exit 3\n' >script

# The lines of the console that complain, without those that emu/board/README.md explains.
complaints() {
	grep -i -E 'warn|bug|fail|error|unchecked|unstable|stall|hung|broken|unable|not sync' \
	    "$1/console.txt" |
	    grep -v -e 'split lock detection: MSR access failed' \
		-e 'report a bug' \
		-e 'Unable to init MCE device' -e 'Correctable Errors collector'
}

# unlisted DIR: the lines of unknown.txt that are not in the table of that README.
unlisted() {
	while read -r access index rest; do
		case "$access ${index#0x0000}" in
		"RDMSR 0033" | "RDMSR 003a" | "WRMSR 01d9" | "RDMSR 064e") ;;
		"RDMSR 0xc0011029") ;;
		"OUT 0cf8" | "OUT 0cf9" | "OUT 0cfa" | "OUT 0cfb") ;;
		"IN 0cf8" | "IN 0cfc" | "IN 0cfd" | "IN 0cfe" | "IN 0cff") ;;
		"IN 04d0" | "IN 04d1" | "OUT 04d0" | "OUT 04d1") ;;
		"IN 02f9" | "OUT 02f9" | "IN 03e9" | "OUT 03e9") ;;
		"IN 02e9" | "OUT 02e9") ;;
		*) echo "$access $index $rest" ;;
		esac
	done <"$1/unknown.txt"
}

# judge DIR LOG: the kernel's console, what it has touched, the script's output.
judge() {
	printf '20 2\ntsc\nxsaves\n1\n2\n1\n2\n' | cmp - "$2" || { cat "$2"; bad=1; }
	grep -q 'Brought up 1 node, 2 CPUs' "$1/console.txt" ||
	    { echo "boot_smp: no second CPU"; bad=1; }
	[ -z "$(complaints "$1")" ] ||
	    { echo "boot_smp: the kernel complains:"; complaints "$1"; bad=1; }
	[ -z "$(unlisted "$1")" ] ||
	    { echo "boot_smp: not in emu/board/README.md:"; unlisted "$1"; bad=1; }
}

# boot KERNEL DIR LOG
boot() {
	"$topaz" boot --kernel "$1" --cpus 2 --run script -o "$2" >"$3" 2>err
	status=$?
	sane err
	[ "$status" = 3 ] || { echo "boot_smp: exit code $status"; cat err; bad=1; }
}

if [ -n "$new" ]; then
	MALLOC_PERTURB_=85 boot "$new" out1 log1
	MALLOC_PERTURB_=170 boot "$new" out2 log2
	judge out1 log1
	cmp out1/console.txt out2/console.txt && cmp out1/unknown.txt out2/unknown.txt &&
	    cmp log1 log2 || bad=1
fi
if [ -n "$old" ]; then
	boot "$old" out3 log3
	judge out3 log3
fi
exit $bad
