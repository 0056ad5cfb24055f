"""docs/reference/faults.md is complete: every fault has a row, and every row names tests that exist and are run."""

import os
import pathlib
import re

import pytest

from named_tests import all_that_are_run, names_in

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
PAGE = "docs/reference/faults.md"

# The faults that must have a row, or a reason for having none.
WANTED = (
    [f"T{n}" for n in range(1, 11)] + [f"S{n}" for n in range(1, 25)] + [f"N{n}" for n in range(1, 21)]
)


def rows(text):
    """The cells of every row of the tables that begins with the number of a fault."""
    for line in text.splitlines():
        if re.match(r"\| [TSNF]\d+ \|", line):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def complaints(root):
    text = (root / PAGE).read_text(encoding="utf-8")
    run = all_that_are_run(root)
    for cells in rows(text):
        if len(cells) != 5 or not cells[1] or not cells[2]:
            yield f"{cells[0]}: a row has five cells, of which the fault and what is done are not empty"
        elif not names_in(cells[4]):
            yield f"{cells[0]}: names no test"
        for name in names_in(cells[-1]):
            if name not in run:
                yield f"{cells[0]}: {name} is not a test that is run"
    shown = {cells[0] for cells in rows(text)}
    reasons = text.partition("## Not shown here")[2]
    for fault in WANTED:
        if fault not in shown and not re.search(rf"\b{fault}\b", reasons):
            yield f"{fault}: has no row, and no reason why it is not shown"


def test_every_fault_has_a_row_and_every_row_a_test_that_is_run():
    assert list(complaints(SOURCE)) == []


# ---- errors of the page are detected ---------------------------------------------------------------


def put(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def small_tree(root, row="| T1 | a fault | it does this | | `test_a` |"):
    lines = [f"| {fault} | a fault | it does this | | `test_a` |" for fault in WANTED if fault != "T1"]
    put(root, PAGE, "\n".join([row] + lines + ["", "## Not shown here", ""]))
    put(root, "tests/meson.build", "c_tests = [\n  ['live', 'x'],\n]\n")
    put(root, "tests/live/test_x.c", "TEST(a)\n{\n}\n\nstatic void test_b(void **state)\n{\n}\n")


@pytest.mark.parametrize("named, wrong", [
    ("`test_a`", []),
    ("`test_a` `test_c`", ["T1: test_c is not a test that is run"]),
    ("`test_b`", ["T1: test_b is not a test that is run"]),  # it is in no list
    ("", ["T1: names no test"]),
])
def test_row_names_tests_that_are_run(tmp_path, named, wrong):
    small_tree(tmp_path, f"| T1 | a fault | it does this | | {named} |")
    assert list(complaints(tmp_path)) == wrong


def test_a_test_in_a_file_that_is_not_built_is_noticed(tmp_path):
    small_tree(tmp_path)
    put(tmp_path, "tests/meson.build", "c_tests = [\n]\n")
    assert "T1: test_a is not a test that is run" in list(complaints(tmp_path))


def test_a_fault_without_a_row_is_noticed_unless_there_is_a_reason(tmp_path):
    small_tree(tmp_path, "")
    assert list(complaints(tmp_path)) == ["T1: has no row, and no reason why it is not shown"]
    page = (tmp_path / PAGE).read_text(encoding="utf-8")
    put(tmp_path, PAGE, page + "- T1: there is no such clock.\n")
    assert list(complaints(tmp_path)) == []
