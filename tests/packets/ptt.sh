#!/bin/sh
# Goal: the unit sends what libipt's own tests, written by the vendor, say that a processor
# sends. Method: ptt.py makes of each test file a vector, whose packets the unit's encoder
# must make byte for byte, and a trace with its code, which topaz reencode must make again
# from the control flow alone; ptt.txt has the reason of each that is not equal. A file that
# is not in ptt.txt must be equal, one that is must not.
# usage: ptt.sh PACKETS TOPAZ RUN [LIBIPT]
# LIBIPT: a folder with libipt's sources; meson test ptt --test-args=LIBIPT.
packets=$1
topaz=$2
run=$3
libipt=$4
if [ -z "$libipt" ]; then
	echo "ptt: no folder with libipt's sources is given: skipped"
	exit 77
fi
if ! command -v yasm >/dev/null; then
	echo "ptt: no yasm: skipped"
	exit 77
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
python3 "$packets/ptt.py" "$dir" "$libipt"/test/src/*.ptt || exit 1
bad=0
cp "$packets/rows.txt" "$dir/vectors"
# Its vectors need not have every row: only their own result counts.
"$run" "$dir/vectors" >"$dir/log"
if ! grep '^[0-9]* vectors, 0 failed' "$dir/log"; then
	grep -A 12 'ptv:[0-9]*: ' "$dir/log"
	bad=1
fi
equal=0
known=0
for options in "$dir"/*.options; do
	name=$(basename "$options" .options)
	kind=$(awk -v name="$name" '$1 == name { print $2 }' "$packets/ptt.txt")
	# The options are words.
	# shellcheck disable=SC2046
	"$topaz" reencode --pt "$dir/$name.pt" $(cat "$options") >"$dir/log" 2>&1
	result=$?
	if [ "$result" -gt 3 ]; then
		echo "$name: exit code $result"
		bad=1
	elif [ "$result" -eq 0 ]; then
		equal=$((equal + 1))
		[ -z "$kind" ] || { echo "$name: equal, but in ptt.txt"; bad=1; }
	elif [ -z "$kind" ]; then
		echo "$name: not equal, and not in ptt.txt"
		sed 's/^/  /' "$dir/log"
		bad=1
	else
		known=$((known + 1))
	fi
done
echo "$((equal + known)) files: $equal equal, $known known not to be"
exit $bad
