#!/bin/sh
# Goal: the cost model agrees with processors. Method: the measured blocks of the BHive
# data, all of them: mean error at most 6.5 %, Kendall's tau at least 0.93.
# usage: measured.sh TOPAZ BLOCKS
[ -e "$2" ] || { echo "measured: $2 is absent"; exit 77; }
"$1" cost --csv --iterations 100 --json "$2" | python3 -c '
import json, sys
report = json.load(sys.stdin)
all = report["comparison"]
print("%d blocks, mean error %.2f %%, tau %.4f" % (
    all["blocks"], 100 * all["mean_error"], all["tau"]))
for name, some in report["by_bottleneck"].items():
    print("  %-10s %4d  %.2f %%" % (name, some["blocks"], 100 * some["mean_error"]))
sys.exit(report["unjudged"] != 0 or all["blocks"] != 600 or
         all["mean_error"] > 0.065 or all["tau"] < 0.93)'
