#!/usr/bin/env python3
"""Let the lab draw the pictures of docs/explanation/why-setnx-breaks.md, in both languages.

    lab_pictures.py LAB DIRECTORY

Each picture is the shortest schedule in which the invariant of its lock breaks.
"""

import pathlib
import subprocess
import sys

LOCKS = pathlib.Path(__file__).resolve().parent.parent / "lab" / "locks"
PICTURES = {
    "setnx-del": ["setnx-del", "--crash", "1", "--invariant", "never too late"],
    "setnx-expire": ["setnx-expire.lock", "--crash", "1", "--invariant", "never too late"],
    "set-nx-ex": ["set-nx-ex", "--clients", "3", "--crash", "1", "--invariant", "one holder"],
    "get-then-del": ["get-then-del.lock", "--clients", "3", "--slow", "2", "--invariant", "one holder"],
    "late-write": ["token", "--slow", "2", "--invariant", "no overlap"],
}


def draw(lab, directory, name, language):
    target = pathlib.Path(directory).resolve() / f"{name}{'.zh-CN' if language == 'zh' else ''}.svg"
    words = [str(pathlib.Path(lab).resolve()), "try", *PICTURES[name], "--quiet", "--lang", language, "--svg", str(target)]
    done = subprocess.run(words, cwd=LOCKS, capture_output=True, text=True, check=False)
    if done.returncode != 1:  # 1: it breaks
        sys.exit(f"lab_pictures.py: {name}: {done.stderr or done.stdout}")


def main(lab, directory):
    for name in PICTURES:
        for language in ("en", "zh"):
            draw(lab, directory, name, language)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
