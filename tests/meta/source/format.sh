#!/bin/sh
# Goal: one format. Method: clang-format changes nothing. Skipped without it.
# usage: format.sh SOURCE_ROOT
cd "$1" || exit 1
command -v clang-format >/dev/null 2>&1 || exit 77
find emu harness traces driver tests -name '*.[ch]' | sort |
    xargs clang-format --dry-run -Werror 2>&1 | grep -E 'error|warning' |
    cut -d: -f1 | sort -u | {
	bad=0
	while read -r file; do
		echo "format: $file"
		bad=1
	done
	exit $bad
}
