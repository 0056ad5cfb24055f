"""The benchmark's peers: programs with a common line protocol, and the evaluation of their results.

The drivers in C are always here; those of other languages want libraries that `make bench-peers` fetches.  No test
asserts a speed.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

from doctor_bill import free_port
from own_redis import children_of, is_alive, own_redis, wait_for

LIMIT = 120
BENCH = os.environ.get("BOWLINE_BENCH")
SHORT = ["--settle", "0", "--rounds", "1", "--samples", "1", "--brief", "--json"]

pytestmark = [
    pytest.mark.skipif(not BENCH, reason="this build has no benchmark (no hiredis)"),
    pytest.mark.skipif(
        not shutil.which("redis-server") and "CI" not in os.environ, reason="redis-server is not installed"
    ),
]


def program(name):
    return str(pathlib.Path(BENCH).parent / name)


def here(name, *words):
    return "\t".join([name, f"the library of {name}", "here", *words])


@pytest.fixture
def compare(tmp_path):
    """Runs the measures of `only` with a list of peers; nothing of it may be left."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def run(lines, only, *words):
        path = tmp_path / "list"
        path.write_text("# a list\n" + "".join(line + "\n" for line in lines))
        done = subprocess.run(
            [BENCH, *SHORT, "--peers", str(path), "--only", only, *words],
            capture_output=True, text=True, timeout=LIMIT, check=False, env=dict(os.environ, TMPDIR=str(scratch)),
        )
        assert list(scratch.iterdir()) == []
        return done

    return run


def cells(done):
    assert (done.returncode, done.stderr) == (0, "")
    return {(m["name"], m["peer"]): m for m in json.loads(done.stdout)["peers"]["measures"]}


POLL = here("poll-1", program("hiredis-peer") if BENCH else "", "1")
PING = here("PING", program("hiredis-peer") if BENCH else "", "0")
BROKEN = here("broken", program("hiredis-peer") if BENCH else "", "broken")


# Measures.


def test_pairs_and_handoffs_of_both_sides_are_timed(compare):
    found = cells(compare([PING, POLL], "peer-pair,peer-hand-over-P", "--query", "protocol=queue"))
    assert found.keys() == {(f"peer-{what}", peer) for what in ("pair-S", "hand-over-P") for peer in ("PING", "poll-1")}
    for (name, peer), cell in found.items():
        if (name, peer) == ("peer-pair-S", "PING"):
            assert cell["ratio"] is None and cell["note"] == "it is no lock"
            continue
        assert cell["note"] == "" and cell["ratio"] > 0 and len(cell["rounds"]) == 1
        for side in ("ours", "theirs"):
            assert 0 < cell[side]["p50"] <= cell[side]["p99"] <= cell[side]["p999"]
    # A millisecond each way: one round trip, and the two ways from one to the other.
    assert found["peer-hand-over-P", "PING"]["theirs"]["p50"] >= 2000
    assert found["peer-hand-over-P", "PING"]["ours"]["p50"] >= 2000
    assert found["peer-hand-over-P", "PING"]["goal"] == 1.1


def test_many_waiters_and_idle_ones_are_counted(compare):
    found = cells(compare([POLL], "peer-waiters-2,peer-idle", "--query", "protocol=token"))
    assert found.keys() == {("peer-waiters-2", "poll-1"), ("peer-idle", "poll-1")}
    crowd, idle = found["peer-waiters-2", "poll-1"], found["peer-idle", "poll-1"]
    for side in ("ours", "theirs"):
        # To acquire and to release: a command each, whatever a script calls.
        assert crowd[side]["commands_per_hand_over"] >= 2
        assert crowd[side]["hand_overs_per_s"] > 0 and 0 <= crowd[side]["fairness"] <= 1
        assert idle[side]["commands_per_waiter_s"] >= 0
    # Every waiter tries each millisecond.
    assert idle["theirs"]["commands_per_waiter_s"] > 1


def test_invalid_url_ends_the_run(compare):
    done = compare([POLL], "peer-pair", "--query", "protocol=nonesuch")
    assert done.returncode == 3
    lines = done.stderr.splitlines()
    assert len(lines) == 3 and "our own side" in lines[0] and "nonesuch" in lines[1]


# Peers without exclusion, and missing peers.


def test_peer_with_two_holders_at_once_gets_no_figure(compare):
    found = cells(compare([BROKEN, POLL], "peer-pair,peer-waiters-16"))
    for name in ("peer-pair-S", "peer-waiters-16"):
        assert found[name, "broken"]["ratio"] is None
        assert "held by two at once" in found[name, "broken"]["note"]
        assert found[name, "poll-1"]["ratio"] > 0


LIAR = """
import sys, time
now = time.monotonic_ns
print("ready", flush=True)
for line in sys.stdin:
    words = line.split()
    if words[0] == "contend":
        open(words[3], "w").write(f"0 {now()} {now()}\\n")
    answers = {"crowd": "crowd 1", "contend": "done 1", "acquire": f"held {now()}", "release": f"released {now()}"}
    print(answers[words[0]], flush=True)
"""


def test_handoff_before_the_release_is_detected(compare, tmp_path):
    """Its holds are valid; its times of a handoff are not."""
    liar = tmp_path / "liar.py"
    liar.write_text(LIAR)
    found = cells(compare([here("liar", sys.executable, str(liar))], "peer-hand-over-S"))
    assert "held by two at once" in found["peer-hand-over-S", "liar"]["note"]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_every_kind_of_end_leaves_no_driver(tmp_path, end):
    (tmp_path / "list").write_text(POLL + "\n")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    only = ["--only", "peer-hand-over-S", "--peers", str(tmp_path / "list")]
    words = [BENCH, "--settle", "0", "--samples", "1000", *only]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=dict(os.environ, TMPDIR=str(scratch)))
    try:
        # The janitor, the server, two drivers of bowline and two of the peer.
        wait_for("all six", lambda: len(children_of(process.pid)) == 6, LIMIT)
        children = [pid for _, pid in children_of(process.pid)]
    finally:
        process.send_signal(end)
    assert process.wait(LIMIT) == -end
    wait_for("the end of all that it started", lambda: not any(map(is_alive, children)), LIMIT)
    wait_for("the end of its directory", lambda: list(scratch.iterdir()) == [], LIMIT)


def test_missing_peer_is_reported_and_the_others_run(compare, tmp_path):
    page = tmp_path / "page.md"
    lines = [
        "Nobody\tnobody 1.0\tabsent\tnobody is not installed",
        here("gone", "/nowhere/driver"),
        here("silent", "true"),
        here("liar", "sh", "-c", "echo ready; while read -r line; do echo error of mine; done"),
        POLL,
    ]
    done = compare(lines, "peer-pair", "--report", str(page))
    found = {peer: cell for (_, peer), cell in cells(done).items()}
    assert found["Nobody"]["note"] == "nobody is not installed"
    assert "/nowhere/driver" in found["gone"]["note"]
    assert found["silent"]["note"] == "it ended and said nothing"
    assert found["liar"]["note"] == "error of mine"
    assert [peer for peer, cell in found.items() if cell["ratio"] is not None] == ["poll-1"]
    listed = {each["name"]: each for each in json.loads(done.stdout)["peers"]["list"]}
    assert listed["Nobody"]["here"] is False and listed["poll-1"]["absent"] is None
    text = page.read_text()
    assert "| Nobody | nobody 1.0 | absent: nobody is not installed |" in text
    assert "### peer-pair-S" in text and "| poll-1 | **" in text


def test_page_without_peers_is_reported(tmp_path):
    page = tmp_path / "page.md"
    words = [BENCH, "--settle", "0", "--rounds", "1", "--only", "thread-pair", "--json", "--report", str(page)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert json.loads(done.stdout)["peers"] is None
    assert "## Beside other libraries\n\nAbsent:" in page.read_text()


def test_peers_option_without_a_list_is_refused():
    done = subprocess.run([BENCH, "--only", "peer-pair"], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 2 and "--peers" in done.stderr.splitlines()[0]


@pytest.mark.parametrize("line", ["one field", "two\tfields", "a\tb\tthere\tc", "\t".join("abc" * 20)])
def test_invalid_list_is_refused(compare, line):
    done = compare([line], "peer-pair")
    assert done.returncode == 3 and "is not a list of peers" in done.stderr.splitlines()[0]


# The line protocol, of the drivers that are always available.


@pytest.fixture
def server():
    port = free_port()
    with own_redis("bowline-peers-", "--bind", "127.0.0.1", "--port", str(port)) as server:
        server.port = port
        yield server


@pytest.fixture
def driver(server):
    started = []

    def start(command):
        words = [*command, "127.0.0.1", str(server.port), "name"]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)

        def ask(line):
            process.stdin.write(line + "\n")
            process.stdin.flush()
            return process.stdout.readline().split()

        ask.process = process
        assert process.stdout.readline() == "ready\n"
        return ask

    yield start
    for process in started:
        process.stdin.close()
        assert process.wait(LIMIT) == 0
        process.stdout.close()


@pytest.mark.parametrize("command", [["bowline-peer", ""], ["hiredis-peer", "1"]])
def test_line_protocol_is_followed(driver, command, tmp_path):
    ask = driver([program(command[0]), command[1]])
    word, *took = ask("pair 3")
    assert word == "pair" and len(took) == 3 and all(int(ns) > 0 for ns in took)
    before = time.monotonic_ns()
    word, held = ask("acquire")
    assert word == "held" and before < int(held) < time.monotonic_ns()
    word, released = ask("release")
    assert word == "released" and int(held) <= int(released) < time.monotonic_ns()
    assert ask("crowd 3") == ["crowd", "3"]
    word, turns = ask(f"contend 0 1000 {tmp_path / 'turns'}")
    lines = [list(map(int, line.split())) for line in (tmp_path / "turns").read_text().splitlines()]
    # Each at once, and once.
    assert word == "done" and int(turns) == len(lines) == 3 and sorted(who for who, _, _ in lines) == [0, 1, 2]
    assert all(ended - began >= 1_000_000 for _, began, ended in lines)
    for wrong in ("", "pair", "pair 0", "crowd 0", "crowd 99999", "contend 1", "dance", "acquire 3"):
        assert ask(wrong)[0] == "error", wrong
    assert ask("pair 1")[0] == "pair"


def test_waiter_acquires_at_the_release_of_the_other_driver(driver):
    holder, waiter = driver([program("bowline-peer"), ""]), driver([program("bowline-peer"), ""])
    holder("acquire")
    waiter.process.stdin.write("acquire\n")
    waiter.process.stdin.flush()
    released = int(holder("release")[1])
    held = int(waiter.process.stdout.readline().split()[1])
    assert held > released
    assert waiter("release")[0] == "released"


def test_one_driver_supports_pings(driver):
    assert driver([program("hiredis-peer"), "0"])("ping")[0] == "ping"
    assert driver([program("bowline-peer"), ""])("ping")[0] == "error"
