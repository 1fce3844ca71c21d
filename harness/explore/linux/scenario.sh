#!/bin/sh
# perf records a shell's user instructions with an AUX buffer of 16 KiB, which its trace
# fills more than once: PMIs, restarts, a full buffer, the stop.
exec perf record -q -N -B --no-bpf-event -e intel_pt//u -m,4 -o /tmp/perf.data \
    /topaz/busybox sh -c 'i=0; while [ $i -lt 300 ]; do i=$((i + 1)); done'
