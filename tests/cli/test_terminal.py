"""On a terminal: the line while waiting, Ctrl-C, Ctrl-Z, and the foreground process group.

A shell with job control runs on a pty, and the test reads its output. Every step waits for the expected text; no test
asserts a duration.
"""

import os
import pty
import re
import select
import signal

import pytest

from conftest import CTRL_C, CTRL_D, CTRL_Z, PROMPT, state_of


# Not a shell script: a shell that is stopped between fork and exec of its next command is not seen to stop.
LOOP = """
import os, time
ticks = open("ticks", "a", buffering=1)
print("tick", file=ticks)
print("begun", flush=True)
while not os.path.exists("go"):
    print("tick", file=ticks)
    time.sleep(0.005)
print("over")
"""


# The waiting line.


def test_waiting_line_shows_the_holder_and_disappears(place, terminal):
    holder = place.hold()
    shell = terminal()
    line = shell.command("$B job echo done; echo code=$?", r"waiting for job: held by [^\r\n]*")
    assert f"pid {holder.pid}" in line.group()
    # Updated in place.
    again = shell.expect(r"\rwaiting for job: held by [^\r\n]* for \d+s")
    assert "\n" not in again.group()
    place.let_go(holder)
    rest = shell.expect(r"[^\n]*done\ncode=0\n").group()
    # Overwritten with spaces before the command prints anything.
    assert re.search(r"\r +\r(done)", rest)


def test_the_waiting_line_is_one_line_on_a_narrow_terminal(place, terminal):
    place.hold("a name that is longer than this terminal is wide")
    shell = terminal(columns=30)
    shell.command("$B 'a name that is longer than this terminal is wide' true")
    line = shell.expect(r"\rwaiting for [^\r\n]*\r").group().strip("\r")
    assert len(line) == 29
    shell.type(CTRL_C, PROMPT)


def test_quiet_has_no_waiting_line(place, terminal):
    holder = place.hold()
    shell = terminal()
    assert "waiting" not in shell.command("$B -q -w 2500ms job true; echo code=$?", r"[^\n]*code=124\n").group()
    place.let_go(holder)


def test_a_waiter_in_the_background_leaves_the_terminal_alone(place, terminal):
    holder = place.hold()
    shell = terminal()
    shell.command("$B -w 3s job true &", PROMPT)
    shown = shell.command("wait $!; echo code=$?", r"(?s).*code=124\n").group()
    assert "waiting for" not in shown
    place.let_go(holder)


def test_text_of_other_clients_is_escaped(place, terminal):
    # A holder whose command has an escape sequence for a name.
    tool = place.script("a\x1b[2Jb", "#!/bin/sh\necho begun\nexec sleep 1000\n")
    holder = place.start("job", str(tool))
    holder.stdout.readline()
    assert "\x1b" not in place.run("-n", "job", "true").stderr
    shell = terminal()
    line = shell.command("$B job true", r"waiting for job: held by [^\r\n]*").group()
    assert "\x1b" not in line
    shell.type(CTRL_C, PROMPT)


# Keys.


def test_ctrl_c_ends_the_wait(place, terminal):
    place.hold()
    shell = terminal()
    shell.command("$B job touch ran", "waiting for job")
    shell.type(CTRL_C, PROMPT)
    shell.command("echo code=$?", "code=130\n")
    assert not place.path("ran").exists()


def test_ctrl_c_ends_the_command_and_releases_the_lock(place, terminal):
    shell = terminal()
    shell.command("$B job sh -c 'echo begun; exec sleep 1000'", "begun\n")
    shell.type(CTRL_C, PROMPT)
    shell.command("echo code=$?", "code=130\n")
    assert place.run("-n", "job", "true").returncode == 0


def test_ctrl_c_is_handled_by_the_command(place, terminal):
    shell = terminal()
    place.script("script", 'trap "echo got it; exit 4" INT; echo begun; while :; do sleep 0.01; done\n')
    shell.command("$B job sh ./script; echo code=$?", "begun\n")
    shell.type(CTRL_C, "got it\n", "code=4\n")


@pytest.mark.parametrize("waits", [False, True])
def test_ctrl_c_ends_a_loop_and_a_script_too(place, terminal, waits):
    if waits:
        place.hold()
    shell = terminal()
    sign = "waiting for job" if waits else "begun\n"
    run = f"{os.environ['BOWLINE']} run job sh -c 'echo begun; exec sleep 1000'"
    place.script("script", f"#!/bin/sh\n{run}\ntouch went-on\n")
    for line in ("for i in 1 2 3; do $B job sh -c 'echo begun; exec sleep 1000'; done; touch went-on", "./script"):
        shell.command(line, sign)
        shell.type(CTRL_C, PROMPT)
        assert not place.path("went-on").exists()


@pytest.mark.parametrize("interpreter", ["sh", "bash"])
def test_ctrl_c_for_a_command_that_has_the_terminal_ends_the_script_around_it(place, terminal, interpreter):
    run = f"{os.environ['BOWLINE']} run job sh -c 'read line; echo got $line; exec sleep 1000'"
    place.script("script", f"{run}\ntouch went-on\n")
    shell = terminal()
    shell.command(f"{interpreter} ./script")
    shell.type("hello\n", "got hello\n")
    shell.type(CTRL_C, PROMPT)
    assert not place.path("went-on").exists()


def test_a_key_reaches_the_command_once(place, terminal):
    shell = terminal()
    shell.command("""$B job sh -c 'trap "echo signalled" INT; echo begun; while [ ! -e go ]; do sleep 0.01; done'""")
    shell.expect("begun\n")
    shell.type(CTRL_C, "signalled\n")
    place.path("go").touch()
    assert "signalled" not in shell.expect("(?s).*" + PROMPT).group()


def test_ctrl_z_and_fg(place, terminal):
    shell = terminal()
    shell.command("$B job cat; echo code=$?")
    shell.type("one\n", "one\none\n")
    shell.type(CTRL_Z, r"Stopped", PROMPT)
    # The lock is still taken.
    assert place.run("-n", "job", "true").returncode == 124
    shell.command("fg", r"job cat\n")
    shell.type("two\n", "two\ntwo\n")
    shell.type(CTRL_D, PROMPT)
    shell.command("echo ok", "ok\n")
    assert place.run("-n", "job", "true").returncode == 0


def test_ctrl_z_and_bg(place, terminal):
    shell = terminal()
    place.script("wait.py", LOOP)
    shell.command("$B job python3 wait.py", "begun\n")
    shell.type(CTRL_Z, r"Stopped")
    shell.command("bg", PROMPT)
    place.path("go").touch()
    shell.expect("over\n")
    shell.command("wait; echo ok", "ok\n")
    assert place.run("-n", "job", "true").returncode == 0


def test_ctrl_z_while_waiting(place, terminal):
    holder = place.hold()
    shell = terminal()
    shell.command("$B job echo mine", "waiting for job")
    shell.type(CTRL_Z, r"Stopped", PROMPT)
    shell.command("fg", "waiting for job")
    place.let_go(holder)
    shell.expect("mine\n")


def test_ctrl_z_of_a_candidate_that_waits_again(place, redis, terminal):
    shell = terminal()
    shell.command("${B% run} elect x cat")
    shell.type("one\n", "one\none\n")
    second = place.begin("elect", "x", "sleep", "1000")
    place.wait_for("the waiter", lambda: "bowline:{x}:bwl.q" in redis.keys())
    place.bowline("break", "--yes", "x")
    shell.expect("waiting to lead again")
    shell.type(CTRL_Z, r"Stopped", PROMPT)
    shell.command("fg", "elect x cat")
    assert place.let_go(second) == 128 + signal.SIGTERM
    shell.type("two\n", "two\ntwo\n")
    shell.type(CTRL_D, PROMPT)


def test_a_lease_that_ran_out_while_stopped_ends_the_command(place, redis, terminal):
    # It counts as fast as it can, so that a moment without its lock would be seen.
    code = """
import os
counter = os.open("counter", os.O_RDWR | os.O_CREAT)
print("begun", flush=True)
n = 0
while True:
    n += 1
    os.pwrite(counter, b"%d\\n" % n, 0)
"""
    place.script("count.py", code)
    shell = terminal()
    for _ in range(20):
        shell.command("$B -t 3s --kill-after 100ms job python3 count.py", "begun\n")
        was_stopped = shell.type(CTRL_Z, "Stopped|job was lost").group() == "Stopped"
        shell.expect(PROMPT)
        if was_stopped:
            break  # and did not stop for longer than the lease before it was
    place.wait_for("the lease to end", lambda: redis.keys() == [])
    count = place.path("counter").read_text()
    shell.command("fg", "bowline: job was lost, python3 was stopped")
    shell.expect("bowline: its lease has ended and was not renewed", PROMPT)
    shell.command("echo code=$?", "code=123\n")
    assert place.path("counter").read_text() == count, "it went on without its lock"


def test_a_stopped_command_stops_bowline_and_fg_continues_both(terminal):
    shell = terminal()
    shell.command("$B job sh -c 'kill -STOP $$; echo back'", r"Stopped", PROMPT)
    shell.command("fg", "back\n")


# The foreground group of the terminal.


def test_command_gets_the_terminal_and_bowline_restores_it(place, terminal):
    shell = terminal()
    code = "import os; print('front', os.tcgetpgrp(0) == os.getpgrp() == os.getpid()); input()"
    place.script("front.py", code)
    shell.command("$B job python3 front.py; echo code=$?", "front True\n")
    shell.type("\n", "code=0\n", PROMPT)
    assert shell.foreground() == shell.pid


def test_in_a_pipeline_the_others_keep_the_terminal(place, terminal):
    # The program after the pipe reads keys, as a pager does.
    code = """
import sys
keys = open("/dev/tty")
for line in sys.stdin:
    print("page", line, end="")
print("key", keys.readline(), end="")
"""
    place.script("pager.py", code)
    shell = terminal()
    shell.command("$B job sh -c 'echo text; while [ ! -e go ]; do sleep 0.01; done; echo more' | python3 pager.py; echo code=$?")
    shell.expect("page text\n")
    place.path("go").touch()
    shell.expect("page more\n")
    shell.type("q\n", "key q\n", "code=0\n")


def test_command_in_a_pipeline_gets_the_terminal_when_it_reads(terminal):
    shell = terminal()
    shell.command("$B job sh -c 'read line; echo got $line' | cat; echo code=$?")
    shell.type("hello\n", "got hello\n", "code=0\n", PROMPT)
    assert shell.foreground() == shell.pid


def test_terminal_left_to_a_dead_group_is_restored(place, terminal):
    # As a shell that makes a job the foreground group, and ends before it takes the terminal back.
    code = """
import os, signal
print("asked", input(), flush=True)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    os._exit(0)
os.waitpid(pid, 0)
"""
    place.script("steal.py", code)
    place.script("script", f"{os.environ['BOWLINE']} run job python3 steal.py\nread line\necho got $line\n")
    shell = terminal()
    shell.command("sh ./script")
    shell.type("one\n", "asked one\n")
    shell.type("two\n", "got two\n")


def test_a_program_that_uses_the_terminal_beside_bowline_is_not_stopped(place, terminal):
    code = f"""
import subprocess
run = subprocess.Popen([{os.environ['BOWLINE']!r}, "run", "job", "sh", "-c", "while [ ! -e go ]; do sleep 0.01; done"])
print("got", input("type: "))
open("go", "w").close()
print("code", run.wait())
"""
    place.script("beside.py", code)
    shell = terminal()
    shell.command("python3 beside.py", "type: ")
    shell.type("hello\n", "got hello\n", "code 0\n")


def test_ctrl_z_in_a_script_stops_all_of_it(place, terminal):
    place.script("wait.py", LOOP)
    place.script("script", f"#!/bin/sh\n{os.environ['BOWLINE']} run job python3 wait.py\necho and on\n")
    shell = terminal()
    shell.command("./script", "begun\n")
    shell.type(CTRL_Z, "Stopped", PROMPT)
    shell.command("fg")
    place.path("go").touch()
    shell.expect("over\nand on\n")
    assert place.run("-n", "job", "true").returncode == 0


def test_ctrl_c_in_a_pipeline_ends_all_of_it(place, terminal):
    shell = terminal()
    shell.command("$B job sh -c 'echo begun; exec sleep 1000' | cat", "begun\n")
    shell.type(CTRL_C, PROMPT)
    assert "job" not in shell.command("jobs; echo none", r"[^>]*none\n").group()
    assert place.run("-n", "job", "true").returncode == 0


def test_a_shell_inside_has_job_control_of_its_own(terminal):
    shell = terminal()
    shell.command("PS1='inner> ' $B job bash --norc --noprofile --noediting -i; echo code=$?", "inner> ")
    shell.command("sh -c 'echo begun; exec sleep 1000'", "begun\n")
    shell.type(CTRL_Z, "Stopped", "inner> ")
    # The kernel ends a stopped process group without a shell.
    shell.command("disown -a; exit 5", "code=5\n", PROMPT)
    assert shell.foreground() == shell.pid


def test_a_command_in_the_background_that_reads_is_stopped_with_bowline(place, terminal):
    shell = terminal()
    pid = int(shell.command("$B job sh -c 'read line; echo got $line' &", r"\] (\d+)\n").group(1))
    place.wait_for("bowline to stop", lambda: state_of(pid) == "T")
    shell.expect(PROMPT)
    shell.type("\n", "Stopped")
    shell.command("fg", r"got \$line'\n")
    shell.type("hello\n", "got hello\n")
    assert place.run("-w", "50s", "job", "true").returncode == 0


def test_command_without_a_shell_is_not_left_stopped(place, terminal):
    # bowline is behind, and has no parent in its session, so the kernel does not stop it. Its command is
    # stopped for reading from behind, and must not hold the lock for ever. behind.sh starts bowline when its
    # group (field 5 of stat) is not the terminal's (field 8) any more: its parent has ended then.
    place.path("behind.sh").write_text(
        "state() { cut -d' ' -f $1 /proc/$$/stat; }\n"
        "while [ $(state 5) = $(state 8) ]; do :; done\n"
        "exec $B --status-fd 3 job sh -c 'read line; exit 3' 3> status < /dev/tty\n"
    )
    shell = terminal()
    shell.command("(sh behind.sh &); echo over", "over\n")
    text = place.wait_for_text(place.path("status"), '"released"')
    assert f'"signal":{int(signal.SIGHUP)}' in text
    assert place.run("-n", "job", "true").returncode == 0


def test_without_a_shell_ctrl_z_does_nothing(place):
    # As the only program of a terminal: no shell could continue it.
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(os.environ["BOWLINE"], ["bowline", "run", "job", "cat"], place.env)
    try:
        shown = b""

        def type_and_expect(text, answer):
            nonlocal shown
            os.write(fd, text)

            def came():
                nonlocal shown
                if select.select([fd], [], [], 0.05)[0]:
                    shown += os.read(fd, 65536)
                return answer in shown

            place.wait_for(answer, came)

        type_and_expect(b"one\n", b"one\r\none\r\n")
        type_and_expect(b"\x1atwo\n", b"two\r\ntwo\r\n")
        os.write(fd, b"\x04")
        assert os.waitpid(pid, 0)[1] == 0
    finally:
        os.close(fd)
