#!/bin/sh
# Goal: the page of topaz reencode has what the text says, and more of it; it works in a
# browser, on a telephone, too; and neither a page nor progress changes what is printed.
# Method: a trace of ours re-encoded with another IA32_RTIT_CTL, a damaged one, and an
# equal one; the data of the page are compared with --json and with the text. Without
# chromium the page is not opened.
# usage: reencode_page.sh TOPAZ
topaz=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

. "$here/expect.sh"

expect 0 "1 passed" 0 run insntrace --workload sort --set ctl=0x2e0a -o bundle
images=$(awk -F'"' '/"file": "images/ { file = $4 }
    /"va":/ { print "bundle/" file "@" $4 }' bundle/manifest.json)
cp bundle/cpu0.pt equal.pt
# shellcheck disable=SC2086 # a list of words
python3 - "$topaz" $images <<'EOF' || bad=1
import subprocess, sys
topaz, *images = sys.argv[1:]
data = open("equal.pt", "rb").read()
# A byte in the last third, such as outcomes, with which the packets need code that no address has.
for at in range(len(data) * 2 // 3, len(data)):
    if data[at] & 1 != 0 or data[at] <= 0x80:
        continue
    with open("damaged.pt", "wb") as file:
        file.write(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1:])
    command = [topaz, "reencode", "--pt", "damaged.pt", "--cpu", "6/94/3", "--image"] + images
    if b"WRONG at offset" in subprocess.run(command, capture_output=True).stdout:
        break
else:
    sys.exit("reencode_page: no byte makes the trace wrong")
EOF

# page NAME CODE ARG...: NAME.pt re-encoded, as text, as JSON and as a page.
page() {
	name=$1
	code=$2
	shift 2
	# shellcheck disable=SC2086 # a list of words
	set -- reencode --bytes --pt "$name.pt" --cpu 6/94/3 --image $images "$@"
	expect "$code" "$name.pt: " 0 "$@"
	mv stdout "$name.text"
	expect "$code" '"kind":"trace"' 0 "$@" --json
	mv stdout "$name.json"
	expect "$code" "$name.pt: " 0 "$@" --page "$name.html" --progress bar
	cmp stdout "$name.text" || { echo "$name: a page changes the text"; bad=1; }
}
page equal 0
page damaged 1
mv equal.pt differs.pt
page differs 1 --ctl 270b

python3 - <<'EOF' || { echo "reencode_page: the data"; bad=1; }
import json, re

def read(name):
    html = open(name + ".html").read()
    slot = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    data = json.loads(slot.group(1))
    assert data["command"].startswith("topaz reencode --bytes"), data["command"]
    assert len(data["traces"]) == 1
    return data["traces"][0], json.load(open(name + ".json")), open(name + ".text").read()

trace, line, text = read("equal")
assert trace == line and trace["verdict"] == "EQUAL" and trace["difference"] is None
for name, verdict in ("differs", "DIFFERS"), ("damaged", "WRONG"):
    trace, line, text = read(name)
    assert trace["verdict"] == verdict and verdict + " at offset" in text
    place, short = trace["difference"], line["difference"]
    # The short one is a part of it.
    assert place["offset"] == short["offset"]
    assert place["both"][-len(short["both"]):] == short["both"]
    assert place["instructions"][-len(short["instructions"]):] == short["instructions"]
    assert place["trace"][:len(short["trace"])] == short["trace"]
    assert len(place["both"]) > len(short["both"]) and len(place["trace"]) > len(short["trace"])
    assert len(place["instructions"]) > len(short["instructions"])
    # Each packet leads to instructions after those of the ones before; what a conditional
    # branch or a compressed RET needs is in a TNT.
    numbers, first = place["instructions_before"], place["first_instruction"]
    assert len(numbers) == len(place["both"]) and numbers == sorted(numbers)
    end = first + len(place["instructions"])
    assert numbers[-1] <= end
    for packet, begin, after in zip(place["both"], numbers, numbers[1:] + [end]):
        names = [insn["text"].split()[0] for insn in place["instructions"][max(0, begin - first):max(0, after - first)]]
        branches = sum(name in ("jz", "jnz", "jnb", "jb", "jbe", "jnbe", "js", "jns", "jl", "jle", "jnl", "jnle") for name in names)
        if begin >= first and packet["text"].startswith("tnt"):
            assert branches + names.count("ret") >= 1, packet
        elif begin >= first and packet["text"].startswith("cyc"):
            assert branches == 0, packet
EOF

expect 2 "is a directory" 1 reencode bundle --page .
expect 2 "absent" 1 reencode bundle --page absent/page.html
expect 2 "--progress line: auto, bar, lines or none" 1 reencode bundle --progress line
expect 0 "EQUAL" 0 reencode bundle --page page.html
grep -q '"verdict":"EQUAL"' page.html || { echo "reencode_page: a bundle"; bad=1; }

browser=$(command -v chromium || command -v chromium-browser) || exit $bad
for width in 1280 390; do
	timeout 90 "$browser" --headless --no-sandbox --disable-gpu --no-first-run \
	    --disable-background-networking --user-data-dir="$dir/profile" \
	    --window-size=$width,900 --virtual-time-budget=4000 --dump-dom "file://$dir/differs.html" >dom 2>log
	for text in '<span class="verdict DIFFERS">DIFFERS</span>' 'Rule: TNT: emu/pt/packet/tnt.c' '<tr class="insn">' \
	    'more instructions</button>' 'First difference at offset'; do
		grep -q -F -- "$text" dom ||
		    { echo "reencode_page: at $width the page does not say $text"; bad=1; }
	done
done
exit $bad
