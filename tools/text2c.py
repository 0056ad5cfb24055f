#!/usr/bin/env python3
"""Turn text files into C strings, with the SHA-256 of each as a content security policy names it.

    text2c.py OUT.c FILE ...

page.js becomes bwl_page_js and bwl_page_js_sha256. Standard library only, because this runs in every build.
"""

import base64
import hashlib
import pathlib
import re
import sys

from lua2h import c_literal


def main(out, *files):
    said = ["/* Made by tools/text2c.py. */", '#pragma GCC diagnostic ignored "-Woverlength-strings"']
    for path in map(pathlib.Path, files):
        text = path.read_text(encoding="utf-8")
        if "</" in text:
            raise ValueError(f"{path}: </ would end its element in a page")
        name = "bwl_" + re.sub(r"[^a-z0-9]", "_", path.name)
        sum_of = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
        literals = "\n".join("    " + c_literal(line) for line in text.splitlines())
        for each, value in ((name, "\n" + literals), (name + "_sha256", f'"{sum_of}"')):
            said += [f"extern const char {each}[];", f"const char {each}[] = {value};"]
    pathlib.Path(out).write_text("\n".join(said) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
