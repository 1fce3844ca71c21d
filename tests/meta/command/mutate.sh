#!/bin/sh
# Goal: topaz mutate gives each mutant the class that it has, the same for any number of
# jobs and after an interruption, and touches nothing of the driver's. Method: a small
# driver with mutants of each class, one interrupted run, one killed one, bad input.
# usage: mutate.sh TOPAZ ROOT CLANG; CLANG: "yes" if topaz was built with libclang
topaz=$(realpath "$1")
root=$(realpath "$2")
here=$(realpath "$(dirname "$0")/..")
drivers=$here/command/mutate
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

. "$here/expect.sh"

complain() {
	echo "mutate: $*"
	bad=1
}

# Where libclang is absent the command says so, and how to get it.
mkdir alone && cp "$topaz" alone/topaz
grep -v '^tool ' "$(dirname "$topaz")/topaz.files" >alone/topaz.files
alone/topaz mutate tiny --drivers "$drivers" >stdout 2>stderr
[ $? = 2 ] || complain "without libclang: not exit 2"
grep -q 'built without libclang (Debian: libclang-dev)$' stderr &&
    [ "$(wc -l <stderr)" = 1 ] || complain "without libclang: $(cat stderr)"
if [ "$3" != yes ]; then
	expect 2 "built without libclang" 1 mutate
	[ $bad = 0 ] && exit 77
	exit 1
fi

expect 2 "--count 0: at least 1" 1 mutate --count 0
expect 2 "--require-score 101: 0 to 100" 1 mutate --require-score 101
expect 2 "--timeout 0: 1 to 10M seconds" 1 mutate --timeout 0
expect 2 "--only or --count, not both" 1 mutate --only x --count 1
expect 2 "none: no such driver" 1 mutate none
expect 2 "--only none: no such mutant" 1 mutate --only none
expect 2 "absent.c: No such file" 1 mutate --source absent.c
printf 'int f(void)\n{\n\treturn nothing;\n}\n' >wrong.c
expect 2 "wrong.c:3: clang: use of undeclared identifier 'nothing'" 0 \
    mutate --source wrong.c
echo 'int v;' >empty.c
expect 3 "0 of 0 mutants" 0 mutate --source empty.c --list
mkdir -p names/tiny && cp "$drivers"/tiny/* names/tiny
sed 's/is: message/is: lock/' "$drivers/tiny/driver.yaml" >names/tiny/driver.yaml
expect 2 'driver.yaml:9:5: "tiny_count": a lock needs "ends"' 1 \
    mutate tiny --drivers names
sed 's/is: message/is: message, ends: x/' "$drivers/tiny/driver.yaml" \
    >names/tiny/driver.yaml
expect 2 '"tiny_count": only a lock has "ends"' 1 mutate tiny --drivers names
sed 's/is: message/is: noise/' "$drivers/tiny/driver.yaml" \
    >names/tiny/driver.yaml
expect 2 "driver.yaml:9:" 1 mutate tiny --drivers names

# What is listed: of every operator, in order, and no more than is asked for.
expect 0 "tiny.c:tiny_ioctl:delete-assignment:2" 0 mutate tiny --list \
    --drivers "$drivers"
grep -q 'line 37 .* buffer = NULL; -> ;$' stdout || complain "no line of a mutant"
grep -q 'tiny_count(1);\|KERN_ASSERT' stdout &&
    complain "a message or an assertion is changed"
expect 0 "4 of " 0 mutate tiny --list --count 4 --drivers "$drivers"
[ "$(wc -l <stdout)" = 5 ] || complain "--count 4 --list: $(cat stdout)"
expect 0 '"diff":"--- a/tiny.c' 0 mutate tiny --list --json --drivers "$drivers"
last=$(tail -n 1 stdout | sed 's/.*"diff":"\(.*\)","file".*/\1/')
printf '%b' "$last" | sed 's/\\"/"/g' >diff
if command -v patch >/dev/null 2>&1; then
	rm -rf copy && cp -r "$drivers/tiny" copy
	(cd copy && patch -s -p1 --dry-run <../diff) ||
	    complain "patch does not take the diff"
fi

# One mutant of each class.
cp -r "$drivers" drivers
only=tiny.c:tiny_ioctl:constant-up:1                # equivalent
only=$only,tiny.c:tiny_ioctl:constant-up:2          # a case is there twice
only=$only,tiny.c:tiny_ioctl:constant-up:4          # an MSR that the model lacks
only=$only,tiny.c:tiny_ioctl:delete-assignment:2    # freed twice
only=$only,tiny.c:tiny_count:delete-assignment:1    # nobody looks at it
set -- tiny --drivers drivers --budget 150 --kinds cpu --progress lines
expect 0 "score 50.0 %" 0 mutate "$@" --only $only -o one -j 1
cp stdout text
cp one/results.jsonl results
# classed ID FIELD...: the line of that mutant of tiny.c in one/results.jsonl.
classed() {
	id=$1
	shift
	has one/results.jsonl '"kind":"mutant"' "\"id\":\"tiny.c:$id\"" "$@"
}
classed tiny_count:delete-assignment:1 '"class":"survived"' '"scenarios":2' '"schedules":78' \
    '"operator":"delete-assignment"' '"diff":"--- a/tiny.c'
classed tiny_ioctl:constant-up:1 '"class":"equivalent"'
classed tiny_ioctl:constant-up:2 '"class":"not-compiled"' '"message":"duplicate'
classed tiny_ioctl:constant-up:4 '"class":"not-judged"' '"message":"RDMSR 0x11 '
classed tiny_ioctl:delete-assignment:2 '"class":"killed"' '"check":"bad-free"' \
    '"subject":"tiny-life"'
has one/results.jsonl '"kind":"baseline"' '"scenarios":2' '"sequences":20'
has one/results.jsonl '"kind":"summary"' '"mutants":5' '"killed":1' '"survived":1' \
    '"equivalent":1' '"not-compiled":1' '"not-judged":1' '"score_percent":50.0'
# As text, a survivor comes with its diff, and progress ends with the last mutant.
sed -n '/^survived .*tiny_count:delete-assignment:1/,/^$/p' text | grep -q '^--- a/tiny.c' ||
    complain "the survivor has no diff"
grep -q '5 / 5 ' stderr || { complain "no progress"; cat stderr; }
expect 0 "1 killed" 0 mutate "$@" --only $only -o two -j 2
cmp text stdout || complain "another output with another -j"
cmp results two/results.jsonl || complain "other results with another -j"
diff -r "$drivers" drivers || complain "the driver's folder was changed"
expect 0 '"kind":"summary"' 0 mutate "$@" --only $only -o two --json
[ "$(grep -c '"kind":"mutant"' stdout)" = 5 ] || complain "--json: not 5 mutants"
cmp results two/results.jsonl || complain "results that are whole were changed"
if command -v python3 >/dev/null 2>&1; then
	python3 -c 'import json
for line in open("results"): json.loads(line)' || complain "no JSON"
fi

# Results of another command are not gone on with, and nothing is lost.
expect 2 'results of another command: seed was "0", is "3"' 1 \
    mutate "$@" --only $only -o two --seed 3
expect 2 'results of another command: ' 1 mutate "$@" --count 2 -o two
mkdir mine && echo mine >mine/results.jsonl
expect 2 "mine/results.jsonl: no results of topaz mutate" 1 mutate "$@" -o mine
[ "$(cat mine/results.jsonl)" = mine ] || complain "a file of the user's is changed"
expect 2 "wrong.c/x: Not a directory" 1 mutate "$@" --only $only -o wrong.c/x
sed 3q results >two/results.jsonl
sed -n '3s/"kind":"mutant"/"kind":"other"/p' results >>two/results.jsonl
expect 2 "two/results.jsonl:4: no result" 1 mutate "$@" --only $only -o two

# What was interrupted, or killed, goes on and ends with the same results.
again() {
	signal=$1
	: >stderr
	"$topaz" mutate tiny --drivers drivers --budget 150 --kinds cpu \
	    --progress lines --only $only -o again -j 1 >stdout 2>stderr &
	process=$!
	tries=0
	until grep -q '/ 5 ' stderr || [ $tries = 1200 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
	kill -"$signal" $process
	wait $process 2>/dev/null
	code=$?
}
for signal in INT KILL; do
	rm -rf again
	again $signal
	lines=$(wc -l <again/results.jsonl)
	[ "$lines" -lt 8 ] || complain "$signal came too late"
	[ $signal = KILL ] || [ $code = 5 ] || complain "$signal: exit $code"
	[ $signal = KILL ] || grep -q 'the same command goes on' stderr ||
	    complain "$signal: not told"
	# A line that is not whole does not count.
	[ $signal != KILL ] || printf '{"kind":"mut' >>again/results.jsonl
	expect 0 "1 killed" 0 mutate "$@" --only $only -o again -j 1
	cmp results again/results.jsonl || complain "$signal: other results"
	cmp text stdout || complain "$signal: another output"
done

# The score decides where it is asked to.
expect 0 "score 50.0 %" 0 mutate "$@" --only $only -o one --require-score 50
expect 1 "score 50.0 %" 0 mutate "$@" --only $only -o one --require-score 50.1

# A guest that does not boot kills, unless the model is to blame.
only=tiny.c:tiny_load:delete-assignment:1,tiny.c:tiny_load:constant-up:2
expect 0 "" 0 mutate tiny/tiny-boot --drivers drivers --budget 50 --kinds cpu --only $only -o boot
has boot/results.jsonl '"id":"tiny.c:tiny_load:delete-assignment:1"' '"class":"killed"' \
    '"check":"boot"'
has boot/results.jsonl '"id":"tiny.c:tiny_load:constant-up:2"' '"class":"not-judged"'

# What the driver itself shows kills no mutant.
expect 1 "bad-free" 0 explore grab/grab-give --no-pages --progress none --kinds cpu \
    --budget 400 --drivers "$root/tests/example/drivers"
expect 0 "1 mutants: 0 killed, 1 survived" 0 mutate grab/grab-give \
    --only grab.c:grab_unload:delete-assignment:1 --kinds cpu --budget 400 \
    --progress none --drivers "$root/tests/example/drivers"

# A driver that refuses, or that says what is not so, is found without any trace.
only=core/config.c:caps_decode:negate-condition:1
only=$only,core/session/session.c:op_get_buffer_config:delete-assignment:1
only=$only,core/buffer/capture.c:capture_decode:delete-field:4
expect 0 "" 0 mutate insntrace/it-load --only $only --kinds cpu --budget 100 --no-faults \
    -o answers
has answers/results.jsonl '"operator":"negate-condition"' '"check":"valid-refused"'
has answers/results.jsonl '"operator":"delete-assignment"' '"check":"valid-refused"'
has answers/results.jsonl '"operator":"delete-field"' '"check":"wrong-answer"'

# What a processor lacks the driver has to refuse.
only=core/config.c:PT0_EBX_CR3:constant-up:2
expect 0 "" 0 mutate insntrace --only $only --kinds cpu --budget 1500 --no-faults \
    -o processors
has processors/results.jsonl '"class":"killed"' '"subject":"insntrace@' \
    ',profile-alderlake-n,no-cr3='

# The bound on time is a class of its own.
only=tiny.c:tiny_count:delete-assignment:1
: >stderr
"$topaz" mutate tiny --drivers drivers --budget 8000 --depth 2 -o late --only $only \
    --progress lines >stdout 2>stderr &
process=$!
tries=0
until grep -q '"kind":"baseline"' late/results.jsonl 2>/dev/null ||
    [ $tries = 3000 ]; do
	sleep 0.1
	tries=$((tries + 1))
done
kill -INT $process
wait $process
expect 0 "0 not judged, 1 timed out" 0 mutate tiny --drivers drivers --budget 8000 \
    --depth 2 -o late --only $only --progress lines --timeout 1
grep -q '"class":"timed-out"' late/results.jsonl || complain "timed out: not kept"
exit $bad
