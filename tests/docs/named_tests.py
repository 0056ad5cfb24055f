"""The tests that the pages name, and the tests that exist."""

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
    """The tests that add themselves in a file that is built, the rows of a table, the stories, the faults of the simulator."""
    build_file = (root / "tests" / "meson.build").read_text(encoding="utf-8")
    found = set()
    for path in sorted((root / "tests").glob("*/test_*.c")):
        if not listed(build_file, path.parent.name, path.stem.removeprefix("test_")):
            continue
        text = path.read_text(encoding="utf-8")
        found.update("test_" + name for name in re.findall(r"^(?:[A-Z]+_)?TEST(?:_OF)?\((\w+)(?:,[^)]*)?\)$", text, re.M))
        found.update("test_" + name for name in re.findall(r'^    \{ "(\w+)",', text, re.M))  # rows of a table
    for path in sorted((root / "tests").glob("*/test_*.py")):
        if listed(build_file, path.parent.name, path.stem.removeprefix("test_")):
            found.update(re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.M))
    for path in sorted((root / "tests" / "session").glob("*.txt")):
        if listed(build_file, "session", path.stem):
            found.update(re.findall(r"^== (\w+)$", path.read_text(encoding="utf-8"), re.M))
    plan = root / "sim" / "search" / "plan.c"
    if plan.is_file():
        names = re.findall(r'^    \[FAULT_\w+\] += "([\w-]+)"', plan.read_text(encoding="utf-8"), re.M)
        found.update("sim-" + name for name in names)
    return found
