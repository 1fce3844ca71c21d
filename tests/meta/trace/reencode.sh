#!/bin/sh
# Goal: bundles of ours re-encode to identical bytes, whatever the profile, the
# packets, the ranges and the internal buffer. Method: each row is a run, whose
# streams the unit makes again.
# usage: reencode.sh TOPAZ
topaz=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

. "$here/expect.sh"

# made ARG...: a bundle
made() {
	rm -rf bundle
	expect 0 "1 passed" 0 run -o bundle "$@"
}

# again NAME ARG...: $streams streams of ARG... are EQUAL, and it says $says
again() {
	name=$1
	shift
	"$topaz" reencode --bytes "$@" >said
	[ "$(grep -c '^EQUAL$' said)" = "$streams" ] && grep -q "$says" said ||
	    { echo "$name:"; cat said; bad=1; }
}

# equal STREAMS TEXT ARG...: the bundle made with ARG... is made again, which says TEXT
equal() {
	streams=$1
	says=$2
	shift 2
	made "$@"
	again "$*" bundle
}

# other CPU TEXT ARG...: the trace of ARG..., without a word on who made it but CPU
other() {
	cpu=$1
	says=$2
	streams=1
	shift 2
	made "$@"
	specs=$(awk -F'"' '/"file": "images/ { file = $4 }
	    /"va":/ { print "bundle/" file "@" $4 }' bundle/manifest.json)
	# shellcheck disable=SC2086 # a list of words
	again "$cpu, $*" --pt bundle/cpu0.pt --cpu "$cpu" --image $specs $stop
}

kernel="--set range0a=0xffffffff80260000 --set range0b=0xffffffff8027ffff"

# A buffer that overflows: PSBs that wait for room, TIPs that do not wait for bits.
equal 1 "bytes late" --pt-buffer 256,1/4,4
equal 1 "no TIP waits" --profile goldmont-plus --pt-buffer 300,1/16,0,200 \
    --set ctl=0x500200c
equal 1 " 10 overflows" --cost 1 --profile alderlake-n --pt-buffer 1024,2/8,100,200 \
    --core-ratio 20 --set ctl=0x230240e
equal 1 overflows --profile tremont --pt-buffer 256,1/8,4,200 --core-ratio 20 \
    --workload fault --set ctl=0x1ae1c
# An MTC is lost, of whose CYC there was room, while nothing is traced.
equal 1 " 6 overflows" --cost 1 --profile denverton --pt-buffer 300,1/64,0,200 \
    --set ctl=0x1082e0a
# CR3 changes where nothing is traced, just before it is.
equal 1 EQUAL --profile alderlake-n --workload sort $kernel \
    --set ctl=0x100002814
# Tracing stops where a range says so, while the buffer overflows, too.
equal 1 EQUAL --workload edge --set range0a=0xb401000 \
    --set range0b=0xb401fff --set ctl=0x20000280c
equal 1 overflows --profile skylake-sp --pt-buffer 300,1/64,100,0 \
    --core-ratio 12 --workload sort --set range0a=0xb400000 \
    --set range0b=0xb400fff --set ctl=0x200002e04
# A branch to the next instruction, behind more than six outcomes.
equal 1 "long TNT" --profile denverton --workload edge --set ctl=0x200c
# An idle CPU: what a wake forces out.
equal 2 EQUAL --profile icelake --cpus 2 --workload branch --set ctl=0x1ae0c
equal 2 EQUAL --profile goldmont-plus --cpus 2 --set ctl=0x26e1e
equal 2 EQUAL --profile tigerlake --cpus 2 --workload migrate \
    --set ctl=0x61a60a
# A wake before the first TIP.PGE, which begins no enable.
equal 2 EQUAL --profile sapphire-rapids --cpus 2 --set range0a=0xb401000 \
    --set range0b=0xb401fff --set ctl=0x10001ae0c
# A buffer that went round: the first PSB+ is in the cycle of a CYC before it.
equal 1 "before the first PSB" --profile sapphire-rapids --workload fault \
    --buffer 16K --set ctl=0xee0e
# Two models of one signature, and one that says of TNTs what is not so.
other 6/151/2 "47 outcomes, not 6" --profile alderlake-e --workload sort
other 6/151/2 EQUAL --profile alderlake-p --workload sort
other 6/95/1 "6 outcomes, not 47" --profile skylake --workload sort
other 6/94/3 EQUAL --profile skylake --workload sort
# Where tracing stops is given.
stop="--stop 0xb401000-0xb401fff"
other 6/94/3 EQUAL --workload edge --set range0a=0xb401000 \
    --set range0b=0xb401fff --set ctl=0x20000280c
stop=
other 6/94/3 "TIPs wait" --profile denverton --workload branch --set ctl=0x200c
exit $bad
