#!/usr/bin/env python3
"""The shape of the source tree: figures that show whether a module has an owner and a narrow interface.

    tools/shape.py --print     every figure's worst ten, and the lines of each part of the project
    tools/shape.py --cycles    the calls that make up each cycle of files that breaks the limit
    tools/shape.py --write     writes the ledger, and says what is worse than it was there

The figures are computed from the text of the sources, without a compiler or a build:

- struct: the fields of an internal struct. A field of a nested struct or union without a tag counts, and so does a
  bit field. The public structs in include/ are apart.
- header: the lines of a header; include/bowline/bowline.h is apart.
- included: the files that include an internal header. The headers of BOTTOM are apart: they are the lowest layer, of the
  library and of its tools, and any number of files may include them. The tests do not count as files that include.
- folder: the .c files of a folder, without those of the folders in it. The tests are apart: they have one file per claim.
- cycle: files whose functions call each other in a circle, which is a strongly connected component of the graph
  "a file calls a function that another file defines". No cycle may span folders; inside one folder a cycle may have
  as many files as CYCLE_FILES_MAX says.

A call is the name of a function that is not static, followed by "(", inside a function. A call through a pointer is
not a call by name, and neither is the name of a function in a table. What a macro or an inline function of a header
calls is called by the file that uses it.

shape-owed.txt is the ledger: one line for each place where the tree breaks a limit today, with its figure. A figure
that is worse than its line, or has no line, is a complaint; so is a line that says more than the tree has, which
keeps the ledger true. The ledger may only become shorter.
"""

import argparse
import collections
import dataclasses
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import house_rules as rules  # noqa: E402

FIELDS_MAX = 25
HEADER_LINES_MAX = 250
INCLUDERS_MAX = 15
FOLDER_SOURCES_MAX = 20
CYCLE_FILES_MAX = 4

PARTS = ("src", "lab", "cli", "doctor", "bench", "sim")
PUBLIC = "include"
HEADER_APART = "include/bowline/bowline.h"
BOTTOM = ("src/core", "src/base", "lab/base")
TOTALS = {"library": ("src", "include"), "command": ("cli",), "doctor": ("doctor",), "lab": ("lab",),
          "bench": ("bench",), "simulator": ("sim",), "tests": ("tests",)}

LIMITS = {"struct": FIELDS_MAX, "header": HEADER_LINES_MAX, "included": INCLUDERS_MAX, "folder": FOLDER_SOURCES_MAX}
UNITS = {"struct": "fields", "header": "lines", "included": "files include it", "folder": "source files"}

LEDGER = "tools/shape-owed.txt"
LEDGER_HEAD = """\
# Where the tree breaks the limits of shape.py today, one line for each place. The list may only become shorter:
# tools/shape.py --write takes out what is mended.
"""


@dataclasses.dataclass
class Shape:
    """What is measured. `figures` has a dictionary of name to figure for each kind of LIMITS."""

    figures: dict
    flags: dict  # of each struct, how many of its fields are bool
    calls: dict  # (file, file that it calls) -> the names of the functions
    cycles: list  # each a sorted tuple of files, the largest first
    totals: dict


# Structs.


def close_of(code, at):
    """Where the brace or parenthesis that opens at `at` is closed."""
    depth = 0
    for match in re.compile(r"[{}()]").finditer(code, at):
        depth += 1 if match.group() in "{(" else -1
        if depth == 0:
            return match.start()
    return len(code)


def members(body):
    """The declarations in the body of a struct: what ends with a semicolon that is not in a brace."""
    depth = start = 0
    for match in re.finditer(r"[{}();]", body):
        if match.group() == ";" and depth == 0:
            yield body[start : match.start()].strip()
            start = match.end()
        elif match.group() != ";":
            depth += 1 if match.group() in "{(" else -1


def count_fields(body):
    """(fields, how many of them are bool) in the body of a struct."""
    fields = flags = 0
    for member in map(rules.without_attributes, members(body)):
        if not member or re.match(r"(_Static_assert|static_assert)\b", member):
            continue
        opens = member.find("{")
        if opens >= 0:
            closes = close_of(member, opens)
            head, tail = member[:opens].split(), member[closes + 1 :].strip()
            if head and head[-1] in ("struct", "union"):
                inner = count_fields(member[opens + 1 : closes])
                fields += inner[0]
                flags += inner[1]
            elif tail:
                fields += 1 + tail.count(",")
            continue
        # Of a pointer to a function, the commas between the arguments do not count.
        count = 1 + re.sub(r"\[[^\]]*\]", "", without_parentheses(member)).count(",")
        fields += count
        if re.search(r"\b(bool|_Bool)\b", member) and not re.search(r"[*(]", member):
            flags += count
    return fields, flags


def without_parentheses(text):
    while True:
        less = re.sub(r"\([^()]*\)", "", text)
        if less == text:
            return text
        text = less


def structs(code):
    """(name, fields, bool fields) of every struct that lexed code defines, but for those that count in another.

    One without a tag has the name of its typedef or of its variable.
    """
    opening = re.compile(r"\bstruct\b\s*(?:__attribute__\s*\(\([^;{]*?\)\)\s*)?(\w+)?\s*\{")
    found = []
    end = 0  # of the outermost struct so far
    for match in opening.finditer(code):
        closes = close_of(code, match.end() - 1)
        tag = match.group(1)
        if tag is None:
            if match.start() < end:
                continue
            after = re.match(r"\W*(\w+)", code[closes + 1 :])
            tag = after.group(1) if after else "?"
        end = max(end, closes)
        found.append((tag, *count_fields(code[match.end() : closes])))
    return found


# Calls.

WORD = re.compile(r"((?:->|\.)\s*)?\b([A-Za-z_]\w*)\b(\s*\()?")


def words_of(code):
    """(names that are followed by a parenthesis, all names) in code; what is after -> or a point is a field."""
    called, named = set(), set()
    for match in WORD.finditer(code):
        if match.group(1) is None:
            named.add(match.group(2))
            if match.group(3):
                called.add(match.group(2))
    return called, named


def macros(text):
    """The macros that a file defines: name -> words_of what they stand for."""
    found = {}
    for match in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\))?((?:\\\n|[^\n])*)", text, re.M):
        called, named = words_of(rules.lex(match.group(3).replace("\\\n", " ").replace("#", " "))[0])
        before = found.get(match.group(1), (set(), set()))
        found[match.group(1)] = (before[0] | called, before[1] | named)
    return found


def is_static(head):
    return re.search(r"\bstatic\b", rules.without_attributes(head)) is not None


class Calls:
    """Which file calls which, gathered file by file."""

    def __init__(self):
        self.defined = collections.defaultdict(set)  # function -> the files that define it for others
        self.own = {}  # file -> the functions that it defines, static ones too
        self.used = {}  # file -> words_of its functions
        self.macros = {}  # file -> its macros
        self.shared = {}  # macros and inline functions of the headers

    def add(self, name, text, code):
        bodies = rules.bodies(code)
        if name.endswith(".h"):
            for macro, words in macros(text).items():
                self.share(macro, words)
            for head, start, end in bodies:
                self.share(rules.name_of_function(head), words_of(code[start:end]))
            return
        self.own[name] = {rules.name_of_function(head) for head, _, _ in bodies}
        self.macros[name] = macros(text)
        self.used[name] = words_of(" ".join(code[start:end] for _, start, end in bodies))
        for head, _, _ in bodies:
            if not is_static(head):
                self.defined[rules.name_of_function(head)].add(name)

    def share(self, name, words):
        before = self.shared.get(name, (set(), set()))
        self.shared[name] = (before[0] | words[0], before[1] | words[1])

    def called_by(self, name):
        """The names that a file calls, with those that its macros and inline functions call."""
        called, named = self.used[name]
        called, waiting, seen = set(called), set(named), set()
        while waiting:
            word = waiting.pop()
            seen.add(word)
            for stands_for in (self.macros[name], {} if word in self.own[name] else self.shared):
                more = stands_for.get(word, (set(), set()))
                called |= more[0]
                waiting |= more[1] - seen
        return called - self.own[name]

    def edges(self):
        found = collections.defaultdict(set)
        for name in self.own:
            for word in self.called_by(name):
                places = self.defined.get(word, set())
                # Two programs may both have a function of that name: a file calls the one of its own part.
                near = {place for place in places if place.split("/")[0] == name.split("/")[0]}
                for place in near or places:
                    found[name, place].add(word)
        return dict(found)


def cycles_of(edges):
    """The strongly connected components of more than one file, the largest first."""
    after = collections.defaultdict(set)
    for one, other in edges:
        after[one].add(other)
    reach = {}
    for name in after:
        seen, waiting = set(), [name]
        while waiting:
            fresh = after.get(waiting.pop(), set()) - seen
            seen |= fresh
            waiting.extend(fresh)
        reach[name] = seen
    found = set()
    for name, seen in reach.items():
        found.add(tuple(sorted({name} | {other for other in seen if name in reach.get(other, ())})))
    return sorted((files for files in found if len(files) > 1), key=lambda files: (-len(files), files))


def folders_of(files):
    return sorted({name.rpartition("/")[0] for name in files})


def breaks_limit(files):
    return len(folders_of(files)) > 1 or len(files) > CYCLE_FILES_MAX


# The whole tree.


def is_in(name, folders):
    return any(name.startswith(folder + "/") for folder in folders)


def total_of(name):
    return next((total for total, parts in TOTALS.items() if is_in(name, parts)), None)


def headers_included(root, path, text):
    """The internal headers that a file includes, each once, without those of the bottom."""
    found = {rules.resolve(root, path, quote, target) for _, quote, target in rules.includes(text)}
    return {header for header in found - {None} if is_in(header, PARTS) and not is_in(header, BOTTOM)}


def figures_of_structs(places):
    """(fields, bool fields), each by the name of the struct. `places` has name -> [(file, fields, bool fields)].

    A name that several files use for structs of their own is told apart by the file.
    """
    fields, flags = collections.Counter(), collections.Counter()
    for struct, found in places.items():
        is_unique = len({name for name, _, _ in found}) == 1
        for name, count, bools in found:
            key = struct if is_unique else f"{name}:{struct}"
            fields[key] = max(fields[key], count)
            flags[key] = max(flags[key], bools)
    return fields, flags


def measure(root):
    root = pathlib.Path(root)
    figures = {kind: collections.Counter() for kind in LIMITS}
    places = collections.defaultdict(list)
    totals = {total: 0 for total in TOTALS}
    calls = Calls()
    for path in rules.tracked_files(root):
        name = rules.name_of(path, root)
        text = rules.text_of(path) if path.suffix in rules.CODE_SUFFIXES and total_of(name) else None
        if text is None:
            continue
        lines = len(text.splitlines())
        totals[total_of(name)] += lines
        if path.suffix in (".h", ".hpp") and is_in(name, (*PARTS, PUBLIC)) and name != HEADER_APART:
            figures["header"][name] = lines
        if path.suffix not in (".c", ".h") or not is_in(name, PARTS):
            continue
        if path.suffix == ".c":
            figures["folder"][name.rpartition("/")[0]] += 1
        for header in headers_included(root, path, text):
            figures["included"][header] += 1
        code, _ = rules.lex(text)
        for struct, fields, flags in structs(code):
            places[struct].append((name, fields, flags))
        calls.add(name, text, code)
    figures["struct"], flags = figures_of_structs(places)
    edges = calls.edges()
    return Shape(figures, flags, edges, cycles_of(edges), totals)


# The ledger.


@dataclasses.dataclass
class Ledger:
    figures: dict  # (kind, name) -> figure
    cycles: list  # each a sorted tuple of files


def owed_by(shape):
    """The ledger that a tree of this shape should have."""
    figures = {
        (kind, name): figure
        for kind, limit in LIMITS.items()
        for name, figure in shape.figures[kind].items()
        if figure > limit
    }
    return Ledger(figures, [files for files in shape.cycles if breaks_limit(files)])


def read_ledger(text):
    ledger = Ledger({}, [])
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0] == "cycle" and len(words) > 2:
            ledger.cycles.append(tuple(sorted(words[1:])))
        elif words[0] in LIMITS and len(words) == 3 and words[2].isdigit():
            ledger.figures[words[0], words[1]] = int(words[2])
        else:
            raise ValueError(f"{LEDGER}: not a line of the ledger: {line}")
    return ledger


def text_of_ledger(ledger):
    lines = []
    for kind in LIMITS:
        lines += sorted(f"{kind} {name} {figure}" for (its, name), figure in ledger.figures.items() if its == kind)
    lines += ["cycle " + " ".join(files) for files in sorted(ledger.cycles)]
    return LEDGER_HEAD + "".join(line + "\n" for line in lines)


def worse(shape, ledger):
    """What breaks a limit by more than the ledger allows."""
    owed = owed_by(shape)
    complaints = []
    for (kind, name), figure in sorted(owed.figures.items()):
        allowed = ledger.figures.get((kind, name))
        if allowed is None:
            complaints.append(f"{kind} {name}: {figure} {UNITS[kind]}, {LIMITS[kind]} at most")
        elif figure > allowed:
            complaints.append(f"{kind} {name}: {figure} {UNITS[kind]}, {allowed} in the ledger: it may only shrink")
    for files in owed.cycles:
        if any(set(files) <= set(allowed) for allowed in ledger.cycles):
            continue
        nearest = max(ledger.cycles, key=lambda allowed: len(set(files) & set(allowed)), default=())
        known = sorted(set(files) & set(nearest))
        if known:
            new = sorted(set(files) - set(nearest))
            complaints.append(f"cycle {' '.join(new)}: now in the cycle of {known[0]}, which may only shrink")
        elif len(folders_of(files)) > 1:
            complaints.append(f"cycle {' '.join(files)}: calls in a circle across folders")
        else:
            complaints.append(f"cycle {' '.join(files)}: {len(files)} files, {CYCLE_FILES_MAX} at most")
    return complaints


def better(shape, ledger):
    """The lines of the ledger that say more than the tree has."""
    owed = owed_by(shape)
    complaints = []
    for (kind, name), allowed in sorted(ledger.figures.items()):
        figure = owed.figures.get((kind, name), 0)
        if figure < allowed:
            complaints.append(f"{kind} {name} {allowed}")
    complaints += ["cycle " + " ".join(files) for files in ledger.cycles if files not in owed.cycles]
    return [f"in the ledger, and no longer so: {line} (tools/shape.py --write)" for line in complaints]


def check(root):
    ledger = pathlib.Path(root) / LEDGER
    shape = measure(root)
    known = read_ledger(ledger.read_text(encoding="utf-8") if ledger.is_file() else "")
    return worse(shape, known) + better(shape, known)


# What is printed.


def table(shape, count=10):
    titles = {"struct": "fields of a struct (flags)", "header": "lines of a header",
              "included": "files that include a header", "folder": "source files of a folder"}
    lines = []
    for kind, limit in LIMITS.items():
        figures = shape.figures[kind]
        above = sum(figure > limit for figure in figures.values())
        lines.append(f"{titles[kind]}: {above} of {len(figures)} above {limit}")
        for name, figure in sorted(figures.items(), key=lambda item: (-item[1], item[0]))[:count]:
            flags = f" ({shape.flags[name]})" if kind == "struct" else ""
            lines.append(f"  {figure:5} {name}{flags}")
    across = sum(len(folders_of(files)) > 1 for files in shape.cycles)
    broken = sum(breaks_limit(files) for files in shape.cycles)
    lines.append(f"call cycles: {broken} of {len(shape.cycles)} across folders or above {CYCLE_FILES_MAX} files, "
                 f"{across} across folders")
    for files in shape.cycles[:count]:
        in_folders = collections.Counter(name.rpartition("/")[0] for name in files)
        lines.append(f"  {len(files):5} " + ", ".join(f"{folder} {n}" for folder, n in sorted(in_folders.items())))
    lines.append("lines: " + ", ".join(f"{total} {lines_}" for total, lines_ in shape.totals.items()))
    return lines


def calls_in_cycles(shape):
    """Each call inside a cycle that breaks the limit, those from folder to folder first."""
    lines = []
    for files in shape.cycles:
        if not breaks_limit(files):
            continue
        lines.append(f"cycle of {len(files)} files in {', '.join(folders_of(files))}")
        inside = [(one, other) for one, other in shape.calls if one in files and other in files]
        for one, other in sorted(inside, key=lambda pair: (len(folders_of(pair)) == 1, pair)):
            lines.append(f"  {one} -> {other}: {' '.join(sorted(shape.calls[one, other]))}")
    return lines


def main(words):
    parser = argparse.ArgumentParser(description="The shape of the source tree.")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--print", action="store_true", help="print the worst ten of each figure, and the totals")
    action.add_argument("--cycles", action="store_true", help="print the calls of each cycle that breaks the limit")
    action.add_argument("--write", action="store_true", help="write the ledger")
    options = parser.parse_args(words)
    shape = measure(options.root)
    if options.print:
        print("\n".join(table(shape)))
    elif options.cycles:
        print("\n".join(calls_in_cycles(shape)))
    else:
        path = options.root / LEDGER
        if path.is_file():
            grown = worse(shape, read_ledger(path.read_text(encoding="utf-8")))
            print("".join(f"worse: {complaint}\n" for complaint in grown), end="")
        path.write_text(text_of_ledger(owed_by(shape)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
