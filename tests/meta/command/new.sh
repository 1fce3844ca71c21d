#!/bin/sh
# Goal: `topaz new` makes a driver that works at once and nothing else, and what its
# manifest may add to the compiler's command line does what it says.  Method: make
# drivers under several names, explore, trace and test one of them, plant two bugs into
# it; then headers, macros and flags, with the check of its tokens.
# usage: new.sh TOPAZ SOURCE_ROOT
topaz=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
root=$(realpath "$2")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export CCACHE_NODIRECT=1 # headers here hide others
cd "$dir" || exit 1
bad=0
. "$here/expect.sh"

complain() {
	echo "new: $*"
	bad=1
}

# Bad input is one line, and leaves everything as it was.
mkdir -p old/x empty
echo mine >old/x/file
echo mine >file
for name in 1a a/b ../x . .. a.b "a b" "" "ä" "$(printf %032d 0 | tr 0 a)"; do
	expect 2 "a driver's name begins with a letter" 1 new -o empty -- "$name"
done
expect 2 "a driver's name begins with a letter" 1 new -- -x
expect 2 "no NAME" 0 new
expect 2 "one name at a time: b" 0 new a b
expect 2 "old/x: File exists" 1 new x -o old
expect 2 "./file: File exists" 1 new file
expect 2 "none/x: No such file" 1 new x -o none
expect 2 "file/x: Not a directory" 1 new x -o file
[ "$(ls -A empty)" = "" ] || complain "bad input made something"
[ "$(cat old/x/file file; ls old/x)" = "mine
mine
file" ] || complain "bad input changed something"

# A driver is a copy of the sample under its own name.
mkdir drivers
expect 0 "topaz explore x --drivers drivers" 0 new x -o drivers
[ -s stderr ] && complain "new says something on standard error"
grep -r -i sample drivers/x && complain "a copy says sample"
for file in $(ls "$root/driver/sample"); do
	to=drivers/x/$(echo "$file" | sed 's/^sample/x/')
	sed 's/\bsample\([_-]\|\b\)/x\1/g' "$root/driver/sample/$file" |
	    cmp - "$to" || complain "$to is not $file"
done
[ -x drivers/x/test.sh ] || complain "test.sh cannot be run"
for name in My_Drv-2 int device module; do
	expect 0 "next:" 0 new $name -o drivers
	echo 'cflags: [-Werror, -Wpedantic, -Wshadow, -Wconversion, -Wsign-conversion,
  -Wstrict-prototypes, -Wmissing-prototypes, -Wcast-qual, -Wundef]' \
	    >>drivers/$name/driver.yaml
	scenario=$(echo $name | tr 'A-Z_' 'a-z-')-load
	expect 0 "2 passed, 0 failed" 0 explore $name/$scenario --drivers drivers \
	    --budget 50 --no-pages --progress none
	[ -s stderr ] && { complain "$name: warnings"; cat stderr; }
	if command -v clang >/dev/null 2>&1; then
		expect 0 "2 passed, 0 failed" 0 explore $name/$scenario \
		    --drivers drivers --budget 50 --no-pages --progress none \
		    --cc clang
		[ -s stderr ] && { complain "$name, clang: warnings"; cat stderr; }
	fi
done

# It works: every schedule with one NMI or switch, a trace that is right, its own test.
expect 0 '"kind":"summary"' 0 explore x --drivers drivers --no-sequences --kinds nmi,cpu \
    --budget 18000 --require-exhaustive --no-pages --progress none --json
[ "$(grep -o '"failing":0,"how":"exhaustive",[^}]*"what":"depth 1, ' stdout | wc -l)" = 5 ] ||
    { complain "not all scenarios pass"; cat stdout; }
[ -s stderr ] && { complain "x: warnings"; cat stderr; }
expect 0 "1 passed, 0 failed" 0 run x --drivers drivers --cpus 2 -o bundle
expect 0 "MATCH" 0 verify bundle
expect 0 '"findings": []' 0 verify bundle --json
[ "$(grep -c '"verdict": "MATCH"' stdout)" = 3 ] ||
    { complain "two CPUs and the bundle do not match"; cat stdout; }
expect 0 "1 passed, 0 failed" 0 run x --drivers drivers --no-kernel --buffer 8192 \
    --rounds 3 -o full
expect 0 "MATCH" 0 verify full --expect lost
# Its test, with a tenth of the budget: all of it is above.
sed -i 's/--budget 20000/--budget 2000/' drivers/x/test.sh
(cd / && "$dir/drivers/x/test.sh" "$topaz" "$dir/out" >"$dir/stdout" 2>"$dir/stderr")
[ $? = 0 ] || { complain "its test fails"; cat stdout stderr; }
[ -s out/junit.xml ] && [ -s out/findings.sarif ] || complain "no reports of its test"

# planted NAME CHECK SUBJECT: what sed makes of the driver, with the commands on
# standard input, is found.
planted() {
	mkdir -p "$1" && cp -R drivers/x "$1"
	sed -f - drivers/x/x.c >"$1/x/x.c"
	cmp -s drivers/x/x.c "$1/x/x.c" && complain "$1: no change"
	expect 1 "  $2  " 0 explore "x$3" --drivers "$1" --no-sequences \
	    --no-pages --progress none --budget 2000
}
# The one that its README describes: needs a PMI between two instructions.
planted late nmi-unclaimed /x-trace <<'EOF'
/__atomic_store_n(&buffer->active, false/d
s/^	wrmsr64(MSR_CTL, 0);/	__atomic_store_n(\&buffer->active, false, 0);\n&/
EOF
planted kept first-psb =open+setup+start+work+stop+start+work+stop <<'EOF'
s/wrmsr64(MSR_STATUS, 0);//
EOF
planted running trace-left-on /x-exit <<'EOF'
s/(void)x_stop();//
EOF

# A counter of an event that has no model is named, and the run goes on.
mkdir counted && cp -r drivers/x counted
sed 's/wrmsr64(MSR_STATUS, 0);/&\n	wrmsr64(0x186, 0x434f2e);/' drivers/x/x.c \
    >counted/x/x.c
cmp -s drivers/x/x.c counted/x/x.c && complain "counted: no change"
expect 0 "not counted: event 0x2e, unit mask 0x4f" 0 run x --drivers counted \
    -o counted/bundle

# Headers, macros and flags; a token's check covers them, and no path.
mkdir -p drivers/x/include common
cat >>drivers/x/driver.yaml <<'EOF'
include: [include, ../../common]
defines: [X_BRANCHEN=13]
cflags: [-O1]
EOF
echo '#include <common.h>' >drivers/x/include/own.h
echo '#define X_MAP_SHIFT 32' >common/common.h
sed -i 's/^#include "harness.kpi.native.trace.h"/&\n#include <own.h>/
s/UINT64_C(1) << 13/UINT64_C(1) << X_BRANCHEN/
s/>> TRACE_MAP_SHIFT/>> X_MAP_SHIFT/' drivers/x/x.c

# check: that of the tokens of the driver in the folder $1.
check() {
	"$topaz" replay tz1:x-load:skylake:0::0000 --drivers "$1/drivers" 2>&1 |
	    sed -n 's/.* has \([0-9a-f]\{4\}\);.*/\1/p'
}
before=$(check .)
[ -n "$before" ] || complain "no check"
expect 0 "1 passed" 0 run x --drivers drivers -o bundle
mkdir -p elsewhere/deep
cp -R drivers common elsewhere/deep
[ "$(check elsewhere/deep)" = "$before" ] || complain "the check depends on a path"
echo '#define X_MAP_SHIFT (31 + 1)' >elsewhere/deep/common/common.h
[ "$(check elsewhere/deep)" = "$before" ] ||
    complain "a header's spelling without effect changes the check"
echo 'static inline int more(void) { return 1; }' \
    >>elsewhere/deep/drivers/x/include/own.h
sed -i 's/(void)from;/(void)more();/' elsewhere/deep/drivers/x/x.c
[ "$(check elsewhere/deep)" = "$before" ] && complain "the check ignores the source"
cp -R common elsewhere && cp -R drivers elsewhere
echo '#define X_MAP_SHIFT 33' >elsewhere/common/common.h
after=$(check elsewhere)
[ -n "$after" ] && [ "$after" != "$before" ] ||
    complain "the check ignores a header of common/"
sed -i 's/X_BRANCHEN=13/X_BRANCHEN=12/' drivers/x/driver.yaml
expect 1 "TRACE_SETUP" 0 run x --drivers drivers -o wrong
sed -i 's/-O1/-fplugin=x/' drivers/x/driver.yaml
expect 2 "driver.yaml:" 1 run x --drivers drivers -o wrong
grep -q 'driver.yaml:[0-9]*:10: cflags: "-fplugin=x"' stderr ||
    { complain "no place of a flag"; cat stderr; }
# Each flag that is allowed is in the manual of manifests, or its table is.
for flag in $(sed -n 's/^CFLAG("\(-[OWwpsU][^"]*\)",.*/\1/p' "$root/harness/cflags.def"); do
	grep -q -F -- "\`$flag" "$root/harness/manifest/README.md" ||
	    complain "$flag is not in harness/manifest/README.md"
done
exit $bad
