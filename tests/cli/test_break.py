"""`bowline break`: output, question, exit code, and what happens to the holder.

Uses a private Redis. The holder and the waiter are real `bowline run` processes.
"""

import json
import os
import pty
import signal
import subprocess

import pytest

import conftest
from doctor_bill import free_port

LIMIT = 60
CHANGED, LOST, FAILED = 122, 123, 125


def breaks(place, *words, **how):
    return place.bowline("break", *words, **how)


def failed(done, code=FAILED):
    return conftest.failed(done, code, prints=None)


def await_queued(place, redis, count, name="job"):
    place.wait_for(f"{count} in the queue", lambda: redis.cli("ZCARD", f"bowline:{{{name}}}:bwl.q") == str(count))


def test_holder_is_shown_then_broken_and_notices_at_its_renewal(place, redis):
    for _ in range(20):
        holder = place.hold("job", "-t", "3s", "--kill-after", "100ms")
        done = breaks(place, "--yes", "job")
        assert (done.returncode, done.stderr) == (0, "")
        if done.stdout != "job: no one holds it\n":
            break
        assert place.finish(holder) == LOST  # the machine stopped for longer than its lease
    shown, broken = done.stdout.splitlines()
    assert shown.startswith("job: held by ") and f" pid {holder.pid} (bowline run sh)" in shown and "; its lease ends in " in shown
    assert broken == "job: broken"
    assert redis.keys() == []
    assert place.finish(holder) == LOST
    assert "job was lost, sh was stopped" in holder.err and "it was broken by " in holder.err
    assert not place.is_alive(holder.command)
    assert redis.keys() == []


def test_three_waiters_are_served_in_order(place, redis):
    holder = place.hold()
    waiters = []
    for number in range(3):
        waiters.append(place.start("job", "sh", "-c", f"echo {number} >>order"))
        await_queued(place, redis, number + 1)
    assert breaks(place, "-y", "job").returncode == 0
    assert [place.finish(waiter) for waiter in waiters] == [0, 0, 0]
    assert place.path("order").read_text() == "0\n1\n2\n"
    assert place.let_go(holder) == LOST
    assert redis.keys() == []


def test_each_share_has_its_line_and_one_is_broken(place, redis):
    pair, one = place.hold("enc", "--permits", "2/5"), place.hold("enc", "--permits", "1/5")
    lines = place.bowline("who", "enc").stdout.splitlines()[1:]
    for line, holder, permits in zip(lines, (pair, one), ("2 of 5 permits", "1 of 5 permits"), strict=True):
        assert line.split("  ")[2] == f"sh (pid {holder.command})" and line.endswith("  " + permits)
    shares = json.loads(shown := place.bowline("who", "--json", "enc").stdout)["holders"]
    assert [(share["pid"], share["permits"]) for share in shares] == [(pair.pid, 2), (one.pid, 1)]
    assert failed(breaks(place, "--yes", "enc"))[1] == "2 clients share it, and a break ends the share of one"
    assert all(value[12:] not in shown for value in redis.cli("zrange", "bowline:{enc}:bwl.h", "0", "-1").split())
    assert breaks(place, "-y", "--id", shares[0]["id"], "enc").stdout.endswith("\nenc: broken\n")
    assert failed(breaks(place, "-y", "--id", shares[0]["id"], "enc"), CHANGED)[1] == "the hold that was meant has ended"
    assert (breaks(place, "-y", "enc").returncode, place.let_go(pair), place.let_go(one)) == (0, LOST, LOST)


def test_free_lock_has_nothing_to_break(place, redis):
    done = breaks(place, "job", "--yes")
    assert (done.returncode, done.stdout, done.stderr) == (0, "job: no one holds it\n", "")


def test_without_a_terminal_it_only_shows(place, redis):
    holder = place.hold()
    done = breaks(place, "job")
    what, why, what_to_type = failed(done)
    assert (what, why) == ("job was not broken", "bowline cannot ask for confirmation: this is not a terminal")
    assert what_to_type == "type: bowline break --yes job"
    assert done.stdout.startswith("job: held by ")
    assert len(redis.keys()) == 1
    assert place.let_go(holder) == 128 + signal.SIGTERM


def test_json_is_one_line_and_breaks_only_with_yes(place, redis):
    assert json.loads(breaks(place, "--json", "job").stdout) == {"bowline": 1, "event": "free", "name": "job"}
    holder = place.hold("job", "-t", "20s")
    looked, broken = (breaks(place, "--json", *more, "job") for more in ([], ["--yes"]))
    assert (looked.returncode, broken.returncode, looked.stderr, broken.stderr) == (CHANGED, 0, "", "")
    looked, broken = (json.loads(done.stdout) for done in (looked, broken))
    assert (looked["event"], broken["event"]) == ("held", "broken")
    assert looked["id"] == broken["id"] and len(looked["id"]) == 16
    assert looked["pid"] == holder.pid and looked["program"] == "bowline run sh" and 0 < looked["left_ms"] <= 20000
    assert place.let_go(holder) == LOST


# The question on a terminal.


class Asked:
    """`bowline break NAME` on a pty, up to its question."""

    def __init__(self, place, *words):
        self.place = place
        self.own, theirs = pty.openpty()
        command = [os.environ["BOWLINE"], "break", *words, "job"]
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=place.env, start_new_session=True)
        os.close(theirs)
        self.text = ""
        while "[y/N]" not in self.text:
            self.text += os.read(self.own, 4096).decode()

    def answer(self, text):
        os.write(self.own, text.encode())
        try:
            while piece := os.read(self.own, 4096):
                self.text += piece.decode()
        except OSError:
            pass  # the other end is closed
        os.close(self.own)
        return self.process.wait(LIMIT)


@pytest.mark.parametrize(
    ("options", "key", "value", "says"),
    [
        ("protocol=token", "bowline:{job}", "njd5uX9KfBXznMBgXO3INA", "until its next renewal, if it is alive"),
        ("profile=redis-py", "job", "4902a0d0e61411f19a6002fc00000001", "another program that shares this lock may never notice"),
        ("profile=jedis-lock-1&accept-risk=1", "job", "4000000000000", "This lock is never renewed: its holder does not notice"),
    ],
)
def test_question_says_when_the_holder_stops(place, redis, options, key, value, says):
    redis.cli("SET", key, value, "PX", "60000")
    asked = Asked(place, "--url", f"{redis.url}?{options}")
    assert says in asked.text.replace("\r\n", " ")
    assert ("unless it is renewed" in asked.text) == ("never renewed" not in says)
    assert asked.answer("n\n") == CHANGED
    assert redis.cli("GET", key) == value


def test_holder_without_renewal_continues_after_a_break(place, redis):
    """As the question says: its command runs to its end, at the same time as the next holder."""
    place.env["BOWLINE_URL"] = f"{redis.url}?profile=jedis-lock-1&accept-risk=1&lease=60s"
    holder = place.hold()
    assert breaks(place, "--yes", "job").returncode == 0
    assert place.run("-n", "job", "true").returncode == 0
    assert place.is_alive(holder.command)
    place.let_go(holder)


@pytest.mark.parametrize(
    ("profile", "key", "value"),
    [
        ("walrus", "lock:job", "\\1\\0\\255" + "w" * 29),
        ("shedlock", "job-lock:default:job", "ADDED:2026-11-22T00:31:00.123Z@web-1"),
        ("distributedlock", "job", "WEB1_4711_e973979bf7a44c759cc372038175b323"),
    ],
)
def test_lock_of_another_program_is_broken_under_its_profile(place, redis, profile, key, value):
    place.env["BOWLINE_URL"] = f"{redis.url}?profile={profile}&accept-risk=1"
    redis.cli("EVAL", f"return redis.call('SET', KEYS[1], '{value}', 'PX', 60000)", "1", key)
    waiter = place.run("-n", "job", "true")
    assert waiter.returncode == 124 and "another program" not in waiter.stderr
    done = breaks(place, "--yes", "job")
    assert done.returncode == 0 and done.stdout.endswith("job: broken\n"), done
    assert redis.cli("EXISTS", key) == "0"


def test_only_yes_breaks(place, redis):
    holder = place.hold()
    for answer in ("\n", "n\n", "yellow\n", "\x04"):
        asked = Asked(place)
        assert asked.answer(answer) == CHANGED, answer
        assert len(redis.keys()) == 1 and "broken" not in asked.text.rsplit("[y/N]", 1)[1]
    asked = Asked(place)
    assert asked.answer("y\n") == 0
    assert "job: broken" in asked.text
    assert place.let_go(holder) == LOST


def test_new_holder_between_question_and_answer_keeps_the_lock(place, redis):
    holder = place.hold()
    asked = Asked(place)
    place.let_go(holder)
    other = place.hold()
    value = redis.cli("GET", "bowline:{job}")
    assert asked.answer("y\n") == CHANGED
    assert "job was not broken" in asked.text and "another client has the lock" in asked.text
    assert redis.cli("GET", "bowline:{job}") == value and place.is_alive(other.command)
    asked = Asked(place)
    place.let_go(other)
    assert asked.answer("y\n") == CHANGED
    assert "the lock is free" in asked.text


def held_and_awaited(place, redis):
    """A holder and a waiter. Repeated if the machine stopped until the short lease ended."""
    order, queue = place.path("order"), "bowline:{job}:bwl.q"
    for _ in range(20):
        holder = place.hold("job", "-t", "1s", "--kill-after", "100ms")
        waiter = place.start("job", "sh", "-c", "echo served >>order")
        place.wait_for("the waiter", lambda: redis.cli("ZCARD", queue) == "1" or order.exists())
        if not order.exists():
            break
        assert (place.finish(holder), place.finish(waiter)) == (LOST, 0)
        order.unlink()
    return holder, waiter


def test_break_may_be_killed_at_any_moment(place, redis):
    """Before, between or after the two steps: the lock belongs to the holder or the next one."""
    for delay in range(12):
        holder, waiter = held_and_awaited(place, redis)
        command = [os.environ["BOWLINE"], "break", "--yes", "job"]
        breaker = subprocess.Popen(command, env=place.env, stdout=subprocess.DEVNULL)
        try:
            breaker.wait(delay / 1000)
        except subprocess.TimeoutExpired:
            breaker.kill()
        breaker.wait(LIMIT)
        is_held = redis.cli("GET", "bowline:{job}") != "" and place.path("order").exists() is False
        if is_held and place.is_alive(holder.command) and redis.cli("ZCARD", "bowline:{job}:bwl.q") == "1":
            assert place.let_go(holder) in (128 + signal.SIGTERM, LOST)  # it may have run out since
        else:
            assert place.finish(holder) == LOST
        assert place.finish(waiter) == 0
        assert place.path("order").read_text() == "served\n"
        place.path("order").unlink()
        assert redis.keys() == []


def test_break_killed_before_the_question_changes_nothing(place, redis):
    holder = place.hold()
    asked = Asked(place)
    redis.freeze()
    os.write(asked.own, b"y\n")
    asked.process.kill()
    asked.process.wait(LIMIT)
    os.close(asked.own)
    redis.thaw()
    place.wait_for("the server", lambda: redis.cli("PING") == "PONG")
    assert len(redis.keys()) == 1 and place.is_alive(holder.command)
    place.let_go(holder)


# Locks that cannot be broken.


def test_foreign_value_is_not_broken(place, redis):
    redis.cli("SET", "bowline:{job}", "somebody's")
    done = breaks(place, "--yes", "job")
    what, why, what_to_do = failed(done)
    assert what == "job was not broken" and "not of this protocol" in why and "?profile=" in what_to_do
    assert redis.cli("GET", "bowline:{job}") == "somebody's"
    event = json.loads(breaks(place, "--yes", "--json", "job").stdout)
    assert event["event"] == "failed" and "id" not in event


def test_value_with_a_wrong_byte_is_not_broken(place, redis):
    """Any client may write to a key: bytes that are no token end neither a hold nor the program."""
    for bad in ("\\0" + "a" * 24, "a" * 24 + "\\0", "a" * 24 + "\\27", "a" * 24, "a" * 26):
        redis.cli("EVAL", f"return redis.call('SET', KEYS[1], 'b1:{bad}')", "1", "bowline:{job}")
        done = breaks(place, "--yes", "job")
        assert failed(done)[0] == "job was not broken"
        assert redis.cli("EXISTS", "bowline:{job}") == "1"


def test_value_without_an_owner_is_not_broken(place, redis):
    place.env["BOWLINE_URL"] = f"{redis.url}?protocol=set-nx-ex&accept-risk=1"
    holder = place.hold()
    lines = breaks(place, "--yes", "job").stderr.splitlines()
    assert "job was not broken" in lines[-3] and "does not name the hold" in lines[-2]
    assert len(redis.keys()) == 1
    place.let_go(holder)


def test_break_of_a_file_lock_names_the_process(place):
    holder = place.hold()
    done = breaks(place, "--yes", "job")
    what, why, what_to_type = failed(done)
    assert f" pid {holder.pid} " in done.stdout and what == "job was not broken"
    assert "ends with the process that holds it" in why and what_to_type == f"type: kill {holder.pid}"
    assert place.is_alive(holder.command)
    place.let_go(holder)


def test_break_of_a_shared_file_lock_names_every_process(place):
    holders = [place.hold("job", "-s") for _ in range(2)]
    done = breaks(place, "--yes", "job")
    what, why, what_to_type = failed(done)
    assert what == "job was not broken" and "ends with the processes that hold it" in why
    assert what_to_type.startswith("type: kill ")
    assert sorted(what_to_type.split()[2:]) == sorted(str(holder.pid) for holder in holders)
    assert len(done.stdout.splitlines()) == 3 and "id 0" not in done.stdout
    for holder in holders:
        place.let_go(holder)


def test_break_of_a_thread_lock_is_refused(place):
    what, why, _ = failed(breaks(place, "--yes", "--url", "thread:", "job"))
    assert "that another process can see" in what and "one process" in why


def test_a_lock_of_several_servers_is_shown_and_not_broken(place, start_redis):
    servers = []
    ports = []
    for _ in range(3):
        ports.append(free_port())
        servers.append(start_redis("--port", str(ports[-1])))
    place.env["BOWLINE_URL"] = "redlock://" + ",".join(f"127.0.0.1:{port}" for port in ports) + "?restart-wait=off"
    holder = place.hold()
    done = breaks(place, "--yes", "job")
    what, why, what_to_type = failed(done)
    assert (what, why) == (
        "job was not broken",
        "it is on a majority of several servers and ends with its lease or holder",
    )
    assert "the lease ends" in what_to_type
    assert done.stdout.startswith("job: held")
    assert [len(server.keys()) for server in servers] == [1, 1, 1]
    assert place.let_go(holder) == 128 + signal.SIGTERM


def test_unreachable_server_is_reported(place):
    what, why, _ = failed(breaks(place, "--yes", "--url", f"unix://{place.path('none')}", "job"))
    assert what == "the holder of job is not known" and "cannot connect" in why


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "the name of the lock is missing"),
        (["a", "b"], "more than one lock is named"),
        (["--nope", "a"], "there is no option --nope"),
        (["-x", "a"], "there is no option -x"),
        (["a", "--url"], "--url needs a value"),
        (["--url", "redis://u:secret@h", "a"], "--url contains a password"),
        ([""], 'there is no lock ""'),
    ],
)
def test_wrong_arguments_are_refused(place, words, says):
    done = breaks(place, *words)
    assert failed(done)[0] == says
    assert "secret" not in done.stderr and done.stdout == ""
