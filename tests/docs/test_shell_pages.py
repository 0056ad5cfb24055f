"""The commands of the pages are typed into terminals: each prints what its page shows."""

import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
BOWLINE = os.environ.get("BOWLINE", "")
PAGES = [page for page in sorted((SOURCE / "docs").rglob("*.md")) if "\n<!-- terminal: " in page.read_text(encoding="utf-8")]

pytestmark = pytest.mark.skipif(not BOWLINE, reason="this build has no command")


def typed(page):
    command = [sys.executable, str(SOURCE / "tools" / "shell_page.py"), BOWLINE, str(page), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_print_what_the_page_shows(page):
    made = typed(page)
    assert made.returncode == 0, f"make docs writes {page.name} anew\n{made.stdout}{made.stderr}"


def test_the_tutorial_and_a_how_to_are_typed():
    assert {"first-ten-minutes"} < {page.stem for page in PAGES}


@pytest.mark.parametrize(
    "body, complaint",
    [
        ("$ bowline run n echo one\ntwo\n", "-two\n+one\n"),
        ("$ bowline run n sh -c 'exit 7'\n$ echo $?\n0\n", "-0\n+7\n"),
        ("$ kill -9 4121\n", "no output before has the process 4121"),
    ],
    ids=["output", "exit-code", "foreign-process"],
)
def test_a_difference_is_noticed(body, complaint, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"<!-- terminal: 1 -->\n```console\n{body}```\n", encoding="utf-8")
    made = typed(page)
    assert made.returncode == 1 and complaint in made.stdout + made.stderr
    assert typed(page).returncode == 1, "a check changes no page"


def test_what_varies_is_no_difference(tmp_path):
    page = tmp_path / "page.md"
    body = '$ echo "held by me@here pid $$ for 3m12s"\nheld by ann@web-1 pid 4121 for 8s\n$ kill -0 4121\n'
    page.write_text(f"<!-- terminal: 1 -->\n```console\n{body}```\n", encoding="utf-8")
    assert typed(page).returncode == 0
