#!/usr/bin/env python3
"""Write the output of the lab into the pages that show it.

    catalogue_page.py LAB PAGE...

Between `<!-- lab: NAME OPTION... -->` and `<!-- /lab -->` is the output of `LAB try NAME OPTION...`, in the directory
of the lock files (or of `LAB OPTION...`, if that comes first): which invariants break, with how few faults, in how few steps, and the schedule of the worst. `make docs` updates the
pages; a test fails if a page does not match the lab.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys

OPENING = r"<!-- lab: (?P<words>[^\n]+?) -->\n"
REGION = re.compile(rf"^{OPENING}(?P<body>.*?)^<!-- /lab -->$", re.M | re.S)
MARK = re.compile(r"^<!-- (?:lab: |/lab)", re.M)

LOCKS = pathlib.Path(__file__).resolve().parent.parent / "lab" / "locks"

NONE_BROKE, SOME_BROKE = 0, 1


def words_of(words):
    """The command: `try`, unless it begins with an option."""
    return shlex.split(words) if words.startswith("--") else ["try", "--quiet", *shlex.split(words)]


def said_by(lab, words):
    """The output of the lab, without the parts that differ between runs or machines."""
    command = [lab, *words_of(words)]
    english = {**os.environ, "LC_ALL": "C.UTF-8"}
    said = subprocess.run(command, capture_output=True, text=True, check=False, cwd=LOCKS, env=english)
    if said.returncode not in (NONE_BROKE, SOME_BROKE) or not said.stdout:
        raise ValueError(f"{words}: {said.stderr or said.stdout}")
    kept = re.sub(r"^[\d,]+ (?:states in|个状态，用时) [\d.]+ s\n\n?", "", said.stdout, flags=re.M)
    return re.sub(r"[ \t]+$", "", kept, flags=re.M).rstrip("\n")


def filled(lab, text):
    marks = len(MARK.findall(text))
    regions = list(REGION.finditer(text))
    if not regions or marks != 2 * len(regions) or any(MARK.search(found["body"]) for found in regions):
        raise ValueError("each `<!-- lab: NAME -->` needs a `<!-- /lab -->` of its own, and there has to be one")

    def fill(found):
        words = found["words"]
        typed = words if words.startswith("--") else f"try {words}"
        return f"<!-- lab: {words} -->\n```\n$ bowline lab {typed}\n{said_by(lab, words)}\n```\n<!-- /lab -->"

    return REGION.sub(fill, text)


def main(lab, *pages):
    lab = str(pathlib.Path(lab).resolve())
    for name in pages:
        page = pathlib.Path(name)
        try:
            page.write_text(filled(lab, page.read_text(encoding="utf-8")), encoding="utf-8")
        except ValueError as error:
            sys.exit(f"catalogue_page.py: {page.name}: {error}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
