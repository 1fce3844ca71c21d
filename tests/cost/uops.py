#!/usr/bin/env python3
"""Writes emu/profile/uop.def and emu/profile/uop_class.def: micro-operations of each
form of instruction, read from LLVM's scheduling models, with the corrections below.

usage: uops.py FORMS DIRECTORY     (FORMS: what tests/cost/forms.c prints)

Needs llvm-mc-14 and llvm-mca-14 (Debian: llvm-14). No part of the build: its output is
checked in.
"""
import collections
import itertools
import json
import subprocess
import sys

# Columns of the table, and the processors of LLVM whose models they are.
MODELS = [("SKL", "skylake"), ("ICL", "icelake-client"), ("BDW", "broadwell")]
LOAD = {"SKL": "23", "ICL": "23", "BDW": "23"}
STORE_DATA = {"SKL": "4", "ICL": "49", "BDW": "4"}
STORE_ADDRESS = {"SKL": "237", "ICL": "78", "BDW": "237"}
GROUPS = ["0156", "015", "056", "156", "01", "06", "05", "15", "16", "56", "0", "1",
          "5", "6", "23", "237", "4", "49", "78", "7", "2", "3", "8", "9"]
SPLIT_MAX = 4
ANY = "0156"
PADDING = 15

# Where LLVM's models are wrong or have nothing: form, micro-operations, latency,
# divider cycles; and why. A value None keeps the model's.
CORRECTIONS = []


def correct(why, ports, latency, divider, *forms):
    for form in forms:
        CORRECTIONS.append((form, ports, latency, divider, why))


correct("the stack engine", [], 0, 0, "push r", "push m", "push i", "pop r", "pop m")
correct("LEA: two parts on p15, three on p1 with 3 cycles", ["15"], 1, 0, "lea rm")
correct("LEA", ["1"], 3, 0, "lea rm3")
correct("LEA", ["1"], 1, 0, "lea rmp")
correct("uops.info", ["06", "15"], 2, 0, "bswap r64")
correct("uops.info", ["15"], 1, 0, "bswap r32")
correct("uops.info", ["06"], 1, 0, "cdq ", "cqo ")
correct("uops.info", ["0156"], 1, 0, "cdqe ", "cwde ", "cbw ")
correct("uops.info", ["0156", "0156"], 2, 0, "leave ")
correct("micro-operations of the divider's microcode", ["0156"] * 10, 24, 6, "div r8",
        "idiv r8", "div m8", "idiv m8")
correct("as above", ["0156"] * 10, 26, 6, "div r16", "div r32", "idiv r16",
        "idiv r32", "div m16", "div m32", "idiv m16", "idiv m32")
correct("as above", ["0156"] * 36, 40, 24, "div r64", "div m64")
correct("as above", ["0156"] * 57, 42, 24, "idiv r64", "idiv m64")
correct("renamed", [], 0, 0, "fxch r", "fxch rr")
correct("no micro-operation", [], 0, 0, "nop ", "nop m", "nop r", "nop mr", "nop rr")
correct("LLVM knows only the 64-bit form", ["0156"], 1, 0, "movsxd rr")
correct("as above", [], 0, 0, "movsxd rm")
correct("as JRCXZ", ["0156", "06"], 2, 0, "jecxz i")
correct("uops.info", ["0"], 18, 4.5, "sqrtsd vv", "sqrtsd vm", "vsqrtsd vvv",
        "vsqrtsd vvm")
correct("uops.info", ["0156", "0156"], 3, 0, "mfence ")
correct("uops.info", ["0156"], 2, 0, "sfence ")


def disassemble(forms):
    """The text of each form that LLVM knows; marks between them tell which is which."""
    lines = []
    for i, (_, code) in enumerate(forms):
        mark = "0x49 0xbf " + " ".join("0x%02x" % b for b in i.to_bytes(8, "little"))
        lines.append(mark)
        lines.append(" ".join("0x" + code[j:j + 2] for j in range(0, len(code), 2)))
        lines.append(" ".join(["0x90"] * PADDING))
    text = subprocess.run(
        ["llvm-mc-14", "--disassemble", "-triple=x86_64", "-mcpu=icelake-client"],
        input="\n".join(lines) + "\n", capture_output=True, text=True).stdout
    found, at = {}, None
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("movabsq\t$") and line.endswith(", %r15"):
            at = int(line.split("$")[1].split(",")[0], 0)
        elif at is not None and line and not line.startswith("."):
            found.setdefault(at, []).append(line)
    texts, seen = {}, set()
    for i, lines in found.items():
        if forms[i][0] not in seen and lines[1:] == ["nop"] * PADDING:
            seen.add(forms[i][0])
            texts[i] = lines[0]
    return texts


def measure(cpu, texts):
    """Resource names, and (micro-operations, latency, pressure) by index of TEXTS."""
    keys, result = sorted(texts), {}
    while keys:
        done = subprocess.run(
            ["llvm-mca-14", "-mcpu=" + cpu, "-instruction-tables", "-json"],
            input="\n".join(texts[k] for k in keys) + "\n", capture_output=True,
            text=True)
        if done.returncode == 0 and done.stdout.startswith("{"):
            break
        bad = [n for n, k in enumerate(keys) if bad_line(done.stderr, n, texts[k])]
        if not bad:
            sys.exit("uops.py: llvm-mca: " + done.stderr[:2000])
        keys = [k for n, k in enumerate(keys) if n not in bad]
    region = json.loads(done.stdout)
    names = region["TargetInfo"]["Resources"]
    region = region["CodeRegions"][0]
    # The assembler leaves out, without an error, what it cannot encode.
    known, at = [], 0
    for key in keys:
        if at < len(region["Instructions"]) and \
                region["Instructions"][at].split() == texts[key].split():
            known.append(key)
            at += 1
    if at != len(region["Instructions"]):
        sys.exit("uops.py: llvm-mca prints other instructions")
    keys = known
    for info, key in zip(region["InstructionInfoView"]["InstructionList"], keys):
        result[key] = [info["NumMicroOpcodes"], info["Latency"],
                       collections.defaultdict(float)]
    for row in region["ResourcePressureView"]["ResourcePressureInfo"]:
        if row["InstructionIndex"] < len(keys):
            key = keys[row["InstructionIndex"]]
            result[key][2][names[row["ResourceIndex"]]] += row["ResourceUsage"]
    return result


def bad_line(errors, n, text):
    return any(e.startswith("<stdin>:%d:" % (n + 1)) for e in errors.splitlines()) or \
        ("note: instruction: " in errors and
         text.split() == errors.split("note: instruction: ")[1].splitlines()[0].split())


def take(pressure, ports, times=1):
    for port in ports:
        pressure[port] = pressure.get(port, 0) - times / len(ports)


def split(pressure):
    """Groups whose even shares add up to PRESSURE; None: not with so few."""
    def fits(left, groups):
        if all(abs(v) < 0.02 for v in left.values()):
            return []
        if groups == 0:
            return None
        for group in GROUPS:
            if all(left.get(p, 0) > 1 / len(group) - 0.02 for p in group):
                rest = dict(left)
                take(rest, group)
                found = fits(rest, groups - 1)
                if found is not None:
                    return [group] + found
        return None

    for count in range(SPLIT_MAX + 1):
        found = fits(pressure, count)
        if found is not None:
            return found
    return None


def compute(column, info, access):
    """The compute micro-operations of one form: groups of ports."""
    total, _, resources = info
    pressure = {}
    for name, used in resources.items():
        if "Port" in name:
            port = name.split("Port")[1]
            if len(port) == 1:
                pressure[port] = pressure.get(port, 0) + used
    loads, stores = access
    if loads:
        take(pressure, LOAD[column], loads)
    if stores:
        take(pressure, STORE_DATA[column], stores)
        take(pressure, STORE_ADDRESS[column], stores)
    if stores and loads and sum(v for v in pressure.values()) > 0.9:
        # Some models count a read-modify-write's address at the load ports.
        for port in "237":
            if abs(pressure.get(port, 0)) < 0.2:
                pressure[port] = 0
    pressure = {p: v for p, v in pressure.items() if abs(v) > 0.02}
    groups = split(pressure) if min(pressure.values(), default=0) > -0.02 else None
    if groups is not None:
        return groups
    groups = []
    for port, used in sorted(pressure.items()):
        if port in "0156":
            groups += [port] * max(0, round(used))
    expected = max(0, total - loads - 2 * stores)
    if len(groups) > 12:
        groups = []
    groups += [ANY] * (expected - len(groups))
    return groups


def divider(info):
    return max([v for k, v in info[2].items() if "Divider" in k], default=0)


def register_form(form):
    """The form with a register in place of memory that is only read."""
    mnemonic, _, kinds = form.rpartition(" ")
    for letter in "vr":
        yield mnemonic + " " + kinds.replace("m", letter)


def main():
    rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])]
    forms = [(row[0], row[1]) for row in rows]
    access = [(int(row[2]), int(row[3])) for row in rows]
    texts = disassemble(forms)
    table = {}
    for column, cpu in MODELS:
        infos = measure(cpu, texts)
        values, written = {}, {}
        for i, info in infos.items():
            form = forms[i][0]
            kinds = form.rpartition(" ")[2]
            loads, stores = access[i]
            groups = compute(column, info, access[i])
            latency = info[1]
            if loads and not stores:
                latency -= 7 if kinds.endswith("y") else 6 if "v" in kinds else 5
                latency = max(1, latency)
            elif stores:
                latency = 1 if len(groups) <= 1 else 2
            if not groups:
                latency = 0
            values[form] = [groups, latency, divider(info)]
            written[form] = stores
        # A load changes nothing in the operation: it has the register form's latency.
        for form, value in values.items():
            if value[0] and "m" in form.rpartition(" ")[2] and not written[form]:
                for other in register_form(form):
                    if other in values and values[other][0] == value[0]:
                        value[1] = values[other][1]
                        break
        for form, groups, latency, cycles, _ in CORRECTIONS:
            values[form] = [groups, latency, cycles]
        table[column] = values
    write(table, sys.argv[2])


def class_name(value):
    groups, latency, cycles = value
    parts = []
    for group, run in itertools.groupby(sorted(groups)):
        count = len(list(run))
        parts.append("P" + group + ("X%d" % count if count > 1 else ""))
    name = "_".join(parts) if parts else "NONE"
    name += "_L%d" % latency
    if cycles:
        name += "_D%g" % cycles
    return name.replace(".", "H")


HEAD_CLASS = '''/*
 * UOP_CLASS(name, latency, halves, ports...): the micro-operations of a class of
 * instructions that are not loads or stores: for each kind of them PORTS(p, count), the
 * ports that can execute it as a mask; cycles to the result, without a load; half cycles
 * of the divider.  Written by tests/cost/uops.py with uop.def.
 */
'''
HEAD = '''/*
 * UOP(form, Skylake, Ice Lake, Broadwell): the class of uop_class.def of each form of
 * instruction (emu/cpu/insn/insn_facts.h), sorted by form.
 *
 * Written by tests/cost/uops.py.  Source of the columns: the scheduling models of LLVM
 * 14 (Apache-2.0 with LLVM exception) as llvm-mca -instruction-tables prints them for
 * skylake, icelake-client and broadwell; source of the corrected rows: CORRECTIONS in
 * that script.
 */
'''


def write(table, directory):
    forms = sorted(set.intersection(*(set(v) for v in table.values())),
                   key=lambda f: f.encode())
    classes = {}
    rows = []
    for form in forms:
        names = []
        for column, _ in MODELS:
            value = table[column][form]
            name = class_name(value)
            classes[name] = value
            names.append(name)
        rows.append('UOP("%s", %s)' % (form, ", ".join(names)))
    with open(directory + "/uop.def", "w") as out:
        out.write(HEAD + "\n".join(rows) + "\n")
    with open(directory + "/uop_class.def", "w") as out:
        out.write(HEAD_CLASS)
        for name, (groups, latency, cycles) in sorted(classes.items()):
            parts = []
            for group, run in itertools.groupby(sorted(groups)):
                mask = sum(1 << int(p) for p in group)
                parts.append("PORTS(0x%x, %d)" % (mask, len(list(run))))
            out.write("UOP_CLASS(%s, %d, %d, %s)\n" % (
                name, latency, round(cycles * 2), ", ".join(parts) or "NO_PORTS"))
    print(len(forms), "forms,", len(classes), "classes")


main()
