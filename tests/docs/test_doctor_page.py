"""docs/how-to/doctor.md is what `make docs` would write now, and its table has a line for each check."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from own_redis import need_redis

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
PAGE = SOURCE / "docs" / "how-to" / "doctor.md"


@pytest.fixture(scope="module")
def tool():
    if not os.environ.get("BOWLINE"):
        pytest.skip("this build has no command")
    need_redis()
    return [sys.executable, str(SOURCE / "tools/doctor_page.py"), os.environ["BOWLINE"]]


def test_page_agrees_with_the_command(tool):
    assert subprocess.run([*tool, str(PAGE), "--check"], check=False).returncode == 0, "make docs writes it anew"


def test_outdated_page_is_detected_and_repaired(tool, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8").replace("warning   eviction", "ok        eviction"), encoding="utf-8")
    assert subprocess.run([*tool, str(page), "--check"], check=False).returncode == 1
    assert subprocess.run([*tool, str(page)], check=False).returncode == 0
    assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")


def test_every_check_has_its_line():
    listed = re.findall(r"^\| `([\w ]+)` \|", PAGE.read_text(encoding="utf-8"), re.M)
    made = set()
    for path in (SOURCE / "doctor").glob("*.c"):
        text = path.read_text(encoding="utf-8")
        made |= set(re.findall(r'visit_(?:find|cannot)\(\s*&?v,\s*"([\w ]+)"', text))
        made |= set(re.findall(r'\? "(\w+)" : "(\w+)";', text)[0]) if path.name == "reach.c" else set()
    assert sorted(listed) == sorted(made)
