# For scripts that call topaz and look at what it says: they set $topaz and $bad=0.

# expect CODE TEXT LINES ARG...: exit code, a part of what is said, how many lines
# are said on standard error (0: any number).
expect() {
	want=$1
	text=$2
	lines=$3
	shift 3
	"$topaz" "$@" >stdout 2>stderr
	code=$?
	[ $code = "$want" ] ||
	    { echo "topaz $*: exit $code, not $want"; cat stderr; bad=1; }
	cat stdout stderr | grep -q -F -- "$text" ||
	    { echo "topaz $*: does not say: $text"; cat stdout stderr; bad=1; }
	[ "$lines" = 0 ] || [ "$(wc -l <stderr)" = "$lines" ] ||
	    { echo "topaz $*: not $lines lines:"; cat stderr; bad=1; }
}
