#!/usr/bin/env python3
"""Converts test files of libipt (.ptt: assembly with packets in its comments).

usage: ptt.py FOLDER FILE.ptt...

Writes into FOLDER, for each NAME.ptt: NAME.bin, its code, assembled by yasm; NAME.pt, its
packets as SDM vol. 3, 33.4.2 "Packet Definitions" draws them; NAME.options, what topaz
reencode needs to know of the trace; and vectors/NAME.ptv, the packets as a stream for the
unit's encoder, if no byte of them is raw.  What is not understood ends the program with
FILE:LINE: cause.
"""
import os
import re
import subprocess
import sys

IPS = {"tip": ("TIP", 0x0D), "tip.pge": ("PGE", 0x11), "tip.pgd": ("PGD", 0x01),
       "fup": ("FUP", 0x1D)}
IP_BYTES = {0: 0, 1: 2, 2: 4, 3: 6, 4: 6, 6: 8}
WAKES = {"int": 1, "st": 4, "hw": 8}
# Packets without arguments: name in a vector, bytes.
FIXED = {"psb": ("PSB", "0282" * 8), "psbend": ("PSBEND", "0223"), "ovf": ("OVF", "02f3"),
         "stop": ("TRACESTOP", "0283"), "pad": ("PAD", "00")}
SHOWN = {"TRACESTOP": "STOP", "PAD": None}
# A file says which processors it is for; one that says nothing has what its packets need.
PLAIN_CPU, MOST_CPU = "6/94", "6/190"
MOST_PACKETS = re.compile(r"(evd|cfe|ptw|mwait|pwre|pwrx|exstop|tnt64)\(|bit, if")


class Refused(Exception):
    pass


class Packets:
    """The packets of a file: their bytes, and as lines of a vector."""

    def __init__(self):
        self.bytes = b""
        self.lines = []
        self.words = []
        self.raw = False
        self.left = None  # where the last TIP.PGD leads, if it is a label
        self.stops = []   # such places before a TraceStop

    def put(self, data, line, word):
        self.bytes += data
        self.lines.append(line)
        if word is not None:
            self.words.append(word)

    def fixed(self, name, opcode, payload, count, word):
        data = bytes.fromhex(opcode) + payload.to_bytes(count, "little")
        self.put(data, "packet %s %x" % (name, payload), word)


def number(text):
    return int(text.strip(), 0)


def c_state(text):
    """c2.1: the fields hold one less."""
    found = re.fullmatch(r"c(\d+)(?:\.(\d+))?", text.strip())
    if not found:
        raise Refused("no C-state: %s" % text)
    return (int(found[1]) - 1) & 0xF, (int(found[2] or 0) - 1) & 0xF


def arguments(text):
    return [part.strip() for part in re.split("[:,]", text) if part.strip()]


def put_ip(packets, kind, text, labels):
    name, opcode = IPS[kind]
    form, target = arguments(text)
    form = number(form)
    if form not in IP_BYTES:
        raise Refused("no IPBytes: %d" % form)
    count = IP_BYTES[form]
    packets.left = None
    if target.startswith("%"):
        if target[1:] not in labels:
            raise Refused("no label: %s" % target[1:])
        ip = labels[target[1:]]
        if kind == "tip.pgd":
            packets.left = ip
    else:
        ip = number(target)
    value = ip & ((1 << 8 * count) - 1)
    # The 48 bits of IPBytes 011 are sign-extended.
    full = value | 0xFFFF << 48 if form == 3 and value >> 47 else value
    shown = "%s()" % name if form == 0 else "%s(%d:%x)" % (name, form, full)
    packets.put(bytes([form << 5 | opcode]) + value.to_bytes(count, "little"),
                "ip %s %d %x" % (name, form, full), shown)


def put_tnt(packets, outcomes, long):
    outcomes = re.sub("[ .]", "", outcomes).upper()
    if not re.fullmatch("[TN]{1,%d}" % (47 if long else 6), outcomes):
        raise Refused("outcomes: %s" % outcomes)
    bits = 1
    for outcome in outcomes:
        bits = bits << 1 | (outcome == "T")
    if long:
        data = b"\x02\xa3" + bits.to_bytes(6, "little")
        line = "bytes " + data.hex(" ").upper()
    else:
        data = bytes([bits << 1])
        line = "tnt " + outcomes
    packets.put(data, line, "TNT(%s)" % outcomes)


def put_cyc(packets, value):
    data = bytearray([(value & 0x1F) << 3 | (value > 0x1F) << 2 | 3])
    rest = value >> 5
    while rest:
        data.append((rest & 0x7F) << 1 | (rest > 0x7F))
        rest >>= 7
    packets.put(bytes(data), "cyc %d" % value, "CYC(%d)" % value)


def put_mode(packets, kind, args):
    if kind == "mode.exec":
        mode = {"64bit": 1, "32bit": 2, "16bit": 0}[args[0]]
        interrupts = len(args) > 1 and args[1] == "if"
        packets.fixed("MODE", "99", mode | interrupts << 2, 1,
                      "EXEC(%s%s)" % (args[0][:2], ",IF" if interrupts else ""))
    else:
        state = {"begin": 1, "commit": 0, "abort": 2}[args[0]]
        packets.fixed("MODE", "99", 0x20 | state, 1, "TSX(%d%d)" % (state & 1, state >> 1))


def put_event(packets, kind, args, ip):
    """Power and event packets and PTW; IP: the argument `ip` is there."""
    dot = ".IP" if ip else ""
    if kind == "exstop":
        packets.fixed("EXSTOP_IP" if ip else "EXSTOP", "02e2" if ip else "0262", 0, 0, "EXSTOP" + dot)
    elif kind == "mwait":
        hints, ext = number(args[0]), number(args[1])
        packets.fixed("MWAIT", "02c2", hints | ext << 32, 8, "MWAIT(%x,%x)" % (hints, ext))
    elif kind == "pwre":
        state, sub = c_state(args[0])
        hw = "hw" in args[1:]
        packets.fixed("PWRE", "0222", hw << 7 | sub << 8 | state << 12, 2,
                      "PWRE%s(%d.%d)" % (".HW" if hw else "", state, sub))
    elif kind == "pwrx":
        wake, last, deepest = WAKES[args[0]], c_state(args[1])[0], c_state(args[2])[0]
        packets.fixed("PWRX", "02a2", wake << 8 | last << 4 | deepest, 5, "PWRX(%d,%d,%d%d%d)" %
                      (last, deepest, wake & 1, wake >> 2 & 1, wake >> 3))
    elif kind == "ptw":
        count = 8 if number(args[0]) else 4
        opcode = "02" + {(4, 0): "12", (4, 1): "92", (8, 0): "32", (8, 1): "b2"}[count, ip]
        packets.fixed("PTW%d%s" % (count, "_IP" if ip else ""), opcode, number(args[1]), count,
                      "PTW%s(%d:%x)" % (dot, count, number(args[1])))
    elif kind == "cfe":
        event, vector = number(args[0]), number(args[1]) if len(args) > 1 else 0
        packets.fixed("CFE", "0213", event | ip << 7 | vector << 8, 2,
                      "CFE%s(%d,%d)" % (dot, event, vector))
    else:
        event, value = number(args[0]), number(args[1])
        data = bytes([0x02, 0x53, event]) + value.to_bytes(8, "little")
        packets.put(data, "bytes " + data.hex(" ").upper(), "EVD(%d:%x)" % (event, value))
        packets.raw |= event > 2  # of a reserved type


def put_time(packets, kind, args):
    values = [number(arg) for arg in args if arg != "nr"]
    value = values[0]
    if kind == "tsc":
        packets.fixed("TSC", "19", value, 7, "TSC(%d)" % value)
    elif kind == "mtc":
        packets.fixed("MTC", "59", value, 1, "MTC(%d)" % value)
    elif kind == "cbr":
        packets.fixed("CBR", "0203", value, 2, "CBR(%d)" % value)
    elif kind == "tma":
        packets.fixed("TMA", "0273", value | values[1] << 24, 5, "TMA(%d,%d)" % (value, values[1]))
    elif kind == "vmcs":
        packets.fixed("VMCS", "02c8", value >> 12, 5, "VMCS(%x)" % (value >> 12 << 12))
    elif kind == "mnt":
        packets.fixed("MNT", "02c388", value, 8, "MNT(%x)" % value)
    elif kind == "pip":
        packets.fixed("PIP", "0243", value >> 5 << 1 | ("nr" in args), 6, "PIP(%x%s)" %
                      (value >> 5 << 5, ".NR" if "nr" in args else ""))
    else:
        raise Refused("no packet: %s" % kind)


def put(packets, kind, text, labels):
    args = arguments(text)
    ip = "ip" in args
    args = [arg for arg in args if arg != "ip"]
    if kind in FIXED:
        name, data = FIXED[kind]
        if kind == "stop" and packets.left is not None:
            packets.stops.append(packets.left)
        packets.put(bytes.fromhex(data), "packet %s 0" % name, SHOWN.get(name, name))
    elif kind in IPS:
        put_ip(packets, kind, text, labels)
    elif kind in ("tnt", "tnt64"):
        put_tnt(packets, text, kind == "tnt64")
    elif kind == "cyc":
        put_cyc(packets, number(text))
    elif kind.startswith("raw-"):
        packets.bytes += number(text).to_bytes(int(kind[4:]) // 8, "little")
        packets.raw = True
    elif kind.startswith("mode."):
        put_mode(packets, kind, args)
    elif kind in ("exstop", "mwait", "pwre", "pwrx", "ptw", "cfe", "evd"):
        put_event(packets, kind, args, ip)
    else:
        put_time(packets, kind, args)


def assemble(path, stem):
    """Writes STEM.bin; the labels of the code, by yasm's map."""
    source = stem + ".asm"
    with open(source, "w") as file:
        file.write("[map symbols]\n")
        file.write(open(path).read())
    done = subprocess.run(["yasm", "-f", "bin", "-o", stem + ".bin", "--mapfile=" + stem + ".map",
                           source], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Refused("yasm: " + done.stderr.strip().splitlines()[0])
    labels = {}
    for line in open(stem + ".map"):
        found = re.fullmatch(r"[0-9A-F]+ +([0-9A-F]+) +([A-Za-z_][\w.]*)\s*", line)
        if found:
            labels[found[2]] = int(found[1], 16)
    os.remove(stem + ".map")
    os.remove(source)
    return labels


def options(text):
    """What the comments say of the processor and its ranges."""
    cpus = re.findall(r"^;\s+cpu (\d+/\d+(?:/\d+)?)\s*$", text, re.M)
    words = ["--cpu", cpus[-1] if cpus else MOST_CPU if MOST_PACKETS.search(text) else PLAIN_CPU]
    for n in range(4):
        value = {key: re.search(r"--filter:addr%d_%s (\w+)" % (n, key), text)
                 for key in ("cfg", "a", "b")}
        if all(value.values()):
            words += ["--stop" if number(value["cfg"][1]) == 2 else "--range",
                      "%x-%x" % (number(value["a"][1]), number(value["b"][1]))]
    origin = re.search(r"^\s*org\s+(\w+)", text, re.M)
    return words, number(origin[1]) if origin else 0


def write_vector(path, name, packets):
    with open(path, "w") as file:
        file.write("# %s of libipt.\nprofile skylake\nstream\n" % name)
        file.write("".join(line + "\n" for line in packets.lines))
        file.write("packets\n" + "".join(word + "\n" for word in packets.words))
        file.write("undecoded libipt's own tests decode it\nbytes\n")
        data = packets.bytes.hex(" ").upper().split()
        for at in range(0, len(data), 16):
            file.write(" ".join(data[at:at + 16]) + "\n")


def convert(path, folder):
    name = os.path.splitext(os.path.basename(path))[0]
    stem = os.path.join(folder, name)
    text = open(path).read()
    labels = assemble(path, stem)
    packets = Packets()
    for at, line in enumerate(text.splitlines(), 1):
        found = re.search(r";.*@pt\s+(?:\w+\s*:)?\s*([\w.-]+)\((.*)\)", line)
        if not found:
            continue
        if found[1] == ".exp":
            break
        try:
            put(packets, found[1], found[2], labels)
        except (Refused, ValueError, KeyError, IndexError, OverflowError) as cause:
            raise Refused("%d: %s(%s): %s" % (at, found[1], found[2], cause))
    with open(stem + ".pt", "wb") as file:
        file.write(packets.bytes)
    words, origin = options(text)
    for ip in packets.stops:
        words += ["--stop", "%x-%x" % (ip, ip)]
    with open(stem + ".options", "w") as file:
        file.write(" ".join(words + ["--image", "%s.bin@%x" % (stem, origin)]) + "\n")
    if not packets.raw:
        write_vector(os.path.join(folder, "vectors", name + ".ptv"), name, packets)


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: ptt.py FOLDER FILE.ptt...")
    os.makedirs(os.path.join(sys.argv[1], "vectors"), exist_ok=True)
    for path in sys.argv[2:]:
        try:
            convert(path, sys.argv[1])
        except (Refused, OSError) as cause:
            sys.exit("%s:%s" % (path, cause))


main()
