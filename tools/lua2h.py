#!/usr/bin/env python3
"""Turn the Lua scripts into C: text, size and SHA-1 of each.

    lua2h.py --source scripts.c --header scripts.h FILE.lua ...

The order of the files is the order of the enum; FILE.lua becomes BWL_SCRIPT_FILE. What goes over the wire
need not carry the prose: whole-line comments, blank lines and indentation are left out, everything else is
kept to the byte. A first line that begins with #! is kept, it tells Redis the script's flags.

A line "-- @include PART.lua" stands for the lines of that file, beside the one that includes it. A part
may include others, but not itself, and is no script of its own.

Long brackets outside comments are refused: lines inside a [[long string]] could not be distinguished from code.
Standard library only, because this runs in every build.
"""

import argparse
import hashlib
import pathlib
import re
import sys


def with_parts(path, inside=()):
    """The script, with what it includes. inside: the files that include this one."""
    if path in inside:
        raise ValueError(f"{path} includes itself")
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(r"\s*-- @include (\S+)", line)
        part = path.parent / match[1] if match else None
        if part is None:
            lines.append(line)
        elif not part.is_file():
            raise ValueError(f"{path}: there is no {part}")
        else:
            lines.append(with_parts(part, (*inside, path)).rstrip("\n"))
    return "\n".join(lines) + "\n"


def wire_text(source, name):
    """The script as it is sent to the server."""
    kept = []
    in_block = False
    for number, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        if in_block:
            in_block = "]]" not in text
            if not in_block and not text.endswith("]]"):
                raise ValueError(f"{name}:{number}: code after the end of a block comment")
            continue
        if text.startswith("--[["):
            in_block = "]]" not in text
            if not in_block and not text.endswith("]]"):
                raise ValueError(f"{name}:{number}: code after the end of a block comment")
            continue
        if not text or text.startswith("--"):
            continue
        if re.search(r"\[=*\[", text):
            raise ValueError(f"{name}:{number}: long brackets are not understood here")
        kept.append(text)
    if in_block:
        raise ValueError(f"{name}: a block comment does not end")
    if not kept:
        raise ValueError(f"{name}: no code")
    return "\n".join(kept) + "\n"


def c_literal(line):
    """One line of text as one C string literal, newline included."""
    out = []
    for byte in line.encode("utf-8"):
        char = chr(byte)
        if char in '"\\?':  # the question mark, because ??/ is a trigraph
            out.append("\\" + char)
        elif 0x20 <= byte < 0x7F:
            out.append(char)
        else:
            out.append(f"\\{byte:03o}")
    return '"' + "".join(out) + '\\n"'


def symbol(path):
    name = re.sub(r"[^A-Za-z0-9]", "_", pathlib.Path(path).stem)
    return "BWL_SCRIPT_" + name.upper()


HEADER = """/* scripts.h: the Lua scripts as they are sent, made by tools/lua2h.py. */
#ifndef BWL_REDIS_SCRIPTS_H
#define BWL_REDIS_SCRIPTS_H

#include <stddef.h>

typedef struct bwl_script {{
    const char *name; /* the file, without .lua */
    const char *text; /* NUL-terminated; size does not count the NUL */
    size_t size;
    char sha1[41]; /* lower-case hex, what EVALSHA wants */
}} bwl_script;

typedef enum bwl_script_id {{
{ids}    BWL_SCRIPTS_COUNT
}} bwl_script_id;
{table}
#endif
"""

SOURCE = """/* scripts.c: the Lua scripts as they are sent, made by tools/lua2h.py. */
#include "scripts.h"

#pragma GCC diagnostic ignored "-Woverlength-strings"
{table}"""


def main(argv):
    parser = argparse.ArgumentParser(description="Lua scripts to C")
    parser.add_argument("--source", required=True)
    parser.add_argument("--header", required=True)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args(argv)

    ids, entries = [], []
    for path in options.files:
        try:
            text = wire_text(with_parts(pathlib.Path(path)), path)
        except ValueError as error:
            print(f"lua2h: {error}", file=sys.stderr)
            return 1
        data = text.encode("utf-8")
        ids.append(f"    {symbol(path)}{' = 0' if not ids else ''},\n")
        literals = "\n".join("                " + c_literal(line) for line in text.splitlines())
        entries.append(
            f"    [{symbol(path)}] = {{\n"
            f'        .name = "{pathlib.Path(path).stem}",\n'
            f"        .text =\n{literals},\n"
            f"        .size = {len(data)},\n"
            f'        .sha1 = "{hashlib.sha1(data).hexdigest()}",\n'
            f"    }},\n"
        )
    if len(set(ids)) != len(ids):
        print("lua2h: two scripts have the same name", file=sys.stderr)
        return 1

    declared = "\nextern const bwl_script bwl_scripts[BWL_SCRIPTS_COUNT];\n" if ids else ""
    defined = f"\nconst bwl_script bwl_scripts[BWL_SCRIPTS_COUNT] = {{\n{''.join(entries)}}};\n" if ids else ""
    pathlib.Path(options.header).write_text(HEADER.format(ids="".join(ids), table=declared))
    pathlib.Path(options.source).write_text(SOURCE.format(table=defined))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
