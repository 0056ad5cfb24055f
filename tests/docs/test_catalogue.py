"""The output of the lab in docs/reference/catalogue.md is current; every lock of the catalogue has its section."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
BUILD = pathlib.Path(os.environ["BOWLINE_BUILD"])
BOWLINE = os.environ.get("BOWLINE", "")
LAB = os.environ.get("BOWLINE_LAB", "")
CATALOGUE = SOURCE / "docs" / "reference" / "catalogue.md"
CHINESE = SOURCE / "docs" / "reference" / "catalogue.zh-CN.md"
SHOWING = [CATALOGUE, CHINESE, SOURCE / "docs" / "reference" / "lock-files.md", SOURCE / "README.zh-CN.md"]

needs_lab = pytest.mark.skipif(not LAB, reason="this build has no lab")


def fill(page):
    command = [sys.executable, str(SOURCE / "tools" / "catalogue_page.py"), LAB, str(page)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def made_anew(page, tmp_path):
    copy = tmp_path / page.name
    shutil.copyfile(page, copy)
    said = fill(copy)
    assert said.returncode == 0, said.stderr
    return copy.read_text(encoding="utf-8")


@needs_lab
@pytest.mark.parametrize("page", SHOWING, ids=lambda page: page.name)
def test_page_has_the_output_of_the_lab(page, tmp_path):
    assert made_anew(page, tmp_path) == page.read_text(encoding="utf-8"), f"make docs writes {page.name} anew"


# ---- faults are detected ---------------------------------------------------------------------------


def small_page(tmp_path, text):
    page = tmp_path / "small.md"
    page.write_text(text, encoding="utf-8")
    return page


@needs_lab
@pytest.mark.parametrize("words, what", [("setnx-del", "no client can ever get the lock"), ("token --restart 1", "1 restart")])
def test_text_between_the_marks_is_replaced(tmp_path, words, what):
    page = small_page(tmp_path, f"before\n<!-- lab: {words} -->\nin 99 steps\n<!-- /lab -->\nafter\n")
    assert fill(page).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n<!-- lab: {words} -->\n```\n$ bowline lab try {words}\n")
    assert text.endswith("\n```\n<!-- /lab -->\nafter\n") and "99 steps" not in text and what in text
    assert not re.search(r" states in |[ \t]$", text, re.M), "a time, or the end of a line, would never be the same"


@needs_lab
@pytest.mark.parametrize(
    "text",
    [
        "<!-- lab: setnx-dell -->\n<!-- /lab -->\n",
        "<!-- lab: setnx-del --loss many -->\n<!-- /lab -->\n",
        "<!-- lab: setnx-del -->\n",
        "<!-- lab: setnx-del -->\n<!-- lab: token -->\n<!-- /lab -->\n",
        "nothing of the lab\n",
    ],
    ids=["no-such-lock", "no-such-number", "left-open", "open-within", "no-region"],
)
def test_invalid_marks_are_an_error_and_change_nothing(text, tmp_path):
    page = small_page(tmp_path, text)
    assert fill(page).returncode != 0
    assert page.read_text(encoding="utf-8") == text


# ---- required contents -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page, lost, what",
    [(0, "*In practice*: it happens", "setnx-del lacks the part: practice"), (1, "<!-- lock: queue -->", "only: queue")],
)
def test_a_lock_that_lacks_a_part_fails_the_build(page, lost, what, tmp_path):
    made = [tmp_path / "english.md", tmp_path / "chinese.md"]
    for i, path in enumerate([CATALOGUE, CHINESE]):
        made[i].write_text(path.read_text(encoding="utf-8").replace(lost if i == page else "\0", ""), encoding="utf-8")
    command = [sys.executable, str(SOURCE / "tools" / "explain_text.py"), *map(str, made)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode != 0 and what in said.stderr


@pytest.mark.skipif(not BOWLINE, reason="this build has no command")
def test_the_commands_without_a_server_run_as_they_stand(tmp_path):
    text = CATALOGUE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("bowline run ./")]
    lines += [line for block in blocks for line in block.splitlines() if line.startswith("bowline run nightly")]
    assert len(lines) >= 2
    report = tmp_path / "report.sh"
    report.write_text("#!/bin/sh\necho ran >> ran\n")
    report.chmod(0o755)
    locks = tmp_path / "locks"
    locks.mkdir(mode=0o700)
    path = f"{pathlib.Path(BOWLINE).parent}:{os.environ['PATH']}"
    environment = dict(os.environ, PATH=path, BOWLINE_URL=f"file:{locks}")
    for line in lines:
        said = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert said.returncode == 0, f"{line}: {said.stderr}"
    assert (tmp_path / "ran").read_text() == "ran\n" * len(lines)
