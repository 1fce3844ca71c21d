#!/bin/sh
# Goal: an exploration of hwpmc(4) compares what is read of its counters with what was
# executed: counts that are lost or made up, and samples of another process or missing; and
# the driver stores to no other variable of the kernel than its manifest names.
# Method: one scenario each, without and with a mistake in a copy of the driver; their JSON
# lines.
# usage: hwpmc.sh TOPAZ HWPMC_MOD.C DRIVER-FOLDER
topaz=$(realpath "$1")
[ -r "$2" ] || { echo "hwpmc: no $2"; exit 77; }
source=$(realpath "$2")
driver=$(realpath "$3")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

# differs SOURCE SCENARIO: the object of the finding "decoded", or nothing, into "found".
differs() {
	rm -rf out
	"$topaz" explore "freebsd-hwpmc/$2" --no-sequences --budget 1 --source "$1" \
	    -o out >text 2>&1
	case $? in
	0 | 1) ;;
	*)
		echo "hwpmc: $2 ends otherwise"
		cat text
		bad=1
		;;
	esac
	sed -n 's/^{"cause":"[^"]*","check":"decoded".*"object":"\([^"]*\)".*/\1/p' \
	    out/findings.jsonl >found
}

# finds SCENARIO OBJECT EDIT: EDIT, of sed, makes the mistake.
finds() {
	sed "$3" "$source" >hwpmc_mod.c
	if cmp -s "$source" hwpmc_mod.c; then
		echo "hwpmc: $3 changes nothing"
		bad=1
		return
	fi
	differs hwpmc_mod.c "$1"
	[ "$(cat found)" = "$2" ] && return
	echo "hwpmc: $1 with $3: no difference in the $2:"
	cat found text
	bad=1
}

for scenario in pmc-child pmc-count-self pmc-sample; do
	differs "$source" "$scenario"
	[ -s found ] || continue
	echo "hwpmc: $scenario: a difference that is none:"
	cat text
	bad=1
done
value='value of a counter'
log='log of counters'
finds pmc-child "$value" 's/pm_savedvalue += tmp;/pm_savedvalue += tmp \/ 2;/'
finds pmc-count "$value" 's/oldvalue = pm->pm_gv.pm_savedvalue;/oldvalue = pm->pm_gv.pm_savedvalue + 1;/'
finds pmc-ended "$value" '/^pmc_process_exit(/,/^}/s/pm_savedvalue += tmp;/pm_savedvalue = tmp;/'
finds pmc-sample "$log" 's/ps_pid = td->td_proc->p_pid;/ps_pid = td->td_proc->p_pid + 1;/'
finds pmc-sample "$log" \
    's/pmclog_process_callchain(pm, ps);/{ static int n; if (n++ % 2) pmclog_process_callchain(pm, ps); }/'
# After its first sample the counter stands still.
finds pmc-sample "$log" '/^pmc_process_interrupt(/,/^}/s/error = 0;/error = 1;/'

sed 's/atomic_add_rel_int(&pmc_ss_count, 1);/& hz++;/' \
    "$source" >hwpmc_mod.c
differs hwpmc_mod.c pmc-sample-cpu
grep -q '"check":"foreign-store".*"function":"pmc_start"' out/findings.jsonl || {
	echo "hwpmc: a store to hz is not found:"
	cat text
	bad=1
}
sed 's/^stores_to: .*/stores_to: [pmc_hook, no_hook]/' "$driver/driver.yaml" >driver.yaml
mkdir -p other/freebsd-hwpmc
cp "$driver"/* other/freebsd-hwpmc/
mv driver.yaml other/freebsd-hwpmc/
"$topaz" explore freebsd-hwpmc/pmc-count --no-sequences --budget 1 --drivers other \
    --source "$source" >text 2>&1
[ $? -eq 2 ] && grep -q 'stores_to: no_hook: neither the kernel nor a module' text || {
	echo "hwpmc: a variable that nobody has:"
	cat text
	bad=1
}
exit "$bad"
