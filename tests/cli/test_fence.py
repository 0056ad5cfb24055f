"""`bowline fence`: output, exit code, and a late holder whose write is refused.

test_fence_file.c tests the file with crashes and concurrent checks.
"""

import os
import pathlib
import signal
import stat
import subprocess

import pytest

from conftest import failed

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
REFUSED = 123


def fence(place, *words, **how):
    return place.bowline("fence", *map(str, words), **how)


def with_fence(place, number, **more):
    return dict(place.env, BOWLINE_FENCE=str(number), **more)


# Output.


def test_higher_and_equal_pass_without_output_and_lower_is_123(place):
    for number, code in ((41, 0), (41, 0), (42, 0), (41, REFUSED), (42, 0)):
        assert fence(place, "check", "f", number).returncode == code, number
    assert place.path("f").read_text() == "bowline fence 42\n"
    what, why, what_to_type = failed(fence(place, "check", "f", 41), REFUSED)
    assert what == "fence 41 is refused: f has 42"
    assert "a later holder" in why and "write nothing more" in what_to_type
    assert place.path("f").read_text() == "bowline fence 42\n"


def test_show_prints_the_highest_fence(place):
    what, why, _ = failed(fence(place, "show", "f"))
    assert what == "f has stored no fence" and "no such file" in why
    assert not place.path("f").exists()
    fence(place, "check", "f", 18446744073709551615)
    done = fence(place, "show", "f")
    assert (done.returncode, done.stdout, done.stderr) == (0, "18446744073709551615\n", "")


def test_fence_of_the_lock_is_checked(place):
    words = ["sh", "-c", "bowline fence check f && echo $BOWLINE_FENCE"]
    place.env["PATH"] = f"{pathlib.Path(os.environ['BOWLINE']).parent}:{place.env['PATH']}"
    first, second = (place.run("job", *words) for _ in range(2))
    assert first.returncode == second.returncode == 0
    assert 0 < int(first.stdout) < int(second.stdout)
    assert fence(place, "show", "f").stdout == second.stdout
    # The argument takes precedence over the environment.
    assert fence(place, "check", "f", first.stdout.strip(), env=with_fence(place, second.stdout.strip())).returncode == REFUSED


def test_missing_fence_error_has_a_hint(place):
    what, why, what_to_type = failed(fence(place, "check", "f"))
    assert what == "there is no fence to check against f"
    assert "BOWLINE_FENCE is not set" in why
    assert what_to_type == "type: bowline run NAME bowline fence check f ..."
    _, why, what_to_type = failed(fence(place, "run", "f", "true", env=dict(place.env, BOWLINE_NAME="nightly")))
    assert why.startswith("lock nightly has no fence") and "Redis" in why
    assert what_to_type == "type: bowline run --url file: nightly ..."
    assert not place.path("f").exists()


def test_lock_without_a_fence_fails(place, redis):
    place.env["BOWLINE_URL"] = f"{redis.url}?protocol=token"
    done = place.run("job", os.environ["BOWLINE"], "fence", "check", "f")
    assert "lock job has no fence" in failed(done)[1]


@pytest.mark.parametrize("text", ["", "0", "007", "-1", " 1", "1x", "0x10", "1e3", "18446744073709551616"])
def test_invalid_fence_is_refused(place, text):
    fence(place, "check", "f", 5)
    what, why, _ = failed(fence(place, "check", "f", text))
    assert what == f'"{text}" is not a fence' and "18446744073709551615" in why
    what, _, _ = failed(fence(place, "check", "f", env=with_fence(place, text)))
    assert what == f'BOWLINE_FENCE: "{text}" is not a fence'
    assert place.path("f").read_text() == "bowline fence 5\n"


@pytest.mark.parametrize(
    ("words", "what", "why"),
    [
        ([], "check, run or show is missing", "usage: bowline fence [OPTION...] check|run|show FILE [ARG...]"),
        (["chek", "f"], "there is no bowline fence chek", "did you mean bowline fence check?"),
        (["frob", "f"], "there is no bowline fence frob", "usage: bowline fence [OPTION...] check|run|show FILE [ARG...]"),
        (["check"], "the name of the file is missing", None),
        (["check", "f", "1", "2"], "too many arguments", "usage: bowline fence check FILE [FENCE]"),
        (["show", "f", "1"], "too many arguments", "usage: bowline fence show FILE"),
        (["run", "f"], "the command is missing", "usage: bowline fence run FILE COMMAND [ARG...]"),
        (["run", "f", "--"], "the command is missing", None),
        (["-x"], "there is no option -x", None),
        (["check", "--frob", "f"], "there is no option --frob", None),
    ],
)
def test_wrong_arguments_are_explained(place, words, what, why):
    said = failed(fence(place, *words, env=with_fence(place, 5)))
    assert said[0] == what and (why is None or said[1] == why)
    assert said[2] == "type: bowline help fence"
    assert not place.path("f").exists()


def test_help_of_the_command_is_the_commands(place):
    assert fence(place, "run", "f", "printf", "%s", "--help", env=with_fence(place, 5)).stdout == "--help"


# Files that are no fence file.


@pytest.mark.parametrize("content", ["", "\n", "5\n", "bowline fence 5", "bowline fence 5\n\n", "a report\n" * 99, "\0" * 16])
def test_foreign_file_is_not_changed(place, content):
    place.path("f").write_text(content)
    for words in (["check", "f", 7], ["show", "f"]):
        what, why, what_to_type = failed(fence(place, *words))
        assert what == "f does not contain a fence"
        assert ("empty" in why) == (content == "") and "rm f" in what_to_type
        assert place.path("f").read_text() == content


def test_other_file_types_are_refused_and_not_opened(place):
    os.mkfifo(place.path("pipe"))
    place.path("directory").mkdir()
    fence(place, "check", "f", 5)
    place.path("link").symlink_to("f")
    place.path("nowhere").symlink_to("absent")
    for name, word in (
        ("pipe", "a pipe"), ("directory", "a directory"), ("directory/", "a directory"), (".", "a directory"),
        ("/", "a directory"), ("link", "a symbolic link"), ("nowhere", "a symbolic link"), ("/dev/null", "a device"),
    ):
        for words in (["check", name, 7], ["show", name]):
            what, why, _ = failed(fence(place, *words))
            assert what == f"{name} cannot be a fence file" and why.startswith(f"it is {word}")
    assert place.path("f").read_text() == "bowline fence 5\n"
    assert not place.path("absent").exists()


def test_file_writable_for_all_users_is_refused(place):
    fence(place, "check", "f", 5)
    place.path("f").chmod(0o646)
    for mode, who in ((0o646, "everybody"), (0o664, "its group")):
        place.path("f").chmod(mode)
        for verb in (["check", "f", 7], ["show", "f"]):
            what, why, what_to_type = failed(fence(place, *verb))
            assert what == "f is not trusted" and f"{who} can write to it" in why
            assert what_to_type == "type: chmod go-w f"
    place.path("f").chmod(0o644)
    assert fence(place, "check", "f", 7).returncode == 0
    place.path("open").mkdir()
    place.path("open").chmod(0o777)
    what, why, _ = failed(fence(place, "check", "open/f", 7))
    assert what == "open/f is not trusted" and "in its place" in why
    assert list(place.path("open").iterdir()) == []
    place.path("open").chmod(0o1777)
    assert fence(place, "check", "open/f", 7).returncode == 0


def test_a_file_or_directory_of_another_user_is_not_trusted(place):
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a file away")
    fence(place, "check", "f", 5)
    os.chown(place.path("f"), 65534, 65534)
    for words in (["check", "f", 7], ["show", "f"], ["run", "f", "touch", "ran"]):
        what, why, _ = failed(fence(place, *words, env=with_fence(place, 7)))
        assert what == "f is not trusted" and "it belongs to user 65534" in why
    assert place.path("f").read_text() == "bowline fence 5\n" and not place.path("ran").exists()
    place.path("theirs").mkdir()
    os.chown(place.path("theirs"), 65534, 65534)
    _, why, what_to_type = failed(fence(place, "check", "theirs/f", 7))
    assert "its directory belongs to user 65534" in why and what_to_type == "type: ls -ld theirs"
    assert list(place.path("theirs").iterdir()) == []


def test_a_group_shares_a_file_in_a_directory_that_is_open_to_it(place):
    if os.environ.get("BOWLINE_COVERAGE") == "true":
        pytest.skip("another user may not write down what was covered")
    if os.geteuid() != 0:
        pytest.skip("needs root, to be two users")
    place.root.chmod(0o755)
    team, group = place.path("team"), 54321
    team.mkdir()
    os.chown(team, 0, group)
    team.chmod(0o2775)
    how = {"group": group, "extra_groups": [], "umask": 0o002}
    assert fence(place, "check", "team/f", 5, user=54322, **how).returncode == 0
    assert fence(place, "check", "team/f", 6, user=54323, **how).returncode == 0
    failed(fence(place, "check", "team/f", 5, user=54322, **how), REFUSED)
    team.chmod(0o2777)  # writable for all users: not shared by a group
    _, why, what_to_type = failed(fence(place, "check", "team/f", 7, user=54323, **how))
    assert "everybody can put another file" in why and what_to_type == "type: chmod go-w team"


def test_fence_file_that_cannot_be_created_is_reported(place):
    for name in ("absent/f", "x" * 300, ""):
        what, _, _ = failed(fence(place, "check", name, 7))
        assert what.startswith("the fence was not checked against")


def test_read_only_file_is_shown_and_not_checked(place):
    if os.environ.get("BOWLINE_COVERAGE") == "true":
        pytest.skip("another user may not write down what was covered")
    if os.getuid() != 0:
        user = None
    else:
        user = 65534
        place.root.chmod(0o755)
    fence(place, "check", "f", 5)
    place.path("f").chmod(0o444)
    what, why, _ = failed(fence(place, "check", "f", 7, user=user))
    assert what == "the fence was not checked against f" and "Permission denied" in why
    assert fence(place, "show", "f", user=user).stdout == "5\n"


def test_a_file_is_made_with_the_umask(place):
    fence(place, "check", "f", 5, umask=0o027)
    assert stat.S_IMODE(place.path("f").stat().st_mode) == 0o640
    assert [path.name for path in place.root.iterdir() if path.name.startswith("f")] == ["f"]


# A command that is one step with the check.


def test_command_runs_if_the_fence_passes_and_its_code_is_returned(place):
    for code in (0, 7, 123):
        assert fence(place, "run", "f", "sh", "-c", f"exit {code}", env=with_fence(place, 5)).returncode == code
    assert fence(place, "run", "f", "--", "touch", "ran", env=with_fence(place, 6)).returncode == 0
    assert place.path("ran").exists()
    failed(fence(place, "run", "f", "touch", "late", env=with_fence(place, 5)), REFUSED)
    assert not place.path("late").exists()


def test_command_that_cannot_run_is_detected_before_the_check(place):
    place.script("plain", "text", mode=0o644)
    for command, code in (("no-such-command", 127), ("./plain", 126)):
        failed(fence(place, "run", "f", command, env=with_fence(place, 5)), code)
    assert not place.path("f").exists()


class Apart:
    """`bowline fence ...` in the background, with its own fence; "in" and "go" are files of its script."""

    def __init__(self, place, number, code):
        self.place = place
        words = ["sh", "-c", code.replace("bowline", os.environ["BOWLINE"], 1)]
        self.process = subprocess.Popen(
            words, cwd=place.root, env=with_fence(place, number), stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        place.started.append(self.process)

    def wait_for(self, name):
        self.place.wait_for(name, self.place.path(name).exists)

    def end(self):
        return self.process.wait(60)


WRITE = "touch in; while [ ! -e go ]; do sleep 0.01; done; echo first >report"


def test_another_holder_may_write_between_check_and_write(place):
    """What the manual says of `check`. The control of the test below."""
    late = Apart(place, 5, f"bowline fence check f && {{ {WRITE}; }}")
    late.wait_for("in")
    assert fence(place, "run", "f", "sh", "-c", "echo second >report", env=with_fence(place, 6)).returncode == 0
    place.path("go").touch()
    assert late.end() == 0
    assert place.path("report").read_text() == "first\n"


def test_check_and_command_of_run_exclude_other_holders(place):
    first = Apart(place, 5, f"exec bowline fence run f sh -c '{WRITE}'")
    first.wait_for("in")
    second = Apart(place, 6, "exec bowline fence run f sh -c 'echo second >report'")
    assert "waiting for f" in second.process.stderr.readline()
    assert not place.path("report").exists()
    assert fence(place, "show", "f").stdout == "5\n"  # and a reader does not wait
    place.path("go").touch()
    assert (first.end(), second.end()) == (0, 0)
    assert place.path("report").read_text() == "second\n"


# A late holder, with the example. Each way in which a lock of file: can pass to another holder although its command
# still runs.


LATE = "echo begun >begun; while [ ! -e go ]; do sleep 0.01; done; echo first"


@pytest.fixture(params=["fenced", "not-fenced"])
def report(request, place):
    """The example, and the example without its fence: a test that passes with both would prove nothing."""
    text = (SOURCE / "examples/fence/fenced-report").read_text()
    if request.param == "not-fenced":
        bare = text.replace('bowline fence check "$report.fence"', ":").replace('bowline fence run "$report.fence" ', "")
        assert bare.count("bowline fence") == text.count("bowline fence") - 2
        text = bare
    place.script("report-script", text)
    place.env["PATH"] = f"{pathlib.Path(os.environ['BOWLINE']).parent}:{place.env['PATH']}"
    place.is_fenced = request.param == "fenced"
    return place


def second_then_first(place):
    """The first holder is delayed. Another acquires the lock and writes; then the first continues."""
    assert place.run("-w", "50s", "nightly", "./report-script", "report", "echo", "second").returncode == 0
    assert place.path("report").read_text() == "second\n"
    place.path("go").touch()
    code = place.wait_for_text(place.path("code"))
    assert code == ("123\n" if place.is_fenced else "0\n")
    assert place.path("report").read_text() == ("second\n" if place.is_fenced else "first\n")
    assert list(place.root.glob("report.??????")) == []


def test_late_write_of_a_background_process_is_refused(report):
    code = f"(./report-script report sh -c '{LATE}'; echo $? >code) >/dev/null 2>&1 &"
    assert report.finish(report.start("nightly", "sh", "-c", code)) == 0
    report.wait_for_text(report.path("begun"))
    second_then_first(report)


def test_late_write_after_a_killed_bowline_is_refused(report):
    """With --close: without it, the command keeps the lock, and no other acquires it."""
    code = f"trap '' TERM; ./report-script report sh -c '{LATE}'; echo $? >code"
    holder = report.start("--close", "nightly", "sh", "-c", code)
    report.wait_for_text(report.path("begun"))
    holder.kill()
    second_then_first(report)


def test_late_write_of_a_stopped_command_is_refused(report):
    code = f"./report-script report sh -c 'echo $$ >pid; {LATE}'; echo $? >code"
    holder = report.start("--max-hold", "1s", "--on-lost", "warn", "nightly", "sh", "-c", code)
    report.wait_for_text(report.path("begun"))
    pid = int(report.path("pid").read_text())
    os.kill(pid, signal.SIGSTOP)
    assert report.run("-w", "50s", "nightly", "true").returncode == 0  # its lease has ended
    os.kill(pid, signal.SIGCONT)
    second_then_first(report)
    assert report.finish(holder) == 123 and "lost" in holder.err
