#!/bin/sh
# Goal: topaz boot runs a script in a stock kernel, files arrive as they were sent, a
# script that does not end is stopped, and bad input is one line. Method: Debian's 6.1
# cloud kernel from the cache of ./bootstrap test; without it only the bad input.
# usage: boot.sh TOPAZ
topaz=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
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

expect 2 "which kernel" 0 boot --run script
expect 2 "what shall it run" 0 boot --kernel text
expect 2 "text: not a kernel" 1 boot --kernel text --run script
expect 2 "not a kernel" 1 boot --kernel "$topaz.files" --run script
expect 2 "absent: No such file" 1 boot --kernel absent --run script
expect 2 "absent: No such file" 1 boot --kernel text --run absent
expect 2 "absent: No such file" 1 boot --kernel text --run script --put absent
expect 2 "FILE or FILE:/DEST" 1 boot --kernel text --run script --put words:relative
expect 2 "an absolute path" 1 boot --kernel text --run script --get words
expect 2 "get needs -o DIR" 0 boot --kernel text --run script --get /words
expect 2 "64 to 3072" 1 boot --kernel text --run script --memory 32M
expect 2 "1 to 8 are possible" 1 boot --kernel text --run script --cpus 9
bad_input=$bad

kernel=$(ls "${XDG_CACHE_HOME:-$HOME/.cache}"/topaz/packages/linux-image-6.1.*-cloud-amd64_*.deb 2>/dev/null | head -n 1)
if [ -z "$kernel" ] || ! command -v busybox >/dev/null 2>&1; then
	echo "boot: no 6.1 cloud kernel in the cache, or no busybox-static"
	[ "$bad_input" = 0 ] && exit 77
	exit 1
fi
expect 2 "too little memory" 1 boot --kernel "$kernel" --run script --memory 64M
"$topaz" boot --kernel "$kernel" --run script --put words:/in/words \
    --get /tmp/upper --get /tmp/big --get /absent -o out >log 2>err
status=$?
[ "$status" = 7 ] || { echo "boot: exit code $status"; cat err; bad=1; }
printf '1\nto standard error\n' | cmp - log || bad=1
echo 'SOME WORDS' | cmp - out/upper || bad=1
[ "$(tr -d x <out/big | wc -c) $(wc -c <out/big)" = "0 20000000" ] ||
    { echo "boot: a large file is not as it was"; bad=1; }
grep -q 'absent: the guest has no such file' err || { cat err; bad=1; }
grep -q 'Run /topaz/init as init process' out/console.txt ||
    { echo "boot: no console"; bad=1; }
grep -q '^RDMSR' out/unknown.txt || { echo "boot: no unknown MSRs"; bad=1; }
"$topaz" boot --kernel "$kernel" --run endless --limit 100M >log 2>err
status=$?
[ "$status" = 6 ] && grep -q begins log && grep -q 'has not ended' err &&
    grep -q 'init process' err ||
    { echo "boot: an endless script: exit code $status"; cat log err; bad=1; }
exit $bad
