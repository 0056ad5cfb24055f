"""tests/mutants.txt is current: every planted fault can be planted, and names a test that is built.  So is sim/mutants.txt.

`make mutants` and `make simulate-mutants` show that they are detected; that takes too long for every run.
"""

import os
import pathlib

import mutate
import pytest
import simulate_mutants

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])


def complaints(root, text, build_file="c_tests = [\n  ['live', 'x'],\n]\n"):
    return list(mutate.complaints(root, mutate.read_mutants(text), build_file))


def test_every_fault_can_be_planted():
    build_file = (SOURCE / "tests" / "meson.build").read_text(encoding="utf-8")
    text = (SOURCE / "tests" / "mutants.txt").read_text(encoding="utf-8")
    assert len(mutate.read_mutants(text)) >= 12
    assert complaints(SOURCE, text, build_file) == []


def test_every_fault_for_the_simulator_can_be_planted():
    mutants = mutate.read_mutants((SOURCE / "sim" / "mutants.txt").read_text(encoding="utf-8"))
    assert len(mutants) >= 180
    assert sum(m["from"] != "new" for m in mutants) >= 40
    assert list(simulate_mutants.complaints(SOURCE, mutants)) == []


GOOD = "[it is wrong]\nfile: a.c\nold: one\nnew: two\nby: live/x\n"


@pytest.mark.parametrize("source, text, complaint", [
    ("one", "# a comment\n\n" + GOOD, None),
    ("one one", GOOD, "its text is 2 times in a.c"),
    (None, GOOD, "its text is 0 times in a.c"),
    ("one", GOOD.replace("two", "one"), "changes nothing"),
    ("one", GOOD.replace("live/x", "live/y"), "there is no live/y"),
    ("one", GOOD.replace("by: live/x\n", ""), "needs exactly file, old, new, by"),
])
def test_fault_that_cannot_be_planted_or_noticed_is_detected(tmp_path, source, text, complaint):
    if source is not None:
        (tmp_path / "a.c").write_text(source + "\n")
    assert complaints(tmp_path, text) == ([] if complaint is None else [f"it is wrong: {complaint}"])


def wrong_for_the_simulator(tmp_path, **changed):
    (tmp_path / "a.c").write_text("one\n")
    fields = {"worlds": "any", "from": "new", "found": "yes"} | changed
    text = GOOD.replace("by: live/x\n", "".join(f"{name}: {value}\n" for name, value in fields.items()))
    return list(simulate_mutants.complaints(tmp_path, mutate.read_mutants(text)))


@pytest.mark.parametrize("changed, complaint", [
    ({}, None),
    ({"found": "no, it changes only a text"}, None),
    ({"found": "no"}, "found is yes, or no and why"),
    ({"found": "perhaps"}, "found is yes, or no and why"),
    ({"from": "mended 0123abcd"}, None),
    ({"from": "mended"}, "from is new, or mended and a commit"),
    ({"worlds": "cluster"}, None),
    ({"worlds": "flat"}, "worlds is one of any, single, redlock, sync, sentinel, cluster"),
])
def test_a_fault_for_the_simulator_says_its_worlds_its_source_and_whether_it_is_found(tmp_path, changed, complaint):
    assert wrong_for_the_simulator(tmp_path, **changed) == ([] if complaint is None else [f"it is wrong: {complaint}"])


def test_the_lines_of_the_simulator_are_read():
    run = simulate_mutants.Run()
    for line in ("world 1", "seed 1: ok; 2.000 virtual s, 3 events", "world 2", "seed 2: fence: lock 0; 2.000 virtual s, 3 events"):
        run.take(line)
    assert (run.worlds, run.seed, run.failure) == (2, 2, "fence: lock 0")
    run = simulate_mutants.Run()
    run.take("world 7")
    run.end(-6, "bowline-sim: a.c:1: f: Assertion `x > 0' failed.\n")
    assert (run.seed, run.failure) == (7, "assertion: x > 0")


def test_the_page_has_a_row_for_each_fault(tmp_path):
    found, left = (simulate_mutants.Result(m) for m in mutate.read_mutants(2 * GOOD.replace("by: live/x", "found: no, why")))
    for result, source in ((found, "new"), (left, "mended 0123abcd")):
        result.mutant |= {"worlds": "any", "from": source}
    found.seed, found.worlds, found.failure = 5, 5, "fence: lock 0"
    left.worlds = 300
    page = simulate_mutants.page([found, left], 300)
    assert "2 were planted: 1 were found within 300 worlds." in page
    assert "| it is wrong | `a.c` | new | any | fence | 5 | 5 |" in page
    assert "| it is wrong | `a.c` | mended 0123abcd | any | why | 300 |" in page
