#!/bin/sh
# Goal: colours and the line of progress are for terminals; files, pipes, TERM=dumb and
# NO_COLOR get plain text. Method: call commands on a pseudo terminal, which script(1)
# makes, and through a pipe, and look for escapes. Skipped by name without script(1).
# usage: terminal.sh TOPAZ SOURCE_ROOT
command -v script >/dev/null 2>&1 || {
	echo "terminal: no script(1): skipped"
	exit 77
}
topaz=$(realpath "$1")
drivers=$(realpath "$2")/tests/example/drivers
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0
escape=$(printf '\033')
unset NO_COLOR

complain() {
	echo "terminal: $*"
	bad=1
}

# shown TERM WORD...: what the command writes to a terminal, into the file shown.
shown() {
	term=$1
	shift
	env TERM="$term" script -q -e -c "\"$topaz\" $*" /dev/null \
	    </dev/null >shown 2>&1
	last=$*
}

# styled STYLE TEXT: the terminal shows TEXT in that style.
styled() {
	grep -q -F "$escape[$1m$2$escape[m" shown ||
	    { complain "'$2' is not in style $1: $last"; cat -v shown; }
}

plain() {
	grep -q -F "$escape" "$1" && { complain "escapes: $last"; cat -v "$1"; }
}

quick="grab/grab-give --drivers $drivers --no-sequences --kinds cpu --budget 3000"
shown xterm explore $quick --no-pages --progress none -o found
styled '1;31' FAIL
grep -q "$escape\[1mgrab/grab-give .*cpu[01]$escape\[m" shown ||
    { complain "the header is not bold"; cat -v shown; }
styled '1;31' '1 failed'
token=$(sed -n 's/.*"token":"\(tz1:[^"]*\)".*/\1/p' found/findings.jsonl)
shown xterm report found
styled '1;31' FAIL
shown xterm replay "$token" --drivers "$drivers"
styled '1;31' FAIL
shown xterm replay "$(echo "$token" | sed 's/:0:[^:]*:/:0::/')" --drivers "$drivers"
styled 32 PASS
shown xterm ci grab --drivers "$drivers" --budget 3000 --progress none --no-pages -o ci
styled '1;31' FAIL
shown xterm run --set rounds=1 -o bundle
styled 32 PASS
styled 32 '1 passed'
shown xterm verify bundle
styled 32 MATCH

shown dumb report found
plain shown
NO_COLOR=1 shown xterm report found
plain shown
NO_COLOR= shown xterm report found
styled '1;31' FAIL
env TERM=xterm "$topaz" report found >text 2>&1
last="report found, into a file"
plain text
[ "$(head -c 4 text)" = FAIL ] || complain "no text: $(cat text)"

# Progress: one line that changes, whose share of a step never becomes less; in a log one
# line for each part, and no share.
shown xterm explore $quick --no-pages -o found
tr '\r' '\n' <shown >bar
grep -q '^exploring .* %  .* / .* to look at  placements' bar ||
    { complain "no bar"; cat -v shown; }
awk '/ %  / { match($0, / [0-9]+ % /); step = substr($0, 1, RSTART)
	share = substr($0, RSTART, RLENGTH) + 0; sub(/ +$/, "", step)
	if (share < last[step]) { print; bad = 1 } last[step] = share }
	END { exit bad }' bar || complain "the bar goes back"
shown dumb explore $quick --no-pages -o found
plain shown
grep -q '^exploring: .* schedules done' shown || complain "TERM=dumb: no lines"
"$topaz" explore $quick -o found -j 2 >stdout 2>log
last="explore, with a log"
plain log
grep -q % log && { complain "shares in a log"; cat log; }
[ "$(sort log | uniq -d)" = "" ] || { complain "a line twice"; cat log; }
for text in 'exploring: .*; next: placements of one deviation' \
    'exploring: .*; next: placements of two, and random schedules' \
    'telling mistakes apart: [1-9]' 'describing findings: 1' 'writing pages: 1'; do
	grep -q -x "$text" log || { complain "no line: $text"; cat log; }
done
[ "$(wc -l <log)" -lt 9 ] || { complain "too many lines"; cat log; }
shown xterm explore $quick --no-pages --progress lines -o found
grep -q '^exploring: .* schedules done' shown || complain "--progress lines: none"
exit $bad
