"""docs/reference/profiles.md is what `make docs` would write now, and the manual page names every profile."""

import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
BUILD = pathlib.Path(os.environ["BOWLINE_BUILD"])


def table():
    return subprocess.run([str(BUILD / "bowline-profiles")], capture_output=True, text=True, check=True).stdout


def page_of(text, tmp_path):
    (tmp_path / "table").write_text(text, encoding="utf-8")
    command = [sys.executable, str(SOURCE / "tools" / "profile_page.py"), str(tmp_path / "table")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_page_is_as_new_as_its_table(tmp_path):
    made = page_of(table(), tmp_path)
    assert made.returncode == 0, made.stderr
    kept = (SOURCE / "docs" / "reference" / "profiles.md").read_text(encoding="utf-8")
    assert made.stdout == kept, "make docs writes docs/reference/profiles.md anew"


def test_a_change_of_the_table_changes_the_page(tmp_path):
    made = page_of(table().replace("lock-signal", "lock-signals"), tmp_path)
    assert made.stdout != (SOURCE / "docs" / "reference" / "profiles.md").read_text(encoding="utf-8")


def test_unknown_line_of_the_table_is_an_error(tmp_path):
    assert page_of(table() + "profile\tshort\n", tmp_path).returncode != 0


def test_every_profile_has_a_section_and_a_line_in_the_manual():
    names = [line.split("\t")[1] for line in table().splitlines()]
    page = (SOURCE / "docs" / "reference" / "profiles.md").read_text(encoding="utf-8")
    manual = (SOURCE / "docs" / "man" / "bowline.7.scd").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)$", page, re.M) == names
    (listed,) = re.findall(r"^The profiles: (.*?)\.$", manual, re.M | re.S)
    assert listed.replace(",", " ").split() == names


def test_every_protocol_is_in_the_manual():
    source = (SOURCE / "src" / "protocol" / "protocol.h").read_text(encoding="utf-8")
    machines = re.findall(r"^    X\(\w+, (\w+)\)", source, re.M)
    texts = [page.read_text(encoding="utf-8") for page in (SOURCE / "src" / "protocol").rglob("*.c")]
    manual = (SOURCE / "docs" / "man" / "bowline.7.scd").read_text(encoding="utf-8")
    assert len(machines) > 1
    for machine in machines:
        defined = [re.search(rf"\bbwl_{machine} = {{.*?\.name\s*= \"([\w-]+)\"", text, re.S) for text in texts]
        (name,) = {match[1] for match in defined if match} or {machine}  # a macro names some after the object
        assert re.search(rf"\*protocol={name}\*", manual), name
