#!/bin/sh
# Goal: the pages work in a browser: no script error, the token is copied or at least
# selected, nothing is wider than the window of a desk or of a telephone, zoom, filter
# and boundaries answer; verdict, cause and symptoms are shown.
# Method: a browser without a window opens made-up findings, the pages try themselves
# (#selftest) and write down how it went. Skipped without chromium.
# usage: page.sh SAMPLE
sample=$(realpath "$1")
browser=$(command -v chromium || command -v chromium-browser) || {
	echo "page: no chromium: skipped"
	exit 77
}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

width=1280
# open FILE: the page as it is after its scripts have run, into the file dom.
open() {
	rm -rf profile
	timeout 90 "$browser" --headless --no-sandbox --disable-gpu --disable-quic \
	    --no-first-run --disable-background-networking \
	    --disable-component-update --disable-sync --hide-scrollbars \
	    --user-data-dir="$dir/profile" --window-size=$width,900 \
	    --virtual-time-budget=8000 --dump-dom "file://$dir/$1#selftest" \
	    >dom 2>stderr
}

# says FILE TEXT...: what the self-test of that page has to say.
says() {
	page=$1
	shift
	open "$page"
	grep -o 'data-state="[a-z]*"' dom >result
	grep -o '<pre id="selftest">[^<]*' dom >>result
	for text in 'data-state="ok"' '"errors":0' '"overflow":0' "$@"; do
		grep -q -F -- "$text" result ||
		    { echo "$page: does not say $text"; cat result; bad=1; }
	done
}

"$sample" report || exit 1
for file in report/*.html; do
	# The data may name anything; the page itself loads nothing.
	sed 's,<script type="application/json".*</script>,,' "$file" |
	    grep -n -E 'https?://|src=|@import|url\(' &&
	    { echo "$file: loads something"; bad=1; }
done
drawn='"outside":0,"zoomed":true,"filtered":true'
says report/finding-01.html '"token":true' "$drawn" '"tick":true' '"log_rows":47'
says report/finding-02.html '"token":true' "$drawn" '"tick":true'
says report/finding-03.html '"token":true' "$drawn"
says report/finding-04.html '"token":true' "$drawn" '"tick":true' \
    '"log_rows":20000'
says report/finding-05.html '"token":true'
says report/index.html '"links":5'


# shows FILE TEXT...: the page has these texts among what its scripts have made.
shows() {
	page=$1
	shift
	open "$page"
	sed 's,<script.*</script>,,' dom >result
	for text; do
		grep -q -F -- "$text" result || { echo "$page: does not show $text"; bad=1; }
	done
}
shows report/index.html '<b class="bad">failed</b>' 'also: trace-left-on in ring_stop ring.c:290' \
    'called through ring_stop ring.c:291' '5 findings in ring'
grep -q 'depth 3, nothing' result && { echo "index.html: an empty part is shown"; bad=1; }
shows report/finding-01.html 'FAIL  ' '<dt>cause</dt>' '<dt>also</dt>' \
    "1@800=cpu0:9c41 --from 'it'\\''s here' --drivers my/drivers</code>"

# The width of a telephone.
width=390
for page in 01 02 03 04 05; do
	says report/finding-$page.html
done
says report/index.html '"links":5'
width=1280

# What this test looks at must be able to fail.
sed 's,^const data = ,missing(); const data = ,' report/finding-01.html >broken.html
open broken.html
grep -q 'data-state="error"' dom || { echo "an error stays unseen"; bad=1; }
sed 's,<main>,<main><p style="width: 3000px">wide</p>,' report/index.html >wide.html
open wide.html
grep -q '"overflow":0' dom && { echo "what is too wide stays unseen"; bad=1; }
exit $bad
