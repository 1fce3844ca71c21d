#!/bin/sh
# Goal: an exploration of Linux's Debug Store driver finds what driver/linux-ds/FINDINGS.md
# says, and what was repaired in a copy is found no more; a mutant of it is judged by what
# it does.  Method: short explorations, one for each row; their JSON lines.
# usage: linux_ds.sh TOPAZ DS.C
topaz=$(realpath "$1")
[ -r "$2" ] || { echo "linux_ds: no $2"; exit 77; }
source=$(realpath "$2")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

# explore SOURCE SUBJECT: the findings, as "check line" each, into the file "found".
explore() {
	rm -rf out
	"$topaz" explore "$2" --no-sequences --budget 1 --source "$1" -o out \
	    >text 2>&1
	case $? in
	0 | 1) ;;
	*)
		echo "linux_ds: $2 ends otherwise"
		cat text
		bad=1
		;;
	esac
	sed -n 's/^{"cause":"[^"]*","check":"\([a-z-]*\)".*"place":{[^}]*"line":\([0-9]*\).*/\1 \2/p' \
	    out/findings.jsonl >found
}

# finds SUBJECT CHECK LINE
finds() {
	explore "$source" "$1"
	grep -q -x "$2 $3" found && return
	echo "linux_ds: $1: no $2 in line $3:"
	cat found text
	bad=1
}

finds linux-ds/ds-record sleep 211
finds linux-ds/ds-thread store-freed 191
finds linux-ds@1,guard=dsopen+spawn+dsrequest+dswrite.4 panic 687
finds linux-ds@2=dsopen+spawn+dsrequest+dsaccess.4 invalid-accepted 325
finds linux-ds@1,guard=dsopen+cpurequest+cpuenable+work exit-code 270

# Row 1, repaired: the same lines, with memory that is had without sleeping.
sed '211s/GFP_KERNEL/GFP_ATOMIC/; 216s/GFP_KERNEL/GFP_ATOMIC/' "$source" >ds.c
explore ds.c linux-ds/ds-record
[ ! -s found ] || { echo "linux_ds: repaired, and yet:"; cat found; bad=1; }

# kills CHECK SCENARIO MUTANT: a mutant takes the driver's place among the modules; those
# that use the driver stay.
kills() {
	"$topaz" mutate "linux-ds/$2" --only "ds.c:$3" --budget 1 --no-sequences \
	    --source "$source" --json -o mutants >text 2>messages
	grep -q "^{\"check\":\"$1\",\"class\":\"killed\"" text ||
	    grep -q 'built without libclang' messages ||
	    { echo "linux_ds: $3:"; cat text messages; bad=1; }
	rm -rf mutants
}

kills page-fault ds-record ds_get:overwrite:1
kills left-behind ds-cpu ds_put_context:and-or:1
kills valid-refused ds-kinds put_tracer:negate-condition:1
exit $bad
