#!/bin/sh
# Goal: a capture that is nothing but bytes and pages is made again without any file of
# another project.  Method: a stream that a run wrote, its code as pages of 4096 bytes and
# a list of their addresses, as a hypervisor dumps them; then the same cut, and
# with one bit flipped.
# usage: capture.sh TOPAZ
topaz=$(realpath "$1")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

complain() {
	echo "capture: $*"
	bad=1
}

# again CODE FILE: the exit code; 0 and the last line EQUAL come together.
again() {
	"$topaz" reencode --pt "$2" --cpu 6/94/3 --image pages@addresses --bytes \
	    >said 2>stderr
	code=$?
	[ "$(tail -n 1 said)" = EQUAL ] && equal=0 || equal=1
	[ $code = "$1" ] && [ $equal = "$1" ] ||
	    { complain "$2: exit $code"; cat said stderr; }
}

"$topaz" run insntrace --rounds 1 -o bundle >text || { cat text; exit 1; }
python3 - <<'EOP' || exit 1
import json, struct
trace = open("bundle/cpu0.pt", "rb").read()
pages = {}
for image in json.load(open("bundle/manifest.json"))["images"]:
    code = open("bundle/" + image["file"], "rb").read()
    va = int(image["va"], 0)
    for at, byte in enumerate(code):
        page = (va + at) & ~4095
        pages.setdefault(page, bytearray(4096))[va + at - page] = byte
open("pages", "wb").write(b"".join(bytes(pages[va]) for va in sorted(pages)))
open("addresses", "wb").write(b"".join(struct.pack("<Q", va) for va in sorted(pages)))
open("whole", "wb").write(trace)
open("cut", "wb").write(trace[:len(trace) * 2 // 3])
at = trace.index(b"\x02\x82" * 8, len(trace) // 2) - 24
open("flipped", "wb").write(trace[:at] + bytes([trace[at] ^ 0x08]) + trace[at + 1:])
EOP
again 0 whole
grep -q "^covered: $(wc -c <whole) of $(wc -c <whole) bytes" said ||
    { complain "not all is covered"; cat said; }
again 0 cut
again 1 flipped
exit $bad
