#!/bin/sh
# Goal: bad input is one clear line, the documented exit code, and nothing is
# overwritten; good input gives the promised last line. Method: call the commands.
# usage: cmd.sh TOPAZ
topaz=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export CCACHE_NODIRECT=1 # headers here hide others
cd "$dir" || exit 1
bad=0

. "$here/expect.sh"

expect 2 "usage: topaz" 0
expect 2 "nothing: no such command" 0 nothing
expect 0 "topaz " 0 --version
expect 0 "Exit codes" 0 --help
expect 0 "5 stopped before the end" 0 --help
for command in $("$topaz" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	expect 0 "Usage: topaz $command" 0 $command --help
	expect 2 "unrecognized option" 0 $command --no-such-option
done

echo keep >file
expect 2 "--buffer 0: not a positive multiple" 1 run --buffer 0
expect 2 "--buffer 5000: not a positive multiple" 1 run --buffer 5000
expect 2 "do not fit into half" 1 run --buffer 1000M
expect 2 "--buffer 4Q: not a number" 1 run --buffer 4Q
expect 2 "--cpus 9: 1 to 8" 1 run --cpus 9
expect 2 "--cpus 0: 1 to 8" 1 run --cpus 0
expect 2 "--core-ratio 0: 1 to 255" 1 run --core-ratio 0
expect 2 "--errata skl014: broadwell does not have it" 1 \
	run --profile broadwell --errata bdm70,skl014
expect 2 "--errata none: no such erratum" 1 run --errata none
expect 2 "--profile none: no such profile" 1 run --profile skylake,none
expect 2 "--profile skylake,: a name is missing" 1 run --profile skylake,
expect 2 "skylake*9: behind '*' is a count" 1 run --profile 'skylake*9'
expect 2 "those of skylake are 24000000 and 3696000000 Hz, those of tremont 38" 1 \
    run --profile skylake,tremont
expect 2 "alderlake-p,alderlake-e: 2 models, but --cpus 1" 1 \
    run --profile alderlake-p,alderlake-e
expect 2 "--core-ratio 256: 1 to 255" 1 run --core-ratio 256
expect 2 "--cost 2: 1 or model" 1 run --cost 2
expect 2 "--errata kost: no such erratum" 1 run --profile skylake+kost
expect 2 "--pt-buffer 512: BYTES,DRAIN,LATENCY" 1 run --pt-buffer 512
expect 2 "--pt-buffer 512,1,2,x: BYTES,DRAIN" 1 run --pt-buffer 512,1,2,x
expect 2 "--pt-buffer 512,1/,2: BYTES,DRAIN" 1 run --pt-buffer 512,1/,2
expect 2 "buffer_bytes (bytes) 8: 256 to 2048" 1 run --pt-buffer 8,1,0
expect 2 "drain_cycles (cycles) 0: 1 to 4096" 1 run --pt-buffer 512,1/0,2
expect 2 "are possible" 1 run --pt-buffer 512,64,4000
expect 2 "--rounds 0" 1 run --rounds 0
expect 2 "--mode both: cpu or thread" 1 run --mode both
expect 2 "--mode thread: not a mode of sample" 1 run sample --mode thread
expect 2 "--profile none: no such profile" 1 run --profile none
expect 2 "--workload none: no such workload" 1 run --workload mix,none
expect 2 "none: no such driver" 1 run none
expect 2 "--set 'x': not KEY=VALUE" 1 run --set x
expect 2 "--set 'nosuch=1': no word that the guest reads" 1 run --set nosuch=1
expect 2 "--set 'poll=1': no word" 1 run insntrace --set poll=1
expect 2 "--set 'full=x': the value is not a number" 1 run --set full=x
expect 2 "--limit 0: at least 1" 1 run --limit 0
expect 2 "--cc-seconds 0: 1 to 3600" 1 run --cc-seconds 0
expect 2 "--cc ./none: No such file" 1 run --cc ./none
expect 2 "--source FILE" 1 run freebsd-pt
expect 2 "/none/insntrace/driver.yaml" 1 run --drivers /none
expect 2 "absent.c: No such file" 1 run --source absent.c
expect 2 "file: exists and is no directory" 1 run -o file
mkdir full && echo keep >full/file
expect 2 "full: exists, is not empty" 1 run -o full
echo '#error wrong' >wrong.c
expect 2 "not a C or assembler source" 1 run --source /bin/sh -o new
expect 2 "wrong.c: does not compile" 0 run --source wrong.c -o new
[ ! -e new ] || { echo "a failed run left a bundle"; bad=1; }
{ cat "$here/../example/drivers/grab/grab.c"; echo 'char large[300 << 20];'; } \
    >large.c
expect 2 "its section .bss has 314572" 1 run --source large.c -o new
printf '#!/bin/sh\nexec gcc "$@"\n' >cc && chmod +x cc
expect 0 "1 passed" 0 run --cc ./cc -o new
rm -r new
echo 'void nowhere(void); int f(void) { nowhere(); return 0; }' >open.c
expect 2 "1 unresolved: nowhere (used in f)" 1 run --source open.c -o new
echo 'int f(void) { return RTIT_CTL_NOT_THERE(1); }' >macro.c
expect 2 "macro.c: does not compile" 0 run --source macro.c -o new
grep -q -F 'macro.c:1:22: error' stderr && grep -q RTIT_CTL_NOT_THERE stderr ||
    { echo "the compiler does not name the macro and its place"; bad=1; }
expect 2 "insntrace is no driver of FreeBSD" 1 run --freebsd-tree full
expect 2 "--freebsd-tree absent: No such" 1 \
    run freebsd-pt --source open.c --freebsd-tree absent
expect 2 "--freebsd-tree full: none of the files" 1 \
    run freebsd-pt --source open.c --freebsd-tree full
expect 2 "full/sys/amd64/pt/pt.c: No such file" 0 run freebsd-pt --freebsd-tree full
mkdir -p tree/sys/amd64/pt
echo '#error the tree is read' >tree/sys/amd64/pt/pt.h
echo '#include <amd64/pt/pt.h>' >tree/sys/amd64/pt/pt.c
expect 2 "topaz: from the tree: sys/amd64/pt/pt.h sys/amd64/pt/pt.c" 0 \
    run freebsd-pt --freebsd-tree tree -o new
[ "$(cat file full/file)" = "keep
keep" ] || { echo "a failed run overwrote something"; bad=1; }

expect 0 "1 passed, 0 failed, 0 not judged" 0 run -o bundle
tail -n 1 stdout | grep -q -x '1 passed, 0 failed, 0 not judged' ||
    { echo "the last line of run is not alone"; bad=1; }
expect 0 "MATCH" 0 verify bundle
expect 0 '"passed": true' 0 run -o bundle2 --json
diff -r bundle bundle2 >/dev/null ||
    { echo "two runs gave two bundles"; bad=1; }
expect 0 "psb" 0 decode bundle
expect 0 "psb" 0 decode bundle/cpu0.pt
expect 0 "trace.c:" 0 decode bundle --insns
expect 3 "no such stream" 1 decode bundle --stream cpu7
expect 2 "need a bundle" 1 decode bundle/cpu0.pt --insns
expect 2 "no PSB packet" 1 decode file
expect 2 "No such file" 1 decode absent
expect 2 "absent" 1 verify absent
expect 0 "EQUAL" 0 reencode bundle
expect 0 "EQUAL" 0 reencode bundle --strict
expect 0 '"verdict":"EQUAL"' 0 reencode bundle --json
expect 0 '"difference":null' 0 reencode bundle --json
expect 2 "absent" 1 reencode absent
expect 2 "which trace" 0 reencode
expect 2 "which memory" 0 reencode --pt bundle/cpu0.pt
expect 2 "which processor" 0 reencode --pt bundle/cpu0.pt --image x@0
for cpu in 6 6/ 6/94/ 6/94/3/1 6/94/99 6/999/3 a/b/c -6/94/3; do
	expect 2 "--cpu $cpu: " 1 reencode --cpu=$cpu
done
expect 2 "--range 5: not two" 1 reencode --range 5
expect 2 "--range 9-5: it ends before" 1 reencode --range 9-5
expect 2 "--stop 9-5: it ends before" 1 reencode --stop 9-5
expect 2 "--ctl zz: not a hexa" 1 reencode --ctl zz
expect 2 "--profile none: no such profile" 1 reencode --profile none
again() {
	code=$1
	text=$2
	shift 2
	expect "$code" "$text" 1 reencode --pt bundle/cpu0.pt --cpu 6/94/3 "$@"
}
head -c 8192 /dev/zero >pages
head -c 16 /dev/zero >list
head -c 12 /dev/zero >odd
head -c 8193 /dev/zero >long
again 2 "absent: No such file" --image absent@0
again 2 "absent: No such file" --image pages@absent
again 2 "pages: not an ELF file, and no @ADDR" --image pages
again 2 "odd: 12 bytes: not a list" --image pages@odd
again 2 "long: 8193 bytes: not pages" --image long@list
head -c 24 /dev/zero >list
again 2 "list: 3 addresses, but pages has 2 pages" --image pages@list
again 2 "beyond the last address" --image pages@fffffffffffff000
printf '\177ELF' >elf
again 2 "elf: not a 64-bit" --image elf
printf '\050\265\057\375xx' >packed
again 2 "packed: zstd: " --image packed@0
# Haswell has no Intel PT; the stepping may be left out.
expect 2 "no CPU model is known for a processor of signature 0x306c0" 0 reencode --pt file \
    --cpu 6/60 --image pages@0
expect 2 "file: no PSB packet in its 5 bytes" 1 reencode --pt file --cpu 6/94/3 \
    --image pages@0
expect 3 "no instruction could be decoded" 0 reencode --pt bundle/cpu0.pt \
    --cpu 6/94/3 --image pages@0 --range 1-2
# A jump to itself, in which tracing begins.
printf '\353\376' >jump
{
	for _ in 1 2 3 4 5 6 7 8; do printf '\002\202'; done
	printf '\231\001\175\000\020\100\000\000\000\002\043\252'
} >ring
expect 1 "a ring of jumps that nothing ends" 0 reencode --pt ring \
    --cpu 6/94/3 --image jump@401000
expect 1 '"text":"a ring of jumps that nothing ends"' 0 reencode --pt ring \
    --cpu 6/94/3 --image jump@401000 --json
# A packet that differs: what stands around it, as text and as JSON.
differs='--pt planted --cpu 6/94/3 --strict --ctl 200c --image jumps@401000'
# JMP RAX; INC EAX; JMP RAX. The second IP has 6 bytes where 2 would do.
printf '\377\340\377\300\377\340' >jumps
{
	for _ in 1 2 3 4 5 6 7 8; do printf '\002\202'; done
	printf '\231\040\231\001\175\000\020\100\000\000\000'
	printf '\002\103\000\000\000\000\000\000\002\003\045\000\002\043'
	printf '\155\002\020\100\000\000\000\155\000\020\100\000\000\000\055\002\020'
} >planted
expect 1 "rule   TIP: emu/pt/flow.c, SDM vol. 3, 33.4.2.2 " 0 \
    reencode $differs
for line in 'DIFFERS at offset 48 ' 'insn .*401004  jmp rax' 'both .* psbend' \
    'trace .*30  tip  *3: 000000401000' 'unit .* tip  *1: 1000' 'packets: 3 TIP, '; do
	grep -q "$line" stdout || { echo "reencode: no line $line"; cat stdout; bad=1; }
done
[ "$(grep -c '^  insn' stdout)" = 3 ] || { echo "reencode: not 3 insns"; bad=1; }
expect 1 '"rule":{"citation":"33.4.2.2 ' 0 reencode $differs --json
# The packet that leads where no code is, behind a CYC; and one that is none, in a PSB+.
psb() { for _ in 1 2 3 4 5 6 7 8; do printf '\002\202'; done; }
start='\231\001\175\000\020\100\000\000\000\002\043'
{ cat jumps; printf '\006'; head -c 32 /dev/zero; } >nocode
{ psb; printf "$start\013\155\006\020\100\000\000\000\055\000\020\055\002\020"; } >ledthere
expect 1 "WRONG at offset 28 (0x1c), tip " 0 reencode --pt ledthere --cpu 6/94/3 \
    --ctl 200e --image nocode@401000
good="$start\155\002\020\100\000\000\000"
{ psb; printf "$good"; psb; printf '\231\001\175\002\020\100\000\000\000\002\007\002\043'
    psb; printf "$good"; } >badpsb
expect 1 "WRONG at offset 59 (0x3b), no packet" 0 reencode --pt badpsb --cpu 6/94/3 \
    --ctl 200e --image nocode@401000
head -c 1000 bundle2/cpu0.pt >short && cp short bundle2/cpu0.pt
expect 2 "cpu0.pt" 1 verify bundle2
expect 2 "cpu0.pt in it has changed" 1 run --no-exec-log -o bundle2
rm -r bundle2
expect 0 "1 passed" 0 run --no-truth -o bundle2
expect 2 "it holds no execution log" 1 verify bundle2

# CPUs that differ, and what shows on one of them.
expect 0 "alderlake-p,alderlake-e+apl11+cost  cpu mode  2 CPUs" 0 run --cpus 2 \
    --profile alderlake-p,alderlake-e --errata apl11 -o mixed
expect 0 "MATCH" 0 verify mixed
expect 0 "cpu1.pt: " 0 reencode mixed
grep -q "profile alderlake-e" stdout || { echo "not as CPU 1 is"; bad=1; }
expect 0 "psb" 0 decode mixed
expect 0 "perf.data: " 0 export mixed --perf-data
expect 0 '"profile": "skylake,cometlake"' 0 run --cost 1 --cpus 2 --json \
    --profile skylake,cometlake -o mixed
expect 2 "CPU 0 is a skylake, CPU 1 a cometlake: a perf.data has" 1 \
    export mixed --perf-data -o other

# Broadwell's tables have one entry: no circular buffer, but one that ends.
expect 1 "insntrace: AllocateBuffer: NOT_SUPPORTED" 0 \
    run insntrace --profile broadwell -o single
expect 3 "single: no trace in it" 1 verify single
expect 3 "single: no trace in it" 1 reencode single
expect 0 "1 passed" 0 run insntrace --profile broadwell --buffer 4K --set full=1 \
    -o single
expect 0 "4096 written = 4096 reported" 0 verify single

# What another decoder made of it.
"$topaz" decode bundle --insns >list
expect 0 "list: ptxed lines" 0 verify bundle --decoded list
sed -n 's/^\([0-9a-f]*\) .*/0x\1/p' list >plain
expect 0 "plain lines" 0 verify bundle --decoded plain --format plain --cpu 0
sed '101,200d' plain >shorter
expect 1 "MISMATCH at instruction 100, shorter:101" 0 verify bundle --decoded shorter
expect 1 "executed  " 0 verify bundle --decoded shorter
{ sed 1q list; sed '1d;102,201d;101a [overflow]' list; } >gap
expect 1 "MISMATCH at instruction 100, gap:102" 0 verify bundle --decoded gap
expect 1 "a gap where the trace has lost nothing" 0 verify bundle --decoded gap
head -n 100 plain >end
expect 1 "instruction 100, the end of end" 0 verify bundle --decoded end
{ cat plain; echo 0; } >more
expect 1 "nothing more" 0 verify bundle --decoded more
echo nonsense | cat - plain >wrong
expect 2 "wrong:1: a line of neither" 1 verify bundle --decoded wrong
expect 2 "wrong:1: no address" 1 verify bundle --decoded wrong --format perf
expect 2 "/dev/null: not a regular file" 1 verify bundle --decoded /dev/null
: >empty
expect 2 "empty: no instruction" 1 verify bundle --decoded empty
expect 2 "absent: No such file" 1 verify bundle --decoded absent
expect 2 "--cpu 3: the bundle has no trace" 1 verify bundle --decoded plain --cpu 3
echo '[003]            4005a0 f (x)' >other
expect 2 "other:1: CPU 3 has no trace" 1 verify bundle --decoded other
expect 2 "--format lisp: perf, ptxed or plain" 1 verify bundle --decoded plain --format lisp
expect 2 "are for --decoded" 0 verify bundle --cpu 0
expect 2 "do not go with --decoded" 0 verify bundle --decoded plain --json
expect 2 "the bundle has no perf.data that it could replace" 1 verify bundle --perf-data perf.data
expect 2 "perf.data: exists" 1 export bundle --perf-data
expect 0 "perf.data: " 0 export bundle --perf-data -o perf.data
expect 2 "in which form" 0 export bundle
expect 2 "nowhere/x: No such file" 1 export bundle --perf-data -o nowhere/x
expect 2 "absent" 1 export absent --perf-data

# A driver that panics, and one that asks for what the model lacks.
cat >bad.c <<'EOF'
#include <sys/systm.h>
#include <sys/kernel.h>
#include <sys/module.h>
#include <machine/cpufunc.h>
int bad_event(module_t, int, void *);
int bad_event(module_t module, int what, void *arg)
{
	KASSERT(what != MOD_LOAD, ("meant to fail"));
	wrmsr(0x1d9, 1);
	return 0;
}
static moduledata_t bad = { "bad", bad_event, 0 };
DECLARE_MODULE(bad, bad, SI_SUB_DRIVERS, SI_ORDER_FIRST);
EOF
expect 1 "meant to fail" 0 run freebsd-pt --source bad.c -o bundle3
grep -q '#.*bad_event+0x.* bad.c:8' stdout ||
    { echo "the backtrace does not name the driver"; cat stdout; bad=1; }
expect 6 "WRMSR 0x1d9" 0 run freebsd-pt --source bad.c -o bundle3 --no-invariants
grep -q 'not modelled on cpu0 at bad_event+0x' stdout ||
    { echo "what is not modelled has no place"; cat stdout; bad=1; }
expect 6 "limit of instructions" 0 run --limit 100000 -o bundle3
expect 0 "insntrace" 0 list
expect 0 '"workloads"' 0 list --json workloads
expect 0 "it-two-cpus" 0 list scenarios
expect 0 '"driver": "freebsd-pt"' 0 list --json scenarios
for list in deviations faults checks layouts errata operators words; do
	expect 0 "$list" 0 list $list
	expect 0 "\"$list\"" 0 list --json $list
done
expect 0 "preempt" 0 list acts
expect 3 "none: no such list" 1 list none
expect 2 "--names: not with --json" 0 list --names --json
expect 0 "insntrace/it-two-cpus" 0 list scenarios --names
expect 0 "skylake" 0 list profiles --names
grep -q ' ' stdout && { echo "list --names: more than names"; bad=1; }
# What is wrong hides nothing else.
mkdir -p mine/bad mine/good
echo 'name: [bad' >mine/bad/driver.yaml
printf 'name: good\nos: native\nowner: insntrace\n' >mine/good/driver.yaml
for words in drivers "drivers --names" "scenarios --names"; do
	expect 2 "mine/bad/driver.yaml:" 1 list $words --drivers mine
done
"$topaz" list drivers --names --drivers mine 2>/dev/null | grep -q -x good ||
    { echo "list --drivers: no good one"; bad=1; }
expect 2 "none: No such file" 1 list drivers --drivers none
exit $bad
