#!/bin/sh
# Goal: the unit tests reach the whole PT unit. Method: a build with gcov of its own,
# the unit tests of emu/pt in it, then the lines and branches of emu/pt/*.c.
# Branches that only an assertion of ours adds do not count: no test can take them.
# usage: tests/meta/source/coverage.sh BUILD_DIR [-v]   (needs meson, gcc and gcov)
# -v lists the lines that no test reaches. 95 % of lines, 90 % of branches, or 1; 77,
# skipped, where a tool is not there.
set -eu
for tool in meson gcc gcov; do
	command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
build=$(realpath -m "$1")
verbose=${2:-}
root=$(cd "$(dirname "$0")/../../.." && pwd)
[ -e "$build/build.ninja" ] ||
	CC=gcc meson setup -Db_coverage=true -Dbuildtype=debug \
	    -Dwerror=false "$build" "$root" >/dev/null
tests=$(cd "$build" && meson test --list 2>/dev/null |
	sed -n 's,^topaz:unit / \(pt_.*\|vectors\)$,\1,p')
find "$build" -name '*.gcda' -delete
# shellcheck disable=SC2086 # a list of names
meson test -C "$build" -t 10 $tests >"$build/coverage.log" 2>&1 || {
	cat "$build/coverage.log"
	exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Sources are named from the build's folder.
cd "$build"
for file in emu/pt/libtopaz_pt.a.p/*.gcda; do
	gcov -t -b -c -o "$(dirname "$file")" "$file" \
	    >"$work/$(basename "$file").gcov"
done
awk -v verbose="$verbose" '
	FNR == 1 { name = ""; own = 0 }
	/^ *-: *0:Source:/ {
		name = $0
		sub(/.*Source:/, "", name)
		own = name ~ /emu\/pt\/[a-z_\/]*\.c$/
		sub(/.*emu\/pt\//, "emu/pt/", name)
	}
	!own { next }
	/^ *[-0-9#=*]+: *[1-9][0-9]*:/ {
		split($0, part, ":")
		gsub(/ /, "", part[1])
		code = substr($0, index($0, part[2]) + length(part[2]) + 1)
		assertion = code ~ /TZ_ASSERT\(/ || (assertion && open)
		if (code ~ /TZ_ASSERT\(/) open = 1
		if (code ~ /;[ \t]*$/) open_next = 0
		else open_next = open
		if (part[1] != "-") {
			lines++
			if (part[1] ~ /^[#=]/) {
				missed++
				if (verbose != "")
					printf "%s:%d:%s\n", name, part[2], code
			}
		}
		skip = assertion
		open = open_next
	}
	/^branch/ && !skip && !/\(throw\)/ {
		branches++
		if (/never executed/ || /taken 0 /|| /taken 0$/) {
			cold++
			if (verbose != "")
				printf "%s:%d: branch not taken\n", name, part[2]
		}
	}
	END {
		if (lines == 0) {
			print "nothing was counted"
			exit 1
		}
		by_lines = 100 * (lines - missed) / lines
		by_branches = 100 * (branches - cold) / branches
		printf "emu/pt: %.1f %% of %d lines, %.1f %% of %d branches\n",
		    by_lines, lines, by_branches, branches
		exit by_lines < 95 || by_branches < 90
	}' "$work"/*.gcov
