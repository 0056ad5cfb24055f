#!/usr/bin/env python3
"""Write the output of the lab into the pages that show it.

    catalogue_page.py LAB PAGE...

Between `<!-- lab: NAME OPTION... -->` and `<!-- /lab -->` is the output of `LAB try NAME OPTION...`: which
invariants break, with how few faults, in how few steps, and the schedule of the worst. `make docs` updates the
pages; a test fails if a page does not match the lab.
"""

import pathlib
import re
import shlex
import subprocess
import sys

OPENING = r"<!-- lab: (?P<words>[^\n]+?) -->\n"
REGION = re.compile(rf"^{OPENING}(?P<body>.*?)^<!-- /lab -->$", re.M | re.S)
MARK = re.compile(r"^<!-- (?:lab: |/lab)", re.M)

NONE_BROKE, SOME_BROKE = 0, 1


def said_by(lab, words):
    """The output of `try`, without the parts that differ between runs or machines."""
    command = [lab, "try", "--quiet", *shlex.split(words)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    if said.returncode not in (NONE_BROKE, SOME_BROKE) or not said.stdout:
        raise ValueError(f"{words}: {said.stderr or said.stdout}")
    kept = re.sub(r"^[\d,]+ states in [\d.]+ s\n\n?", "", said.stdout, flags=re.M)
    return re.sub(r"[ \t]+$", "", kept, flags=re.M).rstrip("\n")


def filled(lab, text):
    marks = len(MARK.findall(text))
    regions = list(REGION.finditer(text))
    if not regions or marks != 2 * len(regions) or any(MARK.search(found["body"]) for found in regions):
        raise ValueError("each `<!-- lab: NAME -->` needs a `<!-- /lab -->` of its own, and there has to be one")

    def fill(found):
        words = found["words"]
        return f"<!-- lab: {words} -->\n```\n$ bowline lab try {words}\n{said_by(lab, words)}\n```\n<!-- /lab -->"

    return REGION.sub(fill, text)


def main(lab, *pages):
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
