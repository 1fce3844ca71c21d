#!/bin/sh
# Goal: each fix that PT drivers needed over the years is missed when it is taken out
# of insntrace, and insntrace as it is passes the same. Method: a copy of the driver,
# changed as mutants.txt says; a small campaign of one scenario, or the unit tests
# where no guest can show it.
# usage: mutants.sh TOPAZ ROOT CC...
topaz=$(realpath "$1")
root=$(realpath "$2")
shift 2
table=$root/tests/meta/mutants/mutants.txt
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
mkdir driver
bad=0

# fresh: driver/insntrace is a copy of the driver.
fresh() {
	rm -rf driver/insntrace
	cp -r "$root/driver/insntrace" driver/insntrace
}

# change ID: applies a mutant to the copy; says what does not apply.
change() {
	awk -v id="$1" -v file= '
	/^mutant / { on = $2 == id; close_edit() }
	/^in / && on { close_edit(); file = "driver/insntrace/" $2 }
	/^-/ && on { old = substr($0, 2); open = 1; new = "" }
	/^\+/ && on { new = new substr($0, 2) "\n" }
	END { close_edit(); exit failed }
	function close_edit(    line, text, hits) {
		if (!open)
			return
		open = 0
		while ((getline line <file) > 0) {
			if (line == old) {
				hits++
				text = text new
			} else
				text = text line "\n"
		}
		close(file)
		if (!hits) {
			print id ": " file " has no line: " old
			failed = 1
		}
		printf "%s", text >file
		close(file)
	}' "$table"
}

# explore SCENARIO: the campaign's report; its exit code.
explore() {
	"$topaz" explore "insntrace/$1" --drivers driver --no-pages \
	    --no-sequences --depth 1 --budget 40 --kinds pmi --progress none \
	    -o out >report 2>&1
}

# unit NAME CC...: builds and runs the unit tests with the copy's files.
unit() {
	name=$1
	shift
	"$@" -I"$root" -o unit_test \
	    "$root/tests/unit/insntrace/${name}_test.c" \
	    driver/insntrace/core/buffer/capture.c driver/insntrace/core/config.c \
	    driver/insntrace/core/session/state.c driver/insntrace/core/buffer/topa.c -lcmocka \
	    >report 2>&1 && ./unit_test >report 2>&1
}

survives() {
	echo "$1: $2"
	cat report
	bad=1
}

fresh
for scenario in $(awk '/^mutant / && $3 == "explore" { print $4 }' "$table" |
    sort -u); do
	explore "$scenario" || survives "$scenario" "the driver itself fails"
done
for name in $(awk '/^mutant / && $3 == "unit" { print $4 }' "$table" |
    sort -u); do
	unit "$name" "$@" || survives "$name" "the driver itself fails"
done

awk '/^mutant / { print $2, $3, $4, $5 }' "$table" >list
while read -r id how where what; do
	fresh
	change "$id" || { bad=1; continue; }
	if [ "$how" = unit ]; then
		unit "$where" "$@"
		grep -q "FAILED *\] *$what" report &&
		    echo "$id killed by unit test $what" ||
		    survives "$id" "$what passes"
		continue
	fi
	explore "$where"
	token=$(awk -v what="$what" '
	    /^FAIL/ { on = $4 == what }
	    $1 == "also:" { on = on || $2 == what }
	    on && /replay:/ { print $4; exit }' report)
	[ -n "$token" ] && echo "$id killed by $what ($token)" ||
	    survives "$id" "no $what"
done <list
exit $bad
