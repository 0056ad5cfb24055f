"""tests/mutants.txt is current: every planted fault can be planted, and names a test that is built.  So is sim/mutants.txt.

`make mutants` and `make simulate-mutants` show that they are detected; that takes too long for every run.
"""

import os
import pathlib

import mutate
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
    assert len(mutants) >= 60
    assert list(simulate_mutants.complaints(SOURCE, mutants)) == []


GOOD = "[it is wrong]\nfile: a.c\nold: one\nnew: two\nby: live/x\n"


def test_valid_list_has_no_complaints(tmp_path):
    (tmp_path / "a.c").write_text("one\n")
    assert complaints(tmp_path, "# a comment\n\n" + GOOD) == []


def test_text_that_does_not_occur_once_is_detected(tmp_path):
    (tmp_path / "a.c").write_text("one one\n")
    assert complaints(tmp_path, GOOD) == ["it is wrong: its text is 2 times in a.c"]
    (tmp_path / "a.c").unlink()
    assert complaints(tmp_path, GOOD) == ["it is wrong: its text is 0 times in a.c"]


def test_a_fault_that_changes_nothing_is_noticed(tmp_path):
    (tmp_path / "a.c").write_text("one\n")
    assert complaints(tmp_path, GOOD.replace("two", "one")) == ["it is wrong: changes nothing"]


def test_a_test_that_does_not_exist_is_noticed(tmp_path):
    (tmp_path / "a.c").write_text("one\n")
    assert complaints(tmp_path, GOOD.replace("live/x", "live/y")) == ["it is wrong: there is no live/y"]


def test_a_field_that_is_missing_is_noticed(tmp_path):
    (tmp_path / "a.c").write_text("one\n")
    assert complaints(tmp_path, GOOD.replace("by: live/x\n", "")) == [
        "it is wrong: needs exactly file, old, new, by"
    ]


def test_a_fault_for_the_simulator_says_whether_it_is_found(tmp_path):
    (tmp_path / "a.c").write_text("one\n")

    def wrong(found):
        text = GOOD.replace("by: live/x", f"found: {found}")
        return list(simulate_mutants.complaints(tmp_path, mutate.read_mutants(text)))

    assert wrong("yes") == wrong("no, it changes only a text") == []
    assert wrong("no") == wrong("perhaps") == ["it is wrong: found is yes, or no and why"]
