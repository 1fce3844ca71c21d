"""Writes perf.data files, for tests of the reader in traces/perf_data.

It shares nothing with the reader or with the writer in traces/external: the numbers are
those of Linux' perf.data-file-format.txt and perf_event.h, written here again.
"""
import struct

IP, TID, TIME, ADDR, ID, CPU, STREAM, IDENTIFIER = (
    1 << n for n in (0, 1, 2, 3, 6, 7, 9, 16))
KERNEL, USER = 1, 2
NONE = 0xffffffff
PMU = 8


def pad(data, align=8):
    return data + b"\0" * (-len(data) % align)


def text(value):
    data = pad(value.encode() + b"\0", 64)
    return struct.pack("<I", len(data)) + data


class Event:
    """An event: its attributes, of SIZE bytes, and its identifiers."""

    def __init__(self, kind, config, ids, sample=IP | TID | TIME | CPU | IDENTIFIER,
                 flags=1 << 18, size=128, name=""):
        self.kind, self.config, self.ids, self.name = kind, config, ids, name
        self.sample, self.flags, self.size = sample, flags, size

    def attr(self):
        fixed = struct.pack("<IIQQQQQ", self.kind, self.size, self.config, 1,
                            self.sample, 4, self.flags)
        return fixed + bytes(self.size - len(fixed))

    def trailer(self, pid, tid, time, cpu, id):
        out = b""
        if self.sample & TID:
            out += struct.pack("<II", pid & NONE, tid & NONE)
        if self.sample & TIME:
            out += struct.pack("<Q", time)
        if self.sample & ID:
            out += struct.pack("<Q", id)
        if self.sample & STREAM:
            out += struct.pack("<Q", 0x5555)
        if self.sample & CPU:
            out += struct.pack("<II", cpu & NONE, 0)
        if self.sample & IDENTIFIER:
            out += struct.pack("<Q", id)
        return out


def pt_event(config=0x300e601, ids=(5, 6), **more):
    return Event(PMU, config, ids, name="intel_pt//", **more)


def dummy_event(ids=(7, 8), **more):
    return Event(1, 9, ids, name="dummy:HG", **more)


class PerfData:
    def __init__(self, events, cpuid="GenuineIntel,6,94,3", release="6.1.0"):
        self.events = events
        self.records = []
        self.cpuid, self.release = cpuid, release
        self.build_ids = []
        self.cores = []      # of a hybrid part: name of the PMU, list of CPUs
        self.hidden = None   # records that one compressed stream will hold
        self.features = True
        self.finished = True
        self.attr_size = max(e.size for e in events)

    # Records.  WHO: a dictionary with pid, tid, time, cpu, id.
    def add(self, kind, body, misc=0, trailer=b"", after=b""):
        data = struct.pack("<IHH", kind, misc, 8 + len(body) + len(trailer))
        record = data + body + trailer + after
        (self.records if self.hidden is None else self.hidden).append(record)

    def kernel_add(self, kind, body, misc=0, event=None, pid=0, tid=0, time=0,
                   cpu=0):
        event = event or self.events[-1]
        self.add(kind, body, misc, event.trailer(
            pid, tid, time, cpu, event.ids[0]))

    def mmap(self, pid, va, size, offset, name, kernel=False, **who):
        body = struct.pack("<IIQQQ", pid & NONE, who.get("tid", pid) & NONE,
                           va, size, offset)
        self.kernel_add(1, body + pad(name.encode() + b"\0"),
                        KERNEL if kernel else USER, **who)

    def mmap2(self, pid, va, size, offset, name, prot=5, build_id=None, **who):
        misc = USER
        middle = struct.pack("<IIQQ", 8, 1, 1234, 1)
        if build_id is not None:
            misc |= 1 << 14
            middle = struct.pack("<BBH20s", len(build_id), 0, 0, build_id)
        body = struct.pack("<IIQQQ", pid, who.get("tid", pid), va, size,
                           offset) + middle + struct.pack("<II", prot, 2)
        self.kernel_add(10, body + pad(name.encode() + b"\0"), misc, **who)

    def comm(self, pid, tid, name, exec=False, **who):
        self.kernel_add(3, struct.pack("<II", pid, tid) +
                        pad(name.encode() + b"\0"), exec << 13, **who)

    def task(self, kind, pid, ppid, tid, ptid, **who):
        self.kernel_add(kind, struct.pack("<IIIIQ", pid, ppid, tid, ptid,
                                          who.get("time", 0)), **who)

    def switch_wide(self, out, other_pid, other_tid, **who):
        self.kernel_add(15, struct.pack("<II", other_pid & NONE,
                                        other_tid & NONE), out << 13, **who)

    def switch(self, out, **who):
        self.kernel_add(14, b"", out << 13, **who)

    def itrace_start(self, pid, tid, **who):
        self.kernel_add(12, struct.pack("<II", pid, tid),
                        event=self.events[0], **who)

    def aux(self, offset, size, flags=0, **who):
        self.kernel_add(11, struct.pack("<QQQ", offset, size, flags),
                        event=self.events[0], **who)

    def auxtrace(self, data, offset, reference, idx, tid=-1, cpu=-1):
        self.add(71, struct.pack("<QQQIIII", len(data), offset, reference, idx,
                                 tid & NONE, cpu & NONE, 0), after=data)

    def auxtrace_info(self, words=None, filter="", snapshot=0, switch=3,
                      tsc_hz=3696000000):
        shift = 31
        if words is None:
            words = [PMU, shift, (10 ** 9 << shift) // tsc_hz, 0, 1, 1 << 10,
                     1 << 11, switch, snapshot, 1, 1 << 9, 0xf << 14, 308, 2,
                     2, 36]
        filter = filter.encode()
        body = struct.pack("<II", 1, 0)
        body += b"".join(struct.pack("<Q", w) for w in words)
        if len(words) == 16:
            body += struct.pack("<Q", len(filter))
            if filter:
                body += pad(filter + b"\0")
            body += struct.pack("<Q", 1)
        self.add(70, body)

    def text_poke(self, va, old, new, **who):
        self.kernel_add(20, pad(struct.pack("<QHH", va, len(old), len(new)) +
                                old + new), KERNEL, **who)

    def compressed(self, pieces, second=False):
        """PIECES of one zstd stream."""
        for piece in pieces:
            if second:
                body = pad(struct.pack("<Q", len(piece)) + piece)
                self.add(83, body)
            else:
                self.add(81, piece)

    # The file.
    def feature_sections(self):
        ids = b""
        for pid, build_id, name in self.build_ids:
            body = struct.pack("<I20sBBH", pid & NONE, build_id,
                               len(build_id), 0, 0) + pad(
                                   name.encode() + b"\0", 64)
            ids += struct.pack("<IHH", 67, 2 | 1 << 15, 8 + len(body)) + body
        desc = struct.pack("<II", len(self.events), self.attr_size)
        for event in self.events:
            desc += event.attr().ljust(self.attr_size, b"\0")
            desc += struct.pack("<I", len(event.ids)) + text(event.name)
            desc += b"".join(struct.pack("<Q", i) for i in event.ids)
        more = {}
        if self.cores:
            more[30] = struct.pack("<I", len(self.cores)) + b"".join(
                text(pmu) + text(cpus) for pmu, cpus in self.cores)
        return {**more, 2: ids, 3: text("somewhere"), 4: text(self.release),
                5: text("6.1.0"), 6: text("x86_64"),
                7: struct.pack("<II", 2, 2), 8: text("A CPU @ 3.70GHz"),
                9: text(self.cpuid), 12: desc,
                16: struct.pack("<I", 2) + struct.pack("<I", 4) + text("cpu") +
                struct.pack("<I", PMU) + text("intel_pt")}

    def bytes(self):
        entry = self.attr_size + 16
        ids_at = 104
        attrs_at = ids_at + 8 * sum(len(e.ids) for e in self.events)
        data_at = attrs_at + entry * len(self.events)
        ids, attrs, at = b"", b"", ids_at
        for event in self.events:
            ids += b"".join(struct.pack("<Q", i) for i in event.ids)
            attrs += event.attr().ljust(self.attr_size, b"\0")
            attrs += struct.pack("<QQ", at, 8 * len(event.ids))
            at += 8 * len(event.ids)
        data = b"".join(self.records)
        sections = self.feature_sections() if self.features else {}
        bits = sum(1 << n for n in sections)
        size = len(data) if self.finished else 0
        head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, entry, attrs_at,
                           len(attrs), data_at, size, 0, 0)
        head += struct.pack("<QQQQ", bits & (1 << 64) - 1, 0, 0, 0)
        table, tail = b"", b""
        begin = data_at + len(data) + 16 * len(sections)
        for number in sorted(sections):
            table += struct.pack("<QQ", begin + len(tail),
                                 len(sections[number]))
            tail += sections[number]
        return head + ids + attrs + data + table + tail

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.bytes())
