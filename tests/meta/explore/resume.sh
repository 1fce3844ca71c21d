#!/bin/sh
# Goal: an exploration that was interrupted goes on where it was, and ends with the same
# findings. Method: one is interrupted after some of its parts and called again; what it
# prints and writes is compared with one that nobody interrupted.
# usage: resume.sh TOPAZ SOURCE_ROOT
topaz=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
drivers=$(realpath "$2")/tests/example/drivers
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0
. "$here/expect.sh"

complain() {
	echo "resume: $*"
	bad=1
}

options="grab --drivers $drivers --kinds cpu --budget 6000 -j2 --no-pages --progress lines"
"$topaz" explore $options -o found >whole 2>log
[ $? = 1 ] || complain "not interrupted: no finding"
grep -v '"summary"' found/findings.jsonl >whole.jsonl
mv found before
[ -e before/checkpoint ] && complain "a checkpoint of a whole exploration"

# Until the part after the sequences has begun.
: >stderr
"$topaz" explore $options -o found >stdout 2>stderr &
process=$!
tries=0
until grep -q 'next: placements of two' stderr || [ $tries = 1200 ]; do
	sleep 0.05
	tries=$((tries + 1))
done
kill -TERM $process
wait $process
[ $? = 5 ] || complain "not interrupted"
[ -s found/checkpoint ] || complain "no checkpoint"
cp -r found again

# Another command does not take it; the same does.
"$topaz" explore $options --seed 1 -o again >other 2>log
grep -q 'goes on' log && complain "another seed goes on"
"$topaz" explore $options -o found >resumed 2>log
[ $? = 1 ] || complain "resumed: no finding"
grep -q 'topaz: goes on where it was interrupted: found/checkpoint' log ||
    complain "does not go on"
cmp whole resumed || complain "another output"
grep -v '"summary"' found/findings.jsonl | cmp - whole.jsonl ||
    complain "other findings"
[ -e found/checkpoint ] && complain "the checkpoint is still there"
exit $bad
