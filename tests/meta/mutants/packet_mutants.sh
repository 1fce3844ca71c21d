#!/bin/sh
# Goal: the test vectors miss no row of the PT unit's tables. Method: break one column
# of one row at a time (packet_mutants.awk), and play the vectors, then the unit tests
# of MSR rules, cycles, profiles and errata, which must fail. At least 95 % must;
# tests/packets/README.md lists what does not, and why, and nothing else.
# usage: packet_mutants.sh ROOT all|SAMPLE CC...
#   SAMPLE: only each SAMPLE-th mutant
root=$(realpath "$1")
sample=$2
shift 2
here=$root/tests/meta/mutants
readme=$root/tests/packets/README.md
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export CCACHE_NODIRECT=1 # headers here hide others
cd "$root" || exit 1
tests="msr/msr packet/cycles profile/uarch profile/feature_mask profile/profile errata/errata
    errata/errata_time"
[ "$sample" = all ] && step=1 || step=$sample

# build FILE OBJECT FOLDER CC...: FILE with what FOLDER has in place of the tree's.
build() {
	from=$1
	to=$2
	first=$3
	shift 3
	"$@" -std=gnu17 -O0 -w -I"$first" -I"$root" -c "$from" -o "$to"
}

mkdir "$dir/rest" "$dir/run"
for file in emu/base/base.c emu/pt/*.c emu/pt/*/*.c emu/profile/*.c tests/packets/[!cr]*.c \
    tests/packets/reader.c tests/unit/pt/*.c tests/unit/pt/*/*.c traces/decode/clock.c \
    traces/bundle/image.c; do
	case $file in
	*_test.c | */perf_packets.c) continue ;;
	esac
	build "$file" "$dir/rest/$(echo "$file" | tr / _).o" "$dir" "$@" ||
	    exit 1
done
mains=run
for test in $tests; do
	main=$(basename "$test")
	mains="$mains $main"
	build "tests/unit/pt/${test}_test.c" "$dir/$main.o" "$dir" "$@" ||
	    exit 1
done
build tests/packets/run.c "$dir/run.o" "$dir" "$@" || exit 1
ar rc "$dir/rest.a" "$dir"/rest/*.o || exit 1

# try OBJECTS FOLDER CC...: links OBJECTS in place of the tree's, and runs all tests.
try() {
	changed=$1
	place=$2
	shift 2
	for main in $mains; do
		"$@" -o "$place/$main" "$dir/$main.o" $changed "$dir/rest.a" \
		    -lcmocka -lipt -lxxhash || return 2
		timeout 60 "$place/$main" tests/packets >"$place/log" 2>&1 ||
		    return 1
	done
}

# mutant NAME FILE SOURCES LINE TEXT CC...: prints NAME and what became of it.
mutant() {
	name=$1
	file=$2
	sources=$3
	folder=$dir/run/$name
	for changed in "$file" $sources; do
		mkdir -p "$folder/$(dirname "$changed")"
	done
	awk -v line="$4" -v text="$5" '
	    NR == line { print text; next } { print }' "$file" >"$folder/$file"
	shift 5
	objects=
	for source in $sources; do
		new=$folder/$source
		objects="$objects $new.o"
		[ -e "$new.c" ] || cp "$source.c" "$new.c"
		if ! build "$new.c" "$new.o" "$folder" "$@" 2>"$folder/log"
		then
			echo "$name unbuildable"
			return
		fi
	done
	try "$objects" "$folder" "$@" 2>/dev/null
	case $? in
	0) echo "$name survives" ;;
	1) echo "$name killed" ;;
	*) echo "$name unbuildable" ;;
	esac
	rm -rf "$folder"
}

# half N CC...: every other mutant of the list.
half() {
	n=$1
	shift
	tab=$(printf '\t')
	awk -v n="$n" 'NR % 2 == n' "$dir/list" |
	    while IFS=$tab read -r name file sources line text; do
		mutant "$name" "$file" "$sources" "$line" "$text" "$@"
	done
}

if ! try "" "$dir/run" "$@"; then
	echo "packet_mutants: the unit as it is does not pass"
	cat "$dir/run/log"
	exit 1
fi
awk -f "$here/packet_mutants.awk" emu/pt/packet/packet.def emu/pt/transfer.def \
    emu/pt/msr/msr.def emu/pt/packet/packet.c emu/pt/msr/xstate.c emu/pt/packet/cycles.def \
    emu/profile/uarch.def emu/profile/errata.def emu/profile/feature.def |
    awk -v step="$step" 'NR % step == 0' >"$dir/list"
half 0 "$@" >"$dir/even" &
half 1 "$@" >"$dir/odd"
wait

sed -n 's/^| `\([a-zA-Z0-9_.]*\)` survives |.*/\1/p' "$readme" >"$dir/listed"
cat "$dir/even" "$dir/odd" | sort | awk -v all="$sample" '
FILENAME != "-" { listed[$1] = 1; next }
{ count++ }
$2 == "killed" { killed++; if ($1 in listed) { wrong = 1
	print $1 " is listed as a survivor and killed" } }
$2 == "survives" && !($1 in listed) { wrong = 1
	print $1 " survives and is not listed" }
$2 == "unbuildable" { wrong = 1; print $1 " cannot be built" }
$2 == "survives" { survived[$1] = 1 }
END {
	if (all == "all")
		for (name in listed)
			if (!(name in survived)) { wrong = 1
				print name " is listed and does not survive" }
	printf "%d mutants, %d killed\n", count, killed
	if (all == "all" && killed * 100 < count * 95) {
		print "fewer than 95 % are killed"
		wrong = 1
	}
	exit wrong
}' "$dir/listed" -
