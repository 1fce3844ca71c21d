#!/bin/sh
# Goal: topaz boot runs a script in a stock kernel, files arrive as they were sent, a
# script that does not end is stopped, and bad input is one line; a guest from a snapshot
# does what one does that has booted, to the byte; a damaged snapshot is made again; the
# console is a terminal, and text is typed into it. Method: Debian's 6.1 cloud kernel from
# the cache of ./bootstrap test; without it only the bad input.
# usage: boot.sh TOPAZ
topaz=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

. "$here/expect.sh"

printf '#!/bin/sh\ncat /sys/bus/event_source/devices/intel_pt/caps/topa_output
tr a-z A-Z <in/words >/tmp/upper
head -c 20000000 /dev/zero | tr "\\0" x >/tmp/big
echo to standard error >&2
exit 7\n' >script
printf '#!/bin/sh\necho begins\nwhile :; do :; done\n' >endless
echo 'some words' >words
echo 'no kernel, but longer than a word' >text

# A bzImage of boot protocol 2.10, and an ELF file of 32 bits.
{ head -c 514 /dev/zero; printf 'HdrS\012\002'; head -c 2000 /dev/zero; } >old
{ printf '\177ELF\001\001\001'; head -c 100 /dev/zero; } >small

# Packages: an .rpm (lead, two empty headers, cpio) and .debs, with and without a kernel.
member() {
	printf '070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s' \
	    1 33188 0 0 1 0 "$2" 0 0 0 0 "$(($(printf %s "$1" | wc -c) + 1))" 0 "$1"
}
pad() {
	head -c "$(((4 - $1 % 4) % 4))" /dev/zero
}
header() {
	printf '\216\255\350\001'; head -c 12 /dev/zero
}
{
	printf '\355\253\356\333\003'; head -c 91 /dev/zero; header; header
	# 110 bytes, the name, its end.
	member ./lib/modules/1/vmlinuz "$(wc -c <old)"; printf '\0'; pad 134; cat old; pad "$(wc -c <old)"
	member TRAILER!!! 0; printf '\0'; pad 121
} >old.rpm
mkdir -p usr/lib/modules/1 boot
cp old usr/lib/modules/1/vmlinuz
tar cJf data.tar.xz ./usr && ar rcU binary.deb data.tar.xz
tar cJf data.tar.xz ./boot && ar rcU meta.deb data.tar.xz

expect 2 "old.rpm: a 32-bit kernel" 1 boot --kernel old.rpm --run script
expect 2 "binary.deb: a 32-bit kernel" 1 boot --kernel binary.deb --run script
expect 2 "meta.deb: a package without a kernel" 1 boot --kernel meta.deb --run script
expect 2 "which kernel" 0 boot --run script
expect 2 "text: not a kernel" 1 boot --kernel text </dev/null
expect 2 "old: a 32-bit kernel" 1 boot --kernel old --run script
expect 2 "small: a kernel of another machine" 1 boot --kernel small --run script
expect 2 "text: not a kernel" 1 boot --kernel text --run script
expect 2 "not a kernel" 1 boot --kernel "$topaz.files" --run script
expect 2 "absent: No such file" 1 boot --kernel absent --run script
expect 2 "absent: No such file" 1 boot --kernel text --run absent
expect 2 "absent: No such file" 1 boot --kernel text --run script --put absent
expect 2 "FILE or FILE:/DEST" 1 boot --kernel text --run script --put words:relative
expect 2 "an absolute path" 1 boot --kernel text --run script --get words
expect 2 "get needs -o DIR" 0 boot --kernel text --run script --get /words
expect 2 "64 to 3072" 1 boot --kernel text --run script --memory 32M
expect 2 "--memory 4096 MiB: 64 to 3072" 1 boot --kernel text --run script --memory 4G
expect 2 "1 to 8 are possible" 1 boot --kernel text --run script --cpus 9
bad_input=$bad

kernel=$(ls "${XDG_CACHE_HOME:-$HOME/.cache}"/topaz/packages/linux-image-6.1.*-cloud-amd64_*.deb 2>/dev/null | head -n 1)
if [ -z "$kernel" ] || ! command -v busybox >/dev/null 2>&1; then
	echo "boot: no 6.1 cloud kernel in the cache, or no busybox-static"
	[ "$bad_input" = 0 ] && exit 77
	exit 1
fi
for model in broadwell core2; do
	expect 2 "$model: a kernel cannot measure its TSC" 1 \
	    boot --kernel "$kernel" --run script --profile $model
done
expect 2 "too little memory" 1 boot --kernel "$kernel" --run script --memory 64M
# boot OUT SCRIPT CODE ARG...: runs SCRIPT, from the snapshot if there is one.
boot() {
	out=$1
	script=$2
	want=$3
	shift 3
	"$topaz" boot --kernel "$kernel" --snapshot-dir snapshots --run "$script" \
	    -o "$out" "$@" >"$out.log" 2>"$out.err"
	status=$?
	[ "$status" = "$want" ] ||
	    { echo "boot: $out: exit code $status"; cat "$out.err"; bad=1; }
}

printf '#!/bin/sh\ncat /proc/uptime /proc/interrupts\nhead -c 64 /dev/urandom | md5sum
cp in/words /tmp/copy\nexit 3\n' >short
boot out script 7 --put words:/in/words --get /tmp/upper --get /tmp/big --get /absent
printf '1\nto standard error\n' | cmp - out.log || bad=1
echo 'SOME WORDS' | cmp - out/upper || bad=1
[ "$(tr -d x <out/big | wc -c) $(wc -c <out/big)" = "0 20000000" ] ||
    { echo "boot: a large file is not as it was"; bad=1; }
grep -q 'absent: the guest has no such file' out.err || { cat out.err; bad=1; }
grep -q 'Run /topaz/init as init process' out/console.txt ||
    { echo "boot: no console"; bad=1; }
grep -q '^RDMSR.* at 0xffffffff8[0-9a-f]* native_read_msr' out/unknown.txt ||
    { echo "boot: no unknown MSR with its place"; cat out/unknown.txt; bad=1; }

snapshot=$(ls snapshots/*.cached) || { echo "boot: no snapshot"; exit 1; }
cp "$snapshot" kept
rm snapshots/lock
boot restored short 3 --put words:/in/words --get /tmp/copy
[ -e snapshots/lock ] && { echo "boot: the second guest has booted, too"; bad=1; }

"$topaz" boot --kernel "$kernel" --snapshot-dir snapshots --run endless --limit 100M \
    >log 2>err
status=$?
[ "$status" = 6 ] && grep -q begins log && grep -q 'has not ended.* CPU 0 is at 0x' err &&
    grep -q 'init process' err ||
    { echo "boot: an endless script: exit code $status"; cat log err; bad=1; }

printf 'echo $((6 * 7))\ncat\nfor cat\n\004exit 5' >typed
"$topaz" boot --kernel "$kernel" --snapshot-dir snapshots <typed >log 2>err
status=$?
[ "$status" = 5 ] && grep -qx 42 log && [ "$(grep -cx 'for cat' log)" = 2 ] ||
    { echo "boot: text for the shell: exit code $status"; cat log err; bad=1; }

# A terminal of 33 lines; the guest gets Ctrl-C, and Ctrl-] ends it.
cat >keys.py <<'EOF'
import fcntl, os, pty, select, struct, sys, termios, time

def wait(fd, word):
    text, end = b'', time.time() + 240
    while word not in text:
        if not select.select([fd], [], [], max(0, end - time.time()))[0]:
            sys.exit('boot: the terminal shows no %r but %r' % (word, text))
        text += os.read(fd, 4096)

ours, its = pty.openpty()
fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack('HHHH', 33, 99, 0, 0))
before = termios.tcgetattr(its)
child = os.fork()
if child == 0:
    os.setsid()
    fcntl.ioctl(its, termios.TIOCSCTTY, 0)
    for fd in 0, 1, 2:
        os.dup2(its, fd)
    os.execv(sys.argv[1], sys.argv[1:])
wait(ours, b' # ')
if termios.tcgetattr(its)[3] & (termios.ICANON | termios.ECHO | termios.ISIG):
    sys.exit('boot: the terminal is not raw')
os.write(ours, b'stty size; sleep 100000\r')
wait(ours, b'\n33 99')
os.write(ours, b'\x03')
wait(ours, b' # ')
os.write(ours, b'echo $((6 * 7))\r')
wait(ours, b'\n42')
os.write(ours, b'\x1d')
wait(ours, b'ended by Ctrl-]')
if os.waitpid(child, 0)[1] != 0:
    sys.exit('boot: Ctrl-] does not end it well')
if termios.tcgetattr(its) != before:
    sys.exit('boot: the terminal is not as it was')
EOF
python3 keys.py "$topaz" boot --kernel "$kernel" --snapshot-dir snapshots || bad=1

# Damaged, the snapshot is one line, and is made again, the same by another process; the
# guest that has booted does what the one from the snapshot did.
head -c 1000000 kept >"$snapshot"
boot again short 3 --put words:/in/words --get /tmp/copy
[ "$(grep -c 'the snapshot is not used' again.err)" = 1 ] ||
    { echo "boot: a damaged snapshot"; cat again.err; bad=1; }
cmp kept "$snapshot" && cmp restored.log again.log && diff -r restored again ||
    { echo "boot: from the snapshot it is another run"; bad=1; }

# Without a snapshot; the kernel says what is wrong.
"$topaz" boot --kernel "$kernel" --snapshot-dir snapshots --no-snapshot --run script \
    --initrd text >log 2>err
status=$?
[ "$status" = 6 ] && grep -q 'topaz: the guest .* during boot.*the kernel says: .*Initramfs' err &&
    ! grep -q snapshot err ||
    { echo "boot: a bad initrd: exit code $status"; cat log err; bad=1; }
exit $bad
