#!/bin/sh
# Goal: nothing of the user's is lost, and nothing temporary stays. Method: commands are
# given folders with things in them, are called twice at once, signalled at several
# moments and killed; then everything that there is is listed.
# usage: data.sh TOPAZ SOURCE_ROOT
topaz=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
root=$(realpath "$2")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/here" "$dir/tmp"
cd "$dir/here" || exit 1
export TMPDIR="$dir/tmp"
bad=0
. "$here/expect.sh"

complain() {
	echo "data: $*"
	bad=1
}

# left NAME...: nothing else is here, beside what a test writes; nothing temporary.
left() {
	want=$(for name in "$@" stdout stderr; do echo "$name"; done | sort)
	have=$(ls -A | sort)
	[ "$have" = "$want" ] || complain "there is $(echo $have), not $(echo $want)"
	[ -z "$(ls -A "$TMPDIR")" ] ||
	    complain "temporary: $(ls -A "$TMPDIR") after: $last"
}

quick="insntrace=load+unload --budget 20 --no-sequences --progress none -j1"

# A folder of the user's, whatever is in it.
mkdir -p mine/src full
echo '{}' >mine/manifest.json
echo code >mine/src/a.c
echo page >full/index.html
echo keep >file
ln -s full link
for out in mine full file link . mine/src; do
	expect 2 "$out" 1 run -o $out
	expect 2 "$out" 1 explore $quick -o $out
done
[ "$(cat mine/manifest.json mine/src/a.c full/index.html file)" = "{}
code
page
keep" ] || complain "something of the user's was changed"
left mine full file link

# What topaz made is replaced, but only with all that is in it.
rm -r mine full file link
expect 0 "1 passed" 0 run -o bundle
expect 0 "0 failed" 0 explore $quick -o found
touch before
expect 0 "0 failed" 0 explore $quick -o found/
[ found/index.html -nt before ] || complain "the findings were not replaced"
expect 2 "bundle: holds bundle, which findings do not replace" 1 \
    explore $quick -o bundle
echo mine >found/objects/notes
expect 2 "found: objects/notes in it was not written by topaz" 1 \
    explore $quick -o found
[ "$(cat found/objects/notes)" = mine ] || complain "a file in it was removed"
expect 0 "" 0 merge found -o joined
echo more >>joined/junit.xml
expect 2 "joined: junit.xml in it has changed" 1 merge found -o joined
expect 0 "" 0 report found --junit out.xml --sarif out.sarif
expect 2 "found: is a directory" 1 report found --junit found
left bundle found joined before out.xml out.sarif
rm -r joined found before out.xml out.sarif

# wait_for FILE: until it is there.
wait_for() {
	tries=0
	until [ -e "$1" ] || [ $tries = 400 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
}

# begin ARG...: in the background, with SIGHUP as usual also under nohup; $process.
begin() {
	last=$*
	: >stderr
	env --default-signal=HUP "$topaz" "$@" >stdout 2>stderr &
	process=$!
}

# ends CODE TEXT: it does, and says so.
ends() {
	wait $process
	code=$?
	sane stderr
	[ $code = "$1" ] || { complain "$last: exit $code, not $1"; cat stderr; }
	cat stdout stderr | grep -q -F -- "$2" ||
	    { complain "$last does not say: $2"; cat stdout stderr; }
}

# is_ended_by SIGNAL: before there is anything to report, or with a report of little.
is_ended_by() {
	wait $process
	code=$?
	sane stderr
	if [ $code != 5 ] || ! cat stdout stderr |
	    grep -q -F -e "stopped by SIG$1" -e interrupted; then
		complain "$last: exit $code after SIG$1"
		cat stdout stderr
	fi
}

# wait_for_word WORD: until progress speaks of it.
wait_for_word() {
	tries=0
	until grep -q "$1" stderr || [ $tries = 1200 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
}

# Two at once: the second is told by whom.
endless="insntrace/it-load --budget 1M --progress lines -j2"
begin explore $endless -o found
wait_for_word placements
first=$process
expect 2 "found: another topaz writes to it, process $first" 1 \
    explore $quick -o "$PWD/found"
expect 0 "1 passed" 0 run -o bundle
kill -TERM $first
process=$first
last="explore, of which there are two"
wait $process
[ $? = 5 ] || complain "$last: not 5"
[ -s found/findings.jsonl ] || complain "no report after SIGTERM"
left bundle found
rm -r found

# Each signal, at several moments: before there is anything to report, and after.
for signal in INT TERM HUP; do
	begin explore $endless -o found
	wait_for .found.topaz/new
	kill -$signal $process
	is_ended_by $signal
	rm -rf found
	left bundle
	for command in explore faults ci; do
		begin $command $endless -o found
		wait_for_word placements
		sleep 0.2
		kill -$signal $process
		ends 5 "interrupted"
		[ -s found/junit.xml ] || complain "$last: no report"
		rm -rf found
		left bundle
	done
	begin run --rounds 100000 -o other
	wait_for .other.topaz/new/objects/00-kernel
	sleep 0.5
	kill -$signal $process
	ends 5 "no bundle: the run was stopped"
	left bundle
done

# A bundle that is there stays as it is.
cp -R bundle copy
begin run --rounds 100000 -o bundle
wait_for .bundle.topaz/new/objects/00-kernel
sleep 0.5
kill -INT $process
ends 5 "STOP"
diff -r bundle copy >/dev/null || complain "an interrupted run changed a bundle"
rm -r copy

# The second ends it at once; with the first one it had a report to write.
begin explore $endless -o found
wait_for_word placements
kill -TERM $process
sleep 0.15
kill -TERM $process 2>/dev/null
wait $process
code=$?
# It may have been done by then.
[ $code = 143 ] || [ $code = 5 ] || complain "a second SIGTERM: exit $code"
rm -rf found
left bundle

# Other commands end at once.
mkfifo pipe
env --default-signal=HUP "$topaz" verify bundle --decoded - <pipe >stdout \
    2>stderr &
process=$!
exec 3>pipe
sleep 2
kill -HUP $process
last="verify that waits for a list"
ends 5 "stopped by SIGHUP"
exec 3>&-
rm pipe
left bundle

# gone PID: it has ended, whether or not somebody waits for it.
gone() {
	state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)
	[ -z "$state" ] || [ "$state" = Z ] || [ "$state" = X ]
}

# Killed, it leaves what the next one removes, whatever that is. Its workers end with it,
# but not at once, and until then what it has is not nobody's.
begin explore $endless -o found
wait_for_word placements
workers=$(cat /proc/$process/task/$process/children)
kill -KILL $process
wait $process 2>/dev/null
for worker in $workers; do
	tries=0
	until gone "$worker" || [ $tries = 400 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
done
[ -d .found.topaz ] && [ -n "$(ls -A "$TMPDIR")" ] ||
    complain "killed, and there was nothing left to clean"
expect 0 "1 passed" 0 run -o other
left bundle other
rm -r other

# The compiler and its children end, too.
cat >cc <<'END'
#!/bin/sh
sleep 300 & echo $! >sleeping
sleep 300
END
chmod +x cc
begin run --cc ./cc -o other
tries=0
until ls "$TMPDIR"/topaz-*/*/sleeping >/dev/null 2>&1 || [ $tries = 200 ]; do
	sleep 0.05
	tries=$((tries + 1))
done
sleep 0.2
sleeping=$(cat "$TMPDIR"/topaz-*/*/sleeping)
kill -INT $process
ends 5 "stopped by SIGINT"
sleep 0.2
# Without a parent that looks it may be a zombie.
sed 's/.*) //' "/proc/$sleeping/stat" 2>/dev/null | grep -q '^[^Z]' &&
    complain "the compiler's child lives on"
rm cc
left bundle

# Output that cannot be written.
"$topaz" list >&- 2>stderr
[ $? = 2 ] && grep -q "standard output is closed" stderr ||
    complain "closed standard output: $(cat stderr)"
"$topaz" list >/dev/full 2>stderr
[ $? = 2 ] && grep -q "standard output: No space left" stderr ||
    complain "full standard output: $(cat stderr)"
{ "$topaz" decode bundle; echo $? >code; } 2>stderr | sed 1q >stdout
[ "$(cat code)" = 2 ] && grep -q "standard output: Broken pipe" stderr ||
    complain "a pipe that nobody reads: $(cat code stderr)"
rm code
expect 2 "/dev/full: No space left" 1 export bundle --perf-data -o /dev/full
# A disk of its own, where that is possible.
mkdir small
if unshare -rm true 2>/dev/null; then
	last="run on a full disk"
	unshare -rm sh -c "mount -t tmpfs -o size=400k none small &&
	    '$topaz' run -o small/x >stdout 2>stderr; echo \$? >code; ls -A small >>code"
	[ "$(cat code)" = 2 ] &&
	    grep -q "^topaz: small/x/.*: No space left" stderr &&
	    [ "$(wc -l <stderr)" = 1 ] || complain "$last: $(cat code stderr)"
	rm code
fi
rmdir small

# Without memory it is no finding. (A sanitizer needs more than there would be.)
if ! grep -q __asan_init "$topaz"; then
	last="run without memory"
	(ulimit -v 1000000; "$topaz" run -o other >stdout 2>stderr)
	code=$?
	[ $code = 70 ] || [ $code = 2 ] || complain "$last: exit $code"
	grep -q '^topaz: ' stderr || complain "$last: not a word"
	(ulimit -v 1000000; "$topaz" explore $quick -o other >stdout 2>stderr)
	code=$?
	[ $code = 70 ] || [ $code = 2 ] || complain "explore without memory: $code"
	left bundle
fi
exit $bad
