# For scripts that call topaz and look at what it says: they set $topaz, $here (this
# folder) and $bad=0.

# Where topaz is built with sanitizers, nothing of its own may leak.
export LSAN_OPTIONS="suppressions=$here/../lsan.txt:print_suppressions=0"

# sane FILE: no sanitizer has anything to say in it. Its exit code may be one that is
# expected.
sane() {
	! grep -E 'Sanitizer|runtime error:' "$1" >/dev/null ||
	    { echo "topaz $last: a sanitizer complains:"; cat "$1"; bad=1; }
}

# expect CODE TEXT LINES ARG...: exit code, a part of what is said, how many lines
# are said on standard error (0: any number).
expect() {
	want=$1
	text=$2
	lines=$3
	shift 3
	last=$*
	"$topaz" "$@" >stdout 2>stderr
	code=$?
	sane stderr
	[ $code = "$want" ] ||
	    { echo "topaz $*: exit $code, not $want"; cat stderr; bad=1; }
	cat stdout stderr | grep -q -F -- "$text" ||
	    { echo "topaz $*: does not say: $text"; cat stdout stderr; bad=1; }
	[ "$lines" = 0 ] || [ "$(wc -l <stderr)" = "$lines" ] ||
	    { echo "topaz $*: not $lines lines:"; cat stderr; bad=1; }
}

# has FILE FIELD...: a line of FILE has all of these fields, written as in JSON.
has() {
	file=$1
	shift
	fields=$*
	cp "$file" lines_left
	for field; do
		grep -F -- "$field" lines_left >lines_have
		mv lines_have lines_left
	done
	[ -s lines_left ] || { echo "$file: no line with $fields"; cat "$file"; bad=1; }
}
