#!/usr/bin/env python3
"""Measures topaz as its users run it: CPU time and memory of whole commands.

Rows: the benchmark `engine`; `topaz run` and `topaz explore` of each driver; the boot of a
Linux kernel, beside qemu-system-x86_64 where it is installed.  Each command runs once
unmeasured and then several times; printed are the median, and from the least to the most.
What is not measured is named.

The speed of `topaz run` is that of the instructions of 1000 rounds of the workload `mix`
beyond those of 10, so that compiling the driver and booting the guest are not in it.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

DRIVERS = {"insntrace": None, "insntrace-freebsd": None, "freebsd-pt": "freebsd/pt.c",
           "freebsd-hwpmc": "freebsd/hwpmc_mod.c", "linux-ds": "linux/ds.c"}
SHORT, LONG = 10, 1000


def fail(text):
    sys.exit(f"commands.py: {text}")


def run(command, good=(0,)):
    """CPU seconds, peak memory in bytes, and the output of a command."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode(errors="replace")
    if child.returncode not in good:
        fail(f"exit code {child.returncode}: {' '.join(command)}\n{text[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, text


class Figure:
    """What N measurements have in common, and the highest peak of memory of them."""

    def __init__(self, values, memory=0):
        self.median = statistics.median(values)
        self.least, self.most, self.memory = min(values), max(values), memory

    def text(self, digits):
        return f"{self.median:.{digits}f} ({self.least:.{digits}f} to {self.most:.{digits}f})"


class Table:
    """Prints rows as they come, and keeps them for the picture."""

    def __init__(self, title, unit, reference, digits):
        self.title, self.unit, self.digits, self.rows = title, unit, digits, []
        print(f"\n| {title} | {unit} | of {reference} | peak MB |\n|---|---|---|---|", flush=True)

    def add(self, name, figure, ratio):
        self.rows.append((name, figure, ratio))
        memory = f"{figure.memory / 1e6:.0f}" if figure.memory else ""
        of = "" if ratio is None else f"{ratio:.2f}"
        print(f"| {name} | {figure.text(self.digits)} | {of} | {memory} |", flush=True)


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.topaz = os.path.join(options.build, "topaz")

    def repeat(self, measure):
        measure()
        return [measure() for _ in range(self.options.rounds)]

    def drivers(self):
        for name, path in DRIVERS.items():
            source = path and os.path.join(self.options.drivers or "", path)
            if source is None:
                yield name, []
            elif self.options.drivers and os.path.exists(source):
                yield name, ["--source", source]
            else:
                print(f"not measured: {name}, without --drivers")

    def engine(self):
        table = Table("compiled guest", "M insn/s", "the bare engine", 0)
        folder = os.path.join(self.options.build, "tests/bench")
        _, _, text = run([f"{folder}/engine_bench", f"{folder}/bench_guest.bin"])
        row = re.compile(r"(\d vCPUs?) +(.+?) +(\d+) M insn/s \((\d+) to (\d+)\) +([\d.]+) of")
        for cpus, way, median, least, most, ratio in row.findall(text):
            figure = Figure([int(least), int(median), int(most)])
            table.add(f"{way}, {cpus}", figure, float(ratio))
            if not hasattr(self, "bare"):
                self.bare = figure.median
        return table

    def length(self, command, rounds):
        seconds, memory, text = run(command + ["--rounds", str(rounds), "--json",
                                              "-o", os.path.join(self.folder, "run")])
        return seconds, memory, sum(cpu["insns"] for cpu in json.loads(text)["cpus"])

    def rate(self, command):
        """M insn/s of the instructions of LONG beyond those of SHORT."""
        seconds, _, insns = self.length(command, SHORT)
        more, memory, all_insns = self.length(command, LONG)
        return (all_insns - insns) / (more - seconds) / 1e6, memory

    def run_row(self, table, name, command):
        results = self.repeat(lambda: self.rate(command))
        figure = Figure([rate for rate, _ in results], max(memory for _, memory in results))
        table.add(name, figure, figure.median / self.bare)

    def runs(self):
        table = Table("`topaz run`", "M insn/s", "the bare engine", 1)
        for name, source in self.drivers():
            command = [self.topaz, "run", name] + source
            self.run_row(table, name, command)
            if name == "freebsd-pt":
                for cpus in (2, 4):
                    self.run_row(table, f"{name}, {cpus} CPUs", command + ["--cpus", str(cpus)])
                for work in ("sort", "branch", "string"):
                    self.run_row(table, f"{name}, {work}", command + ["--workload", work])
                self.run_row(table, f"{name}, --cost 1", command + ["--cost", "1"])
        return table

    def explore(self, command):
        seconds, memory, text = run(command, (0, 1, 6))
        return json.loads(text.splitlines()[-1])["schedules"] / seconds, memory

    def explores(self):
        table = Table(f"`topaz explore --effort {self.options.effort}`",
                      "schedules a CPU second", "the first row", 0)
        first = None
        for name, source in self.drivers():
            command = [self.topaz, "explore", name, "--json", "--no-pages", "--progress", "none",
                       "--effort", self.options.effort,
                       "-o", os.path.join(self.folder, name)] + source
            results = self.repeat(lambda: self.explore(command))
            figure = Figure([rate for rate, _ in results], max(memory for _, memory in results))
            first = first or figure.median
            table.add(name, figure, figure.median / first)
        return table

    def boot(self, command):
        seconds, memory, text = run(command)
        if not re.search(r"^done\r?$", text, re.MULTILINE):
            fail(f"the guest did not run its script: {' '.join(command)}\n{text[-2000:]}")
        return seconds, memory

    def boots(self):
        if not self.options.kernel:
            print("\nnot measured: boot, without --kernel")
            return None
        peers = self.peers()
        table = Table("Linux, from power-on to the end of a script", "CPU seconds",
                      "the first row", 2)
        script = os.path.join(self.folder, "script")
        with open(script, "w", encoding="ascii") as file:
            file.write("echo done\n")
        boot = [self.topaz, "boot", "--kernel", self.options.kernel, "--run", script]
        own = ["--snapshot-dir", os.path.join(self.folder, "snapshots")]
        rows = peers + [("topaz boot", boot + ["--no-snapshot"]),
                        ("topaz boot --cost 1", boot + ["--no-snapshot", "--cost", "1"]),
                        ("topaz boot, from its snapshot", boot + own)]
        first = None
        for name, command in rows:
            results = self.repeat(lambda: self.boot(command))
            figure = Figure([time for time, _ in results], max(memory for _, memory in results))
            first = first or figure.median
            table.add(name, figure, figure.median / first)
        return table

    def peers(self):
        qemu, busybox = shutil.which("qemu-system-x86_64"), shutil.which("busybox")
        if qemu is None or busybox is None:
            print("\nnot measured: qemu-system-x86_64, which is not installed, or busybox")
            return []
        kernel, initrd = os.path.join(self.folder, "vmlinuz"), os.path.join(self.folder, "initrd")
        package = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", self.options.kernel],
                                   stdout=subprocess.PIPE)
        with open(kernel, "wb") as file:
            subprocess.run(["tar", "-xO", "--wildcards", "./boot/vmlinuz-*"], check=True,
                           stdin=package.stdout, stdout=file)
        package.wait()
        with open(initrd, "wb") as file:
            file.write(make_initrd(busybox))
        command = [qemu, "-accel", "tcg", "-m", "512", "-smp", "1", "-nographic", "-no-reboot",
                   "-kernel", kernel, "-initrd", initrd, "-append", "console=ttyS0 panic=-1"]
        return [("qemu-system-x86_64 -accel tcg", command),
                ("qemu-system-x86_64 -accel tcg -icount shift=0",
                 command + ["-icount", "shift=0"])]


def make_initrd(busybox):
    """A cpio archive (newc) whose /init says a word and powers the machine off."""
    with open(busybox, "rb") as file:
        program = file.read()
    init = b"#!/busybox sh\n/busybox echo done\n/busybox poweroff -f\n"
    rows = [("dev", 0o40755, b"", 0, 0), ("dev/console", 0o20600, b"", 5, 1),
            ("busybox", 0o100755, program, 0, 0), ("init", 0o100755, init, 0, 0),
            ("TRAILER!!!", 0, b"", 0, 0)]
    archive = b""
    for number, (name, mode, data, major, minor) in enumerate(rows):
        text = name.encode() + b"\0"
        fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, major, minor, len(text), 0]
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + text
        archive += head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)
    return archive


class Picture:
    """Bars, a panel for each table; widths are by the largest median of the panel."""

    WIDTH, LABEL, BAR, ROW = 860, 330, 360, 20

    def __init__(self):
        self.parts, self.y = [], 12

    def text(self, x, y, text, style):
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace("`", "")
        self.parts.append(f'<text x="{x}" y="{y}" class="{style}">{text}</text>')

    def panel(self, table):
        most = max(figure.most for _, figure, _ in table.rows)
        self.y += 22
        self.text(12, self.y, f"{table.title}: {table.unit}", "title")
        self.y += 8
        for name, figure, ratio in table.rows:
            middle = self.y + self.ROW / 2
            x = [self.LABEL + self.BAR * value / most
                 for value in (figure.median, figure.least, figure.most)]
            self.text(self.LABEL - 8, middle + 4, name, "name")
            self.parts.append(f'<rect x="{self.LABEL}" y="{self.y + 3}" class="bar" '
                              f'width="{x[0] - self.LABEL:.1f}" height="{self.ROW - 6}"/>')
            self.parts.append(f'<line x1="{x[1]:.1f}" x2="{x[2]:.1f}" y1="{middle}" '
                              f'y2="{middle}" class="range"/>')
            value = f"{figure.median:.{table.digits}f}"
            if ratio is not None:
                value += f"   ({ratio:.2f})"
            self.text(self.LABEL + self.BAR + 14, middle + 4, value, "value")
            self.y += self.ROW

    def write(self, path, tables):
        for table in tables:
            self.panel(table)
        self.y += 24
        self.text(12, self.y, "Bar: median. Line on it: least to most. In parentheses: the share of "
                  "the bare engine, or of the panel's first row.", "note")
        height = self.y + 14
        style = ("text{font:13px sans-serif;fill:#1f2328}.title{font-weight:bold}"
                 ".name{text-anchor:end}.note{font-size:12px}.bar{fill:#4c78a8}"
                 ".range{stroke:#e4572e;stroke-width:3}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.WIDTH}" '
                       f'height="{height}" viewBox="0 0 {self.WIDTH} {height}">\n'
                       f"<style>{style}</style>\n"
                       f'<rect width="{self.WIDTH}" height="{height}" fill="#ffffff"/>\n')
            file.write("\n".join(self.parts) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build folder of topaz")
    parser.add_argument("--drivers", metavar="DIR", help="has freebsd/pt.c, linux/ds.c, ...")
    parser.add_argument("--kernel", metavar="DEB", help="package with the kernel to boot")
    parser.add_argument("--rounds", metavar="N", type=int, default=3,
                        help="measured runs of each command (3)")
    parser.add_argument("--effort", default="quick", help="of the explorations (quick)")
    parser.add_argument("--svg", metavar="FILE", help="write the figures as a picture")
    options = parser.parse_args()
    if options.rounds < 1:
        fail("--rounds must be 1 or more")
    for path in (os.path.join(options.build, "topaz"), options.kernel):
        if path and not os.path.exists(path):
            fail(f"{path}: there is no such file")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        tables = [bench.engine(), bench.runs(), bench.boots(), bench.explores()]
    if options.svg:
        Picture().write(options.svg, [table for table in tables if table is not None])


if __name__ == "__main__":
    main()
