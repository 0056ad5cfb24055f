#!/usr/bin/env python3
"""Make docs/reference/troubleshooting.md from its messages, which must be in the sources, and their explanations.

    troubleshooting_page.py DIRECTORY... < TEXT > PAGE

A message is shown as the sources have it, with a word in the place of what varies. It is an error if no source below a DIRECTORY
has it. A page that is keyed by a text that nobody sees would help nobody.
"""

import pathlib
import re
import sys

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
HEAD = """# Troubleshooting

Search this page for the text that you see. `...` stands for what varies: a name, a host, a time. bowline prints what has happened, then why, then what to type; a
message may begin with the name of the lock or of the server.

This page is generated: `make docs` takes the texts from the sources and the explanations from
[troubleshooting.txt](troubleshooting.txt).
"""
PRINTED = r"%(?:%|[-+ 0#]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:ll|z|l)?[sducxoX])"


def messages_of(directories):
    """The strings of the sources, neighbours joined as the compiler does."""
    found = set()
    for directory in directories:
        for file in sorted(pathlib.Path(directory).rglob("*.[ch]")):
            text = re.sub(r"/\*.*?\*/", "", file.read_text(encoding="utf-8"), flags=re.S)
            text = re.sub(r'"\s*PRI[du]64\s*"|"\s*PRI[du]64\b()', lambda m: "llu" + ('"' if m[1] is not None else ""), text)
            for match in re.finditer(rf"{LITERAL}(?:\s*{LITERAL})*", text):
                found.add("".join(part[1:-1] for part in re.findall(LITERAL, match[0])))
    return found


def shown(message):
    """As a user sees it."""
    text = message.replace('\\"', '"').replace("\\n", " ").strip()
    text = re.sub(PRINTED, lambda m: "%" if m[0] == "%%" else "...", text)
    return re.sub(r"(?:\.\.\.){2,}", "...", text).lstrip(" :")


def page(text, messages):
    every = "\n".join(messages)
    made, missing = [HEAD], []
    for part in re.split(r"\n(?=== |= )", re.sub(r"^#.*\n", "", text, flags=re.M)):
        if not part.strip():
            continue
        head, _, body = part.strip().partition("\n")
        kind, _, words = head.partition(" ")
        if kind == "==":
            made.append(f"## {words}\n")
            continue
        if words not in every:
            missing.append(words)
        whole = min((message for message in messages if words in message and "\\n" not in message), key=len, default=words)
        made.append(f"### `{shown(whole if len(whole) < 120 else words)}`\n\n{body.strip()}\n")
    if missing:
        raise ValueError("no source has: " + "; ".join(missing))
    return "\n".join(made)


def main(*directories):
    try:
        sys.stdout.write(page(sys.stdin.read(), messages_of(directories)))
    except ValueError as error:
        sys.exit(f"troubleshooting_page.py: {error}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
