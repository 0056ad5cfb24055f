"""The pages are tested: examples are compiled and run, names are looked up, links are followed."""

import os
import pathlib
import re
import subprocess

import pytest

import command_pages

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
BUILD = pathlib.Path(os.environ["BOWLINE_BUILD"])
BOWLINE = os.environ.get("BOWLINE", "")
LAB = os.environ.get("BOWLINE_LAB", "")
PAGES = sorted(SOURCE.glob("*.md")) + sorted((SOURCE / "docs").rglob("*.md"))


def blocks(page, language):
    """The code blocks of a page that are in this language."""
    text = (SOURCE / page).read_text(encoding="utf-8")
    return re.findall(r"^```" + language + r"\n(.*?)^```", text, re.M | re.S)


def sanitized():
    return os.environ.get("BOWLINE_SANITIZE", "none") != "none"


def run(arguments, **options):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False, **options)


# ---- README ----------------------------------------------------------------------------------------


def test_readme_c_example_is_short_compiles_and_takes_the_lock(tmp_path):
    (example,) = blocks("README.md", "c")
    body = [line for line in example.splitlines() if line.strip() not in ("", "{", "}")]
    assert len(body) <= 12, "the example in the README is to be read at a glance"
    assert '"file:"' in example
    source = tmp_path / "example.c"
    source.write_text(example.replace('"file:"', f'"file:{tmp_path}"'))
    flags = ["-fsanitize=" + os.environ["BOWLINE_SANITIZE"]] if sanitized() else []
    built = run(
        os.environ["BOWLINE_CC"].split()
        + ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", str(SOURCE / "include"), str(source)]
        + [str(BUILD / "libbowline.a"), "-lpthread", "-ldl", "-o", str(tmp_path / "example")]
        + flags
    )
    assert built.returncode == 0, built.stderr
    fences = []
    for _ in range(2):
        said = run([str(tmp_path / "example")])
        assert said.returncode == 0, said.stderr
        fences.append(int(re.fullmatch(r"ours, with fence (\d+)\n", said.stdout).group(1)))
    assert fences[0] < fences[1]


@pytest.mark.skipif(not BOWLINE, reason="this build has no command")
def test_readme_shell_examples_run_as_they_stand(tmp_path):
    lines = [
        line
        for block in blocks("README.md", "sh")
        for line in block.splitlines()
        if line.startswith("bowline run")
    ]
    assert len(lines) >= 4
    report = tmp_path / "report.sh"
    report.write_text('#!/bin/sh\necho "$BOWLINE_NAME" >> ran\n')
    report.chmod(0o755)
    locks = tmp_path / "locks"
    locks.mkdir(mode=0o700)
    environment = dict(
        os.environ,
        PATH=f"{pathlib.Path(BOWLINE).parent}:{os.environ['PATH']}",
        BOWLINE_URL=f"file:{locks}",
    )
    for line in lines:
        said = run(["sh", "-c", line], cwd=tmp_path, env=environment)
        assert said.returncode == 0, f"{line}: {said.stderr}"
    assert (tmp_path / "ran").read_text() == "nightly\n" * len(lines)


def test_the_recording_in_the_readme_is_that_of_the_tutorial():
    drawn = run([SOURCE / "tools" / "terminal_svg.py", SOURCE / "docs/tutorial/first-ten-minutes.md", "Between machines"])
    assert drawn.stdout == (SOURCE / "docs/tutorial/first-ten-minutes.svg").read_text(encoding="utf-8"), "make docs draws it anew"
    assert "Killed</text>" in drawn.stdout and drawn.stdout.count("<rect") == 3


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_the_rows_of_the_readme_are_those_of_the_comparison(readme):
    page = (SOURCE / "docs/explanation/performance.md").read_text(encoding="utf-8").partition("### peer-hand-over-X")[2]
    rows = re.findall(r"^\| (.+?) \| (\d+) us \| (\d+) us \| ([\d.]+) \|$", (SOURCE / readme).read_text(encoding="utf-8"), re.M)
    assert len(rows) == 3
    for library, theirs, ours, ratio in rows:
        peer = {"Redisson, RLock": "RLock", "redis-py, Lock": "redis-py", "redsync": "redsync"}[library]
        (measured,) = re.findall(rf"^\| {peer} \| \*\*{re.escape(ratio)}\*\* .*\| (\d+) / \d+ us \| (\d+) / \d+ us \|$", page, re.M)
        assert measured == (ours, theirs), library


# ---- update ----------------------------------------------------------------------------------------


def test_the_update_page_shows_its_example_and_cpp_code_that_compiles():
    example = (SOURCE / "examples" / "09-update.c").read_text(encoding="utf-8")
    shown = blocks("docs/how-to/update.md", "c")
    assert len(shown) == 2
    assert [block for block in shown if block not in example] == []
    (cpp,) = blocks("docs/how-to/update.md", "cpp")
    compiler = os.environ.get("BOWLINE_CXX")
    if not compiler:
        pytest.skip("there is no C++ compiler")
    program = "#include <bowline/bowline.hpp>\nvoid f(bowline::client &client)\n{\n" + cpp + "}\n"
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", "-"]
    built = run([*compiler.split(), "-I", str(SOURCE / "include"), *flags], input=program)
    assert built.returncode == 0, built.stderr


# ---- pictures --------------------------------------------------------------------------------------


@pytest.mark.skipif(not LAB, reason="this build has no lab")
def test_the_pictures_of_why_setnx_breaks_are_those_of_the_lab(tmp_path):
    made = run([SOURCE / "tools" / "lab_pictures.py", LAB, str(tmp_path)])
    assert made.returncode == 0, made.stderr
    drawn = {page.name: page.read_text() for page in tmp_path.glob("*.svg")}
    kept = {page.name: page.read_text() for page in (SOURCE / "docs/explanation/why-setnx").glob("*.svg")}
    assert len(kept) == 10 and drawn == kept, "make docs draws them anew"
    page = (SOURCE / "docs/explanation/why-setnx-breaks.md").read_text(encoding="utf-8")
    assert [name for name in kept if not name.endswith(".zh-CN.svg") and f"why-setnx/{name}" not in page] == []


# ---- troubleshooting -------------------------------------------------------------------------------


def troubleshooting(text, *directories):
    command = [SOURCE / "tools" / "troubleshooting_page.py", *directories]
    return run(command, input=text, cwd=SOURCE)


def test_troubleshooting_is_keyed_by_texts_of_the_sources():
    kept = (SOURCE / "docs/reference/troubleshooting.md").read_text(encoding="utf-8")
    made = troubleshooting((SOURCE / "docs/reference/troubleshooting.txt").read_text(encoding="utf-8"), "cli", "src", "doctor")
    assert (made.stdout, made.stderr) == (kept, ""), "make docs writes it anew"
    assert len(re.findall("^### `", kept, re.M)) >= 40


def test_each_error_that_people_see_when_they_type_has_its_row():
    page = (SOURCE / "docs/reference/troubleshooting.md").read_text(encoding="utf-8")
    rows = [".*".join(map(re.escape, row.replace("5m", "1s").split("..."))) for row in re.findall("^### `(.*)`$", page, re.M) if row[:9] != "check the"]
    typed = re.sub(r"^\[\w+\] ", "", (SOURCE / "tests/cli/typed.txt").read_text(encoding="utf-8"), flags=re.M)
    errors = re.findall(r"(?:^bowline: .*\n){3}", typed, re.M)
    assert len(errors) >= 15 and [error for error in errors if not any(re.search(row, error) for row in rows)] == []


def test_a_text_that_the_sources_lack_is_an_error(tmp_path):
    (tmp_path / "a.c").write_text('/* "gone" */ f("%s was "\n  "lost after %" PRIu64 " ms", x);')
    there = troubleshooting("= %s was lost after %llu ms\nWhy.\n", tmp_path)
    assert there.stdout.endswith("### `... was lost after ... ms`\n\nWhy.\n")
    assert troubleshooting("= gone\nWhy.\n", tmp_path).stderr.endswith("no source has: gone\n")


# ---- manual pages ----------------------------------------------------------------------------------


def manual(name):
    made = BUILD / "docs" / "man" / (name + ".scd")
    page = made if made.exists() else SOURCE / "docs" / "man" / (name + ".scd")
    return page.read_text(encoding="utf-8").replace("\\", "")


def test_every_function_is_in_the_manual():
    symbols = (SOURCE / "tests" / "abi" / "symbols.txt").read_text().splitlines()
    page = manual("bowline.3")
    missing = [s for s in symbols if s and not s.startswith("#") and f"{s}(" not in page]
    assert missing == []


def test_the_directory_of_all_users_is_made_sticky_and_can_be_used(tmp_path):
    entry = (SOURCE / "tmpfiles.d" / "bowline.conf").read_text(encoding="utf-8")
    kind, path, mode, owner, group, _ = [line for line in entry.splitlines() if not line.startswith("#")][0].split()
    assert (kind, path, owner, group) == ("d", "/run/lock/bowline", "root", "root")
    assert int(mode, 8) == 0o1777
    for page in ("README.md", "docs/explanation/guarantees.md", "docs/man/bowline.7.scd", "include/bowline/bowline.h"):
        assert f"file://{path}" in (SOURCE / page).read_text(encoding="utf-8"), page
    if BOWLINE:
        shared = tmp_path / "shared"
        shared.mkdir()
        shared.chmod(int(mode, 8))
        assert run([BOWLINE, "run", "--url", f"file://{shared}", "n", "true"]).returncode == 0
        assert list(shared.iterdir()) != []


def test_every_status_is_in_the_manual():
    header = (SOURCE / "include" / "bowline" / "error.h").read_text()
    names = re.findall(r"^    BOWLINE_(\w+) +=", header.split("typedef enum")[1].split("}")[0], re.M)
    page = manual("bowline.7")
    assert len(names) >= 13
    assert [name for name in names if f"*{name}*" not in page] == []


@pytest.mark.skipif(not BOWLINE, reason="this build has no command")
def test_the_manual_and_the_help_know_the_same_options():
    known = set()
    for command in ("run", "elect", "observe", "hold", "release", "who", "ls", "watch", "top", "break", "fence", "caps", "acl", "doctor"):
        said = run([BOWLINE, "help", command])
        assert said.returncode == 0
        found = set(re.findall(r"--[a-z][a-z-]+", said.stdout))
        assert found, said.stdout
        known |= found
    page = manual("bowline.1")
    assert {option for option in known if option not in page} == set()
    assert {option for option in set(re.findall(r"--[a-z][a-z-]+", page)) if option not in known} - {"--version"} == set()


@pytest.mark.skipif(not BOWLINE, reason="this build has no command")
def test_each_command_has_a_page_of_its_own_with_its_options():
    commands = re.findall(r"^  (\w+) +\w", run([BOWLINE, "--help"]).stdout, re.M)
    assert {"run", "hold", "who", "ls", "doctor"} < set(commands)
    for command in set(commands) - {"lab", "help"}:
        page = manual(f"bowline-{command}.1")
        assert page.startswith(f"bowline-{command}(1)\n") and f"*bowline {command}*" in page.partition("# DESCRIPTION")[0]
        missing = [option for option in re.findall(r"--[a-z][a-z-]+", run([BOWLINE, "help", command]).stdout) if option not in page]
        assert missing == [], command
    claimed = {part for parts in command_pages.PARTS.values() for part in parts}
    left = set(re.findall(r"^# (.+)$", manual("bowline.1"), re.M)) - claimed - {*command_pages.SHARED, *command_pages.ONLY_THERE}
    assert left == set(), "PARTS of tools/command_pages.py says to which command a part belongs"


@pytest.mark.skipif(not LAB, reason="this build has no lab")
def test_the_manual_knows_the_commands_of_the_lab():
    usage = subprocess.run([LAB, "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  (\w+) ", usage.partition("usage:")[2].partition("\n\n")[0], re.M)
    assert len(commands) >= 6
    page = manual("bowline.1").partition("\n# LAB\n")[2].partition("\n# ")[0]
    assert re.findall(r"^\*bowline lab (\w+)\*", page, re.M) == commands


def test_the_manual_and_the_help_of_the_lab_know_the_same_options():
    if not LAB:
        pytest.skip("this build has no lab")
    option = r"(?:-(\w)\W+)?--([a-z]+)"
    known = set(re.findall(option, run([LAB, "--help"]).stdout))
    assert len(known) >= 7
    assert set(re.findall(r"^" + option, manual("bowline-lab.1").replace("*", ""), re.M)) == known


# ---- links -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SOURCE)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_architecture_names_files_that_exist():
    text = (SOURCE / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for name in re.findall(r"`((?:src|lab|tests|docs|include)/[\w/.]+)`", text):
        assert (SOURCE / name).exists(), name
