#!/topaz/busybox sh
# The first process of a guest of topaz boot.  It mounts the usual file systems, receives
# from the host what to run, runs it, sends files and the exit code, and powers off.
# /topaz/window names the pages of the host window (harness/boot/window.h).
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/topaz/bin
export PATH HOME=/ PERF_BUILDID_DIR=/tmp/.debug
. /topaz/window
/topaz/busybox mkdir -p /topaz/bin /bin /tmp /proc /sys /dev
/topaz/busybox --install -s /topaz/bin
[ -e /bin/sh ] || ln -s /topaz/busybox /bin/sh

mount -t proc proc /proc
mount -t sysfs sysfs /sys
[ -c /dev/null ] || mount -t devtmpfs devtmpfs /dev
[ -d /sys/kernel/tracing ] && mount -t tracefs tracefs /sys/kernel/tracing
[ -d /sys/kernel/debug ] && mount -t debugfs debugfs /sys/kernel/debug
mkdir -p /dev/pts && mount -t devpts devpts /dev/pts
if [ ! -c /dev/mem ]; then
	echo "topaz: no /dev/mem: the kernel needs CONFIG_DEVMEM" >/dev/console
	poweroff -f
fi

# ask WORD...: a request to the host; returns when it has been answered, with REPLY.
number=0
ask() {
	number=$((number + 1))
	echo "$number $*" | dd of=/dev/mem bs=4096 "seek=$window" 2>/dev/null
	while :; do
		set -- $(dd if=/dev/mem bs=2048 "skip=$((window * 2 + 1))" \
		    count=1 2>/dev/null | head -n 1)
		[ "${1:-0}" != "$number" ] || break
		usleep 1000
	done
	reply=${2:-0}
}

# The host's archive, piece by piece.
receive() {
	while ask next; do
		[ "$reply" != 0 ] || break
		dd if=/dev/mem bs=4096 "skip=$((window + 1))" \
		    "count=$(((reply + 4095) / 4096))" 2>/dev/null |
		    head -c "$reply"
	done
}

# send FILE: its size and checksum, then its content, piece by piece.
send() {
	if [ ! -f "$1" ]; then
		ask absent "$1"
		return
	fi
	size=$(stat -Lc %s "$1")
	ask file "$size" "$(crc32 "$1" | cut -d ' ' -f 1)" "$1"
	sent=0
	while [ $((sent * 4096)) -lt "$size" ]; do
		dd if="$1" bs=4096 "skip=$sent" "count=$pages" of=/dev/mem \
		    "seek=$((window + 1))" 2>/dev/null
		ask piece
		sent=$((sent + pages))
	done
}

# relay: standard input, as it comes, to the host.
relay() {
	while :; do
		dd bs=65536 count=1 of=/tmp/text 2>/dev/null
		size=$(stat -c %s /tmp/text)
		[ "$size" != 0 ] || break
		dd if=/tmp/text bs=4096 of=/dev/mem "seek=$((window + 1))" \
		    2>/dev/null
		ask text "$size"
	done
}

cd /
receive >/tmp/received && cpio -idum </tmp/received 2>/dev/null
rm -f /tmp/received
mkfifo /tmp/output
# What runs in the background ignores SIGINT: that is the relay, not the script.
(relay; echo "$number" >/tmp/number) </tmp/output &
/topaz/script </dev/null >/tmp/output 2>&1
status=$?
wait
read -r number </tmp/number
if [ -e /topaz/get ]; then
	while read -r file; do
		send "$file"
	done </topaz/get
fi
ask exit "$status"
poweroff -f
