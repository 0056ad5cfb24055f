"""The binary interface: numbers, sizes and offsets in the public headers.

layout.txt holds them as they were when they were last changed on purpose. From the headers a small C program
is made that prints the same as they are now. To change them on purpose:

    python3 tests/abi/test_abi.py > tests/abi/layout.txt

and look at the difference: a struct may grow at its end, a number may be added; anything else breaks programs.
The exported names have their own list, symbols.txt, which tests/house checks against the library.
"""

import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(os.environ.get("BOWLINE_SOURCE", HERE.parent.parent))

SPEC = importlib.util.spec_from_file_location("bowline_house_rules", ROOT / "tools/house_rules.py")
rules = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(rules)

HEADERS = sorted((ROOT / "include/bowline").glob("*.h"))

# The version numbers grow with every release.
NOT_FIXED = re.compile(r"BOWLINE_VERSION_\w+|BOWLINE_\w*H")


def structs(text):
    """(name, members) of every struct with visible members."""
    code, _ = rules.lex(text)
    found = []
    for match in re.finditer(r"typedef\s+struct\s+\w+\s*\{(.*?)\}\s*(bowline_\w+)\s*;", code, re.DOTALL):
        members = re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*;", match.group(1))
        found.append((match.group(2), members))
    return found


def numbers(text):
    """The names of the numbers: enumerators, also those of an X-map, and macros that are plain integers."""
    names = []
    code, _ = rules.lex(text)
    for body in re.findall(r"\benum\b[^{;]*\{([^}]*)\}", code):
        names += re.findall(r"\b(BOWLINE_[A-Z0-9_]+)\s*=", body)
    for body in re.findall(r"#define BOWLINE_\w+_MAP\(X\)((?:.*\\\n)*.*)", text):
        names += ["BOWLINE_" + name for name in re.findall(r"\bX\((\w+),", body)]
    names += re.findall(r"^#define (BOWLINE_[A-Z0-9_]+)\s+\(?-?\w*\d\w*\)?(?:\s*/\*.*)?$", text, re.MULTILINE)
    return [name for name in names if not NOT_FIXED.fullmatch(name)]


def program(headers):
    lines = ["#include <stdio.h>", "#include <stddef.h>"]
    lines += [f"#include <bowline/{header.name}>" for header in headers]
    lines += ["int main(void)", "{"]
    for header in headers:
        text = header.read_text()
        for name, members in structs(text):
            lines.append(f'    printf("struct {name} %zu\\n", sizeof({name}));')
            for member in members:
                lines.append(f'    printf("    {member} %zu\\n", offsetof({name}, {member}));')
        for name in numbers(text):
            lines.append(f'    printf("number {name} %lld\\n", (long long){name});')
    return "\n".join([*lines, "    return 0;", "}", ""])


def layout():
    with tempfile.TemporaryDirectory() as directory:
        compiler = shlex.split(os.environ.get("BOWLINE_CC", "cc"))
        source, binary = f"{directory}/layout.c", f"{directory}/layout"
        pathlib.Path(source).write_text(program(HEADERS))
        subprocess.run([*compiler, "-std=c11", "-I", str(ROOT / "include"), source, "-o", binary], check=True)
        return subprocess.run([binary], capture_output=True, text=True, check=True).stdout


def test_numbers_and_layout_are_what_they_were():
    import pytest

    if sys.maxsize != 2**63 - 1:
        pytest.skip("layout.txt was written where pointers have 64 bits")
    kept = (HERE / "layout.txt").read_text()
    kept = "".join(line + "\n" for line in kept.splitlines() if not line.startswith("#"))
    assert layout() == kept


def test_every_visible_struct_is_seen():
    for header in HEADERS:
        seen = {name for name, _ in structs(header.read_text())}
        visible = set(re.findall(r"^\}\s*(bowline_\w+);", header.read_text(), re.MULTILINE))
        enums = set(re.findall(r"typedef enum \w+ \{[^}]*\}\s*(bowline_\w+);", header.read_text()))
        assert seen == visible - enums


def test_option_structs_begin_with_their_size():
    """The first field tells the library which version the caller was compiled with."""
    for header in HEADERS:
        for name, members in structs(header.read_text()):
            if name.endswith("_options"):
                assert members[0] == "size", name


def test_a_changed_struct_is_noticed():
    one = "typedef struct s { int a; char b[4]; } bowline_s;\n"
    assert structs(one) == [("bowline_s", ["a", "b"])]


def test_numbers_are_found_in_all_their_forms():
    text = (
        "#define BOWLINE_M_MAP(X) \\\n    X(OK, 0, 1) \\\n    X(BUSY, -1, 2)\n"
        "#define BOWLINE_OFF (-1) /* off */\n#define BOWLINE_VERSION_MAJOR 1\n#define BOWLINE_FIVE 5\n"
        "enum { BOWLINE_MAX = 3, BOWLINE_MIN = 1 };\n"
    )
    assert sorted(numbers(text)) == [
        "BOWLINE_BUSY", "BOWLINE_FIVE", "BOWLINE_MAX", "BOWLINE_MIN", "BOWLINE_OFF", "BOWLINE_OK",
    ]


if __name__ == "__main__":
    print("# Where pointers have 64 bits. Made by tests/abi/test_abi.py, which says when it may change.")
    print(layout(), end="")
