#!/bin/sh
# Goal: topaz cost reads code as users have it, and refuses everything else by file, line
# and cause. Method: call it.
# usage: cost.sh TOPAZ ELF FUNCTION
topaz=$(realpath "$1")
elf=$(realpath "$2")
function=$3
here=$(realpath "$(dirname "$0")/../meta")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

. "$here/expect.sh"

printf '# a comment\n4801c8\n\n48 0f af c1\r\n' >code
expect 0 "line 2: 1.00 cycles, chain, 1 instruction" 0 cost code
expect 0 "line 4: 3.00 cycles, chain, 1 instruction" 0 cost code
expect 0 '"bottleneck": "chain"' 0 cost --json code
expect 0 "line 2: 0.25 cycles" 0 cost --mode run code
expect 0 '"profile": "icelake"' 0 cost --profile icelake --json code
"$topaz" cost - <code >stdin.out || { echo "cost -: fails"; bad=1; }
"$topaz" cost code | cmp - stdin.out || bad=1

printf 'hex,cycles,more\n4801c8,100,x\n480fafc1,200,\n' >pairs
expect 0 "2 blocks, 0 not judged: mean error 25.00 %, median 25.00 %" 0 \
	cost --csv --iterations 100 pairs
expect 0 "tau 1.0000" 0 cost --csv --iterations 100 pairs
expect 0 '"mean_error": 0.25' 0 cost --csv --iterations 100 --json pairs

# What is not known is named and not judged; nothing else is lost.
printf '4801c8\n62f17c4858c0\n06\n480fafc1\n' >unknown
expect 6 "line 2: not judged: vaddps" 0 cost unknown
expect 6 "line 3: not judged: no instruction at byte 0" 0 cost unknown
expect 6 "line 4: 3.00 cycles" 0 cost unknown
sed 's/$/,1/' unknown >unknown.csv
expect 6 "2 blocks, 2 not judged" 0 cost --csv unknown.csv
expect 6 '"unjudged": 2' 0 cost --csv --json unknown.csv

printf '4801c8\n48zz\n' >text
expect 2 "text:2: not a hexadecimal digit" 1 cost text
printf '4801c8\n480\n' >text
expect 2 "text:2: half a byte" 1 cost text
printf '4801c8\n' >text
expect 2 "text:1: no measurement" 1 cost --csv text
printf 'zz,1\n' >text
expect 2 "text:1: not a hexadecimal digit" 1 cost --csv text
printf '4801c8,fast\n' >text
expect 2 "text:1: the measurement is not a number" 1 cost --csv text
printf '4801c8,0\n' >text
expect 2 "text:1: the measurement is not above 0" 1 cost --csv text
printf '4801c8,nan\n' >text
expect 2 "text:1: the measurement is not above 0" 1 cost --csv text
printf '48\000\n' >text
expect 2 "text:1: a NUL byte" 1 cost text
{ head -c 8200 /dev/zero | tr '\0' 9; echo; } >text
expect 2 "text:1: more than 4096 bytes" 1 cost text
: >text
expect 2 "text: no line with code" 1 cost text
expect 2 "nothing: " 1 cost nothing
expect 2 "which file?" 0 cost
expect 2 "one input at a time" 0 cost code code
expect 2 "--mode fast: unrolled or run" 1 cost --mode fast code
expect 2 "--profile none: no such profile" 1 cost --profile none code
expect 2 "--iterations 0: 1 to 1000000" 1 cost --csv --iterations 0 pairs
expect 2 "--iterations needs --csv" 0 cost --iterations 3 code
expect 2 "--function needs an ELF file" 1 cost --function main code

expect 0 "$function+0x0: " 0 cost "$elf" --function "$function"
expect 0 '"mode": "run"' 0 cost "$elf" --function "$function" --json
expect 2 "no function nosuch" 1 cost "$elf" --function nosuch
expect 2 "--csv needs a text file" 1 cost --csv "$elf"
# Cut anywhere, an ELF file is figures or one line.
for bytes in 4 40 64 300 5000; do
	head -c $bytes "$elf" >cut
	"$topaz" cost cut >stdout 2>stderr
	code=$?
	sane stderr
	{ [ $code = 2 ] && [ "$(wc -l <stderr)" = 1 ]; } ||
	    { echo "cost: ELF of $bytes bytes: exit $code"; cat stderr; bad=1; }
done
exit $bad
