"""docs/design/real-time.md lists every place of the tests where real time passes; and a new or a missing one is noticed."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(os.environ.get("BOWLINE_SOURCE", pathlib.Path(__file__).resolve().parent.parent.parent))
sys.path.insert(0, str(ROOT / "tools"))

import real_time_page as real_time  # noqa: E402

LISTED = "| kind | places | |\n| `clock` | 1 | |\n\n## clock\n\n| place | pauses | why |\n|---|---|---|\n| `a.c: f` | 2 | a lease |\n"


def test_every_place_of_this_tree_is_listed_with_its_reason():
    complaints = real_time.check(ROOT)
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)


@pytest.mark.parametrize("name,text,count", [
    ("a.c", 'int f(void)\n{\n    sleep_ms(1); /* sleep_ms(2) */ say("sleep_ms(3)"); poll(&p, 1, 0); poll(&p, 1, 5);\n}\n', 2),
    ("a.c", 'int f(void)\n{\n    while (clock_ms() < end)\n        look();\n}\n', 1),
    ("a.c", "TEST(f)\n{\n    if (late) {\n        usleep(1);\n    }\n}\n\nvoid sleep_ms(int ms)\n{\n    nanosleep(ms);\n}\n", 1),
    ("a.hpp", "namespace n {\nstruct s {\n    void f() const\n    {\n        std::this_thread::sleep_for(1ms);\n    }\n};\n}\n", 1),
    ("a.py", "def f():\n    # time.sleep(1)\n    time.sleep(2)\n    time.sleep(1000)\n    select.select([a], [], [], 0)\n", 1),
    ("a.py", "class A:\n    def f(self):\n        return ['sh', '-c', 'sleep 0.1; sleep 1000']\n", 1),
    ("a.py", 'f = """\ndef g():\n    time.sleep(1)\n"""\n', 1),
])
def test_a_pause_is_found_in_its_function(tmp_path, name, text, count):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / name).write_text(text)
    assert real_time.places(tmp_path) == {f"{name}: f": count}


@pytest.mark.parametrize("found,part", [
    ({"a.c: f": 2, "b.py: g": 1}, "b.py: g: pauses: 1; not in docs/design/real-time.md"),
    ({"a.c: f": 3}, "a.c: f: pauses: 3; docs/design/real-time.md says 2"),
    ({}, "a.c: f: no pause is left"),
])
def test_a_new_place_and_one_that_is_gone_are_noticed(found, part):
    said = real_time.compare(found, real_time.read(LISTED))
    assert len(said) == 1 and said[0].startswith(part)


def test_what_is_written_needs_a_kind_and_a_reason():
    found = {"b.py: g": 1}
    page = real_time.written(LISTED, found)
    assert "a.c" not in page and "| `clock` | 0 |" in page and "| `b.py: g` | 1 |  |" in page.split(f"## {real_time.NEW}")[1]
    assert real_time.written(page, found) == page and "needs a kind" in real_time.compare(found, real_time.read(page))[0]
    assert real_time.written(page, {"a.c: f": 2}).count("##") == 2 and real_time.written(LISTED, {"a.c: f": 2}) == LISTED
