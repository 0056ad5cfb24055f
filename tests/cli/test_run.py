"""`bowline run`: exit codes, the environment of the command, and which processes keep the lock.

Uses file: locks in a private directory. Leases are in test_lost.py, signals in test_signals.py, terminals in
test_terminal.py, the command line in test_options.py.
"""

import fcntl
import json
import os
import re
import resource
import shutil
import subprocess
import sys

import pytest

# Exit codes.


@pytest.mark.parametrize("code", [0, 1, 7, 64, 123, 124, 125, 126, 127, 255])
def test_code_of_the_command_is_returned_without_output(place, code):
    done = place.run("job", "sh", "-c", f"exit {code}")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


@pytest.mark.parametrize("number", [2, 3, 9, 15])
def test_a_killed_command_is_128_and_its_signal(place, number):
    assert place.run("job", "sh", "-c", f"kill -{number} $$").returncode == 128 + number


@pytest.mark.parametrize("words", [["-n"], ["-w", "0s"], ["-w", "50ms"], ["--no-wait"], ["--wait=50ms"]])
def test_lock_that_is_not_acquired_is_124_and_three_lines(place, words):
    holder = place.hold()
    done = place.run(*words, "job", "touch", "ran")
    assert done.returncode == 124
    what, why, what_to_type = done.stderr.splitlines()
    assert what.startswith("bowline: job was not acquired")
    assert why.startswith("bowline: held by ") and f"pid {holder.pid}" in why
    assert "type: bowline run" in what_to_type
    assert not place.path("ran").exists()


def test_the_holder_is_shown_as_bowline_and_its_command(place):
    holder = place.hold()
    why = place.run("-n", "job", "true").stderr.splitlines()[1]
    assert f"pid {holder.pid} (bowline run sh)" in why


def test_code_for_a_timeout_can_be_chosen(place):
    place.hold()
    assert [place.run("-n", "-E", str(code), "job", "true").returncode for code in (0, 1, 75, 255)] == [0, 1, 75, 255]


def test_skip_is_silent_success_and_does_not_wait(place):
    place.hold()
    done = place.run("--skip", "job", "touch", "ran")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not place.path("ran").exists()


def test_skip_waits_with_a_wait_option(place):
    holder = place.hold()
    waiter = place.start("--skip", "-w", "50s", "--status-fd", "1", "job", "touch", "ran")
    assert '"waiting"' in waiter.stdout.readline()
    place.let_go(holder)
    assert place.finish(waiter) == 0
    assert place.path("ran").exists()


def test_quiet_is_silent_but_fails(place):
    place.hold()
    done = place.run("-q", "-n", "job", "true")
    assert (done.returncode, done.stderr) == (124, "")


def test_several_names_are_held_together_or_not_at_all(place, redis):
    inner = 'echo "$BOWLINE_NAME $BOWLINE_FENCE=$BOWLINE_FENCES"; for n in c a b d; do "$0" run -qn $n true; echo $?; done'
    done = place.run("--and", "a", "--and", "b", "c", "sh", "-c", inner, os.environ["BOWLINE"])
    name, fences, *codes = re.split(r"[= \n]", done.stdout.strip(), maxsplit=2)
    first, second, third, *codes = codes[0].split()
    assert (name, fences, codes) == ("c", first, ["124", "124", "124", "0"])
    assert int(second) != int(third) and done.stderr == ""
    holder = place.hold("b")
    done = place.run("-n", "--and", "a", "--and", "b", "c", "touch", "ran")
    what, why, _ = done.stderr.splitlines()
    assert (done.returncode, what) == (124, "bowline: c and 2 more were not acquired") and not place.path("ran").exists()
    assert why.startswith("bowline: b: held by ") and f"pid {holder.pid}" in why
    assert place.run("-n", "--and", "a", "c", "true").returncode == 0
    place.let_go(holder)
    assert place.run("--and", "a", "--and", "b", "c", "true").returncode == 0
    assert redis.keys() == []


@pytest.mark.parametrize("words, complaint", [
    (["--and", "job"], "job is there twice"), (["--and", "a", "--and", "a"], "a is there twice"),
    (["--and", "a", "--once-per", "1d"], "--and excludes"), (["--and", "a"] * 16, "more than 15 times"),
    (["--and", "redis://h:1"], "a URL is in the place of the name"),
])
def test_wrong_sets_of_names_are_refused(place, words, complaint):
    done = place.run(*words, "job", "touch", "ran")
    assert done.returncode == 125 and complaint in done.stderr and not place.path("ran").exists()


def test_missing_command_is_127_before_the_lock(place):
    place.hold()
    for command in ("no-such-command", "./no-such-file", "/no/such/file", ""):
        done = place.run("--status-fd", "1", "job", command)
        assert done.returncode == 127
        assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == ["failed"]
        assert len(done.stderr.splitlines()) == 3


def test_command_without_permission_is_126_before_the_lock(place):
    place.hold()
    place.script("plain", "text", mode=0o644)
    place.path("directory").mkdir()
    for command in ("./plain", "./directory", str(place.path("plain"))):
        done = place.run("--status-fd", "1", "job", command)
        assert done.returncode == 126
        assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == ["failed"]


def test_the_path_is_searched_as_execvp_does(place):
    first, second = place.path("first"), place.path("second")
    for directory, text, mode in ((first, "exit 1", 0o644), (second, "exit 44", 0o755)):
        directory.mkdir()
        place.script(f"{directory.name}/tool", f"#!/bin/sh\n{text}\n", mode)
    place.env["PATH"] = f"/no/such:{first}:{second}"
    assert place.run("job", "tool").returncode == 44
    place.env["PATH"] = f"/no/such:{first}"
    assert place.run("job", "tool").returncode == 126
    place.env["PATH"] = "/no/such"
    assert place.run("job", "tool").returncode == 127
    # An empty element is the current directory.
    place.script("here", "#!/bin/sh\nexit 45\n")
    place.env["PATH"] = ":/no/such"
    assert place.run("job", "here").returncode == 45


# Without a lease the command is started by vfork, otherwise by fork.
@pytest.mark.parametrize("options", [[], ["--max-hold", "1h"]])
def test_failed_exec_releases_the_lock(place, options):
    place.script("orphan", "#!/no/such/interpreter\n")
    done = place.run(*options, "--status-fd", "1", "job", "./orphan")
    assert done.returncode == 127
    assert "interpreter" in done.stderr
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == [
        "waiting", "acquired", "failed", "released",
    ]
    assert place.run("-n", "job", "true").returncode == 0


def test_command_that_vanishes_before_exec_is_127(place):
    # The holder removes the file, so the waiter has checked before and does not find it afterwards.
    tool = place.script("tool", "#!/bin/sh\nexit 0\n")
    holder = place.hold()
    waiter = place.start("--status-fd", "1", "job", "./tool")
    assert '"waiting"' in waiter.stdout.readline()
    tool.unlink()
    place.let_go(holder)
    assert place.finish(waiter) == 127
    assert place.run("-n", "job", "true").returncode == 0


def test_a_code_is_right_although_the_caller_ignores_sigchld(place):
    code = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    program = os.environ["BOWLINE"]
    done = subprocess.run(
        [*place.python(code), program, "run", "job", "sh", "-c", "exit 9"], env=place.env, check=False, timeout=60
    )
    assert done.returncode == 9


# The environment of the command.


def test_arguments_arrive_as_they_were_and_no_shell_sees_them(place):
    odd = ["", " ", "a b", "*", "$HOME", "`id`", "\\", "'", '"', "line\nbreak", "-n", "--", "--url", "ü"]
    code = "import json, sys; print(json.dumps(sys.argv[1:]))"
    done = place.run("job", *place.python(code), *odd)
    assert json.loads(done.stdout) == odd


@pytest.mark.parametrize("words", [[], ["--"]])
def test_options_of_the_command_need_no_dashes(place, words):
    done = place.run("job", *words, "printf", "%s ", "-n", "--wait")
    assert (done.returncode, done.stdout) == (0, "-n --wait ")


def test_dashes_before_a_name_that_looks_like_an_option(place):
    done = place.run("--", "-n", "sh", "-c", 'printf %s "$BOWLINE_NAME"')
    assert (done.returncode, done.stdout) == (0, "-n")


def test_command_inherits_standard_input_and_output(place):
    data = bytes(range(256)) * 1000
    done = place.run("job", "cat", input=data, text=False)
    assert (done.returncode, done.stdout == data) == (0, True)


def test_the_three_streams_are_the_same_files(place):
    streams = [open(place.path(name), "w+b") for name in ("in", "out", "err")]
    code = "import os; [print(os.fstat(fd).st_ino, file=open(os.environ['SEEN'], 'a')) for fd in range(3)]"
    env = dict(place.env, SEEN=str(place.path("seen")))
    program = os.environ["BOWLINE"]
    with streams[0], streams[1], streams[2]:
        subprocess.run(
            [program, "run", "job", *place.python(code)],
            stdin=streams[0], stdout=streams[1], stderr=streams[2], env=env, check=True, timeout=60,
        )
        expected = [str(os.fstat(stream.fileno()).st_ino) for stream in streams]
    assert place.path("seen").read_text().split() == expected


LIST_FDS = "import os; print(*[fd for fd in range(300) if os.path.exists(f'/proc/self/fd/{fd}')])"


def without_streams(place, *words):
    """Run bowline with none of the three standard descriptors; return the exit code."""
    code = f"import os, sys; os.closerange(0, 3); os.execv({os.environ['BOWLINE']!r}, ['bowline', *sys.argv[1:]])"
    command = [*place.python(code), "run", *words]
    return subprocess.run(command, env=place.env, cwd=place.root, check=False, timeout=60).returncode


@pytest.mark.parametrize("options", [[], ["--close"], ["-v"]])
def test_closed_streams_stay_closed_and_no_lock_takes_their_place(place, options):
    code = """
import os
fds = [fd for fd in range(300) if os.path.exists(f"/proc/self/fd/{fd}")]
print(*fds, file=open("seen", "w"))
"""
    assert without_streams(place, *options, "job", *place.python(code)) == 0
    fds = [int(word) for word in place.path("seen").read_text().split()]
    assert not {0, 1, 2} & set(fds)
    assert bool(fds) == ("--close" not in options)


def test_output_to_a_closed_stream_is_dropped(place, redis):
    # Not into the connection that got its number.
    assert without_streams(place, "-v", "job", "sh", "-c", "exit 3") == 3
    assert redis.keys() == []


def test_descriptors_are_passed_as_a_shell_would_pass_them(place):
    read, write = os.pipe()
    kept = os.dup2(read, 100)
    hidden = os.dup2(write, 101)
    try:
        done = place.run("--close", "job", *place.python(LIST_FDS), pass_fds=[kept])
        assert done.stdout.split() == ["0", "1", "2", "100"]
        # Without --close, the descriptor that keeps the lock too.
        done = place.run("job", *place.python(LIST_FDS))
        assert done.stdout.split()[:3] == ["0", "1", "2"] and len(done.stdout.split()) > 3
    finally:
        for fd in (read, write, kept, hidden):
            os.close(fd)


@pytest.mark.parametrize("options", [[], ["--max-hold", "1h"]])
def test_command_leads_a_group_and_inherits_the_signal_settings(place, options):
    code = "import os, signal; print(os.getpid() == os.getpgrp(), signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    done = place.run(*options, "job", *place.python(code))
    assert done.stdout == "True set()\n"


def test_bowline_opens_few_descriptors_without_a_lease(place):
    code = "import os; fds = f'/proc/{os.getppid()}/fd'; print([os.readlink(f'{fds}/{fd}') for fd in os.listdir(fds)])"
    kinds = place.run("job", *place.python(code)).stdout
    assert "signalfd" in kinds
    assert "eventpoll" not in kinds and "timerfd" not in kinds
    assert kinds.count("pipe:") == 2, "its own output, and none to hear from the command"
    kinds = place.run("--max-hold", "1h", "job", *place.python(code)).stdout
    assert "timerfd" in kinds


def test_status_descriptor_is_not_inherited_by_the_command(place):
    read, write = os.pipe()
    try:
        done = place.run("--close", "--status-fd", str(write), "job", *place.python(LIST_FDS), pass_fds=[write])
        assert done.stdout.split() == ["0", "1", "2"]
    finally:
        os.close(read)
        os.close(write)


def test_environment_has_the_lock_and_its_fence(place):
    env = dict(place.env, BOWLINE_DEADLINE_MS="12", BOWLINE_FENCE="9", BOWLINE_NAME="old")
    fences = []
    for _ in range(3):
        done = place.run("a name", "env", env=env)
        seen = dict(line.split("=", 1) for line in done.stdout.splitlines())
        assert seen["BOWLINE_NAME"] == "a name"
        assert seen["BOWLINE_URL"] == place.env["BOWLINE_URL"]
        assert "BOWLINE_DEADLINE_MS" not in seen, "no lease ends a file: lock"
        fences.append(int(seen["BOWLINE_FENCE"]))
    assert fences[0] < fences[1] < fences[2]


@pytest.mark.parametrize("words, mode, permits", [
    ([], None, None), (["-s"], "shared", None), (["--permits", "1/3"], "permits", "1"), (["--permits", "2/3"], "permits", "2"),
])
def test_environment_has_the_mode_and_the_permits(place, words, mode, permits):
    env = dict(place.env, BOWLINE_MODE="old", BOWLINE_PERMITS="9")
    seen = dict(line.split("=", 1) for line in place.run(*words, "job", "env", env=env).stdout.splitlines())
    assert (seen["BOWLINE_NAME"], seen.get("BOWLINE_MODE"), seen.get("BOWLINE_PERMITS")) == ("job", mode, permits)


def test_deadline_is_the_time_left_of_max_hold(place):
    done = place.run("--max-hold", "1h", "job", "sh", "-c", "echo $BOWLINE_DEADLINE_MS")
    assert 3000000 < int(done.stdout) <= 3600000


def test_command_inherits_the_umask_and_the_directory(place):
    place.path("below").mkdir()
    done = place.run("job", "sh", "-c", "umask; pwd", cwd=place.path("below"), umask=0o027)
    assert done.stdout.split() == ["0027", str(place.path("below"))]


def with_limit(limit):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


def test_too_few_descriptors_are_an_error_before_the_lock(place, redis):
    codes = []
    for limit in range(6, 20):
        done = place.run("--status-fd", "1", "job", "true", preexec_fn=with_limit(limit))
        codes.append(done.returncode)
        if done.returncode == 0:
            continue
        assert done.returncode == 125
        assert [event["event"] for event in events(done.stdout)] == ["failed"]
        what, why, what_to_type = done.stderr.splitlines()
        assert what == "bowline: job was not acquired"
        assert re.search(f": (Too many open files|No file desc.*): the limit of open files is {limit}$", why)  # musl
        assert "ulimit -n" in what_to_type
    assert codes[0] == 125 and codes[-1] == 0 and codes == sorted(codes, reverse=True)


def test_a_wait_without_a_descriptor_to_poll_ends_with_the_lock(place):
    # With some of these limits the locks can be opened but no epoll descriptor is left.
    holder = place.hold()
    waiters = [
        place.start("--status-fd", "1", "job", "true", preexec_fn=with_limit(limit), stdin=subprocess.DEVNULL)
        for limit in range(5, 16)
    ]
    begins = [json.loads(waiter.stdout.readline())["event"] for waiter in waiters]
    assert set(begins) <= {"waiting", "failed"} and begins[-1] == "waiting"
    place.let_go(holder)
    codes = [place.finish(waiter) for waiter in waiters]
    assert set(codes) <= {0, 125} and codes[-1] == 0


# Which process keeps the lock.


def test_runs_exclude_each_other_and_all_get_the_lock(place):
    # Each adds one to a number that it reads first: with two at once an addition would be lost.
    counter = place.path("counter")
    counter.write_text("0")
    code = f"n=$(cat {counter}); sleep 0.01; echo $((n + 1)) > {counter}"
    runs = [place.start("job", "sh", "-c", code) for _ in range(20)]
    assert [place.finish(run) for run in runs] == [0] * 20
    assert counter.read_text().strip() == "20"


def test_other_names_are_other_locks(place):
    place.hold("one")
    assert place.run("-n", "two", "true").returncode == 0
    assert place.run("-n", "one", "true").returncode == 124


def test_waiter_acquires_when_the_holder_has_ended(place):
    holder = place.hold()
    waiter = place.start("--status-fd", "1", "job", "true")
    assert '"waiting"' in waiter.stdout.readline()
    place.let_go(holder)
    assert place.finish(waiter) == 0


def test_background_process_has_no_lock(place):
    # It inherits every descriptor, also that of the lock.
    done = place.run("job", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!")
    pid = int(done.stdout)
    try:
        assert place.is_alive(pid)
        assert place.run("-n", "job", "true").returncode == 0
    finally:
        os.kill(pid, 9)


IGNORES_TERM = """
import os, pathlib, signal, time
signal.signal(signal.SIGTERM, lambda *_: pathlib.Path("signalled").write_text("TERM\\n"))
pathlib.Path("pid").write_text(f"{os.getpid()}\\n")
while not os.path.exists("go"):
    time.sleep(0.005)
"""


def test_lock_of_a_killed_bowline_is_kept_by_its_command(place):
    holder = place.start("job", *place.python(IGNORES_TERM))
    pid = int(place.wait_for_text(place.path("pid")))
    holder.kill()
    holder.wait()
    place.wait_for_text(place.path("signalled"), "TERM")
    answers = {place.run("-n", "job", "true").returncode for _ in range(200)}
    assert answers == {124}
    assert place.is_alive(pid)
    place.path("go").touch()
    assert place.run("-w", "50s", "job", "true").returncode == 0


def test_lock_of_a_killed_bowline_is_free_with_close(place):
    holder = place.start("--close", "job", *place.python(IGNORES_TERM))
    pid = int(place.wait_for_text(place.path("pid")))
    assert place.run("-n", "job", "true").returncode == 124
    holder.kill()
    holder.wait()
    assert place.run("-w", "50s", "job", "true").returncode == 0
    assert place.is_alive(pid)


def test_a_killed_bowline_ends_its_command_by_term(place):
    holder = place.start("job", *place.python(IGNORES_TERM))
    place.wait_for_text(place.path("pid"))
    assert not place.path("signalled").exists()
    holder.kill()
    place.wait_for_text(place.path("signalled"), "TERM")


def test_run_inside_a_run(place):
    program = os.environ["BOWLINE"]
    done = place.run("outer", program, "run", "inner", "sh", "-c", "exit 6")
    assert done.returncode == 6
    done = place.run("outer", program, "run", "-n", "outer", "true")
    assert done.returncode == 124


def test_run_inside_too_many_runs_names_its_own_lock(place):
    place.env["BOWLINE_HELD"] = " ".join(["0123456789abcdef-2-1"] * 194)  # about as many as fit
    for more in range(64):
        done = place.run("outer", os.environ["BOWLINE"], "run", "-w", "1ms", "outer", "touch", "ran")
        assert done.returncode == 125 and "the wait would never end" in done.stderr
        place.env["BOWLINE_HELD"] += " 1"


@pytest.mark.parametrize("engine", ["file", "redis"])
def test_a_run_that_would_wait_for_itself_is_refused(place, redis, engine):
    if engine == "file":
        place.env["BOWLINE_URL"] = f"file:{place.locks}"
    del redis
    program = os.environ["BOWLINE"]
    for between in ([], [program, "run", "other"], ["sh", "-c", 'exec "$@"', "sh"]):
        for wait in ([], ["-w", "50s"]):
            done = place.run("outer", *between, program, "run", *wait, "outer", "touch", "ran")
            assert done.returncode == 125
            what, why, what_to_do = done.stderr.splitlines()
            assert what == "bowline: outer was not acquired"
            assert "the wait would never end" in why
            assert "another name" in what_to_do
    assert not place.path("ran").exists()


@pytest.mark.parametrize("words", [["-s"], ["--permits", "1/2"]], ids=" ".join)
def test_shared_run_that_a_writer_could_keep_waiting_is_refused(place, words):
    """With -n it shares the lock with the outer one."""
    program = os.environ["BOWLINE"]
    done = place.run(*words, "outer", program, "run", *words, "outer", "touch", "ran")
    assert done.returncode == 125 and "around this command, so the wait may never end" in done.stderr
    assert not place.path("ran").exists()
    assert place.run(*words, "outer", program, "run", "-n", *words, "outer", "sh", "-c", "exit 6").returncode == 6


def test_same_name_in_another_store_is_another_lock(place, redis):
    program = os.environ["BOWLINE"]
    for url in (f"file:{place.locks}", f"{redis.url}?key=mine:%25s"):
        assert place.run("outer", program, "run", "--url", url, "outer", "sh", "-c", "exit 6").returncode == 6
    # The URL of the same place with other settings is the same lock.
    done = place.run("outer", program, "run", "--url", f"{redis.url}?lease=20s", "outer", "true")
    assert done.returncode == 125
    place.path("below").mkdir()
    place.env["BOWLINE_URL"] = "file:"
    words = ["sh", "-c", f"cd below && {program} run ./x.lock sh -c 'exit 6'"]
    assert place.run("./x.lock", *words).returncode == 6
    assert place.run("./x.lock", program, "run", "./x.lock", "true").returncode == 125


def test_lock_whose_holder_has_ended_is_free(place):
    # A process in the background has the variable, and may acquire the lock later.
    held = place.run("job", "sh", "-c", "echo $BOWLINE_HELD").stdout.strip()
    assert held.count("-") == 2
    env = dict(place.env, BOWLINE_HELD=held)
    assert place.run("job", "true", env=env).returncode == 0
    # The pid of an ended bowline may belong to another process.
    lock, _, started = held.split("-")
    env["BOWLINE_HELD"] = f"{lock}-{os.getpid()}-{started}"
    assert place.run("job", "true", env=env).returncode == 0
    env["BOWLINE_HELD"] = f"nonsense  - {lock} {lock}- "
    assert place.run("job", "true", env=env).returncode == 0


# Messages to other processes.


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def test_status_lines_of_a_successful_run(place):
    done = place.run("--status-fd", "2", "job", "sh", "-c", "exit 124")
    lines = events(done.stderr)
    assert done.returncode == 124
    assert [line["event"] for line in lines] == ["waiting", "acquired", "started", "exited", "released"]
    assert all(line["bowline"] == 1 and line["name"] == "job" for line in lines)
    waiting, acquired, started, exited, released = lines
    assert int(acquired["fence"]) > 0 and acquired["waited_ms"] >= 0 and "left_ms" not in acquired
    assert started["pid"] == exited["pid"] > 0
    assert exited["code"] == 124 and "signal" not in exited
    assert (released["status"], released["exit"]) == ("OK", 124)


def test_status_lines_distinguish_124_from_the_code_of_the_command(place):
    place.hold()
    done = place.run("-n", "--status-fd", "1", "job", "true")
    assert [line["event"] for line in events(done.stdout)] == ["waiting", "not-acquired"]
    assert events(done.stdout)[-1]["exit"] == 124


def test_status_lines_of_a_killed_command(place):
    done = place.run("--status-fd", "1", "job", "sh", "-c", "kill -9 $$")
    exited = events(done.stdout)[3]
    assert exited["signal"] == 9 and "code" not in exited


@pytest.mark.parametrize("name", ['quo"te', "back\\slash", "ünïcode €", "tab-free  spaces", "{}", "%s%n"])
def test_status_lines_are_json_whatever_the_name(place, name):
    done = place.run("--status-fd", "1", name, "true")
    assert done.returncode == 0
    assert {line["name"] for line in events(done.stdout)} == {name}


def test_status_lines_replace_invalid_text(place):
    done = place.run("--status-fd", "1", b"a\xff\xc3(\xed\xa0\x80z", "true", text=False)
    assert done.returncode == 0
    names = {json.loads(line.decode("utf-8"))["name"] for line in done.stdout.splitlines()}
    assert names == {"a\ufffd\ufffd(\ufffd\ufffd\ufffdz"}


def test_status_reader_that_closes_is_ignored(place):
    read, write = os.pipe()
    os.close(read)
    try:
        done = place.run("--status-fd", str(write), "job", "sh", "-c", "exit 3", pass_fds=[write])
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (3, "")


def test_status_reader_that_does_not_read_is_ignored(place):
    read, write = os.pipe()
    try:
        os.set_blocking(write, False)
        try:
            while True:
                os.write(write, b"x" * 65536)
        except BlockingIOError:
            pass
        os.set_blocking(write, True)
        done = place.run("--status-fd", str(write), "job", "sh", "-c", "exit 3", pass_fds=[write])
    finally:
        os.close(read)
        os.close(write)
    assert (done.returncode, done.stderr) == (3, "")


def test_a_status_descriptor_that_is_not_open_is_an_error(place):
    done = place.run("--status-fd", "77", "job", "true")
    assert done.returncode == 125
    assert "descriptor 77 is not open" in done.stderr


def test_verbose_reports_each_step(place):
    done = place.run("-v", "job", "true")
    assert done.returncode == 0
    acquired, started, released = done.stderr.splitlines()
    assert acquired.startswith("bowline: job acquired after ") and "fence" in acquired
    assert started.startswith("bowline: true started, pid ")
    assert released.startswith("bowline: job released after ")


def test_a_log_gets_one_line_about_waiting(place):
    holder = place.hold()
    with open(place.path("log"), "w") as log:
        waiter = place.start("job", "true", stderr=log)
        text = place.wait_for_text(place.path("log"), "waiting for job: held by ")
    assert f"pid {holder.pid}" in text and text.count("\n") == 1
    place.let_go(holder)
    assert place.finish(waiter) == 0
    assert place.path("log").read_text() == text


@pytest.mark.parametrize("name", ["report", "r" * 15, "r" * 63, "r" * 64, "r" * 200, "ü" * 60, "a b(c)", "x\x1b[2Jy"])
def test_waiters_see_the_command_as_the_holder(place, name):
    tool = place.script(name, "#!/bin/sh\necho begun\nexec sleep 1000\n")
    holder = place.start("job", str(tool), "--password=secret")
    assert holder.stdout.readline() == "begun\n"
    said = place.run("-n", "job", "true").stderr.splitlines()[1]
    assert f"(bowline run {name[:10]}" in said or "\x1b" in name
    assert "secret" not in said and "\x1b" not in said


def test_flock_and_bowline_exclude_each_other_on_a_file(place):
    if not shutil.which("flock"):
        pytest.skip("flock is not installed")
    holder = place.hold("./x.lock")
    flock = ["flock", "-n", "./x.lock", "true"]
    assert subprocess.run(flock, cwd=place.root, check=False).returncode == 1
    place.let_go(holder)
    with open(place.path("x.lock"), "a", encoding="ascii") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert place.run("-n", "./x.lock", "true").returncode == 124
    assert place.run("-n", "./x.lock", "true").returncode == 0


def test_setuid_is_refused(place):
    if os.getuid() != 0:
        pytest.skip("needs root, to make a program of somebody else")
    if os.environ.get("BOWLINE_SANITIZE", "none") != "none":
        pytest.skip("a sanitizer refuses before we do")
    place.root.chmod(0o755)
    copy = place.path("setuid")
    shutil.copy(os.environ["BOWLINE"], copy)
    os.chown(copy, 65534, 65534)
    copy.chmod(0o4755)
    words = [copy, "run", "job", "id", "-u"]
    done = subprocess.run(words, env=place.env, capture_output=True, text=True, check=False, timeout=60)
    if done.stdout.strip() == "0":
        pytest.skip("setuid means nothing in this file system")
    assert done.returncode == 125
    assert "setuid" in done.stderr


# --metrics-file.


def metrics(path):
    """{name: (label, value)}. Each number has its HELP and TYPE before it, once, and nothing else is there."""
    text, found = path.read_text(encoding="utf-8"), {}
    block = r'# HELP (\w+) ([^\n]+)\n# TYPE \1 gauge\n\1(\{name="((?:[^"\\\n]|\\[n"\\])*)"\})? (-?\d+(?:\.\d+)?)\n'
    assert re.fullmatch(f"(?:{block})*".replace(r"\1", r"\w+"), text), text
    for name, _, _, label, value in re.findall(block, text):
        assert name.startswith("bowline_run_") and name not in found
        found[name.removeprefix("bowline_run_")] = (label, float(value))
    return found


@pytest.mark.parametrize("command, code", [(["true"], 0), (["sh", "-c", "exit 7"], 7), (["no-such-command"], 127), (["true"], 124)])
def test_metrics_file_has_the_numbers_of_the_run(place, command, code):
    path = place.path("run.prom")
    if code == 124:
        place.hold()
    assert place.run("-n", "--metrics-file", str(path), "job", *command).returncode == code
    found = {name: value for name, (label, value) in metrics(path).items()}
    is_acquired = code in (0, 7)
    assert (found["exit_code"], found["holding"], found["lost"]) == (code, 0, 0)
    assert found["not_acquired"] == (not is_acquired)
    assert found["start_time_seconds"] <= found["end_time_seconds"]
    assert found["waited_seconds"] >= 0 and found["held_seconds"] >= 0
    assert path.stat().st_mode & 0o777 == 0o644
    assert [entry.name for entry in place.root.iterdir() if entry.name.startswith("run.prom")] == ["run.prom"]


def test_metrics_file_shows_a_command_that_runs_and_has_a_label(place):
    path, copy = place.path("run.prom"), place.path("copy")
    text = 'a "b" \\ \n \u00e4'
    place.run("--metrics-file", str(path), "--metrics-name", text, "job", "cp", str(path), str(copy))
    running, ended = metrics(copy), metrics(path)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    assert {label for label, _ in [*running.values(), *ended.values()]} == {escaped}
    assert running["holding"][1] == 1 and "exit_code" not in running
    assert ended["holding"][1] == 0 and ended["exit_code"][1] == 0


@pytest.mark.parametrize("file", ["none/run.prom", "home"])
def test_metrics_file_that_cannot_be_written_is_one_warning(place, file):
    done = place.run("--metrics-file", file, "job", "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert re.fullmatch(rf"bowline: warning: --metrics-file: {file} cannot be written: [^\n]+\n", done.stderr)
    assert [entry.name for entry in place.root.iterdir() if entry.name.startswith("home.")] == []


# timeout(1) exits with 124, too.


@pytest.mark.parametrize("options, busy", [([], 124), (["-E", "75"], 75)])
def test_a_timeout_is_told_apart_from_a_held_lock_by_E(place, options, busy):
    inner = place.run(*options, "job", "timeout", "0.1", "sleep", "1000")
    held = place.hold()
    words = ["timeout", "0.2", os.environ["BOWLINE"], "run", *options, "job", "true"]
    outer = subprocess.run(words, env=place.env, capture_output=True, check=False, timeout=60)
    assert (inner.returncode, outer.returncode) == (124, 124)
    assert place.run("-n", *options, "job", "true").returncode == busy
    place.let_go(held)
