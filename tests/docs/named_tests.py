"""Which tests the pages name, and which there are."""

import functools
import re


def names_in(cell):
    return re.findall(r"`([\w-]+)`", cell)


def listed(build_file, suite, name):
    if suite == "unit":
        return f"'{name}'" in build_file
    return f"['{suite}', '{name}'" in build_file


@functools.cache
def all_that_are_run(root):
    """The test functions that are defined, are in the list of their file, and whose file is built."""
    build_file = (root / "tests" / "meson.build").read_text(encoding="utf-8")
    found = set()
    for path in sorted((root / "tests").glob("*/test_*.c")):
        if not listed(build_file, path.parent.name, path.stem.removeprefix("test_")):
            continue
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"^static void (test_\w+)\(void \*\*state\)", text, re.M):
            names = f"(?:{name}|{name.removeprefix(path.stem + '_')})"  # some lists leave the file's own name out
            in_a_list = re.search(rf"CASE\w*\([^;]*?\b{names}\b|(?:_test\w*|\bTEST)\({name}\b", text)
            if in_a_list:
                found.add(name)
        found.update("test_" + name for name in re.findall(r"^(?:[A-Z]+_)?TEST\((\w+)\)$", text, re.M))  # adds itself
        found.update("test_" + name for name in re.findall(r'^    \{ "(\w+)", &', text, re.M))  # rows of a table
    for path in sorted((root / "tests" / "session").glob("*.txt")):
        if listed(build_file, "session", path.stem):
            found.update(re.findall(r"^== (\w+)$", path.read_text(encoding="utf-8"), re.M))
    return found
