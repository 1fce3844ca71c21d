"""Writes the files of perf_data.sh from the trace of CPU 0 of a bundle.

usage: make.py BUNDLE
"""
import ctypes
import json
import os
import sys

from perf_writer import PerfData, dummy_event, pt_event

BUNDLE = sys.argv[1]
TRACE = open(BUNDLE + "/cpu0.pt", "rb").read()
TRACE += bytes(-len(TRACE) % 8)
IMAGES = json.load(open(BUNDLE + "/manifest.json"))["images"]
CONFIG = 0xe60e & ~0xc | 1
KERNEL = 1 << 63
PID = 77


def pieces(data, count):
    step = (len(data) // count) & ~7
    return [data[i * step:(i + 1) * step if i < count - 1 else len(data)]
            for i in range(count)]


def maps(out, pid=PID):
    for image in IMAGES:
        va, size = int(str(image["va"]), 0), image["bytes"]
        name, offset = "/" + image["file"], image.get("offset", 0)
        if va >= KERNEL:
            out.mmap(-1, va - offset, size + offset, 0, name, kernel=True)
        else:
            out.mmap2(pid, va, (size + 4095) & ~4095, offset, name)


def begin(**more):
    size = more.pop("size", 128)
    out = PerfData([pt_event(CONFIG, size=size), dummy_event(size=size)],
                   **more)
    out.auxtrace_info()
    out.comm(PID, PID, "traced")
    return out


def chunks(out, order=None, **queue):
    parts = pieces(TRACE, 4)
    offsets = [sum(map(len, parts[:i])) for i in range(4)]
    for i in order or range(4):
        out.aux(offsets[i], len(parts[i]), cpu=queue.get("cpu", 0),
                tid=queue.get("tid", 0))
        out.auxtrace(parts[i], offsets[i], 100 + i, 0, **queue)


def simple(name, order=None, size=128, **queue):
    out = begin(size=size)
    maps(out)
    chunks(out, order, **(queue or {"cpu": 0}))
    out.write(name)


def psb_after(offset):
    return TRACE.index(b"\x02\x82" * 8, offset)


def stream(data):
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_compress.restype = ctypes.c_size_t
    zstd.ZSTD_compressBound.restype = ctypes.c_size_t
    room = zstd.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    buffer = ctypes.create_string_buffer(room)
    count = zstd.ZSTD_compress(buffer, ctypes.c_size_t(room), data,
                               ctypes.c_size_t(len(data)), 3)
    return buffer.raw[:count]


def compressed(name, second):
    out = begin()
    out.hidden = []
    maps(out)
    packed = stream(b"".join(out.hidden))
    out.hidden = None
    out.compressed([packed[:50], packed[50:51], packed[51:]], second)
    chunks(out, cpu=0)
    out.write(name)


simple("plain.data")
simple("shuffled.data", order=[2, 0, 3, 1])
simple("ver0.data", size=64)
simple("ver5.data", size=112)
simple("ver8.data", size=136)
simple("long.data", size=160)
simple("thread.data", tid=PID)
compressed("compressed.data", False)
compressed("compressed2.data", True)

out = begin()
out.features, out.finished = False, False
maps(out)
chunks(out, cpu=0)
out.records.append(b"\x0a\0\0\0\0\0\x40\0")  # the rest was not written
out.write("unfinished.data")

# A hole, and a place where the buffer was full, at a PSB in the middle.
middle = psb_after(len(TRACE) // 2)
middle = middle & ~7
out = begin()
maps(out)
out.auxtrace(TRACE[:middle], 0, 100, 0, cpu=0)
out.auxtrace(TRACE[middle:], middle + 64, 101, 0, cpu=0)
out.write("hole.data")
out = begin()
maps(out)
out.aux(0, middle, 1, cpu=0)
out.aux(middle, len(TRACE) - middle, 0, cpu=0)
out.auxtrace(TRACE, 0, 100, 0, cpu=0)
out.write("truncated.data")

# Files by build id alone.
out = begin()
for number, image in enumerate(IMAGES):
    va, size = int(str(image["va"]), 0), image["bytes"]
    offset, build_id = image.get("offset", 0), bytes([number + 1] * 20)
    folder = "%s/.debug/.build-id/%02x/%s" % (BUNDLE, build_id[0],
                                              build_id[1:].hex())
    os.makedirs(folder, exist_ok=True)
    os.link(BUNDLE + "/" + image["file"], folder + "/elf")
    if va >= KERNEL:
        out.mmap(-1, va - offset, size + offset, 0, "/lib/%d" % number,
                 kernel=True)
        out.build_ids.append((-1, build_id, "/lib/%d" % number))
    else:
        out.mmap2(PID, va, size, offset, "/gone/%d" % number,
                  build_id=build_id)
chunks(out, cpu=0)
out.write("by-id.data")

# Two processes with other code at the same addresses.
out = begin()
maps(out)
for image in IMAGES[:6]:
    if int(str(image["va"]), 0) < KERNEL:
        out.mmap2(PID + 1, int(str(image["va"]), 0), image["bytes"], 8,
                  "/other")
out.switch_wide(1, PID + 1, PID + 1, pid=PID, tid=PID, time=50)
chunks(out, cpu=0)
out.write("two.data")

out = begin()
out.mmap(-1, 0xffffffff81000000, 0x1000, 0xffffffff81000000,
         "[kernel.kallsyms]_text", kernel=True)
out.mmap2(PID, 0x7fff0000, 0x2000, 0, "[vdso]")
out.mmap2(PID, 0x7ffe0000, 0x2000, 0, "//anon")
program = sys.executable
out.mmap2(PID, 0x7ffd0000, 0x2000, 0, program, build_id=b"\x5a" * 20)
chunks(out, cpu=0)
out.write("missing.data")

# A hybrid part.
for name, cpus in ("core.data", "4-7,9"), ("atom.data", "4,5-12"):
    out = begin(cpuid="GenuineIntel,6,151,2")
    out.cores = [("cpu_core", "0-3"), ("cpu_atom", cpus)]
    maps(out)
    chunks(out, cpu=8)
    out.write(name)
out.cores = [("cpu_core", "0-3")]
out.write("kinds.data")
kinds = open("kinds.data", "rb").read()
at = kinds.rindex(b"cpu_core")

# Refused.
plain = open("plain.data", "rb").read()


def save(name, data):
    with open(name, "wb") as file:
        file.write(data)


save("pipe.data", b"PERFILE2" + (16).to_bytes(8, "little") + plain[104:])
save("swapped.data", plain[7::-1] + plain[8:])
save("old.data", b"PERFFILE" + plain[8:])
out = begin(cpuid="AuthenticAMD,25,1,1")
chunks(out, cpu=0)
out.write("nocpu.data")
out = PerfData([dummy_event()])
out.comm(1, 1, "x")
out.write("cycles.data")
out = PerfData([pt_event(sample=1 << 20 | 1 << 16)])
out.comm(1, 1, "x")
out.write("samples.data")

# Damaged.
save("kind.data", kinds[:at - 8] + b"\x02" + kinds[at - 7:])
save("cut.data", plain[:len(plain) // 2])
save("section.data", plain[:40] + b"\xff" * 8 + plain[48:])
out = begin()
out.records[-1] = out.records[-1].replace(b"traced\0\0", b"tracedxx")
out.write("name.data")
out = begin()
out.records.append(b"\x03\0\0\0\0\0\x04\0")
out.write("size.data")
out = begin()
out.auxtrace(TRACE[:4096], 0, 100, 0, cpu=0)
out.auxtrace(TRACE[64:4160], 0, 101, 0, cpu=0)
out.write("differ.data")
