"""The completions of a half-typed bowline in bash, zsh and fish, with the files of this build.

bash is tested twice: with the package bash-completion, which can complete the command after the name as if it
stood alone, and without.
"""

import os
import pathlib
import re
import subprocess

import pytest
import shells

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
BUILD = pathlib.Path(os.environ["BOWLINE_BUILD"])
BOWLINE = os.environ.get("BOWLINE", "")
MADE = BUILD / "completions"
TABLES = MADE / "option-tables"
TOOL = SOURCE / "tools/option_table.py"
BASH_COMPLETION = pathlib.Path("/usr/share/bash-completion/bash_completion")

pytestmark = pytest.mark.skipif(not BOWLINE, reason="this build has no command")


class Options:
    """The options of `bowline run`, as its help prints them."""

    def __init__(self):
        said = subprocess.run([BOWLINE, "help", "run"], capture_output=True, text=True, check=True).stdout
        rows = re.findall(r"^(?:-(\w),| {3}) --([\w-]+)( \S+)?  ", said, re.M)
        assert len(rows) >= 16, said
        self.long = {"--" + name for _, name, _ in rows}
        self.letters = {"-" + letter for letter, _, _ in rows if letter}
        self.with_value = {"--" + name for _, name, argument in rows if argument}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    place = tmp_path_factory.mktemp("completion")
    (place / "secret.url").touch()
    (place / "of mine").mkdir()
    (place / "programme").write_text("#!/bin/sh\n")
    (place / "programme").chmod(0o755)
    return place


@pytest.fixture(scope="module", params=["bash", "bash-alone", "zsh", "fish"])
def shell(request, directory):
    """complete(line) -> the set of words that may replace its last one."""
    if request.param == "fish":
        asked = shells.Fish(directory, MADE)
        raw = asked.complete
    else:
        if request.param == "zsh":
            asked = shells.Zsh(directory, f"fpath=({MADE} $fpath)\n")
        else:
            if request.param == "bash" and not BASH_COMPLETION.exists():
                shells.needed("bash-completion")
            first = f". {BASH_COMPLETION}\n" if request.param == "bash" else ""
            asked = shells.Bash(directory, f"{first}. {MADE}/bowline\n")

        def raw(line):
            """The words that the shell inserted for the last one. Spaces in the name of a file are escaped."""
            before = line[: line.rfind(" ") + 1]
            done = asked.complete(line)
            assert done.startswith(before), done
            return re.findall(r"(?:\\.|[^\s\\])+", done[len(before) :])

    def complete(line):
        words = {word.replace("\\ ", " ").rstrip("/") for word in raw(line)} - {""}
        # A shell without a completion leaves the word unchanged.
        return words - {line.rsplit(" ", 1)[1]}

    complete.name = request.param
    yield complete
    asked.end()


EXPLAINED = {"run", "elect", "observe", "hold", "release", "break", "who", "ls", "watch", "top", "fence", "lab", "caps", "acl", "doctor", "version"}


def bare(words):
    """Without the = that some shells append to an option with a value."""
    return {word.rstrip("=") for word in words}


def test_commands_come_first(shell):
    words = shell("bowline ")
    assert {word for word in words if not word.startswith("-")} == {*EXPLAINED, "help"}
    assert shell("bowline ru") == {"run"}


def test_help_and_version_are_offered_before_a_command(shell):
    assert bare(shell("bowline --")) == {"--help", "--version"}
    assert shell("bowline --v") == {"--version"}


def test_every_option_is_offered(shell):
    options = Options()
    assert bare(shell("bowline run --")) == options.long
    if shell.name != "zsh":  # fish offers only the long form if there are two
        assert options.letters <= shell("bowline run -")


def test_option_is_offered_after_other_options(shell):
    assert "--close" in bare(shell("bowline run -q --max-hold 5m --clo"))
    assert "--close" in bare(shell("bowline run -qw 5m --clo"))
    assert "--close" in bare(shell("bowline run --url redis://host:1/0 --clo"))


@pytest.mark.parametrize("line", ["bowline run --on-lost ", "bowline run -q --on-lost ", "bowline run --on-lost="])
def test_closed_set_is_offered_completely(shell, line):
    assert {word.rsplit("=", 1)[-1] for word in shell(line)} == {"term", "kill", "warn"}


def test_what_is_offered_is_accepted(shell):
    for word in shell("bowline run --on-lost "):
        # No name and no command follow: the error must be about that, and not about the value.
        done = subprocess.run([BOWLINE, "run", "--on-lost", word], capture_output=True, text=True, check=False)
        assert done.returncode == 125 and "the name of the lock is missing" in done.stderr


@pytest.mark.parametrize("form", ["--url-file ", "--url-file="])
def test_a_file_is_offered_where_an_option_takes_one(shell, form):
    words = {word.rsplit("=", 1)[-1] for word in shell(f"bowline run {form}")}
    assert {"secret.url", "of mine", "programme"} <= words
    assert {word.rsplit("=", 1)[-1] for word in shell(f"bowline run {form}sec")} == {"secret.url"}


def test_free_text_has_no_completion(shell):
    for option in Options().with_value - {"--on-lost", "--url-file", "--ticket", "--metrics-file"}:
        assert shell(f"bowline run {option} ") == set(), option


def test_a_name_is_not_a_file_unless_it_looks_like_one(shell):
    assert shell("bowline run sec") == set()
    assert shell("bowline run ./sec") == {"./secret.url"}
    assert shell("bowline run -- ./sec") == {"./secret.url"}


@pytest.mark.parametrize(
    "before", ["nightly", "-n nightly", "-w 5m nightly --", "-- nightly", "--url redis://h:1 nightly", "-qw 5m a=b"]
)
def test_command_line_is_completed_after_the_name(shell, before):
    assert "printf" in shell(f"bowline run {before} prin")
    assert shell(f"bowline run {before} cat sec") == {"secret.url"}
    assert shell(f"bowline run {before} ./prog") == {"./programme"}


def test_options_after_the_name_are_those_of_the_command(shell):
    assert "--close" not in bare(shell("bowline run nightly cat --clo"))
    if shell.name != "bash-alone":  # fish offers only files after a command
        assert "--close" in bare(shell("bowline run nightly bowline run --clo"))
        assert shell("bowline run nightly bowline he") == {"help"}
        assert shell("bowline run nightly -- bowline he") == {"help"}
        assert "--number" in bare(shell("bowline run nightly cat --num"))
        assert "--number" in bare(shell("bowline run -n nightly cat -u --num"))


def test_help_offers_its_topics(shell):
    assert shell("bowline help ") == EXPLAINED


def test_break_has_options_and_no_command(shell):
    assert bare(shell("bowline break --")) == {"--id", "--yes", "--json", "--url", "--url-file", "--help"}
    assert shell("bowline break --url-file sec") == {"secret.url"}


def test_fence_offers_its_actions_then_a_file(shell):
    assert shell("bowline fence ") == {"check", "run", "show"}
    assert shell("bowline fence sh") == {"show"}
    assert "--help" in bare(shell("bowline fence --"))
    for verb in ("check", "run", "show"):
        assert shell(f"bowline fence {verb} sec") == {"secret.url"}
    assert {"secret.url", "of mine", "programme"} <= shell("bowline fence check ")


# The tables from which the completions are made.


def test_options_before_a_command_are_accepted():
    options = [line.split("\t") for line in TABLES.read_text().splitlines() if line.startswith("option\t\t")]
    assert len(options) >= 2
    for _, _, letter, name, *_ in options:
        said = [subprocess.run([BOWLINE, w], capture_output=True, check=True).stdout for w in (f"-{letter}", f"--{name}")]
        assert said[0] == said[1] != b""


def make(*words):
    return subprocess.run(["python3", TOOL, *words], capture_output=True, text=True, check=False)


def test_a_page_must_have_every_option_once(tmp_path):
    page = tmp_path / "page.scd"
    whole = (SOURCE / "docs/man/bowline.1.scd").read_text()
    page.write_text(whole)
    assert make(TABLES, "man", page).returncode == 0
    for wrong, why in (
        (whole.replace("@option run --skip@", ""), "@option run --skip@"),
        (whole + "\n@option run --skip@\n", "twice"),
        (whole + "\n@option run --frob@\n", "--frob"),
    ):
        page.write_text(wrong)
        done = make(TABLES, "man", page)
        assert done.returncode == 1 and done.stdout == "" and why in done.stderr


def test_the_page_has_the_names_and_the_argument_of_an_option(tmp_path):
    table = tmp_path / "table"
    table.write_text("command\tgo\tNAME [ARG...]\twhat\noption\tgo\tx\tex\ta|b\twhat\noption\t\th\thelp\t\twhat\n")
    page = tmp_path / "page.scd"
    page.write_text("@synopsis@\n@option go --ex@\n")
    expected = "*bowline go* [_option_...] _NAME_ [_ARG_...]++\n*bowline --help*\n*-x*, *--ex* *a*|*b*\n"
    assert make(table, "man", page).stdout == expected


def test_invalid_table_is_refused(tmp_path):
    table = tmp_path / "table"
    for text in ("", "frob\tx\n"):
        table.write_text(text)
        assert make(table, "bash").returncode == 1
