"""`bowline caps` agrees with docs/explanation/guarantees.md and with the locks.

The table "At a glance" is compared with the output cell by cell, and with the chapters below it. Then fence, crash,
lease and poll are tried: the command has a fence in its environment or not; after a holder is killed, the next one
acquires the lock at once, or when the key ends, or never.
"""

import collections
import json
import os
import pathlib
import re
import signal

import pytest

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
GUARANTEES = (SOURCE / "docs/explanation/guarantees.md").read_text(encoding="utf-8")
PROTOCOLS = ["queue", "token", "redisson", "symfony", "setnx-del", "setnx-del-expire", "setnx-stamp-del", "setnx-getset"]
PROTOCOLS += ["set-nx-ex", "setnx-expire-watch"]
CLUSTER = ["redis+cluster:", "redis+cluster: token"]


def glance(text=GUARANTEES):
    """The cells of each lock."""
    part = text.partition("## At a glance")[2].partition("\n## ")[0]
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:1] == "|"]
    return {row[0]: dict(zip(rows[0][1:], row[1:])) for row in rows[2:]}


def url_of(lock, base="redis://host.invalid"):
    if lock == "redlock:":
        return "redlock://a.invalid,b.invalid,c.invalid"
    if lock.startswith("redis+cluster:"):
        return "redis+cluster://host.invalid" + ("?protocol=token" if lock.endswith("token") else "")
    if lock.endswith(":"):
        return lock
    return f"{base}?protocol={lock}" + ("" if lock in ("queue", "token", "redisson", "symfony") else "&accept-risk=1")


def caps(place, *words):
    done = place.bowline("caps", "--json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    # A key that does not apply is left out.
    return collections.defaultdict(lambda: None, json.loads(done.stdout))


def cells(answer):
    said = {name: answer[name] for name in ("wake", "loss", "crash")}
    return said | {name: "yes" if answer[name] else "no" for name in ("order", "fence", "period", "shared", "ticket", "election")}


def test_caps_says_how_long_an_acquire_waits_and_how_often_it_tries(place):
    def waits(options):
        answer = caps(place, f"redis://host.invalid?{options}")
        return answer.get("wait_ms"), answer.get("tries_max")

    assert waits("") == (0, None)
    assert waits("wait=forever") == (None, None)
    assert waits("profile=java-jedislock&accept-risk=1") == (300, None)
    assert waits("profile=php-pidlock&accept-risk=1&retry=2") == (None, 3)
    assert waits("profile=php-pidlock&accept-risk=1&retry=2&wait=5s") == (5000, 3)
    text = place.bowline("caps", "redis://host.invalid?profile=java-jedislock&accept-risk=1").stdout
    assert re.search("^  wait +300ms by default$", text, re.M)


def test_the_page_has_a_row_for_each_lock():
    assert sorted(glance()) == sorted(["thread:", "file:", "redlock:", *CLUSTER, *PROTOCOLS])


@pytest.mark.parametrize("lock", sorted(glance()))
def test_caps_says_what_the_page_says(place, lock):
    assert cells(caps(place, url_of(lock))) == glance()[lock]


def test_every_protocol_of_the_manual_has_caps(place):
    manual = (SOURCE / "docs/man/bowline.7.scd").read_text(encoding="utf-8")
    named = set(re.findall(r"\*protocol=([\w-]+)\*", manual))
    assert named == set(PROTOCOLS)


@pytest.mark.parametrize("lock", sorted(glance()))
def test_the_text_has_an_order_and_a_fence_where_json_has_them(place, lock):
    answer = caps(place, url_of(lock))
    text = place.bowline("caps", url_of(lock)).stdout
    for name in ("order", "fence"):
        words = re.search(rf"^  {name} +(.+)$", text, re.M).group(1)
        assert words.startswith("none") != answer[name]


@pytest.mark.parametrize("lock", PROTOCOLS)
def test_the_chapters_below_agree_with_the_table(lock):
    """queue and token promise an order and fences, or say that there is none."""
    chapter = GUARANTEES.partition(f"### `{lock}`\n")[2].partition("\n### ")[0]
    promised = re.findall(r"^\| yes \| (an order|fences)\b", chapter, re.M)
    assert ("an order" in promised) == (glance()[lock]["order"] == "yes")
    assert ("fences" in promised) == (glance()[lock]["fence"] == "yes")
    assert bool(re.search(r"^\| no \| an end(: a client that dies|: releasing)", chapter, re.M)) == (
        glance()[lock]["crash"] == "never"
    )


def profiles():
    page = (SOURCE / "docs/reference/profiles.md").read_text(encoding="utf-8")
    return re.findall(r"^\| \[`([\w.-]+)`\]", page, re.M)


def test_every_profile_has_caps(place):
    assert len(profiles()) > 30
    for name in profiles():
        url = f"redis://host.invalid?profile={name}&accept-risk=1"
        # Some keys begin with a word of the user or are chosen by the user; the error says how they end.
        prefixed = re.search(r"key=(?:WORD)?(\S+)$", place.bowline("caps", url).stderr, re.M)
        answer = caps(place, url + (f"&key=shop{prefixed.group(1).replace('%', '%25')}" if prefixed else ""))
        assert answer["profile"] == name
        is_pushed = name.startswith("redisson") or name == "symfony"
        assert (answer["order"], answer["wake"]) == (False, "push" if is_pushed else "poll")
        assert answer["fence"] == (name == "redisson-fenced")


def test_lock_with_timestamps_uses_the_clock_of_the_server(place):
    answer = caps(place, "redis://host.invalid?profile=redis-mutex&accept-risk=1")
    assert (answer["protocol"], answer["variant"]) == ("setnx-getset", "server")
    assert "not safe" in answer["risk"]
    assert caps(place, url_of("setnx-getset"))["variant"] is None


# ---- what a lock does not have, and why ----------------------------------------------------------

CHANGES = {"thread:", "queue", "redis+cluster:"}
REASONS = {  # of what many lack: a part of the reason
    "period": {"thread:": "with its process", "file:": "with its process", "redlock:": "its servers have no place"},
    "shared": {"redlock:": "each of its servers would have a queue"},
    "change": {"file:": "a lock of file: has one mode"},
}
REASON = {"period": "its key has no place", "shared": "its key has room for one holder", "change": "exclusive holds only"}


def row_of(place, name, url):
    return re.search(rf"^  {name} +(.+)$", place.bowline("caps", url).stdout, re.M).group(1)


@pytest.mark.parametrize("lock", sorted(glance()))
def test_what_a_lock_does_not_have_has_a_reason(place, lock):
    answer = caps(place, url_of(lock))
    for name in ("period", "shared", "change", "ticket", "election"):
        why, row = answer[f"{name}_why"], row_of(place, name, url_of(lock))
        assert answer[name] == (why is None)
        assert row.startswith(f"none: {why}") != answer[name]
        if why and name in REASON:
            assert REASONS[name].get(lock, REASON[name]) in why


@pytest.mark.parametrize("lock", sorted(glance()))
def test_caps_says_whether_a_hold_can_change_its_mode(place, lock):
    assert caps(place, url_of(lock))["change"] == (lock in CHANGES)


def test_mode_is_kept_with_sync_and_changed_with_sticky(place):
    assert row_of(place, "change", "redis://host.invalid?sync=1") == "none: with sync= a hold keeps its mode"
    assert caps(place, "redis://host.invalid?sync=1")["shared"]
    assert caps(place, "redis://host.invalid?sticky=1s")["change"]


@pytest.mark.parametrize("lock", sorted(glance()))
def test_caps_says_how_several_names_are_acquired(place, lock):
    answer, row = caps(place, url_of(lock))["several"], row_of(place, "several", url_of(lock))
    assert answer == {"queue": "script", "redis+cluster:": "slot"}.get(lock, "each")
    assert ("one script" in row) == (answer != "each")
    assert row.startswith("by bowline_acquire_all, in C only" if lock == "thread:" else "by --and: ")
    assert "the order of their bytes" in row


def test_locks_of_threads_are_said_to_be_shared_in_c_only(place):
    """bowline run cannot use them at all."""
    rows = [row_of(place, name, "thread:") for name in ("period", "shared", "several")]
    assert [" -s" in row or "--" in row for row in rows] == [False] * 3
    assert "in C only" in rows[1]
    done = place.run("-s", "--url", "thread:", "job", "true")
    assert (done.returncode, "thread: cannot lock for a command" in done.stderr) == (125, True)


# ---- the lock of the URL -------------------------------------------------------------------------


def test_caps_without_a_url_uses_that_of_run(place):
    assert caps(place)["place"] == f"file:{place.locks}"
    place.env["BOWLINE_URL"] = "redis://host.invalid:7/3?lease=7s&renew=off"
    answer = caps(place)
    assert (answer["place"], answer["default"]) == ("redis://host.invalid:7/3", True)
    assert (answer["lease_ms"], answer["renews"]) == (7000, False)
    del place.env["BOWLINE_URL"]
    config = place.home / ".config"
    config.mkdir()
    (config / "bowline.conf").write_text("url = redis://other.invalid\nlease = 9s\n")
    assert (caps(place)["place"], caps(place)["lease_ms"]) == ("redis://other.invalid:6379", 9000)


def test_time_of_a_kept_lock_is_shown(place):
    assert caps(place, "redis://host.invalid")["sticky_ms"] == 0
    assert caps(place, "redis://host.invalid?sticky=2s")["sticky_ms"] == 2000
    assert "keeps a released lock for 2s" in place.bowline("caps", "redis://host.invalid?sticky=2s").stdout


def test_number_of_replicas_is_shown(place):
    answer = caps(place, "redis://host.invalid?sync=2")
    assert (answer["protocol"], answer["default"], answer["sync"]) == ("queue", True, 2)
    assert caps(place, "redis://host.invalid")["sync"] == 0
    assert "2 replicas must have the lock" in place.bowline("caps", "redis://host.invalid?sync=2").stdout


def test_default_protocol_is_distinguished_from_a_named_one(place):
    assert caps(place, "redis://host.invalid")["default"]
    assert caps(place, "redis://host.invalid")["protocol"] == "queue"
    assert not caps(place, "redis://host.invalid?protocol=queue")["default"]
    assert "protocol queue (the default)\n" in place.bowline("caps", "redis://host.invalid").stdout


def test_a_password_is_never_shown(place):
    secret = place.script("url", "redis://ann:swordfish@host.invalid\n", mode=0o600)
    done = place.bowline("caps", "--url-file", str(secret))
    assert done.returncode == 0
    assert "swordfish" not in done.stdout + done.stderr
    assert "ann" not in done.stdout
    done = place.bowline("caps", "redis://ann:swordfish@host.invalid")
    assert done.returncode == 125
    assert "--url-file" in done.stderr
    assert "swordfish" not in done.stdout + done.stderr


@pytest.mark.parametrize("word", ["redis://host.invalid?lesae=1s", "http://host.invalid", "redis://?protocol=tokn"])
def test_invalid_url_has_no_caps(place, word):
    done = place.bowline("caps", word)
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith("bowline: there can be no lock at the URL from the command line\n")


@pytest.mark.parametrize("words", [["--jsno"], ["redis://a", "redis://b"], ["--url-file"], ["-x"]])
def test_wrong_arguments_are_refused(place, words):
    done = place.bowline("caps", *words)
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.endswith("bowline: type: bowline help caps\n")


def test_the_directory_of_file_is_not_made(place):
    """It says what the lock would be, and leaves no trace."""
    before = sorted(place.root.rglob("*"))
    assert caps(place)["engine"] == "file"
    assert sorted(place.root.rglob("*")) == before


# ---- compared with the locks --------------------------------------------------------------------


@pytest.mark.parametrize("lock", ["file:", *PROTOCOLS])
def test_fence_exists_as_caps_says(place, redis, lock):
    url = f"file:{place.locks}" if lock == "file:" else url_of(lock, redis.url)
    done = place.run("--url", url, "job", "sh", "-c", "echo ${BOWLINE_FENCE:-none}")
    assert done.returncode == 0
    assert (done.stdout != "none\n") == caps(place, url)["fence"]


@pytest.mark.parametrize("lock", ["file:", *PROTOCOLS])
def test_crash_costs_what_caps_says(place, redis, lock):
    """Kill the holder and look at what is left of the lock."""
    url = f"file:{place.locks}" if lock == "file:" else url_of(lock, redis.url) + "&lease=20s"
    holder = place.hold("job", "--url", url, "--close")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    place.wait_for("the end of the command", lambda: not place.is_alive(holder.command))
    said = caps(place, url)["crash"]
    if lock == "file:":
        assert said == "freed"
        assert place.run("-n", "--url", url, "job", "true").returncode == 0
        return
    assert place.run("-n", "--url", url, "job", "true").returncode == 124
    key = redis.keys()[0]
    if said == "never":
        assert redis.cli("ttl", key) == "-1"
    else:
        assert said == "lease"
        stamp = redis.cli("get", key)
        assert 0 < int(redis.cli("ttl", key)) <= 20 or stamp.isdigit()


@pytest.mark.parametrize("lock", ["file:", *PROTOCOLS])
def test_what_is_refused_is_what_caps_says(place, redis, lock):
    url = f"file:{place.locks}" if lock == "file:" else url_of(lock, redis.url)
    said = caps(place, url)
    for name, words in (("shared", ["-s"]), ("shared", ["--permits", "1/2"]), ("period", ["--once-per", "1s"])):
        done = place.run("-n", "--url", url, *words, "job", "true")
        assert (done.returncode == 0) == said[name], done.stderr


@pytest.mark.parametrize("lock, words", [("queue", []), ("queue", ["-s"]), ("queue", ["--permits", "1/2"]), ("token", [])])
def test_free_names_are_one_script_where_caps_says_so(place, redis, lock, words):
    """The script takes the key of the counter, and two keys of each name."""
    url = url_of(lock, redis.url)
    redis.cli("config", "set", "slowlog-log-slower-than", "0")
    redis.cli("config", "set", "slowlog-max-len", "1000")
    redis.cli("slowlog", "reset")
    assert place.run("--url", url, *words, "--and", "b", "--and", "c", "a", "true").returncode == 0
    is_script = "\n7\nbowline:f\nbowline:{a}\n" in redis.cli("slowlog", "get", "1000")
    assert is_script == (caps(place, url)["several"] == "script" and not words)


# ---- a wrong table is detected ------------------------------------------------------------------


def test_wrong_table_is_detected(place):
    other = glance(GUARANTEES.replace("| `token` | no | no |", "| `token` | no | yes |"))
    assert cells(caps(place, url_of("token"))) != other["token"]
