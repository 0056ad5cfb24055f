"""docs/reference/evidence.md is complete: each promise of a protocol names its tests and scenarios, which exist and agree.

A promise that is made names tests that are run, and scenarios that no schedule breaks; one that is not made names
a scenario that breaks. docs/explanation/guarantees.md has the same promises and faults, without the names.
"""

import os
import pathlib
import re
import subprocess

import pytest

import sharing_peers
from named_tests import all_that_are_run, names_in

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
PAGE = "docs/reference/evidence.md"
SHARING = "docs/reference/sharing-compared.md"
READABLE = ["docs/explanation/guarantees.md", "docs/explanation/redlock.md"]


def section(text):
    return text.partition("## Protocol by protocol")[2].partition("\n## ")[0]


def chapters(text):
    """Each protocol, and the rows beneath its heading."""
    protocol = None
    for line in section(text).splitlines():
        heading = re.fullmatch(r"### `(.+)`", line)
        if heading:
            protocol = heading.group(1)
        elif line.startswith("|") and not re.match(r"\|(---|\s*\|)", line):
            yield protocol, [cell.strip() for cell in line.strip("|").split("|")]


def scenarios(listing):
    """The invariant that each scenario has to break, or nothing."""
    lines = listing.partition("\nscenarios")[2].splitlines()[1:]
    return {line[2:30].strip(): line[31:46].strip() for line in lines if line.strip()}


def protocols(listing):
    """The protocols of bowline: those before the first one of an article or with a planted fault."""
    names = re.findall(r"^  ([\w-]+) ", listing.partition("\ninvariants:")[0], re.M)
    return {re.sub(r"^(setnx-getset)-.*", r"\1", name) for name in names if not name.startswith("token-")}


def complaints(text, run, listing):
    invariants = scenarios(listing)
    seen = {}
    for protocol, cells in chapters(text):
        if len(cells) != 3 or cells[0] not in ("yes", "no"):
            yield f"{protocol}: {cells} is no row"
            continue
        seen.setdefault(protocol, set()).add(cells[0])
        if not names_in(cells[2]):
            yield f"{protocol}: {cells[1]}: names nothing"
        for name in names_in(cells[2]):
            if name in run:
                continue
            if name.startswith("test_"):
                yield f"{protocol}: {name} is not a test that is run"
            elif name not in invariants:
                yield f"{protocol}: there is no scenario {name}"
            elif (cells[0] == "no") != bool(invariants[name]):
                yield f"{protocol}: {name} breaks {invariants[name] or 'no invariant'}"
    for cell in re.findall(r"^\|.*\|([^|]+)\|$", text.partition("## Protocol by protocol")[0], re.M):
        for name in names_in(cell):
            if name not in run and invariants.get(name) != "":
                yield f"{name} is not a test that is run, nor a scenario that nothing breaks"
    for protocol in sorted(protocols(listing)):
        if seen.get(protocol) != {"yes", "no"}:
            yield f"{protocol}: it is not said what it promises, and what not"


@pytest.fixture(scope="module")
def listing():
    lab = os.environ.get("BOWLINE_LAB")
    if not lab:
        pytest.skip("this build has no lab")
    return subprocess.run([lab, "list"], capture_output=True, text=True, check=True).stdout


def test_every_promise_names_its_tests(listing):
    text = (SOURCE / PAGE).read_text(encoding="utf-8")
    assert list(complaints(text, all_that_are_run(SOURCE), listing)) == []


def test_every_test_that_a_page_names_is_run():
    run = all_that_are_run(SOURCE)
    for page in [PAGE, *READABLE, SHARING]:
        named = set(names_in((SOURCE / page).read_text(encoding="utf-8")))
        assert {name for name in named - run if re.match(r"test_\w", name)} == set(), page
    compared = (SOURCE / SHARING).read_text(encoding="utf-8")
    assert f"{sharing_peers.meanings_table()}\n{sharing_peers.NOTES}" in compared, "make sharing-compared"


def rows_of(part, columns=1):
    rows = [re.split(r"(?<!\\)\|", line.strip("|")) for line in part.splitlines() if line.startswith("|")]
    return [tuple(cell.strip() for cell in row[:columns]) for row in rows if "---" not in row[0]]


def test_the_readable_pages_have_the_same_promises_and_no_names():
    evidence, guarantees, redlock = [(SOURCE / page).read_text(encoding="utf-8") for page in [PAGE, *READABLE]]
    assert re.findall(r"`test_\w+`|`sim-[\w-]+`", guarantees) == []
    assert rows_of(section(guarantees), 2) == rows_of(section(evidence), 2) != []
    faults = {head: rows_of(part) for head, part in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## )", evidence + "\n## ", re.M | re.S)}
    del faults["Protocol by protocol"]
    assert len(faults) == 11
    for head, rows in faults.items():
        page, name = (redlock, "Failures") if head == "Failures of redlock" else (guarantees, head)
        shown = [row for row in rows_of(page.partition(f"## {name}\n")[2].partition("\n## ")[0]) if row[0] != "the servers"]
        assert [row for row in shown if row[0] not in ("fault", "")] == rows[1:], head


# ---- errors of the page are detected ---------------------------------------------------------------

LISTING = (
    "protocols, for try and matrix:\n"
    f"  {'a-lock':28} a story\n"
    f"  {'token-lock':28} a story\n"
    "\ninvariants:\n\nscenarios, for run:\n"
    f"  {'calm':28} {'':15} nothing\n"
    f"  {'limit':28} {'one holder':15} much\n"
)
YES = "| yes | it holds | `calm` `test_a` |"
NO = "| no | for ever | `limit` |"


def said(*rows):
    text = "\n".join(["## Protocol by protocol", "", "### `a-lock`", "", "| | | shown by |", "|---|---|---|", *rows])
    return list(complaints(text + "\n\n## After it\n\n| x |\n", {"test_a"}, LISTING))


def test_complete_page_has_no_complaints():
    assert said(YES, NO) == []


def test_a_test_that_does_not_exist_is_noticed_elsewhere_too():
    text = "| fault | `test_a` `test_b` |\n## Protocol by protocol\n"
    assert list(complaints(text, {"test_a"}, "")) == [
        "test_b is not a test that is run, nor a scenario that nothing breaks"]


@pytest.mark.parametrize(
    "rows, complaint",
    [
        ((YES.replace("test_a", "test_b"), NO), "a-lock: test_b is not a test that is run"),
        ((YES.replace("calm", "storm"), NO), "a-lock: there is no scenario storm"),
        ((YES.replace("calm", "limit"), NO), "a-lock: limit breaks one holder"),
        ((YES, NO.replace("limit", "calm")), "a-lock: calm breaks no invariant"),
        ((YES, "| no | for ever | |"), "a-lock: for ever: names nothing"),
        ((YES,), "a-lock: it is not said what it promises, and what not"),
        ((YES, NO, "| maybe | it | `calm` |"), "a-lock: ['maybe', 'it', '`calm`'] is no row"),
    ],
)
def test_wrong_page_is_detected(rows, complaint):
    assert complaint in said(*rows)
