#!/bin/sh
# Goal: what the tree cites can be found.  Method: in all its text a section title of the
# SDM has one number, each file that a document or a vector names exists, and so does each
# function and struct of ARCHITECTURE.md, in the file that it names.
# usage: citations.sh SOURCE_ROOT
cd "$1" || exit 1
exec python3 - <<'EOF'
import collections, os, re, sys

FOLDERS = ["emu", "harness", "traces", "driver", "tests"]
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
SECTION = re.compile(r'\b(\d{1,2}(?:\.\d{1,3}){1,4}) "([A-Z][^"]{3,90})"')
NAMED = re.compile(r'`([a-z][A-Za-z0-9_./-]*/[A-Za-z0-9_.-]+\.'
                   r'(?:c|h|def|S|md|sh|yaml|json|html|py|ld|1))`')
PLACEHOLDER = re.compile(r'\b(?:NAME|OS|FORMAT|COMMAND)\b')
SOURCE = re.compile(r'[a-z]+/[A-Za-z0-9_./-]+\.md')

bad = 0


def complain(text):
    global bad
    print("citations: " + text)
    bad = 1


def texts():
    yield from (name for name in DOCUMENTS if os.path.exists(name))
    for folder in FOLDERS:
        for path, _, names in os.walk(folder):
            if path.startswith("tests/fuzz/corpus"):
                continue
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def", ".S", ".md", ".ptv")):
                    yield os.path.join(path, name)


def flat(text):
    """Comments and strings without their line ends, so that titles are whole."""
    return re.sub(r'\s*\n\s*(?:\*(?!/)|//|#)?\s*', " ", text.replace('\\"', '"'))


numbers = collections.defaultdict(dict)
sections = 0
for name in texts():
    text = open(name, encoding="utf-8").read()
    for number, title in SECTION.findall(flat(text)):
        numbers[title][number] = name
        sections += 1
    folder = os.path.dirname(name)
    if name.endswith(".md"):
        for path in NAMED.findall(text):
            for base in (folder, ""):
                top = os.path.join(base, path.split("/")[0])
                if os.path.isdir(top) and not PLACEHOLDER.search(path):
                    if not os.path.exists(os.path.join(base, path)):
                        complain("%s names %s: no such file" % (name, path))
                    break
    if name.endswith(".ptv"):
        head = "".join(line for line in text.splitlines(True)
                       if line.startswith("#"))
        for path in SOURCE.findall(head):
            if not os.path.exists(path):
                complain("%s cites %s: no such file" % (name, path))
for title, found in sorted(numbers.items()):
    if len(found) > 1:
        complain('"%s" is %s' % (title, " and ".join(
            "%s (%s)" % one for one in sorted(found.items()))))

# What ARCHITECTURE.md walks through.
document = "ARCHITECTURE.md"
walks = open(document, encoding="utf-8").read() if os.path.exists(document) else ""
# A definition begins its line, an inline one of a header may not.
DEFINED = re.compile(r'^(?:static inline [^;\n]*?\b)?(\w+)\(|\.globl (\w+)', re.M)
defined = collections.defaultdict(set)  # by file
structs = set()
for folder in FOLDERS[:4]:
    for path, _, names in os.walk(folder):
        for name in names:
            if name.endswith((".c", ".h", ".S")):
                where = os.path.join(path, name)
                text = open(where, encoding="utf-8").read()
                for plain, assembly in DEFINED.findall(text):
                    defined[where].add(plain or assembly)
                structs.update(re.findall(r'^struct (\w+) \{', text, re.M))
functions = set().union(*defined.values())
found = set(re.findall(r'`(\w+)\(\)`', walks))
for function in sorted(found - functions):
    complain("%s: no function %s()" % (document, function))
for function, path in re.findall(r'`(\w+)\(\)`\s+in\s+`([\w./-]+\.[ch])`', walks):
    if path in defined and function not in defined[path]:
        complain("%s: %s() is not in %s" % (document, function, path))
for name in sorted(set(re.findall(r'`struct (\w+)`', walks)) - structs):
    complain("%s: no struct %s" % (document, name))
if walks and len(found) < 100:
    complain("too few functions in %s: %d" % (document, len(found)))
if sections < 500:
    complain("too few sections: %d" % sections)
sys.exit(bad)
EOF
