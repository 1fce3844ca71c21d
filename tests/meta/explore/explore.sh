#!/bin/sh
# Goal: the commands that explore say what is wrong with their input in one line and
# with the documented exit code, before they work; what they write can be read by
# themselves and by others. Method: call them, on an example driver that frees its
# buffer twice.
# usage: explore.sh TOPAZ SOURCE_ROOT
topaz=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
drivers=$(realpath "$2")/tests/example/drivers
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0
. "$here/expect.sh"

complain() {
	echo "explore: $*"
	bad=1
}

# last FILE TEXT: what its last line has to be.
last() {
	[ "$(tail -n 1 "$1")" = "$2" ] ||
	    { complain "$1 does not end in: $2"; cat "$1"; }
}

echo keep >file
for command in explore faults ci; do
	expect 2 "none: no such driver" 1 $command none
	expect 2 "/none/insntrace/driver.yaml" 1 $command --drivers /none
	expect 2 "--kinds pmi,none: not names" 1 $command --kinds pmi,none
	expect 2 "--kinds : empty" 1 $command --kinds ""
	expect 2 "--shard 3/2: not I/N" 1 $command --shard 3/2
	expect 2 "--shard 1: not I/N" 1 $command --shard 1
	expect 2 "--budget 0: at least 1" 1 $command --budget 0
	expect 2 "--budget 4Q: not a number" 1 $command --budget 4Q
	expect 2 "--seed x: not a number" 1 $command --seed x
	expect 2 "--jobs 0: 1 to 64" 1 $command --jobs 0
	expect 2 "--jobs 65: 1 to 64" 1 $command -j 65
	expect 2 "--progress loud: auto, bar" 1 $command --progress loud
	expect 2 "--profile none: no such profile" 1 $command --profile none
	expect 2 "skylake,tremont: a machine has one crystal clock and one TSC" 1 \
	    $command --profile skylake,tremont
	expect 2 "--errata none: no such erratum" 1 $command --errata none
	expect 2 "--errata apl11: skylake does not have it" 1 \
	    $command --errata apl11
	expect 2 "--source FILE" 1 $command freebsd-pt
	expect 2 "absent.c: No such file" 1 $command --source absent.c
	expect 2 "absent: No such file" 1 $command --baseline absent
	expect 2 "file:1: not a line of a baseline" 1 $command --baseline file
	expect 2 "file: exists and is no directory" 1 $command -o file
	expect 2 "absent/out: No such file" 1 $command -o absent/out
	expect 2 "one subject at a time" 0 $command one two
	expect 2 "the command is too long" 1 $command --cc "$(printf %09000d 0)"
done
expect 2 "--depth 3: 1 or 2" 1 explore --depth 3
expect 2 "none: no such scenario" 1 ci insntrace/none
expect 2 "no scenario after the '/'" 1 explore insntrace/
expect 2 "\"none\": no such operation" 1 faults insntrace=load+none
expect 2 "9 CPUs: 1 to 8" 1 ci insntrace@9=load
expect 2 "layout 'none': no such word" 1 explore insntrace,none=load
# What means nothing to a command is none of its options, and not in its help.
foreign() {
	command=$1
	shift
	for option; do
		expect 2 "unrecognized option '$option'" 0 $command $option
		"$topaz" $command --help | grep -q -e " $option" &&
		    complain "$command --help has $option"
	done
}
foreign explore --each-point
foreign ci --each-point
foreign faults --depth --no-reduce --no-sequences --no-pages
foreign mutate --baseline --write-baseline --shard --require-exhaustive \
    --stop-at-finding --no-pages --each-point
for command in explore faults ci mutate; do
	"$topaz" $command --help | grep -q '^ Shared by explore, faults, ci and mutate' ||
	    complain "$command --help does not say what is shared"
done
"$topaz" faults --help | grep -q 'list faults (all)' || complain "faults: --kinds"
expect 2 "--kinds: no fault among them" 1 faults --kinds pmi,cpu
[ "$(cat file)" = keep ] || complain "bad input overwrote something"
mkdir -p wrong/mine
echo 'name: [mine' >wrong/mine/driver.yaml
expect 2 "driver.yaml:" 1 explore mine --drivers wrong
printf 'name: mine\nos: native\nowner: insntrace\nbogus: 1\n' \
    >wrong/mine/driver.yaml
expect 2 "driver.yaml:4:" 1 explore mine --drivers wrong
printf 'name: mine\nos: native\nowner: nobody\nsources: [a.c]\n' \
    >wrong/mine/driver.yaml
for command in explore run; do
	expect 2 "driver.yaml:3:8: no such program of the guest" 1 \
	    $command mine --drivers wrong
done
sed 's,^name: .*,name: ../../mine,' wrong/mine/driver.yaml >wrong/other.yaml
mv wrong/other.yaml wrong/mine/driver.yaml
expect 2 "driver.yaml:1:7: \"../../mine\": a name has" 1 \
    explore mine --drivers wrong
expect 2 "driver.yaml:1:7: \"../../mine\": a name has" 1 \
    replay tz1:mine:skylake:0::0000 --drivers wrong

expect 2 "no token" 0 replay
expect 2 "not tz1:SUBJECT" 1 replay none
expect 2 "absent: No such file" 1 replay @absent
expect 2 "no-pmi" 1 replay tz1:it-load:skylake:0:0@1=no-pmi:0000
expect 2 "none: neither a driver nor a scenario" 1 \
    replay tz1:none:skylake:0::0000
expect 2 "none: no such profile" 1 replay tz1:it-load:none:0::0000
expect 2 "none: no such profile" 1 replay tz1:it-load:skylake,none:0::0000
expect 2 "skylake does not have it" 1 replay tz1:it-load:skylake+apl11:0::0000
# What is malformed is so whatever the check says.
expect 2 "\"none\": no such operation" 1 \
    replay tz1:insntrace=load+none:skylake:0::0000
expect 2 "layout 'none': no such word" 1 \
    replay tz1:it-load,none:skylake:0::0000
expect 2 "9 CPUs: 1 to 8" 1 replay tz1:insntrace@9=load:skylake:0::0000
expect 2 "deviation '5@1=pmi': there is no CPU 5, the run has 1" 1 \
    replay tz1:insntrace=load:skylake:0:0@1=pmi,5@1=pmi:0000
expect 2 "deviation '1@1=cpu7': there is no CPU 7, the run has 2" 1 \
    replay tz1:insntrace@2=load:skylake:0:1@1=cpu7:0000
expect 2 "check '0x12' of a token" 1 replay tz1:it-load:skylake:0::0x12
expect 4 "was recorded with another insntrace" 1 \
    replay tz1:it-load:skylake:0::0000
expect 2 "objects" 1 replay --from . tz1:it-load:skylake:0::0000
for command in merge report; do
	expect 2 "no folder of findings" 0 $command
	expect 2 "absent: No such file" 1 $command absent
	expect 2 "findings.jsonl: No such file" 1 $command .
	expect 2 "file:1: " 1 $command file
done

# Pairs are of the deviations that the user names.
expect 0 "passed" 0 explore grab/grab-give --drivers "$drivers" --kinds preempt --depth 2 --budget 200 \
    --no-pages --progress none -o pairs
grep '^depth 2' stdout | grep -q ' 0 / *0 ' && complain "no pairs of preempt"

# A finding, and all that can be made of it.
set -- grab/grab-give --drivers "$drivers" --no-sequences --progress none --kinds cpu \
    --budget 600
expect 1 "bad-free" 0 explore "$@" -o found --write-baseline known
cp stdout text
tail -n 1 stdout | grep -q -x '[0-9]* passed, [0-9]* failed, [0-9]* not judged' ||
    complain "the last line of explore is not alone"
[ -s stderr ] && complain "--progress none says something"
token=$(sed -n 's/^ *replay:  topaz replay \(tz1:[^ ]*\).*/\1/p' text | head -n 1)
expect 1 "3 of 3" 0 replay "$token" --drivers "$drivers" --times 3
expect 1 "bad-free" 0 replay "$token" --from found --drivers "$drivers"
expect 1 "kernel free" 0 replay "$token" --drivers "$drivers" --log
expect 2 "at least 1" 0 replay "$token" --times 0
expect 4 "diverged" 0 replay --drivers "$drivers" \
    "$(echo "$token" | sed 's/@[0-9]*=/@900000000=/')"
expect 1 "bad-free" 0 report found --junit junit.xml --sarif found.sarif
last stdout "$(tail -n 1 text)"
grep -q -F "$token" junit.xml found.sarif found/junit.xml found/findings.sarif ||
    complain "the token is not in all reports"
for form in findings.jsonl findings.sarif junit.xml index.html finding-01.html; do
	[ -s found/$form ] || complain "found/$form is not there"
done
if command -v xmllint >/dev/null 2>&1; then
	xmllint --noout junit.xml found/junit.xml || complain "no XML"
fi
if command -v python3 >/dev/null 2>&1; then
	"$topaz" report found --json >lines
	cat found/findings.jsonl >>lines
	python3 -c 'import json, sys
for line in open("lines"): json.loads(line)
for name in sys.argv[1:]: json.load(open(name))' found.sarif \
	    found/findings.sarif || complain "no JSON"
fi

# CPUs of two kinds: the token says so, and it is the same again.
expect 1 "bad-free" 0 explore grab/grab-give --drivers "$drivers" --no-sequences \
    --progress none --kinds cpu --budget 1000 --no-pages -o mixed \
    --profile 'alderlake-p*1,alderlake-e' --errata apl11
token=$(sed -n 's/^ *replay:  topaz replay \(tz1:[^ ]*\).*/\1/p' stdout)
case $token in
tz1:grab-give:alderlake-p,alderlake-e+apl11:0:*) ;;
*) complain "no hybrid token: $token" ;;
esac
expect 1 "2 of 2" 0 replay "$token" --drivers "$drivers" --times 2

# What is printed runs as it is pasted: with the objects where a compiler or a source was
# named, with the folder of drivers, quoted; read back and joined too.
pasted() {
	line=$(sed -n 's/^ *replay:  //p' stdout | head -n 1)
	[ "$line" = "topaz replay $1" ] || complain "the line is: $line"
	eval "set -- $line"
	shift
	expect 1 "bad-free" 0 "$@"
}
ln -s "$drivers" mine
mkdir "it's here" && cp -R "$drivers/." "it's here"
set -- grab/grab-give --no-sequences --kinds cpu --budget 600 --progress none
expect 1 "bad-free" 0 explore "$@" --drivers mine -o plain
token=$(sed -n 's/^ *replay:  topaz replay \(tz1:[^ ]*\).*/\1/p' stdout)
pasted "$token --drivers mine"
expect 1 "bad-free" 0 explore "$@" --drivers "it's here" --cc gcc -o "a b" -j 1
pasted "$token --from 'a b' --drivers 'it'\\''s here'"
rm -r "it's here"/grab/grab.c
expect 1 "bad-free" 0 report "a b"
pasted "$token --from 'a b' --drivers 'it'\\''s here'"
rm -r "it's here"
expect 1 "bad-free" 0 explore "$@" --drivers mine --cc gcc -o whole -j 2
grep 'replay:' stdout >whole.lines
pasted "$token --from whole --drivers mine"
for form in junit.xml findings.sarif findings.jsonl finding-01.html index.html; do
	grep -q -F "topaz replay $token --from whole --drivers mine" whole/$form ||
	    complain "whole/$form has not the line"
done
for shard in 1 2; do
	"$topaz" explore "$@" --drivers mine --cc gcc -o part$shard \
	    --shard $shard/2 >stdout 2>stderr
done
mv whole whole.one
expect 1 "bad-free" 0 merge part1 part2 -o whole
grep 'replay:' stdout | cmp - whole.lines || complain "merge says another line"
diff -r whole/objects whole.one/objects || complain "merge has other objects"
pasted "$token --from whole --drivers mine"
expect 1 "bad-free" 0 merge part1 part2
grep -q -F "$token --from part1 --drivers mine" stdout || complain "merge: no line"

# The command that is kept with the findings repeats them, word for word.
mkdir "it's here" && cp -R "$drivers/." "it's here"
expect 1 "bad-free" 0 explore --no-sequences grab/grab-give --kinds cpu --budget 400 \
    --seed 3 --drivers "it's here" -o "\$HOME *" --no-pages --progress none
mv '$HOME *' first
grep -q '"uri": "it%27s%20here\\/grab\\/grab.c"' first/findings.sarif ||
    { complain "locations are not below this folder"; grep uri first/*.sarif; }
command=$(sed -n 's/.*"command":"\(.*\)","coverage".*/\1/p' \
    first/findings.jsonl | sed 's/\\\(.\)/\1/g')
eval "set -- $command"
[ "$1 $2" = "topaz explore" ] || complain "the command is: $command"
shift
"$topaz" "$@" >stdout 2>stderr
cmp first/findings.jsonl '$HOME *'/findings.jsonl ||
    complain "this does not repeat the findings: $command"
set -- grab/grab-give --drivers "$drivers" --no-sequences --progress none --kinds cpu \
    --budget 600

# What is known does not count; what is taken out of the list does.
expect 0 "new 0   fixed 0" 0 explore "$@" -o again --baseline known --no-pages
tail -n +2 known >fewer
expect 1 "new 1   fixed 0" 0 explore "$@" -o again --baseline fewer --no-pages
expect 1 '"new":1,' 0 explore "$@" -o again --baseline fewer --no-pages --json
expect 1 "new 0   fixed 0" 0 report found --diff again
# It may be the end of the exploration: with any number of jobs at the same one.
for jobs in 1 2; do
	expect 1 "bad-free" 0 explore "$@" -o early --stop-at-finding --no-pages \
	    -j $jobs
	grep -q '^beyond' stdout && complain "--stop-at-finding goes on"
	grep 'replay:' stdout >early.$jobs
done
cmp early.1 early.2 || complain "--stop-at-finding depends on jobs"
expect 0 "new 0   fixed 0" 0 explore "$@" -o early --stop-at-finding --no-pages \
    --baseline known
grep -q '^beyond' stdout || complain "--stop-at-finding ends at what is known"
expect 1 "ended at a finding" 0 explore grab --drivers "$drivers" --budget 3000 \
    --progress none --no-pages -o early --stop-at-finding --kinds pmi,nmi,cpu
head -n 1 found/findings.jsonl >one
expect 2 "one" 1 report one
expect 2 "absent: No such file" 0 report found --diff absent
# A driver without scenarios that leaks as it is loaded: the token needs a step.
mkdir leaky
cp -r "$drivers/grab" leaky/grab
sed -i '/^scenarios:/,/steps:/d' leaky/grab/driver.yaml
sed -i 's/return device_create/(void)module_alloc(64, HEAP_WAITOK); &/' leaky/grab/grab.c
expect 1 "leak" 0 explore grab --drivers leaky --budget 60 --progress none --no-pages -o leaks
grep -q '"check":"leak".*"token":"tz1:grab@[12]=load:' leaks/findings.jsonl ||
    complain "the leak's token"
rm -r leaky leaks

set -- grab --drivers "$drivers" --budget 3000 --progress none --no-pages
expect 1 "bad-free" 0 ci "$@" -o ci --write-baseline known
last stdout "$(tail -n 1 stdout | grep -x '[0-9]* passed, [0-9]* failed, [0-9]* not judged')"
expect 0 "new 0   fixed 0" 0 ci "$@" -o ci --baseline known
expect 1 "fixed 0   still failing 0" 0 ci "$@" -o ci \
    --baseline "$drivers/../known.jsonl"

# Shards are the whole; what is no shard of it does not join.
set -- grab/grab-give --drivers "$drivers" --no-sequences --no-pages --progress none \
    --kinds cpu --budget 600
"$topaz" explore "$@" --shard 1/2 -o s1 >stdout 2>stderr
"$topaz" explore "$@" --shard 2/2 -o s2 >stdout 2>stderr
expect 1 "bad-free" 0 merge s1 s2 -o joined
last stdout "$(tail -n 1 text)"
grep -q '"command":"topaz merge s1 s2 -o joined"' joined/findings.jsonl ||
    complain "merge -o does not say how it was made"
expect 1 '"kind":"summary"' 0 merge s1 s2 --json
set -- insntrace=load+unload --budget 50 --no-sequences --no-pages --progress none
"$topaz" explore "$@" --shard 1/3 -o t1 >stdout 2>stderr
expect 5 "missing: shard 2 of 3" 0 merge t1
expect 5 "missing: shard 3 of 3" 0 merge t1
expect 0 "this is shard 1 of 3" 0 report t1
[ -s joined/index.html ] || complain "merge -o has no index.html"
set -- insntrace=load+unload --budget 50 --no-sequences --progress none
expect 0 "0 failed" 0 explore "$@" -o other
expect 5 "sampled" 0 explore "$@" -o other --require-exhaustive
# A process ends while the driver is unloaded.
expect 0 "0 failed" 0 explore insntrace@2=load+open+initthread+spawn+kill+unload \
    --budget 100 --no-sequences --no-pages --progress none -o other
# Calls that the program makes of its own fail, too: a buffer of a thread is not taken for a CPU's.
expect 0 "after 100 % of the first" 0 explore insntrace/it-thread --kinds fail \
    --no-sequences --no-pages --progress none -o other
# With its buffer, the assignment of a thread is gone.
expect 0 "1 passed, 0 failed" 0 explore --budget 1 --no-sequences --no-pages --progress none -o other \
    "insntrace@1=open+initthread+allocthread+spawn+assign+freebuf+allocthread+start+targetwork+stop+terminate"
# Only the depth that was asked for has to be exhaustive.
set -- insntrace=load+unload --progress none --require-exhaustive -o other
expect 0 "0 failed" 0 explore "$@" --kinds nmi --budget 800
expect 5 "depth 2" 0 explore "$@" --kinds cpu,pmi,nmi --budget 800 --depth 2
expect 0 "1 passed" 0 explore "$@" --kinds pmi --depth 2
expect 2 "not of one exploration" 0 merge s1 other

expect 0 "1 passed, 0 failed, 0 not judged" 0 faults grab/grab-give --drivers "$drivers" \
    --kinds fail --progress none
head -n 1 stdout | grep -q '^FAULT .*points .*detected .*tolerated .*silent .*framework' ||
    complain "faults prints no table"
# The budget is divided among the faults that were chosen; or no point is left out.
points() {
	sed -n "s/^$1  *\([0-9]*\) .*/\1/p" stdout
}
set -- grab/grab-give --drivers "$drivers" --progress none
expect 0 "sampled" 0 faults "$@" --kinds nmi --budget 300
[ "$(points nmi)" -gt 200 ] && [ "$(points nmi)" -lt 400 ] ||
    complain "not all of the budget: $(points nmi) of 300"
expect 0 "sampled" 0 faults "$@" --kinds nmi,late --budget 300
[ "$(points nmi)" -lt 200 ] || complain "not half: $(points nmi) of 300"
# Those that explore has by default are faults that were named, too.
expect 0 "sampled" 0 faults "$@" --kinds pmi,cpu,preempt,nmi --budget 300
[ -z "$(points late)$(points guard)" ] || complain "faults that were not named"
expect 5 "sampled" 0 faults "$@" --kinds nmi --budget 300 --require-exhaustive
expect 0 "exhaustive" 0 faults "$@" --kinds nmi --budget 300 --each-point \
    --require-exhaustive
[ "$(points nmi)" -gt 400 ] || complain "points are left out: $(points nmi)"
expect 0 '"kind":"fault"' 0 faults grab/grab-give --drivers "$drivers" \
    --kinds fail --progress none --json

# interrupt WORD SECONDS ARG...: SIGINT so long after progress speaks of WORD.
interrupt() {
	word=$1
	seconds=$2
	shift 2
	last=$*
	: >stderr
	"$topaz" "$@" --progress lines >stdout 2>stderr &
	process=$!
	tries=0
	until grep -q "$word" stderr || [ $tries = 600 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	sleep "$seconds"
	kill -INT $process
	wait $process
	code=$?
	sane stderr
}

# While findings are described nothing that was found gets lost.
mkdir masked && cp -R "$here/../../driver/insntrace" masked
sed "s/^\tos_pmi_unmask();$//" "$here/../../driver/insntrace/core/trace/intr.c" \
    >masked/insntrace/core/trace/intr.c
interrupt describing 0 explore insntrace=open+init+allocbuf+start+work.1+stop \
    --drivers masked --kinds pmi --budget 500 -j 1 -o hurried
[ $code = 1 ] || complain "interrupted while describing: exit $code"
grep -q '^topaz: interrupted: ' stderr || { complain "not told"; cat stderr; }
found=$(sed -n 's/^[0-9]* passed, \([0-9]*\) failed, .*/\1/p' stdout)
[ "$found" -gt 0 ] || complain "interrupted while describing: $found findings"
for form in findings.jsonl findings.sarif junit.xml index.html; do
	[ -s hurried/$form ] || complain "hurried/$form is not there"
done
[ "$(ls hurried/finding-*.html | wc -l)" = "$found" ] ||
    complain "interrupted while describing: not $found pages"
expect 1 "pmi-lost" 0 report hurried
last stdout "$(grep ' passed, ' stdout)"
token=$(sed -n 's/^ *replay:  topaz replay \([^ ]*\).*/\1/p' stdout |
    head -n 1)
expect 1 "pmi-lost" 0 replay "$token" --drivers masked

# An interruption is the end of the exploring, not of the report.
interrupt placements 2 explore --budget 1M --no-sequences -o stopped
[ $code = 5 ] || complain "interrupted: exit $code"
# What did not run to its end has not passed.
cut=$(grep -c '  interrupted  ' stdout)
rows=$(grep -c ' none fails' stdout)
[ "$cut" -gt 0 ] || complain "interrupted: not said"
grep '  exhaustive  .* not run$' stdout && complain "interrupted: not all of it"
tail -n 2 stdout | head -n 1 | grep -q -x "$cut not run to the end" ||
    complain "interrupted: not $cut rows"
last stdout "$((rows - cut)) passed, 0 failed, 0 not judged"
cp stdout text
expect 5 "$cut not run to the end" 0 report stopped
last stdout "$(tail -n 1 text)"
[ -s stopped/findings.jsonl ] || complain "interrupted: no report"

# Sequences of which many do not end would take seconds each.
expect 6 "given up: many sequences reach their limit" 0 explore insntrace --limit 3000 \
    --effort quick --no-pages --progress none
grep -q "^depth 0, generated sequences *64 / " stdout || complain "not given up at once"

# What must not be accepted, and pages that stay mapped: topaz's own driver, spoilt.
driver=${drivers%/tests/example/drivers}/driver/insntrace
mkdir spoilt && cp -r "$driver" spoilt
sed 's/buffer->mapped)$/0)/' "$driver/native/dev.c" \
    >spoilt/insntrace/native/dev.c
sed 's/ || config->stop_on_full > 1 ||$/ ||/' "$driver/core/config.c" \
    >spoilt/insntrace/core/config.c
steps=load+open+init+allocbuf
expect 1 "mapped-freed  free of frame " 0 explore \
    "insntrace@1=$steps+keepmap+terminate" --drivers spoilt --kinds cpu --budget 20 \
    --no-pages --progress none
expect 1 "invalid-accepted  allocbuf succeeds with an invalid value of stop_on_full" 0 \
    explore "insntrace@1=$steps.10" --drivers spoilt --kinds cpu --budget 20 --no-pages \
    --progress none
expect 0 "1 passed, 0 failed" 0 explore "insntrace@1=$steps.10" --kinds cpu --budget 20 \
    --no-pages --progress none
exit $bad
