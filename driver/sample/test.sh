#!/bin/sh
# Explores the driver; fails on a finding that is not in known.jsonl.  For CI and for meson:
#     test('sample', find_program('test.sh'), timeout: 600)
# The same budget gives the same findings on every machine.
# usage: test.sh [TOPAZ [DIR]]: the program, and the folder for JUnit, SARIF and pages
here=$(dirname "$0")
exec "${1:-topaz}" ci sample --drivers "$here/.." --budget 20000 \
    --baseline "$here/known.jsonl" -o "${2:-topaz.findings}"
