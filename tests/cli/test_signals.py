"""Signals: which reach the command and its processes, which end the wait, which stay ignored."""

import os
import signal
import subprocess

import pytest

from conftest import state_of

# The command and a grandchild each record their signals, and end when both have received one.
GROUP = """
import os, pathlib, signal, sys, time
me = "child" if os.fork() == 0 else "parent"
def record(number, frame):
    with open(f"signalled-{me}", "a") as file:
        file.write(f"{signal.Signals(number).name}\\n")
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, record)
pathlib.Path(f"ready-{me}").write_text(f"{os.getpid()}\\n")
while not os.path.exists("go"):
    time.sleep(0.005)
sys.exit(7)
"""

FORWARDED = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2]


def start_group(place, **how):
    """A run of GROUP whose two processes are ready."""
    run = place.start("job", *place.python(GROUP), **how)
    for who in ("parent", "child"):
        place.wait_for_text(place.path(f"ready-{who}"))
    return run


@pytest.mark.parametrize("number", FORWARDED)
def test_a_signal_reaches_every_process_of_the_command_once(place, number):
    run = start_group(place)
    run.send_signal(number)
    for who in ("parent", "child"):
        place.wait_for_text(place.path(f"signalled-{who}"))
    place.path("go").touch()
    assert place.finish(run) == 7
    assert place.path("signalled-parent").read_text() == f"{number.name}\n"
    assert place.path("signalled-child").read_text() == f"{number.name}\n"


def test_bowline_waits_for_a_command_that_takes_its_time_to_end(place):
    run = place.start("job", *place.python(GROUP))
    place.wait_for_text(place.path("ready-parent"))
    for _ in range(3):
        run.send_signal(signal.SIGTERM)
    place.wait_for_text(place.path("signalled-parent"))
    # No other run acquires the lock while the command cleans up.
    assert place.run("-n", "job", "true").returncode == 124
    assert run.poll() is None
    place.path("go").touch()
    assert place.finish(run) == 7


def test_command_ended_by_the_signal_is_128_and_releases_the_lock(place):
    run = place.hold()
    run.terminate()
    assert place.finish(run) == 143
    assert run.err == ""
    assert place.run("-n", "job", "true").returncode == 0


def test_signal_to_the_group_of_bowline_reaches_the_command_once(place):
    # Like a key on a terminal, or kill -TERM -PGID: the command is in another group.
    run = start_group(place)
    os.killpg(run.pid, signal.SIGTERM)
    place.wait_for_text(place.path("signalled-parent"))
    place.path("go").touch()
    assert place.finish(run) == 7
    assert place.path("signalled-parent").read_text() == "SIGTERM\n"


def start_waiter(place, *words, **how):
    waiter = place.start("--status-fd", "1", *words, "job", "touch", "ran", **how)
    assert '"waiting"' in waiter.stdout.readline()
    return waiter


@pytest.mark.parametrize("number", FORWARDED)
def test_signal_ends_the_wait_and_leaves_nothing(place, number):
    holder = place.hold()
    waiter = start_waiter(place)
    waiter.send_signal(number)
    assert place.finish(waiter) == 128 + number
    assert f'"signal":{int(number)}' in waiter.out
    assert not place.path("ran").exists()
    place.let_go(holder)
    assert place.run("-n", "job", "true").returncode == 0


def test_waiter_that_leaves_does_not_block_the_next_ones(place):
    holder = place.hold()
    first, second = start_waiter(place), start_waiter(place)
    first.terminate()
    assert place.finish(first) == 143
    place.let_go(holder)
    assert place.finish(second) == 0
    assert place.path("ran").exists()


def test_killed_waiter_does_not_block_the_next_ones(place):
    holder = place.hold()
    first, second = start_waiter(place), start_waiter(place)
    first.kill()
    first.wait()
    place.let_go(holder)
    assert place.finish(second) == 0


def test_signal_ends_the_wait_for_a_silent_server(place, redis):
    holder = place.hold()
    waiter = start_waiter(place, stderr=subprocess.DEVNULL)
    redis.freeze()
    waiter.terminate()
    assert place.finish(waiter) == 143
    redis.thaw()
    place.let_go(holder)


def test_signal_at_the_moment_of_the_grant_releases_the_lock(place):
    def pending():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        os.kill(os.getpid(), signal.SIGTERM)  # bowline reads it at its next check, which is after the lock is free

    done = place.run("--status-fd", "1", "job", "touch", "ran", preexec_fn=pending)
    assert done.returncode == 143 and not place.path("ran").exists()
    assert f'"signal":{int(signal.SIGTERM)},' in done.stdout
    assert place.run("-n", "job", "true").returncode == 0


def test_full_queue_error_has_a_hint(place, redis):
    place.env["BOWLINE_URL"] = f"{redis.url}?queue-max=1"
    place.hold()
    start_waiter(place)
    place.wait_for("the first to wait", lambda: redis.cli("zcard", "bowline:{job}:bwl.q") == "1")
    done = place.run("-w", "5m", "job", "touch", "ran")
    assert done.returncode == 124
    assert "add ?queue-max=0 to the URL" in done.stderr


def test_a_cancelled_waiter_leaves_nothing_on_the_server(place, redis):
    holder = place.hold()
    waiter = start_waiter(place)
    waiter.terminate()
    assert place.finish(waiter) == 143
    place.let_go(holder)
    assert redis.keys() == []


# Signal settings of the caller.

# Not through sh, which resets some by itself.
SHOW = ["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"]


def masks(text):
    """Signals 1 to 31. Those reserved by the C library are inherited from the caller of the tests."""
    return {line.split(":")[0]: int(line.split()[1], 16) & 0x7FFFFFFF for line in text.splitlines()}


def test_the_command_has_no_signal_blocked_and_none_ignored(place):
    done = place.run("job", *SHOW, restore_signals=True)
    assert masks(done.stdout) == {"SigBlk": 0, "SigIgn": 0}


@pytest.mark.parametrize("number", [*FORWARDED, signal.SIGPIPE, signal.SIGCHLD, signal.SIGTSTP, signal.SIGCONT])
def test_signals_ignored_by_the_caller_are_ignored_by_the_command(place, number):
    def ignore():
        signal.signal(number, signal.SIG_IGN)

    done = place.run("job", *SHOW, preexec_fn=ignore, restore_signals=True)
    assert masks(done.stdout) == {"SigBlk": 0, "SigIgn": 1 << (number - 1)}


def test_signals_blocked_by_the_caller_are_blocked_in_the_command(place):
    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])

    done = place.run("job", *SHOW, preexec_fn=block)
    assert masks(done.stdout)["SigBlk"] == 1 << (signal.SIGUSR2 - 1)


def test_ignored_hangup_does_not_end_the_wait(place):
    # nohup bowline run job ... : it keeps waiting when the terminal closes.
    holder = place.hold()
    waiter = start_waiter(place, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    for _ in range(5):
        waiter.send_signal(signal.SIGHUP)
    place.let_go(holder)
    assert place.finish(waiter) == 0


def test_an_ignored_hangup_is_not_passed_on(place):
    run = start_group(place, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    run.send_signal(signal.SIGHUP)
    run.send_signal(signal.SIGUSR1)
    place.wait_for_text(place.path("signalled-parent"))
    place.path("go").touch()
    assert place.finish(run) == 7
    assert place.path("signalled-parent").read_text() == "SIGUSR1\n"


# Stopping, without a terminal: the command stops, bowline continues to watch.


def test_stop_and_continue_are_passed_on_and_the_lock_stays(place):
    run = place.hold()
    run.send_signal(signal.SIGTSTP)
    place.wait_for("the command to stop", lambda: state_of(run.command) == "T")
    assert place.run("-n", "job", "true").returncode == 124
    assert state_of(run.pid) != "T"
    run.send_signal(signal.SIGCONT)
    place.wait_for("the command to go on", lambda: state_of(run.command) == "S")
    assert place.let_go(run) == 143


def test_a_command_stopped_by_others_stays_stopped(place):
    run = place.hold()
    os.kill(run.command, signal.SIGSTOP)
    place.wait_for("the command to stop", lambda: state_of(run.command) == "T")
    assert place.run("-n", "job", "true").returncode == 124
    assert state_of(run.command) == "T"
    os.kill(run.command, signal.SIGCONT)
    assert place.let_go(run) == 143


def test_a_stopped_waiter_stops_and_goes_on(place):
    holder = place.hold()
    waiter = start_waiter(place)
    waiter.send_signal(signal.SIGSTOP)
    place.wait_for("the waiter to stop", lambda: state_of(waiter.pid) == "T")
    waiter.send_signal(signal.SIGCONT)
    place.let_go(holder)
    assert place.finish(waiter) == 0
