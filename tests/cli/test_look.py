"""`bowline who`, `ls`, `watch` and `top`, on files, Redis, Sentinel and Cluster.

The holders are real `bowline run` processes. Where a lease ends by itself, the test waits for the event.
"""

import contextlib
import getpass
import itertools
import json
import os
import pathlib
import re
import signal
import socket

import pytest

from conftest import CTRL_C, CTRL_Z, PROGRAM, PROMPT, failed
from own_redis import LIMIT, wait_for
from own_store import STORES, open_store

ME = f"{getpass.getuser()}@{socket.gethostname()}"
numbers = itertools.count()


@pytest.fixture(scope="module", params=STORES)
def opened(request):
    with open_store(request.param) as store:
        yield store


@pytest.fixture
def store(opened, place):
    """Its kind. BOWLINE_URL is set."""
    if opened.url:
        place.env["BOWLINE_URL"] = opened.url
    return opened.kind


@pytest.fixture
def name():
    """A lock that no other test has used: the store is shared."""
    return f"nightly-{next(numbers)}"


class Watch:
    """A `bowline watch --json` that runs."""

    def __init__(self, place, *words):
        self.process = place.begin("watch", "--json", *words)

    def next(self, *wanted):
        """The next event, which is one of these."""
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        event = json.loads(line)
        assert event["event"] in wanted, line
        return event


def test_who_shows_the_command_without_its_arguments(place, store, name):
    holder = place.hold(name)
    # bowline publishes the command after its start.
    place.wait_for("the command", lambda: "command_pid" in place.bowline("who", "--json", name).stdout)
    held = place.bowline("who", name).stdout
    data = json.loads(place.bowline("who", "--json", name).stdout)
    assert f"sh (pid {holder.command})" in held and (data["pid"], data["command_pid"]) == (holder.pid, holder.command)
    assert "sleep 1000" not in held + json.dumps(data)
    quiet = place.bowline("who", "-q", name)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    place.let_go(holder)
    assert json.loads(place.bowline("who", "--json", name).stdout) == {"bowline": 1, "name": name, "held": False}
    assert place.bowline("who", "-q", name).returncode == 1


def shown(place, name):
    """The line of bowline who without the name, the holder and what changes with time, and its JSON."""
    parts = place.bowline("who", name).stdout.splitlines()[0].split("  ")[3:]
    told = json.loads(place.bowline("who", "--json", name).stdout)
    return [part for part in parts if not re.match("held |lease |fence ", part)], told


def test_mode_of_a_holder_is_shown(place, store, name):
    """A single permit looks like a share until its limit is known, so its mode is left out until then."""
    for words, mode, line, numbers in [
        ([], "exclusive", [], {}),
        (["-s"], "shared", ["shared by 1"], {"sharers": 1, "permits": 1}),
        (["--permits", "1/4"], "permits", ["1 of 4 permits"], {"sharers": 1, "permits": 1, "limit": 4}),
        (["--permits", "3/4"], "permits", ["3 of 4 permits"], {"sharers": 1, "permits": 3, "limit": 4}),
    ]:
        holder = place.hold(name, *words)
        place.wait_for("its mode", lambda: shown(place, name)[1].get("mode"))
        parts, told = shown(place, name)
        assert (parts, told["mode"]) == (line, mode)
        assert {key: told[key] for key in ("sharers", "permits", "limit") if key in told} == numbers
        assert [share["mode"] for share in told.get("holders", [])] == ([mode] if words else [])
        place.let_go(holder)


@pytest.mark.parametrize(
    "others, mode, line",
    [
        (["--permits", "2/4"], "permits", "shared by 2, 3 of 4 permits"),
        (["--permits", "2/5"], "permits", "shared by 2, 3 permits"),
        (["-s"], None, "shared by 2"),
    ],
)
def test_mode_and_limit_of_several_holders_are_shown_if_all_have_the_same(place, store, name, others, mode, line):
    holders = [place.hold(name, "--permits", "1/4"), place.hold(name, *others)]
    place.wait_for("their modes", lambda: all("mode" in share for share in shown(place, name)[1]["holders"]))
    parts, told = shown(place, name)
    assert (parts, told.get("mode")) == ([line], mode)
    assert told.get("limit") == (4 if line.endswith("of 4 permits") else None)
    for holder in holders:
        place.let_go(holder)


def test_list_says_permits_where_it_knows(place, store, name):
    """It does not ask for limits: a single permit has no mode."""
    for words, mode, line in [([], "exclusive", ""), (["-s"], None, "shared by 1"), (["--permits", "2/4"], "permits", "2 permits")]:
        holder = place.hold(name, *words)
        assert json.loads(place.bowline("ls", "--json", name).stdout).get("mode") == mode
        assert f"  {line}" in place.bowline("ls", name).stdout
        place.let_go(holder)


def test_watch_shows_each_change(place, store, name):
    watch = Watch(place, name)
    assert "user" not in watch.next("free")
    holder = place.hold(name)
    got = watch.next("acquired")
    assert got["pid"] == holder.pid and f"{got['user']}@{got['host']}" == ME and got["name"] == name
    other = Watch(place, name)
    assert other.next("held")["pid"] == holder.pid
    place.let_go(holder)
    assert watch.next("released")["pid"] == holder.pid
    assert other.next("released")["time_ms"] >= got["time_ms"]


def test_watch_sees_the_death_of_a_holder(place, store, name):
    holder = place.hold(name, "-t", "3s")
    watch = Watch(place, name)
    watch.next("held")
    holder.kill()
    # "ended": the machine stopped for longer than the lease.
    end = watch.next("released") if store == "file" else watch.next("lost", "ended")
    assert end["pid"] == holder.pid


def test_watch_names_who_has_broken_a_hold(place, store, name):
    if store == "file":
        pytest.skip("a lock of file: cannot be broken")
    holder = place.hold(name, "-t", "9s")
    watch = Watch(place, name)
    held = watch.next("held")
    place.bowline("break", "--yes", name)
    assert watch.next("broken").items() >= {"by": ME, "pid": holder.pid, "id": held["id"]}.items()


def test_watch_counts_the_waiters(place, name):
    holder = place.hold(name)
    watch = Watch(place, name)
    watch.next("held")
    waiter = place.start(name, "true")
    assert watch.next("waiting")["waiting"] == 1
    place.let_go(waiter)
    assert "waiting" not in watch.next("waiting")
    place.start(name, "sleep", "1000")
    watch.next("waiting")
    place.let_go(holder)
    assert "waiting" not in watch.next("released")  # it holds the lock now


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_a_watch_silently(place, redis, name, number):
    watch = Watch(place, name)
    watch.next("free")
    watch.process.send_signal(number)
    assert place.finish(watch.process) == -number and (watch.process.out, watch.process.err) == ("", "")


def test_watch_ends_with_its_reader(place, name):
    watch = Watch(place, name)
    watch.next("free")
    watch.process.stdout.close()
    assert watch.process.wait(LIMIT) == -signal.SIGPIPE


def test_until_ends_a_watch(place, name):
    assert place.bowline("watch", "--until", "free", name).returncode == 0
    waits = place.begin("watch", "--until", "held", name)
    waits.stdout.readline()
    holder = place.hold(name)
    assert place.finish(waits) == 0 and "acquired" in waits.out
    ends = [place.begin("watch", "--until", what, name) for what in ("free", "released", "acquired")]
    for end in ends:
        end.stdout.readline()
    place.let_go(holder)
    assert [place.finish(end) for end in ends[:2]] == [0, 0]
    assert ends[2].poll() is None


def test_watch_outlives_its_server(place, start_redis, name):
    server = start_redis()
    place.env["BOWLINE_URL"] = f"{server.url}?timeout=1s"
    holder = place.hold(name)
    watch = Watch(place, name)
    watch.next("held")
    server.freeze()
    assert "why" in watch.next("unreachable")
    server.thaw()
    assert watch.next("held")["pid"] == holder.pid


# ls.


def populate(redis, count):
    redis.cli("EVAL", "for i = 1, ARGV[1] do redis.call('SET', 'key:' .. i, i) end", "0", count)


def test_ls_lists_what_is_held(place, store, name):
    held = [f"{name}-{letter}" for letter in "cab"]
    for each in held:
        place.hold(each)
    done = place.bowline("ls", f"{name}-*")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split("  ")[:2] for line in done.stdout.splitlines()] == [[each, ME] for each in sorted(held)]
    some = place.bowline("ls", "--json", f"{name}-[!a]").stdout.splitlines()
    assert [(json.loads(line)["name"], json.loads(line)["held"]) for line in some] == [(f"{name}-b", True), (f"{name}-c", True)]
    assert place.bowline("ls", f"{name}-d").stdout == "" and held[0] in place.bowline("ls").stdout


def test_ls_ends_at_its_limit_and_says_how_far_it_came(place, redis, name):
    populate(redis, 5000)
    place.hold(name)
    what, why, what_to_type = failed(place.bowline("ls", "--max-keys", "1500", "none"), 1)
    assert what == "the list is not complete" and re.search(r"looked at \d{4} of about 50\d\d keys", why)
    assert "--max-keys 0" in what_to_type
    assert place.bowline("ls", "--max-keys", "0").stdout.startswith(name)


@pytest.mark.parametrize("key", ["", CTRL_C])
def test_progress_of_ls_disappears(place, redis, terminal, name, key):
    populate(redis, 200000)
    shell = terminal()
    redis.cli("CLIENT", "PAUSE", "1100", "ALL")
    shell.command(f"{PROGRAM} ls none-{name}", r"\rlooked at \d+ of about 20\d+ keys, held: 0\r")
    os.write(shell.fd, key.encode())
    shell.expect(r"\r {30,}\r[^ ]*" + PROMPT)


# top.


def are_stopped(word):
    """All processes that have the word in their command."""
    states = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if word.encode() in (process / "cmdline").read_bytes():
                states.add((process / "stat").read_text().rpartition(")")[2].split()[0])
    return states == {"T"}


def test_top_is_a_page_that_leaves_the_terminal_as_it_was(place, store, terminal, name):
    tool = place.script("a\x1b[2Jb", "#!/bin/sh\necho begun\nexec sleep 1000\n")
    place.start(name, str(tool)).stdout.readline()
    shell = terminal()
    before = shell.command("stty -g", r"([0-9a-f:]+)\n").group(1)
    # Not in bash itself, which mends the terminal after a command.
    run = f"sh -c 'trap : INT; {PROGRAM} top --every 200ms \"{name}*\"; echo code=$?; stty -g'"
    shell.command(run, r"\x1b\[\?1049h", r"held 1 ", "NAME", f"{name}  {ME}  [^\\x1b]*\n")
    shell.resize(40)
    shell.expect(r"NAME[^\n]{33}\.\.\.\x1b")
    for number in range(30):
        place.hold(f"{name}-{number:02}")
    shell.expect("held 31 ", "1 to 19 of 31")
    shell.type("\x1b[6~", "13 to 31 of 31")
    shell.type("\x1b[A", "12 to 30 of 31")
    shell.type(CTRL_Z, r"(?s)\?1049l.*Stopped|Stopped.*\?1049l")  # sh may stop first
    wait_for("the page to stop, too", lambda: are_stopped(f"{name}*"))
    shell.command("fg", r"\x1b\[\?1049h", "held 31 ")
    shell.type("q", r"\x1b\[\?25h\x1b\[\?1049l", f"code=0\n{before}\n", PROMPT)
    shell.command(run, "held 31 ")
    shell.type(CTRL_C, r"\x1b\[\?1049l", f"code=130\n{before}\n", PROMPT)


def test_top_outlives_its_server_and_not_the_first_look(place, start_redis, terminal, name):
    server = start_redis()
    place.env["BOWLINE_URL"] = f"{server.url}?timeout=1s"
    shell = terminal()
    shell.command(f"{PROGRAM} top --every 200ms", "held 0 ")
    server.freeze()
    shell.expect("no look since ")
    server.thaw()
    shell.expect(r"held 0  waiting 0[^\n]*\n\x1b\[K\r\n")
    shell.type("q", PROMPT)
    server.stop()
    shell.command(f"{PROGRAM} top; echo code=$?", r"\x1b\[\?1049l", "bowline: the locks cannot be listed", "code=125")
    assert failed(place.bowline("top"))[0] == "this is not a terminal"


def test_every_look_needs_a_store(place, name):
    gone = place.path("gone")
    for command in ("who", "watch"):
        assert "another process" in failed(place.bowline(command, "--url", "thread:", name))[0]
        assert f"the holder of {name}" in failed(place.bowline(command, "--url", f"unix://{gone}?timeout=100ms", name))[0]
        assert failed(place.bowline(command))[2] == f"type: bowline help {command}"
        assert failed(place.bowline(command, "a", "b"))[0] == "more than one lock is named"
    assert failed(place.bowline("watch", "--until", "fre", name))[1:] == [
        "did you mean --until free?", "type: bowline help watch"]
    assert failed(place.bowline("ls", "[a"))[0] == "there is no such pattern"
    assert "50ms" in failed(place.bowline("watch", "--every", "1ms", name))[1]
