"""A command that loses its lock is stopped with all its processes, or bowline reports that it could not be.

The lock is taken away when the processes report that they have started, so no test depends on a duration.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from conftest import LIMIT, PROGRAM, finish

NOBODY = 65534

LEASE = ["-t", "6s", "--kill-after", "1s"]

# Each of these writes its number into a file of its name, ignores TERM, and runs until it is killed.
STAY = """
import os, pathlib, signal, sys, time
def stay(me):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pathlib.Path(f"{me}.new").write_text(f"{os.getpid()}\\n")
    os.rename(f"{me}.new", me)
    while os.path.exists(me):  # not longer than the test, whose directory goes
        time.sleep(0.1)
"""

SESSION = STAY + """
if os.fork() == 0:
    os.setsid()
    stay("child")
stay("command")
"""

# A daemon by double fork: its parent ends at once.
DAEMON = STAY + """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        stay("child")
    os._exit(0)
stay("command")
"""

# The command moves into the process group of bowline; its own group is then empty.
OTHER_GROUP = STAY + """
os.setpgid(0, os.getpgid(os.getppid()))
stay("command")
"""

# Never the same process for long: each has a child in a session of its own, and ends.
HOPPER = STAY + """
pathlib.Path("command").write_text(f"{os.getpid()}\\n")
if os.fork() != 0:
    stay("child")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while not os.path.exists("child"):
    time.sleep(0.001)
hops = os.open("hops", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while os.path.exists("command"):
    os.write(hops, b"x")
    if os.fork() != 0:
        os._exit(0)
    os.setsid()
"""


def start(place, code, *options, count=2):
    run = place.start("--status-fd", "1", *options, "job", *place.python(code))
    run.pids = [int(place.wait_for_text(place.path(name))) for name in ("command", "child")[:count]]
    return run


def who_is_in(directory):
    """Processes with this current directory."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "cwd") == str(directory):
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def lose(place, redis, run):
    """Another client takes its lock, which the next renewal shows."""
    redis.cli("del", *redis.keys())
    assert finish(place, run) == 123
    assert "lost:kill" in run.order and run.order[-1] == "released"
    assert "was stopped" in run.err.splitlines()[0]


@pytest.mark.parametrize("code", [SESSION, DAEMON])
def test_processes_that_left_the_group_are_killed_with_it(place, redis, code):
    run = start(place, code, *LEASE)
    lose(place, redis, run)
    assert not any(place.is_alive(pid) for pid in run.pids)


def test_a_command_that_moved_to_another_group_is_killed(place, redis):
    run = start(place, OTHER_GROUP, *LEASE, count=1)
    lose(place, redis, run)
    assert not place.is_alive(run.pids[0])


def test_processes_that_fork_all_the_time_are_killed(place, redis):
    run = start(place, HOPPER, *LEASE)
    hops = place.path("hops")
    place.wait_for("a hundred processes", lambda: hops.exists() and hops.stat().st_size > 100)
    lose(place, redis, run)
    assert not who_is_in(place.root)


def test_a_daemon_gets_term_before_kill(place, redis):
    code = DAEMON.replace("signal.SIG_IGN", 'lambda *_: os.rename("child", "signalled") or os._exit(0)').replace(
        'stay("command")', "import time; time.sleep(1000)"
    )
    del redis
    run = place.start("--status-fd", "1", "--max-hold", "10s", "--kill-after", "9s", "job", *place.python(code))
    pid = int(place.wait_for_text(place.path("child")))
    assert finish(place, run) == 123
    assert run.order == ["waiting", "acquired", "started", "lost:term", "exited", "released"]
    assert place.path("signalled").exists() and not place.is_alive(pid)


def test_a_signal_reaches_a_command_that_moved_to_another_group(place):
    code = OTHER_GROUP.replace("signal.SIG_IGN", "lambda *_: os._exit(7)")
    run = start(place, code, count=1)
    run.terminate()
    assert finish(place, run) == 7


def test_earlier_processes_are_not_signalled(place, redis):
    # The sidecar is a child of the process that bowline replaces.
    code = f"sleep 1000 & echo $! >sidecar; exec {PROGRAM} run {' '.join(LEASE)} job {' '.join(place.python('')[:1])} command.py"
    place.script("command.py", SESSION)
    shell = subprocess.Popen(
        ["sh", "-c", code], env=place.env, cwd=place.root, start_new_session=True, stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    place.started.append(shell)
    pids = [int(place.wait_for_text(place.path(name))) for name in ("command", "child")]
    sidecar = int(place.text_of(place.path("sidecar")))
    redis.cli("del", *redis.keys())
    assert shell.wait(LIMIT) == 123
    assert not any(place.is_alive(pid) for pid in pids)
    assert place.is_alive(sidecar)


def test_stopped_command_is_continued_to_receive_TERM(place, redis):
    # It ends by itself and is not killed: the time to KILL is longer than the test waits.
    code = STAY.replace("signal.SIG_IGN", "lambda *_: os._exit(0)") + 'stay("command")\n'
    del redis
    run = start(place, code, "--max-hold", "10s", "--kill-after", "9s", count=1)
    os.kill(run.pids[0], signal.SIGSTOP)
    assert finish(place, run) == 123
    assert run.order == ["waiting", "acquired", "started", "lost:term", "exited", "released"]
    assert run.events[4]["code"] == 0


# A command that runs as another user. It may not be signalled by a bowline of a user without rights.

HELPER = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    FILE *file;
    if (setresuid(0, 0, 0) < 0 || (file = fopen("helper.new", "w")) == NULL)
        return 9;
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    rename("helper.new", "helper");
    while (access("go", F_OK) != 0 && access("helper", F_OK) == 0)
        usleep(5000);
    return 0;
}
"""


def become_nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


@pytest.fixture
def helper(place):
    """A command that is owned by root and setuid, for a bowline that nobody runs."""
    if os.environ.get("BOWLINE_COVERAGE") == "true":
        pytest.skip("another user may not write down what was covered")
    if os.geteuid() != 0:
        pytest.skip("not root: no setuid program can be made")
    if os.statvfs(place.root).f_flag & os.ST_NOSUID:
        pytest.skip("the directory of the tests is mounted nosuid")
    place.script("helper.c", HELPER, 0o644)
    program = place.path("setuid-helper")
    subprocess.run([*os.environ["BOWLINE_CC"].split(), "-o", program, place.path("helper.c")], check=True)
    program.chmod(0o4755)
    place.root.chmod(0o755)
    os.chown(place.locks, NOBODY, NOBODY)
    own = place.path("bowline")
    shutil.copy(PROGRAM, own)
    return program


def start_helper(place, *options):
    words = [str(place.path("bowline")), "run", "--status-fd", "1", *options, "job", "./setuid-helper"]
    with open(place.path("status"), "w", encoding="utf-8") as status:
        run = subprocess.Popen(
            words, env=place.env, cwd=place.root, stdin=subprocess.DEVNULL, stdout=status,
            stderr=subprocess.PIPE, text=True, preexec_fn=become_nobody, start_new_session=True,
        )
    place.started.append(run)
    run.helper = int(place.wait_for_text(place.path("helper")))
    return run


def run_as_nobody(place, *words):
    return place.run(*words, preexec_fn=become_nobody).returncode


def until_not_stopped(place):
    text = place.wait_for_text(place.path("status"), '"not-stopped"')
    return next(json.loads(line) for line in text.splitlines() if '"not-stopped"' in line)


@pytest.mark.parametrize("options", [["--max-hold", "2s", "-t", "3s"], ["--no-renew", "-t", "3s"]])
@pytest.mark.parametrize("engine", ["redis", "file"])
def test_a_command_that_cannot_be_stopped_keeps_its_lock(place, redis, helper, engine, options):
    del helper
    if engine == "file":
        if "--no-renew" in options:
            pytest.skip("file: has no lease")
        place.env["BOWLINE_URL"] = f"file:{place.locks}"
    redis.socket.chmod(0o777)
    redis.socket.parent.chmod(0o755)
    run = start_helper(place, *options, "--kill-after", "100ms")
    said = until_not_stopped(place)
    assert said["pid"] == run.helper and "Operation not permitted" in said["why"]
    if engine == "redis":
        # It is renewed: the time that is left grows, again and again.
        grown, before = 0, 10**9
        key = redis.keys()[0]
        while grown < 3:
            now = int(redis.cli("pttl", key))
            assert now > 0
            grown += now > before
            before = now
    assert run_as_nobody(place, "-n", "job", "true") == 124
    assert place.is_alive(run.helper) and run.poll() is None
    place.path("go").touch()
    assert place.finish(run) == 123
    warning, what, why, what_to_do = run.err.splitlines()[-4:]
    assert "could not be stopped" in warning and "keeps the lock while it can" in warning
    assert what == "bowline: job was lost, ./setuid-helper could not be stopped"
    assert f"pid {run.helper}" in why and "Operation not permitted" in why
    assert "kept the lock until" in what_to_do
    assert run_as_nobody(place, "-n", "job", "true") == 0


def test_a_command_that_cannot_be_stopped_and_has_no_lock_is_123_at_once(place, redis, helper):
    del helper
    redis.socket.chmod(0o777)
    redis.socket.parent.chmod(0o755)
    run = start_helper(place, *LEASE)
    redis.cli("del", *redis.keys())
    assert run.wait(LIMIT) == 123
    assert place.is_alive(run.helper)
    place.path("go").touch()
    place.finish(run)
    what, why, what_to_type = run.err.splitlines()[-3:]
    assert what == "bowline: job was lost, ./setuid-helper could not be stopped"
    assert "does not have the lock any more" in why and "Operation not permitted" in why
    assert f"kill -KILL {run.helper}" in what_to_type
    last = json.loads(place.text_of(place.path("status")).splitlines()[-1])
    assert (last["event"], last["exit"]) == ("failed", 123)


def test_signal_ends_bowline_and_the_unstoppable_command_keeps_the_lock(place, helper):
    del helper
    run = start_helper(place, "--max-hold", "2s", "--kill-after", "100ms")
    until_not_stopped(place)
    run.terminate()
    assert run.wait(LIMIT) == 123
    # The kernel's lock is the helper's as well, which has inherited it.
    assert place.is_alive(run.helper)
    assert run_as_nobody(place, "-n", "job", "true") == 124
    place.path("go").touch()
    assert run_as_nobody(place, "-w", "50s", "job", "true") == 0
    place.finish(run)
    assert "signal 15 cannot be sent to" in run.err


def test_forbidden_signal_is_reported(place, helper):
    del helper
    run = start_helper(place)
    run.terminate()
    assert "signal 15 cannot be sent to" in run.stderr.readline()
    place.path("go").touch()
    assert place.finish(run) == 0
