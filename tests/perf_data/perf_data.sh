#!/bin/sh
# Goal: topaz reencode reads perf.data files as perf does, whatever wrote them. Method: a
# bundle's export, and the same trace in files of perf_writer.py, which shares nothing
# with topaz: chunks out of order, holes, compressed records, other sizes of attributes,
# several processes, forms that are refused. perf's own dump of the records (skipped
# where perf is not installed) is compared with ours.
# usage: perf_data.sh TOPAZ PERF_DATA_DUMP
topaz=$(realpath "$1")
dump=$(realpath "$2")
make=$(realpath "$(dirname "$0")/make.py")
here=$(realpath "$(dirname "$0")/../meta")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

. "$here/expect.sh"

# equal FILE PARTS ARG...: FILE is re-encoded, PARTS of it EQUAL
equal() {
	file=$1
	parts=$2
	shift 2
	"$topaz" reencode "$file" --symfs bundle "$@" >said 2>&1
	[ "$(grep -c '^EQUAL' said)" = "$parts" ] ||
	    { echo "$file: not $parts parts EQUAL:"; cat said; bad=1; }
}

# says FILE TEXT: what topaz printed of FILE last has TEXT
says() {
	grep -q -F -- "$2" said ||
	    { echo "$1: does not say: $2"; cat said; bad=1; }
}

# as_perf FILE: perf and the reader see the same records at the same offsets
as_perf() {
	perf --version >/dev/null 2>&1 || return
	perf script -D -i "$1" 2>/dev/null |
	    sed -n 's/.* \(0x[0-9a-f]*\) \[\(0x[0-9a-f]*\)\]: PERF_RECORD_.*/\1 [\2]/p' |
	    sort -u >theirs
	"$dump" "$1" | sed -n 's/^\(0x[0-9a-f]* \[0x[0-9a-f]*\]\) type .*/\1/p' |
	    sort -u >ours
	[ -s theirs ] && diff theirs ours >differ ||
	    { echo "$1: perf sees other records:"; cat differ; bad=1; }
}

expect 0 "1 passed" 0 run insntrace -o bundle --cpus 2 --set ctl=0xe60e
expect 0 "perf.data: " 0 export bundle --perf-data -o perf.data
equal perf.data 2 --bytes
equal perf.data 1 --bytes --cpu 1
says perf.data "cpu 1, part 1 of 1"
as_perf perf.data
# As JSON: a line for each part, and what is of the whole file elsewhere.
expect 0 '"name":"cpu 1, part 1 of 1"' 0 reencode perf.data --symfs bundle --json
[ "$(grep -c '^{.*"verdict":"EQUAL".*}$' stdout)" = 2 ] &&
    [ "$(wc -l <stdout)" = 2 ] && grep -q 'IA32_RTIT_CTL' stderr ||
    { echo "perf.data: JSON is not two lines:"; cat stdout stderr; bad=1; }
expect 2 "no AUX area data of that CPU or thread" 1 reencode perf.data --cpu 7
expect 2 "not both" 0 reencode perf.data --cpu 1 --tid 1
expect 2 "for a perf.data" 0 reencode bundle --tid 1
expect 3 "missing: /images/02-init" 0 reencode perf.data --symfs absent --cpu 0

if ! python3 --version >/dev/null 2>&1; then
	echo "perf_data: in part skipped: python3 is not installed"
	exit $bad
fi
PYTHONDONTWRITEBYTECODE=1 python3 "$make" bundle || exit 1
for file in plain shuffled ver0 ver5 ver8 long compressed compressed2 thread; do
	equal "$file.data" 1 --bytes
done
equal unfinished.data 1 --bytes --cpu 6/94/3
says unfinished.data "perf record did not end"
equal hole.data 2
says hole.data "after bytes that the file does not have"
equal truncated.data 2
says truncated.data "after trace lost in a full buffer"
equal by-id.data 1
for file in plain shuffled hole truncated thread; do
	as_perf "$file.data"
done
"$topaz" reencode two.data --symfs bundle >said 2>&1
says two.data "not told apart"
"$topaz" reencode missing.data --symfs bundle --symfs / >said 2>&1
says missing.data "missing: [vdso]"
says missing.data "perf record --kcore"
says missing.data "missing: //anon"
grep -q "is another version, with build id [0-9a-f]*: give" said ||
    echo "missing.data: in part skipped: python3 has no build id"
expect 2 "pipe mode" 1 reencode pipe.data
expect 2 "another byte order" 1 reencode swapped.data
expect 2 "version 1" 1 reencode old.data
# The kind of a CPU's core; of CPU 8 one file does not tell.
for core in core:alderlake-p atom:alderlake-e kinds:alderlake-p; do
	"$topaz" reencode "${core%:*}.data" --symfs bundle >said 2>&1
	says "${core%:*}.data" "cpu 8, part 1 of 1: "
	says "${core%:*}.data" "profile ${core#*:}, "
done
expect 2 "kinds of cores" 1 reencode kind.data
"$topaz" run insntrace --cpus 2 --profile alderlake-p,alderlake-e --set ctl=0xe60e -o hybrid >said
"$topaz" export hybrid --perf-data -o hybrid.data >said
"$topaz" reencode hybrid.data --symfs hybrid --bytes >said
[ "$(grep -c '^EQUAL$' said)" = 2 ] || { echo "hybrid.data: not EQUAL:"; cat said; bad=1; }
says hybrid.data "profile alderlake-p, "
says hybrid.data "profile alderlake-e, "
if perf --version >/dev/null 2>&1; then
	perf report --header-only -I -i hybrid.data >said 2>/dev/null
	says hybrid.data "cpu_core cpu list : 0"
	says hybrid.data "cpu_atom cpu list : 1"
fi
expect 2 "--cpu F/M/S" 1 reencode nocpu.data
expect 2 "no trace of Intel PT" 1 reencode cycles.data
expect 2 "--aux-sample" 1 reencode samples.data
for file in cut name size differ section; do
	"$topaz" reencode "$file.data" --symfs bundle >stdout 2>stderr
	[ $? = 3 ] || [ "$(wc -l <stderr)" = 1 ] && grep -q "at byte" stderr ||
	    { echo "$file.data: no message with its offset:"; cat stderr; bad=1; }
	sane stderr
done
exit $bad
