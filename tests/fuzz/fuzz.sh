#!/bin/sh
# Goal: an endless supply of inputs for a fuzz target. Method: clang's libFuzzer with
# the address and undefined behaviour sanitizers (Debian: clang, libclang-rt-14-dev).
# Findings and the corpus that grows are in OUT; the inputs of tests/fuzz/corpus seed it.
# usage: tests/fuzz/fuzz.sh events|msrs|parsers|perf_data SECONDS [OUT]
set -eu
target=$1
seconds=$2
out=${3:-out/fuzz}
root=$(dirname "$0")/../..
cd "$root"
mkdir -p "$out/$target"

libs="-lxxhash"
base="emu/base/deviation.c emu/base/base.c emu/base/event.c emu/base/exec_log.c"
sources="$base $(find emu/profile emu/pt -name '*.c' | sort)"
machine=$(find emu -name '*.c' | sort)
case $target in
events)
	sources="$sources traces/decode/mask_cfe.c"
	libs="$libs -lipt"
	;;
msrs)
	sources="$machine tests/fuzz/msrs/msrs_area_code.S"
	libs="$libs -lZydis -lZycore -lunicorn"
	;;
parsers)
	sources="$machine $(find traces -name '*.c' | sort) $(find harness/manifest harness/check -name "*.c" | sort)
	    harness/explore/runner/schedule.c harness/finding/finding.c
	    harness/report/baseline.c harness/report/common.c
	    harness/report/json.c harness/report/replay.c harness/cmd/reencode/reencode_text.c
	    harness/host/input.c harness/host/shell.c harness/host/terminal.c harness/host/folder/tree.c"
	libs="$libs -lipt -lzstd -ljansson -lcyaml -lyaml -lZydis -lZycore -lunicorn"
	;;
perf_data)
	sources="emu/base/base.c traces/bundle/zfile.c harness/host/input.c $(find traces/perf_data -name '*.c' | sort)"
	libs="-lzstd"
	;;
esac
# shellcheck disable=SC2086 # lists of words
clang -g -O2 -std=gnu17 -I. -fsanitize=fuzzer,address,undefined \
    -fno-sanitize-recover=all tests/fuzz/${target}/*.c tests/fuzz/fuzz.c \
    $sources $libs -o "$out/${target}_fuzz"
export LSAN_OPTIONS=suppressions=tests/lsan.txt
exec nice -n 19 "$out/${target}_fuzz" -max_total_time="$seconds" -max_len=4096 \
    -len_control=0 \
    -artifact_prefix="$out/$target-" -print_final_stats=1 \
    "$out/$target" "tests/fuzz/corpus/$target"
