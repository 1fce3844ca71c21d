#!/bin/sh
# Goal: topaz explore linux-pt finds mistakes in a booted kernel, its tokens replay, and bad
# input is one line. Method: Debian's 6.1 cloud kernel from the cache of ./bootstrap test,
# with bytes of its code changed, and schedules of 6.12; without 6.1 only the bad input.
# usage: explore_linux.sh TOPAZ LINUX_BUGS
topaz=$(realpath "$1")
bugs=$(realpath "$2")
here=$(realpath "$(dirname "$0")/..")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

. "$here/expect.sh"

echo 'no kernel, but longer than a word' >text
printf '#!/bin/sh\nexit 3\n' >idle
expect 2 "text: not a kernel" 1 explore linux-pt --kernel text
expect 2 "absent: No such file" 1 explore linux-pt --kernel absent
expect 2 "do not apply" 1 explore linux-pt --kernel text --source text
expect 2 "only --depth 1" 1 explore linux-pt --kernel text --depth 2
expect 2 "do not apply" 1 explore linux-pt --kernel text --shard 1/2
expect 2 "only for linux-pt" 1 explore insntrace --kernel text
expect 2 "not FUNCTION=OLD:NEW" 1 explore linux-pt --patch x
expect 2 "text: not a kernel" 1 replay tz1:linux-pt@1:icelake:0:0@5=pmi:0000 --kernel text
mkdir -p empty
XDG_CACHE_HOME=$dir/empty expect 2 "no kernel package" 1 explore linux-pt
bad_input=$bad

kernel=$(ls "${XDG_CACHE_HOME:-$HOME/.cache}"/topaz/packages/linux-image-6.1.*-cloud-amd64_*.deb 2>/dev/null | head -n 1)
if [ -z "$kernel" ] || ! command -v busybox >/dev/null 2>&1 ||
    ! command -v perf >/dev/null 2>&1; then
	echo "explore_linux: no 6.1 cloud kernel in the cache, no busybox-static or no linux-perf"
	[ "$bad_input" = 0 ] && exit 77
	exit 1
fi
"$bugs" "$kernel" || bad=1
# The region with STOP has no INT: found, and its token replays.
set -- --kernel "$kernel" --patch pt_buffer_reset_markers=800810488b43..800804:800810488b43..800800
"$topaz" explore linux-pt "$@" --kinds lost --budget 4 -o out >log 2>&1
status=$?
if grep -q 'not at one' log; then
	echo "explore_linux: this kernel's pt_buffer_reset_markers has other code"
else
	[ "$status" = 1 ] && grep -q 'stop-int' log &&
	    [ "$(tail -n 1 log | cut -d , -f 2)" = ' 1 failed' ] &&
	    [ -s out/findings.jsonl ] && [ -s out/junit.xml ] &&
	    [ -s out/findings.sarif ] && [ -s out/finding-01.html ] ||
	    { echo "explore_linux: exit code $status"; cat log; bad=1; }
	token=$(sed -n 's/^ *replay: *topaz replay \([^ ]*\).*/\1/p' log | head -n 1)
	"$topaz" replay "$token" "$@" --times 2 >log 2>&1
	status=$?
	[ "$status" = 1 ] && grep -q 'stop-int' log && grep -q '2 of 2' log ||
	    { echo "explore_linux: replay $token: $status"; cat log; bad=1; }
fi
"$topaz" explore linux-pt --kernel "$kernel" --run idle >log 2>&1
[ $? = 2 ] && grep -q 'exit code 3 and has begun no trace' log ||
    { echo "explore_linux: a script without a trace"; cat log; bad=1; }
# Nobody claims a foreign NMI; gcc has split the function that says so (pci_serr_error.part.0).
"$topaz" explore linux-pt --kernel "$kernel" --kinds nmi --budget 3 -o foreign >log 2>&1 ||
    { echo "explore_linux: a foreign NMI is claimed"; cat log; bad=1; }
# A newer kernel has names for what stands before each function.
new=$(ls "${XDG_CACHE_HOME:-$HOME/.cache}"/topaz/packages/linux-image-6.12.*-cloud-amd64*.deb 2>/dev/null | head -n 1)
if [ -n "$new" ]; then
	"$topaz" explore linux-pt --kernel "$new" --kinds lost --budget 2 -o new >log 2>&1 ||
	    { echo "explore_linux: $new"; cat log; bad=1; }
fi
exit $bad
