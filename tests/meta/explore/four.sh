#!/bin/sh
# Goal: no PMI is lost where Intel PT, branch records, PEBS records and a counter share one
# LVT entry, and it is seen where one is; what all four have recorded is what was executed.
# Method: a driver with all four on, explored, and run and verified; and copies of it that
# forget the mask of the entry, leave a status bit, or look at the status while the sources
# still run.
# usage: four.sh TOPAZ DRIVERS
topaz=$(realpath "$1")
drivers=$(realpath "$2")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

# explore SUBJECT BUDGET KINDS: findings of the copy in ./drivers, as "check" each
explore() {
	rm -rf out
	"$topaz" explore "$1" --drivers drivers --no-sequences --budget "$2" \
	    --kinds "$3" -o out >text 2>&1
	code=$?
	sed -n 's/^{.*"check":"\([a-z-]*\)".*/\1/p' out/findings.jsonl >found
}

# copy SED-SCRIPT
copy() {
	rm -rf drivers
	mkdir -p drivers/four
	cp "$drivers/four/driver.yaml" drivers/four/
	sed "$1" "$drivers/four/four.c" >drivers/four/four.c
}

# finds SED-SCRIPT SUBJECT CHECK
finds() {
	copy "$1"
	cmp -s drivers/four/four.c "$drivers/four/four.c" && {
		echo "four: '$1' changes nothing"
		bad=1
	}
	explore "$2" 120 pmi,pmc,nmi
	grep -q -x "$3" found && return
	echo "four: '$1': no $3"
	cat text
	bad=1
}

copy ''
"$topaz" run four --drivers drivers --cpus 2 --workload branch -o run >text 2>&1 &&
    "$topaz" verify --json run >verdict || { cat text verdict; bad=1; }
python3 - <<'END' || bad=1
import json, sys
verdict = json.load(open("verdict"))
checks = verdict["counter_checks"]
records = verdict["branch_records"]
if (verdict["verdict"] != "MATCH" or checks["overflows"] < 5000 or
        checks["pebs_records"] < 4000 or len(records) != 2 or
        any(r["matched"] < 20000 or r["matched"] != r["read"] for r in records)):
    sys.exit("four: " + json.dumps(verdict))
END
explore four 100 pmi,pmc,cpu,nmi,preempt
[ $code -eq 0 ] || { echo "four: it does not pass:"; cat text; bad=1; }
finds '/served = serve(own);/{n;d}' four/four-cpu pmi-lost
finds 's/MSR_STATUS_RESET, status)/MSR_STATUS_RESET, status \& ~STATUS_DS)/' four/four-cpu pmi-lost
finds '/^	halt();$/{N;s/halt();\n	served = serve(own);/served = serve(own);\n	halt();/}' \
    four/four-cpu pmi-lost
exit $bad
