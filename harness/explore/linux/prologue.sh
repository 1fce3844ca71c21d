#!/bin/sh
# Sends the kernel's symbols, waits until the host has them, and runs the scenario.
cat /proc/kallsyms
echo "topaz: end of symbols"
sleep 1
exec sh /topaz/scenario >/tmp/scenario.txt 2>&1
