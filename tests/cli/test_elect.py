"""`bowline elect` and `bowline observe`, on Redis, Sentinel and Cluster. The leaders are real processes, and are killed."""

import json
import os
import signal
import socket

import pytest

from conftest import finish, failed
from own_redis import LIMIT, wait_for
from test_look import ME, Watch, name, opened, store  # noqa: F401 (fixtures)


class Observer(Watch):
    """A `bowline observe --json` that runs; the fences that it shows never go back."""

    def __init__(self, place, *words):
        self.process = place.begin("observe", "--json", *words)
        self.fence = 0

    def next(self, *wanted):
        event = super().next(*wanted)
        assert int(event.get("fence", self.fence)) >= self.fence
        self.fence = int(event.get("fence", self.fence))
        return event


@pytest.fixture
def servers(place, store):  # noqa: F811
    if store == "file":
        pytest.skip("a lock of file: has no place for a text")
    return store


def elect(place, name, *options, command="exec sleep 1000"):  # noqa: F811
    """A candidate. When it leads, its command adds its fence to a file, and then does this."""
    mark = place.path(f"led-{len(place.started)}")
    process = place.begin("elect", *options, name, "sh", "-c", f"echo $BOWLINE_FENCE >> {mark}; {command}")
    process.fences = lambda: [int(word) for word in place.text_of(mark).split()]
    return process


def test_observers_see_the_death_of_a_leader_and_the_next_one(place, servers, name):  # noqa: F811
    observer = Observer(place, name)
    observer.next("none")
    first = elect(place, name, "-t", "2s")
    seen = observer.next("leader")
    assert f"{seen['user']}@{seen['host']}" == ME and seen["pid"] == first.pid and seen["value"].startswith(f"{socket.gethostname()}:")
    command = int(seen["value"].rpartition(":")[2])
    assert place.is_alive(command) and wait_for("its fence", first.fences) == [int(seen["fence"])]
    second = elect(place, name, "-t", "2s", "--value", "http://web-2:80")
    late = Observer(place, name)
    assert late.next("leader")["fence"] == seen["fence"]
    os.kill(first.pid, signal.SIGKILL)
    for each in (observer, late):
        event = each.next("none", "leader")  # a waiter may be granted the lock before an observer looks
        event = event if event["event"] == "leader" else each.next("leader")
        assert event["value"] == "http://web-2:80" and int(event["fence"]) > int(seen["fence"]) and event["pid"] == second.pid
    wait_for("the end of the old command", lambda: not place.is_alive(command))
    assert place.let_go(second) == 128 + signal.SIGTERM
    observer.next("none")


def test_leader_that_has_lost_its_lock_waits_again(place, servers, name):  # noqa: F811
    observer = Observer(place, name)
    observer.next("none")
    candidate = elect(place, name, "-t", "3s", "--status-fd", "1")
    observer.next("leader")
    wait_for("its fence", candidate.fences)
    place.bowline("break", "--yes", name)
    observer.next("none")
    observer.next("leader")
    wait_for("the second round", lambda: len(candidate.fences()) == 2)
    assert candidate.fences() == sorted(set(candidate.fences()))
    candidate.terminate()
    assert finish(place, candidate) == 128 + signal.SIGTERM
    rounds = ["waiting", "acquired", "started", "announced"]
    order = [event for event in candidate.order if not event.startswith(("lost", "exited"))]
    assert order == [*rounds, "waits-again", *rounds, "released"], candidate.order
    assert "waiting to lead again" in candidate.err
    observer.next("none")


@pytest.mark.parametrize(("command", "code"), [("exit 7", 7), ("kill -KILL $$", 128 + 9), ("exit 0", 0)])
def test_command_that_ends_ends_the_election(place, redis, command, code):
    leader = elect(place, "job", command=command)
    assert place.finish(leader) == code
    assert len(leader.fences()) == 1
    assert redis.cli("EXISTS", "bowline:{job}", "bowline:{job}:bwl.v") == "0"


def test_signal_ends_a_candidate_that_waits(place, redis):
    leader = elect(place, "job")
    wait_for("the leader", leader.fences)
    waits = elect(place, "job")
    wait_for("the queue", lambda: redis.cli("ZCARD", "bowline:{job}:bwl.q") == "1")
    assert place.let_go(waits) == 128 + signal.SIGTERM and waits.fences() == []
    assert redis.cli("ZCARD", "bowline:{job}:bwl.q") == "0"
    place.let_go(leader)


def test_leader_without_its_server_is_stopped_and_waits_again(place, start_redis):
    server = start_redis()
    place.env["BOWLINE_URL"] = f"{server.url}?timeout=1s"
    observer = Observer(place, "job")
    observer.next("none")
    leader = elect(place, "job", "-t", "2s", command="exec sleep 1000")
    command = int(observer.next("leader")["value"].rpartition(":")[2])
    wait_for("its fence", leader.fences)
    server.freeze()
    assert "why" in observer.next("unreachable")
    wait_for("the end of the command", lambda: not place.is_alive(command))
    server.thaw()
    seen = observer.next("none", "leader")
    seen = seen if seen["event"] == "leader" else observer.next("leader")
    wait_for("the second round", lambda: len(leader.fences()) == 2)
    assert int(observer.next("leader")["fence"] if int(seen["fence"]) == leader.fences()[0] else seen["fence"]) == leader.fences()[1]
    place.let_go(leader)


def test_signal_during_a_loss_ends_the_election(place, start_redis):
    server = start_redis()
    place.env["BOWLINE_URL"] = f"{server.url}?timeout=1s"
    leader = elect(place, "job", "-t", "4s", "--status-fd", "1", command="trap '' TERM; exec sleep 1000")
    seen = []
    while "announced" not in seen:
        seen.append(json.loads(leader.stdout.readline())["event"])
    wait_for("its fence", leader.fences)
    server.freeze()
    while "lost" not in seen:
        seen.append(json.loads(leader.stdout.readline())["event"])
    leader.send_signal(signal.SIGTERM)
    assert finish(place, leader) == 123 and "waits-again" not in leader.order and len(leader.fences()) == 1
    server.thaw()


def test_once_and_until_end_an_observer(place, redis):
    once = place.bowline("observe", "--once", "job")
    assert (once.returncode, once.stdout.split()[1:]) == (1, ["none", "job"])
    assert place.bowline("observe", "--until", "none", "job").returncode == 0
    waits = place.begin("observe", "--until", "leader", "job")
    waits.stdout.readline()
    leader = elect(place, "job", "--value", "here")
    # It is announced when its command has begun, which may be before the command has written its fence.
    assert place.finish(waits) == 0 and waits.out.rstrip().endswith(f"fence {wait_for('its fence', leader.fences)[0]}  here")
    once = place.bowline("observe", "--once", "--json", "job")
    assert once.returncode == 0 and json.loads(once.stdout)["value"] == "here"
    plain = place.hold("other")
    assert place.bowline("observe", "--once", "other").returncode == 1  # bowline run announces nothing
    place.let_go(plain)
    place.let_go(leader)


def test_observer_ends_with_its_reader_and_by_a_signal(place, redis):
    for end in (lambda process: process.stdout.close(), lambda process: process.send_signal(signal.SIGTERM)):
        observer = Observer(place, "job")
        observer.next("none")
        end(observer.process)
        assert observer.process.wait(LIMIT) in (-signal.SIGPIPE, -signal.SIGTERM)


def test_what_cannot_be_elected_says_why(place, redis):
    url = redis.url
    for place.env["BOWLINE_URL"], why in (
        (f"file:{place.locks}", "no place for a text"), (f"{url}?protocol=token", "neither a place"), ("redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", "several leaders"),
    ):
        what, said, hint = failed(place.bowline("elect", "job", "true"))
        assert what == "there is no election at this URL" and why in said and "redis://HOST" in hint
        what, said, _ = failed(place.bowline("observe", "job"))
        assert what == "the leader of job is not known" and why in said
    place.env["BOWLINE_URL"] = url
    for value, said in (("a\nb", "control character"), ("a" * 513, "512 bytes")):
        assert said in failed(place.bowline("elect", "--value", value, "job", "true"))[0]
    assert "the command for lock job is missing" in failed(place.bowline("elect", "job"))[0]
    assert place.bowline("observe", "--once", "--url", "redis://127.0.0.1:1", "job").returncode == 125
