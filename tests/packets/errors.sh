#!/bin/sh
# Goal: what is wrong in a vector, or is not as it says, is told with file, line and
# cause. Method: vectors of this folder with one line changed, played alone.
# usage: errors.sh VECTORS RUN CODE IMAGES
vectors=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0

# refuses NAME LINE TEXT MESSAGE PLAYER...: NAME with TEXT for LINE is refused so.
refuses() {
	name=$1
	line=$2
	text=$3
	message=$4
	shift 4
	rm -f "$dir"/*
	cp "$vectors/rows.txt" "$dir"
	at=$(grep -n -x -F "$line" "$vectors/$name.ptv" | sed 's/:.*//;q')
	awk -v at="$at" -v text="$text" 'NR == at { print text; next } { print }' \
	    "$vectors/$name.ptv" >"$dir/$name.ptv"
	if "$@" >"$dir/log"; then
		echo "$name: '$text' is not refused"
		bad=1
	elif ! grep -q -F "$dir/$name.ptv:$message" "$dir/log"; then
		echo "$name: '$text' says, and not '$message':"
		grep "^$dir" "$dir/log"
		bad=1
	fi
}

events() {
	name=$1
	shift
	refuses "$name" "$@" "$run" "$dir"
}

code() {
	name=$1
	shift
	refuses "$name" "$@" "$player" "$dir" "$images"
}

run=$2
player=$3
images=$4
events overflow-in-context "profile skylake" "profile 486" \
    "4: no such profile"
events overflow-in-context "row overflow" "row overflows" \
    "3: rows.txt has no such row: overflows"
events overflow-in-context "overflow 1" "overfull 1" \
    "9: unknown event: overfull"
events overflow-in-context "overflow 1" "overflow x" \
    "9: no such number here: x"
events overflow-in-context "start" "cycles buffer_bytes=256" \
    "8: unknown event: cycles"
events overflow-in-context "ip 401000" "cycles buffer=256" \
    "6: no figure of cycles.def: buffer=256"
events overflow-in-context "ip 401000" "cycles buffer_bytes=1" \
    "6: internal buffer: buffer_bytes (bytes) 1: 256 to 2048 are possible"
events overflow-in-context "ip 401000" "cpus 2" \
    "7: a unit is one CPU's"
events overflow-in-context "FUP(3:402000) FUP(3:402000) PGD()" "PGD()" \
    "12: packets differ, first word 9"
events erratum-skz84 "PSB TSX(00) PIP(12345000.NR) TSC(1000) error 5" \
    "PSB TSX(00) PIP(12345000.NR) TSC(1000)" \
    "17: libipt's packets differ, first word 5"
events erratum-skz84 "libipt" "undecoded" "17: the reason is missing"
code code-nmi-before-a-jcc "at 40001a nmi" "at 40001b nmi" \
    "19: CPU 0 does not come to 40001b"
code code-nmi-before-a-jcc "at 40001a nmi" "at 40001a cpu=1 nmi" \
    "19: no such CPU: cpu=1"
code code-nmi-before-a-jcc "at 40001a nmi" "at 40001a smi" \
    "19: no deviation of deviation.def: smi"
code code-nmi-before-a-jcc "at 40001a nmi" "at 40001a lost 1" \
    "19: too much: 1"
code code-nmi-before-a-jcc "at 40001a nmi" "start" \
    "19: no event of guest code: start"
code code-nmi-before-a-jcc "at 40001a nmi" "ends triple-fault" \
    "19: the run ended at"
code code-nmi-before-a-jcc "at 40001a nmi" "pmis 1" \
    "19: there were 0"
code code-nmi-before-a-jcc "profile skylake" "cpu cpl=3" \
    "7: \`ip\` and \`cpu\` are the code's business"
code code-two-cpus-switched "at 400e1a cpu=1 cpu 0" "at 400e1a cpu=1 cpu 1" \
    "36: that is not possible there"
code code-nmi-before-a-jcc \
    "400015 400017 401200 40001a 40001d 400022 400024" "400015" \
    "23: decode differ, first word 2"
exit $bad
