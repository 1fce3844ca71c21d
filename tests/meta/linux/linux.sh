# For scripts that record in a booted kernel, after ../expect.sh: they set $name and $bad_input.

kernel=$(ls "${XDG_CACHE_HOME:-$HOME/.cache}"/topaz/packages/linux-image-6.1.*-cloud-amd64_*.deb 2>/dev/null | head -n 1)
if [ -z "$kernel" ] || ! command -v busybox >/dev/null 2>&1 ||
    ! perf --version >/dev/null 2>&1; then
	echo "$name: no 6.1 cloud kernel in the cache, no busybox-static or no linux-perf"
	[ "$bad_input" = 0 ] && exit 77
	exit 1
fi

# broken BUNDLE WHAT OFFSET DELTA TEXT: the byte there of its perf.data,
# changed, is found, and TEXT said.
broken() {
	cp "$1"/perf.data changed
	old=$(od -An -tu1 -j "$3" -N 1 changed | tr -d ' ')
	printf "\\$(printf %o $(((old + $4) & 255)))" |
	    dd of=changed bs=1 seek="$3" conv=notrunc 2>/dev/null
	"$topaz" verify "$1" --perf-data changed >found 2>&1
	status=$?
	[ "$status" = 1 ] && grep -q "$5" found && grep -q '^MISMATCH$' found ||
	    { echo "$name: $2: exit code $status"; cat found; bad=1; }
}
