#!/usr/bin/env python3
"""Make the texts of `bowline lab explain` from the two pages of the catalogue.

    explain_text.py docs/reference/catalogue.md docs/reference/catalogue.zh-CN.md > explain_text.c

The pages are the source, and this is what it reads in them:

    <!-- explains: NAME... -->   in the English page, behind the heading of a lock: its name, and other names for it
    <!-- lock: NAME -->          in the Chinese page, behind the heading of the same lock
    the text up to the first diagram or part: what the lock is, with its program as an indented block
    *In practice*: ...           a part, up to the next one or the next heading; LABELS has them in both languages
    a row of a table that begins with `NAME`: who breaks it

A lock in a subsection has the parts of its section where it has none of its own. What *Moving* links to in the page is
printed behind it. Diagrams, tables and code that stand in a part are left out. A part that is missing is an error.

Standard library only, because this runs in every build.
"""

import pathlib
import posixpath
import re
import sys

LABELS = {
    "The article says": "said", "In practice": "practice", "Instead": "instead", "Moving": "moving",
    "文章说": "said", "实际中": "practice", "改用": "instead", "迁移": "moving",
}  # fmt: skip
COLUMNS = {"two holders": "two", "blocked for ever": "blocked", "何时会有两个持有者": "two", "何时会永远锁死": "blocked"}
PARTS = ["heading", "what", "two", "blocked", "said", "practice", "instead", "moving", "steps"]
MAY_LACK = {"said", "steps"}

BLOCK = re.compile(
    r"<!-- lab: (?P<lab>[^\n]+?) -->\n.*?^<!-- /lab -->$|<!-- (?:explains|lock): (?P<names>[^\n]+?) -->"
    r"|```\w*\n(?P<code>.*?)^```$|(?P<table>\|[^\n]*(?:\n\|[^\n]*)*)|(?P<pre>    [^\n]*(?:\n    [^\n]*)*)"
    r"|(?P<list>(?:- |\d\. )[^\n]*(?:\n[^\n]+)*)|(?P<text>[^\n]+(?:\n[^\n]+)*)",
    re.M | re.S,
)


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class Lock:
    """A section with the texts in it; its parts are lists of blocks."""

    def __init__(self, heading, parent=None):
        self.names, self.commands, self.parts, self.parent = [], [], {"heading": [heading]}, parent
        self.heading = heading

    def add(self, part, block):
        """Items of a list behind items are one list."""
        blocks = self.parts.setdefault(part, [])
        if blocks and all(re.match(r"- |\d\. ", text) for text in (block, blocks[-1])):
            block = blocks.pop() + "\n" + block
        blocks.append(block)

    def leave_out(self, part):
        """What follows is not printed, so that no colon announces it."""
        if self.parts.get(part):
            self.parts[part][-1] = re.sub(":$", ".", re.sub("：$", "。", self.parts[part][-1]))

    def blocks(self, part):
        own = self.parts.get(part, [])
        if not self.parent or (own and part != "what") or part in ("said", "heading"):
            return own
        has_program = any(block.startswith("    ") for block in own)
        return own if has_program else self.parent.parts.get(part, []) + own


class Page:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.name = self.path.name
        self.rows, self.locks, self.steps = {}, {}, {}
        text = self.path.read_text(encoding="utf-8")
        self.slugs = {slug(heading): heading for heading in re.findall(r"^##+ (.+)$", text, re.M)}
        for section in re.split(r"^## ", text, flags=re.M):
            self.read_section(section)

    def fail(self, what):
        raise ValueError(f"{self.name}: {what}")

    def read_section(self, text):
        section = None
        for part in re.split(r"^### ", text, flags=re.M):
            heading, _, body = part.partition("\n")
            found = re.search(r"^<!-- (?:explains|lock): (.+) -->$", body, re.M)
            lock = Lock(heading, section) if section is None or found else section
            section = section or lock
            whole = self.read_body(lock, heading, body)
            if not found:
                self.steps[slug(heading)] = (heading, whole)
            else:
                lock.names = found[1].split()
                self.locks[lock.names[0]] = lock

    def read_body(self, lock, heading, body):
        """Fills the parts of the lock; returns everything that is printed if *Moving* links to this heading."""
        part = "what" if lock.heading == heading else None
        whole = []
        for found in BLOCK.finditer(body):
            label = re.match(r"\*([^*\n]+)\*[:：]\s*", found["text"] or "")
            if label and label[1] not in LABELS:
                self.fail(f"{lock.heading}: no part is called {label[1]}")
            part = LABELS[label[1]] if label else part
            if found["lab"]:
                lock.leave_out(part)
                part = None if part == "what" else part
                lock.commands += [found["lab"]] if not found["lab"].startswith("--") else []
            elif found["table"]:
                lock.leave_out(part)
                self.read_table(found["table"])
            elif found["code"]:
                lock.leave_out(part)
                whole.append("\n".join("    " + line for line in found["code"].rstrip("\n").split("\n")))
            elif not found["names"]:
                text = found["pre"] or found["list"] or found["text"][label.end() if label else 0 :]
                items = [text] if found["pre"] else map(joined, re.split(r"\n(?=- |\d\. )", text))
                whole.append("\n".join(items))
                if part:
                    lock.add(part, whole[-1])
        return whole

    def read_table(self, text):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n")]
        columns = {COLUMNS[title]: i for i, title in enumerate(rows[0]) if title in COLUMNS}
        for row in rows[2:]:
            name = re.match(r"\[?`([^`]+)`", row[0])
            if columns and name:
                self.rows[name[1]] = {part: row[i] for part, i in columns.items()}

    def plain(self, text):
        """Without the marks of Markdown, except those of code."""

        def link(found):
            words, target, anchor = found.groups()
            if target:
                path = posixpath.normpath(f"docs/reference/{target}")
                return path if words in (target, path) else f"{words} ({path})"
            if anchor not in self.slugs:
                self.fail(f"there is no heading #{anchor}")
            if anchor in self.steps:
                return f"“{words}”" if wide(words, 0) else f'"{words}"'
            return words

        pieces = re.split(r"(`[^`]*`)", re.sub(r"\[([^]]+)\]\(([^)#]*)#?([^)]*)\)", link, text))
        return "".join(p if p.startswith("`") else re.sub(r"\*([^*\n]+)\*|<(https?:[^>]+)>", r"\1\2", p) for p in pieces)

    def texts(self, name):
        """The parts of a lock as plain texts."""
        lock = self.locks[name]
        row = self.rows.get(name) or self.rows.get(lock.parent.names[0] if lock.parent and lock.parent.names else "", {})
        made = {part: "\n\n".join(map(self.plain, lock.blocks(part))) for part in PARTS}
        made |= {part: self.plain(cell) for part, cell in row.items()}
        anchors = re.findall(r"\]\(#([^)]+)\)", " ".join(lock.blocks("moving")))
        steps = [self.steps[anchor] for anchor in dict.fromkeys(anchors) if anchor in self.steps]
        made["steps"] = "\n\n".join(self.plain("\n\n".join(["# " + heading, *whole])) for heading, whole in steps)
        for part in PARTS:
            if part not in ("heading", "two", "blocked"):
                made[part] = re.sub(r'^"?[a-z]', lambda found: found[0].upper(), made[part])
            if not made[part] and part not in MAY_LACK:
                self.fail(f"{name} lacks the part: {part}")
        if not any(block.startswith("    ") for block in lock.blocks("what")):
            self.fail(f"{name} has no program, as an indented block")
        return made


def joined(text):
    """The lines as one: with a blank between, but not behind or before a Chinese character."""
    return re.sub(r"\s*\n\s*", lambda m: "" if any(wide(text, i) for i in (m.start() - 1, m.end())) else " ", text.strip())


def wide(text, i):
    return i < len(text) and ord(text[i]) > 0x2E00


def literal(text):
    lines = re.sub(r'([\\"?])', r"\\\1", text).split("\n")
    return '\\n"\n            "'.join(lines).join('""')


def entry(name, english, chinese):
    lock = english.locks[name]
    out = f"    {{\n        .name = {literal(name)},\n"
    out += f"        .commands = {literal(chr(10).join(lock.commands or [name + '.lock']))},\n"
    for language, page in (("EN", english), ("ZH", chinese)):
        made = page.texts(name)
        out += "".join(f"        .texts[BWL_LANG_{language}].{part} = {literal(made[part])},\n" for part in PARTS)
    return out + "    },\n"


def main(english, chinese):
    pages = Page(english), Page(chinese)
    apart = set(pages[0].locks) ^ set(pages[1].locks)
    if apart:
        raise ValueError(f"in one of the two pages only: {' '.join(sorted(apart))}")
    names = [name for lock in pages[0].locks.values() for name in lock.names]
    twice = {name for name in names if names.count(name) > 1}
    if twice or not names:
        raise ValueError(f"explained twice, or none at all: {' '.join(sorted(twice))}")
    made = "".join(entry(name, *pages) for name in pages[0].locks)
    print('/* Made from docs/reference/catalogue.md and docs/reference/catalogue.zh-CN.md by tools/explain_text.py. */\n#include "lab/explain.h"\n')
    print('#pragma GCC diagnostic ignored "-Woverlength-strings"\n')
    print(f"static const bwl_explanation explanations[] = {{\n{made}}};\n")
    print("const bwl_explained_name bwl_explained_names[] = {")
    for i, lock in enumerate(pages[0].locks.values()):
        print("".join(f"    {{ {literal(name)}, &explanations[{i}] }},\n" for name in lock.names), end="")
    print(f"}};\n\nconst size_t bwl_explained_names_count = {len(names)};")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        main(*sys.argv[1:])
    except ValueError as error:
        sys.exit(f"explain_text: {error}")
