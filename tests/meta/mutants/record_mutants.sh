#!/bin/sh
# Goal: the vectors of tests/records miss no row of the tables of emu/pmu and emu/ds, and
# tests/unit/traces/counted_test.c none of what counts them again, counted.def.  Method:
# change one column of one row at a time (record_mutants.awk) and play the vectors, or run
# that test; at least 95 % must fail; tests/records/README.md lists the others.
# usage: record_mutants.sh ROOT all|SAMPLE CC...
#   SAMPLE: only each SAMPLE-th mutant
root=$(realpath "$1")
sample=$2
shift 2
here=$root/tests/meta/mutants
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export CCACHE_NODIRECT=1 # headers here hide others
cd "$root" || exit 1
[ "$sample" = all ] && step=1 || step=$sample
units="emu/ds/ds.c emu/ds/msr.c emu/pmu/msr.c emu/pmu/pmu.c"

# build FOLDER CC...: the vectors' program with the tables of FOLDER before the tree's.
build() {
	place=$1
	shift
	mkdir -p "$place"
	for unit in $units; do
		object=$place/$(echo "$unit" | tr / _).o
		"$@" -std=gnu17 -O0 -w -I"$place" -I"$root" -c "$unit" \
		    -o "$object" || return 1
	done
	"$@" -o "$place/run" "$dir/rest.a" "$place"/*.o "$dir/rest.a" -lcmocka \
	    -lxxhash
}

# build_counted FOLDER CC...: the same of the test of counted.def.
build_counted() {
	place=$1
	shift
	mkdir -p "$place"
	"$@" -std=gnu17 -O0 -w -I"$place" -I"$root" -o "$place/counted" \
	    tests/unit/traces/counted_test.c traces/verify/counters/counter_unit.c \
	    "$dir/profile.a" -lcmocka
}

# passes NAME FOLDER: what judges the table of mutant NAME.
passes() {
	case $1 in
	counted.*) timeout 20 "$2/counted" ;;
	*) timeout 20 "$2/run" tests/records ;;
	esac >"$dir/log" 2>&1
}

for file in emu/base/base.c emu/profile/*.c tests/records/run.c; do
	"$@" -std=gnu17 -O0 -w -I"$root" -c "$file" \
	    -o "$dir/$(echo "$file" | tr / _).o" || exit 1
done
ar rc "$dir/rest.a" "$dir"/*.o
ar rc "$dir/profile.a" "$dir"/emu_*.o
build "$dir/whole" "$@" 2>"$dir/log" && build_counted "$dir/whole" "$@" 2>"$dir/log" &&
    passes records "$dir/whole" && passes counted.all "$dir/whole" || {
	echo "record_mutants: the tables as they are do not pass"
	cat "$dir/log"
	exit 1
}

awk -f "$here/record_mutants.awk" emu/ds/*.def emu/pmu/event.def emu/pmu/msr.def \
    traces/verify/counters/counted.def |
    awk -v step="$step" 'NR % step == 0' >"$dir/list"
tab=$(printf '\t')
while IFS=$tab read -r name file line text; do
	place=$dir/mutant
	mkdir -p "$place/$(dirname "$file")"
	awk -v line="$line" -v text="$text" '
	    NR == line { print text; next } { print }' "$file" >"$place/$file"
	case $name in
	counted.*) builder=build_counted ;;
	*) builder=build ;;
	esac
	if ! $builder "$place" "$@" 2>/dev/null; then
		echo "$name unbuildable"
	elif passes "$name" "$place"; then
		echo "$name survives"
	else
		echo "$name killed"
	fi
	rm -rf "$place"
done <"$dir/list" >"$dir/results"

sed -n 's/^| `\([a-zA-Z0-9_.]*\)` survives |.*/\1/p' tests/records/README.md \
    >"$dir/listed"
awk -v all="$sample" '
FILENAME ~ /listed$/ { listed[$1] = 1; next }
{ count++ }
$2 == "killed" { killed++ }
$2 == "killed" && ($1 in listed) { print $1 " is listed and killed"; wrong = 1 }
$2 == "survives" && !($1 in listed) { print $0 " and is not listed"; wrong = 1 }
$2 == "unbuildable" { print $1 " cannot be built"; wrong = 1 }
END {
	printf "%d mutants, %d killed\n", count, killed
	if (all == "all" && killed * 100 < count * 95)
		wrong = 1
	exit wrong
}' "$dir/listed" "$dir/results"
