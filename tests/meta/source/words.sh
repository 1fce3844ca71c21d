#!/bin/sh
# Goal: harness/guest/words.def has every word of the guest's command line, and no other.
# Method: the calls that read one, by who makes them. Words that init passes on to
# workloads and programs are not the user's.
# usage: words.sh SOURCE_ROOT
cd "$1" || exit 1
bad=0
rows=$(sed -n 's/^WORD("\([a-z0-9_]*\)", *"\([a-z0-9_]*\)".*/\1 \2/p' \
    harness/guest/words.def)
[ "$(echo "$rows" | wc -l)" -ge 40 ] || { echo "words: only $rows"; exit 1; }

# read_by READER FILE...: the literal keys that they ask for.
read_by() {
	reader=$1
	shift
	cat "$@" | tr -s '\n\t ' ' ' |
	    grep -oE '(boot_option|boot_text|arg_number|arg_text)\( ?([a-z]+, ?)?"[a-z0-9_]+"' |
	    sed "s/.*\"\([a-z0-9_]*\)\"/$reader \1/" | sort -u
}

found=$(
	read_by kernel harness/guest/*.c harness/guest/interrupt/*.c harness/guest/memory/*.c \
	    harness/guest/process/*.c harness/guest/task/*.c
	read_by freebsd harness/kpi/freebsd/*.c harness/kpi/freebsd/hwt/*.c
	read_by linux26 harness/kpi/linux26/*.c
	read_by tracer_bts harness/kpi/linux26/user/tracer_bts.c
	read_by freebsd8 harness/kpi/freebsd8/*.c harness/kpi/freebsd/swi.c
	read_by native harness/kpi/native/*.c
	read_by hwpmc harness/kpi/freebsd8/user/hwpmc.c
	read_by init harness/guest/user/init.c
	read_by tracer harness/kpi/freebsd/user/trace.c harness/kpi/freebsd/user/tracer.c
	read_by tracer_device harness/guest/user/tracer_device.c
	read_by insntrace driver/insntrace/user/*.c
)
internal="tracer target
tracer jobs
tracer_device jobs
tracer_bts jobs
tracer_bts target
insntrace jobs
insntrace target
hwpmc target
hwpmc jobs"
for both in $(echo "$found" | tr ' ' :); do
	row=$(echo "$both" | tr : ' ')
	echo "$rows" | grep -q -x "$row" && continue
	echo "$internal" | grep -q -x "$row" && continue
	# What init reads, its programs may read, too.
	echo "$rows" | grep -q -x "init ${row#* }" && continue
	echo "words: ${row% *} reads ${row#* }=, and words.def has no such row"
	bad=1
done
for both in $(echo "$rows" | tr ' ' :); do
	row=$(echo "$both" | tr : ' ')
	echo "$found" | grep -q -x "$row" && continue
	# insntrace puts these together.
	case $row in
	insntrace\ range[01][ab])
		grep -q '"range%u[ab]"' driver/insntrace/user/insntrace.c &&
		    continue
		;;
	esac
	echo "words: words.def has ${row#* }= of ${row% *}, which does not read it"
	bad=1
done
exit $bad
