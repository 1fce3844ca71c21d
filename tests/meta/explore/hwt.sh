#!/bin/sh
# Goal: drivers on FreeBSD's kernel interface run, verify and are explored where no FreeBSD
# source is at hand.  Method: the small backend of tests/example/drivers/hwtcpu, and the
# same with a mistake; insntrace as a backend, in both modes, with small buffers, explored.
# usage: hwt.sh TOPAZ SOURCE_ROOT
topaz=$(realpath "$1")

drivers=$(realpath "$2")/tests/example/drivers
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

complain() {
	echo "hwt: $*"
	bad=1
}

"$topaz" run hwtcpu --drivers "$drivers" --cpus 2 -o bundle >text ||
    { complain "it does not run"; cat text; }
"$topaz" verify bundle --json >verified || complain "its trace does not verify"
python3 - <<'EOF' || complain "the verdict"
import json
verdict = json.load(open("verified"))
assert verdict["verdict"] == "MATCH", verdict["verdict"]
assert len(verdict["streams"]) == 2
assert all(stream["decoded"] > 100000 for stream in verdict["streams"])
EOF

"$topaz" explore hwtcpu --drivers "$drivers" --no-sequences --no-pages --budget 4000 \
    --progress none --json -o good >text || { complain "findings"; cat text; }

# A handler that leaves GLOBAL_STATUS[55] set.
mkdir mine && cp -r "$drivers/hwtcpu" mine
sed '/wrmsr(MSR_IA_GLOBAL_STATUS_RESET/d' "$drivers/hwtcpu/hwtcpu.c" \
    >mine/hwtcpu/hwtcpu.c
cmp -s mine/hwtcpu/hwtcpu.c "$drivers/hwtcpu/hwtcpu.c" && complain "no such line"
"$topaz" explore hwtcpu/hwtcpu-trace --drivers mine --no-sequences --no-pages \
    --budget 300 --progress none --json -o found >text
[ $? -eq 1 ] || complain "the mistake is not found"
python3 - <<'EOF' || complain "what is found"
import json
lines = [json.loads(line) for line in open("text")]
found = [line for line in lines if line["kind"] == "finding"]
assert found and lines[-1]["findings"] == len(found)
assert all(line["place"]["function"] for line in found)
assert any(line["check"].startswith(("pmi-", "nmi-")) for line in found), found
EOF

# insntrace: a buffer that is large enough, and one that is written around: what is lost is said.
backend() {
	"$topaz" run insntrace-freebsd "$@" -o bundle >text ||
	    { complain "insntrace-freebsd $*: it does not run"; cat text; }
	"$topaz" verify bundle --json >verified ||
	    complain "insntrace-freebsd $*: its trace does not verify"
	python3 - "$*" <<'EOF' || complain "insntrace-freebsd $*: the verdict"
import json, sys
verdict = json.load(open("verified"))
assert verdict["verdict"] == "MATCH", verdict["verdict"]
decoded = [stream["decoded"] for stream in verdict["streams"]]
assert decoded and all(count > 40000 for count in decoded), decoded
EOF
}
backend --cpus 2
backend --cpus 2 --mode thread
# More bytes than verify keeps in memory.
backend --workload branch --rounds 550
backend --cpus 1 --set buf=8192 --set stop=1
# With the cost model, the reader of such a small buffer is overtaken: hwt does not wait for it.
backend --cost 1 --cpus 2 --mode thread --set buf=16384 --set stop=1 --profile alderlake-p
"$topaz" explore insntrace-freebsd --budget 2500 --no-pages --progress none -o none >text ||
    { complain "insntrace-freebsd: findings"; cat text; }
exit $bad
