#!/usr/bin/env python3
"""List the places of the tests where real time passes, and compare the list with docs/design/real-time.md.

    tools/real_time_page.py --check   says what is new, gone or without a reason; exit status 1
    tools/real_time_page.py --write   writes the counts, removes what is gone, lists what is new under the last heading

A place is a function that pauses: a sleep, a poll or select with a time limit, a loop until a time of the clock. A
`sleep 1000` in the command of a test is none: that process lives until the test ends it. A wait of the library is none
either: it is what is tested.

The page has a heading for each kind, and under it a line for each place: how often it pauses, and why.
"""

import argparse
import ast
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import house_rules as rules  # noqa: E402

PAGE = "docs/design/real-time.md"
KINDS = ("event", "clock", "still", "load")
NEW = "not yet described"
OWN_TEST = "tests/house/test_real_time.py"  # has sources as text

C_PAUSE = re.compile(
    r"(?<![\w.])(sleep_ms|sleep_us|sleep_up_to_us|u?sleep|(?:clock_)?nanosleep|(?:std::this_thread::)?sleep_(?:for|until)"
    r"|thrd_sleep|p?poll|p?select|epoll_p?wait|pthread_cond_timedwait|cnd_timedwait|sem_timedwait|sigtimedwait"
    r"|is_readable)\("
)
C_LOOP = re.compile(r"\b(?:for|while) \(.*\b(?:clock|now)_ms\(\)\)? <")
PYTHON_PAUSE = re.compile(
    r"\btime\.sleep\((?!1000\))|\busleep\(|\bselect\.select\(|\bsleep (?!1000\b)[\d.$]|\.wait\([^()]*/ 1000\)"
)
OTHER_PAUSE = re.compile(r"\b[sS]leep\(|\busleep\(|\bsetTimeout\(|^\s*sleep \w", re.M)
OTHERS = (".go", ".java", ".js", ".php", ".rb", ".sh")

Place = collections.namedtuple("Place", "kind count reason")


def arguments(code, at):
    """The text between the parenthesis that opens before `at` and the one that closes it."""
    depth = 1
    for match in re.compile(r"[()]").finditer(code, at):
        depth += 1 if match.group() == "(" else -1
        if depth == 0:
            return code[at : match.start()]
    return code[at:]


def takes_no_time(code, at):
    return re.search(r",\s*0$", arguments(code, at)) is not None


def functions_of_c(code):
    """(where its brace opens, name) of every function: by the house style, its brace has a line of its own."""
    found = []
    for match in re.finditer(r"\n *\{\n", code):
        start = max(code.rfind(end, 0, match.start()) for end in ";{}") + 1
        head = code[start : match.start()].rsplit("\n\n", 1)[-1]
        test = re.match(r"\s*\w*TEST\w*\((\w+)", head)
        named = test or re.search(r"(~?\w+)\s*\(", rules.without_attributes(head))
        found.append((match.end(), named.group(1) if named else "?"))
    return found


def pauses_of_c(text):
    code, _ = rules.lex(text)
    functions = functions_of_c(code)
    pauses, loops = collections.Counter(), set()

    def name_at(at):
        return next((name for start, name in reversed(functions) if start <= at), "?")

    for match in C_PAUSE.finditer(code):
        line = code[code.rfind("\n", 0, match.start()) + 1 : match.start()]
        name = name_at(match.start())
        # Not where a pause itself is declared, defined or made of another one.
        if line[:1] == " " and not C_PAUSE.match(name + "(") and not takes_no_time(code, match.end()):
            pauses[name] += 1
    for match in C_LOOP.finditer(code):
        loops.add(name_at(match.start()))
    for name in loops - set(pauses):
        pauses[name] = 1
    return pauses


def pauses_of_python(text):
    nodes = [
        (node.lineno, node.end_lineno, getattr(node, "name", None) or ast.unparse(node.targets[0]))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.Assign))
    ]
    pauses = collections.Counter()
    for match in PYTHON_PAUSE.finditer(re.sub(r"(?m)^\s*#.*$", lambda m: " " * len(m.group()), text)):
        if match.group().startswith("select") and takes_no_time(text, match.end()):
            continue
        line = text.count("\n", 0, match.start()) + 1
        around = [(end - start, name) for start, end, name in nodes if start <= line <= end and name.isidentifier()]
        pauses[max(around)[1] if around else "?"] += 1
    return pauses


def places(root):
    """{"folder/file: function": how often it pauses}, of the tests below `root`."""
    found = {}
    for path in rules.tracked_files(pathlib.Path(root)):
        name = rules.name_of(path, root)
        if not name.startswith("tests/") or name == OWN_TEST or (text := rules.text_of(path)) is None:
            continue
        if path.suffix in (".c", ".h", ".cpp", ".hpp"):
            pauses = pauses_of_c(text)
        elif path.suffix == ".py":
            pauses = pauses_of_python(text)
        elif path.suffix in OTHERS:
            pauses = collections.Counter(["all"] * len(OTHER_PAUSE.findall(text)))
        else:
            continue
        found |= {f"{name.removeprefix('tests/')}: {function}": count for function, count in pauses.items()}
    return found


def read(text):
    """{place: Place} of the page."""
    listed = {}
    kind = None
    for line in text.splitlines():
        if line.startswith("## "):
            kind = line[3:]
        match = re.fullmatch(r"\| `([^`]+)` \| (\d+) \| *(.*?) *\|", line)
        if match and ": " in match.group(1):
            listed[match.group(1)] = Place(kind, int(match.group(2)), match.group(3))
    return listed


def compare(found, listed):
    complaints = []
    for place, count in sorted(found.items()):
        its = listed.get(place)
        if its is None:
            complaints.append(f"{place}: pauses: {count}; not in {PAGE}: wait for the event, use virtual time, or add a line that "
                              "says why real time must pass (tools/real_time_page.py --write lists it)")
        elif its.count != count:
            complaints.append(f"{place}: pauses: {count}; {PAGE} says {its.count}")
        elif its.kind not in KINDS or not its.reason:
            complaints.append(f"{place}: its line in {PAGE} needs a kind and a reason")
    return complaints + [f"{place}: no pause is left; its line in {PAGE} can go" for place in sorted(set(listed) - set(found))]


def written(text, found):
    """The page with these counts."""
    listed = read(text)
    new = {place: Place(NEW, count, "") for place, count in found.items()}
    for place in set(listed) & set(found):
        new[place] = listed[place]._replace(count=found[place])
    totals = collections.Counter()
    for place in new.values():
        totals[place.kind] += 1
    text = re.sub(rf"\n## {NEW}\n.*", "\n", text, flags=re.S).rstrip("\n") + "\n"
    if totals[NEW]:
        text += f"\n## {NEW}\n\n| place | pauses | why |\n|---|---|---|\n"
    parts = re.split(r"(?m)^(?=## )", text)
    for i, part in enumerate(parts):
        kind = part.split("\n")[0][3:]
        lines = [f"| `{p}` | {its.count} | {its.reason} |\n" for p, its in sorted(new.items()) if its.kind == kind]
        table = r"(\| place \| pauses \|[^\n]*\n\|[-|]+\n)(?:\|[^\n]*\n)*"
        parts[i] = re.sub(table, lambda m, lines=lines: m.group(1) + "".join(lines), part)
    return re.sub(r"(?m)^\| `(\w+)` \| \d+ \|", lambda m: f"| `{m.group(1)}` | {totals[m.group(1)]} |", "".join(parts))


def check(root):
    text = (pathlib.Path(root) / PAGE).read_text(encoding="utf-8")
    found = places(root)
    complaints = compare(found, read(text))
    if not complaints and written(text, found) != text:
        complaints.append(f"{PAGE} is not as `make docs` writes it")
    return complaints


def main(words):
    parser = argparse.ArgumentParser(description="The places of the tests where real time passes.")
    parser.add_argument("--root", default=ROOT, type=pathlib.Path)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", action="store_true", help="compare the page with the tests")
    action.add_argument("--write", action="store_true", help="write the counts of the page")
    options = parser.parse_args(words)
    if options.check:
        complaints = check(options.root)
        print("".join(f"{complaint}\n" for complaint in complaints), end="")
        sys.exit(1 if complaints else 0)
    page = options.root / PAGE
    page.write_text(written(page.read_text(encoding="utf-8"), places(options.root)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
