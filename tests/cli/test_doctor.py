"""`bowline doctor`: each finding is provoked once, on a server or a directory with only that fault; a server without
faults has no finding. The doctor changes nothing: the digest of the data stays the same, and all commands that it
sends are on a list.
"""

import ctypes
import hashlib
import os
import pathlib
import socket
import struct

import pytest

from doctor_bill import GOOD, free_port, look, look_as

SHIM = os.environ.get("BOWLINE_CLOCK_SHIM", "")
REDIS_PY_RELEASE = """
        local token = redis.call('get', KEYS[1])
        if not token or token ~= ARGV[1] then
            return 0
        end
        redis.call('del', KEYS[1])
        return 1
    """


@pytest.fixture
def good(start_redis, place):
    """A server without findings."""
    server = start_redis(*GOOD)
    place.env["BOWLINE_URL"] = server.url
    return server


# ---- no findings ------------------------------------------------------------------------------------


def test_good_server_has_no_findings(place, good):
    bill = look(place, None)
    assert set(bill.grades().values()) == {"ok"}
    assert (bill.code, bill.all["worst"], bill.all["protocol"]) == (0, "ok", "queue")
    assert bill.all["servers"] == [good.url]
    expected = "connect authentication version role clock eviction persistence rights foreign-locks"
    assert set(expected.split()) <= set(bill.grades())
    assert "appendfsync always" in bill.of("persistence")["what"]
    text = place.bowline("doctor", "--strict")
    assert text.returncode == 0
    assert text.stdout.splitlines()[0] == f"{good.url}, protocol queue"
    assert text.stdout.splitlines()[-1].startswith("failures: 0, warnings: 0, unknown: 0, notes: 0, ")


def inotify_can_be_had():
    """Programs of the same user may have all of them."""
    fd = ctypes.CDLL(None).inotify_init1(os.O_CLOEXEC)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def test_good_directory_has_no_findings(place):
    can = [inotify_can_be_had()]
    bill = look(place, None)
    can.append(inotify_can_be_had())
    assert list(bill.grades()) == ["directory", "file system", "inotify"]
    assert bill.grades()["directory"] == bill.grades()["file system"] == "ok"
    assert bill.grades()["inotify"] in {"ok" if c else "warning" for c in can}
    assert "mode 0700" in bill.of("directory")["what"]


def test_thread_locks_have_nothing_to_check(place):
    assert look(place, "thread:").grades() == {"process": "ok"}


def monitored(server, work):
    """The commands that the server gets during `work`, without those of redis-cli."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(server.socket))
        line.sendall(b"MONITOR\r\n")
        said = line.recv(5)
        assert said == b"+OK\r\n"
        work()
        server.cli("echo", "that-is-all")
        said = b""
        while b'"that-is-all"' not in said:
            said += line.recv(65536)
    commands = [text.partition("] ")[2].split('" "') for text in said.decode().splitlines() if "] " in text]
    return [[word.strip('"').lower() for word in words] for words in commands]


READS = {"hello", "info", "time", "ping", "multi", "discard", "config", "script", "echo", "select"}


@pytest.mark.parametrize("options", ["", "?protocol=token", "?protocol=setnx-expire-watch&accept-risk=1", "?db=3"])
def test_nothing_is_changed(place, good, options):
    holder = place.hold("job")
    good.cli("set", "other", "value")
    good.cli("eval", "return 1", "0")
    before = [good.cli("debug", "digest"), good.cli("dbsize"), good.cli("pubsub", "shardchannels")]
    scripts = good.cli("info", "memory").partition("number_of_cached_scripts:")[2].split()[0]
    asked = monitored(good, lambda: look(place, good.url + options))
    assert [good.cli("debug", "digest"), good.cli("dbsize"), good.cli("pubsub", "shardchannels")] == before
    assert good.cli("info", "memory").partition("number_of_cached_scripts:")[2].split()[0] == scripts
    # A held lock is renewed meanwhile; its scripts are sent by hash.
    asked = [words for words in asked if words[0] not in ("evalsha",) and not words[0].startswith("[")]
    others = [words for words in asked if words[0] not in READS]
    assert [words for words in others if words[0] not in ("pexpire", "pttl", "get", "exists")] == []
    assert {words[1] for words in asked if words[0] == "config"} <= {"get"}
    assert {words[1] for words in asked if words[0] == "script"} <= {"exists"}
    assert "multi" in {words[0] for words in asked}
    place.let_go(holder)


# ---- memory and disk ---------------------------------------------------------------------------------


@pytest.mark.parametrize("policy, what", [("allkeys-lru", "may evict the key"), ("volatile-ttl", "shortest time to live")])
def test_eviction_policy_that_deletes_locks(place, good, policy, what):
    good.cli("config", "set", "maxmemory-policy", policy)
    good.cli("config", "set", "maxmemory", "100mb")
    bill = look(place, None)
    finding = bill.of("eviction")
    assert (finding["grade"], bill.code, bill.bad()) == ("warning", 0, ["eviction"])
    assert place.bowline("doctor", "--strict").returncode == 1
    assert policy in finding["what"]
    assert what in finding["why"]
    assert "noeviction" in finding["type"]


def test_memory_that_is_nearly_full(place, good):
    used = int(good.cli("info", "memory").partition("used_memory:")[2].split()[0])
    good.cli("config", "set", "maxmemory", str(int(used * 1.02)))
    assert look(place, None).of("eviction")["grade"] == "warning"


def test_memory_of_a_few_bytes(place, good):
    """With so few bytes, one per cent of the memory is rounded to zero."""
    good.cli("config", "set", "maxmemory", "50")
    finding = look(place, None).of("eviction")
    assert (finding["grade"], "% of maxmemory is used" in finding["why"]) == ("warning", True)
    good.cli("config", "set", "maxmemory", "0")


def test_evicted_keys_are_reported(place, good):
    good.cli("config", "set", "maxmemory-policy", "allkeys-random")
    good.cli("set", "a", "b")
    good.cli("config", "set", "maxmemory", "1")
    place.wait_for("an eviction", lambda: "evicted_keys:0\n" not in good.cli("info", "stats").replace("\r", ""))
    good.cli("config", "set", "maxmemory", "0")
    assert "has evicted" in look(place, None).of("evicted", "warning")["what"]


def test_server_without_persistence(place, redis):
    finding = look(place, None).of("persistence")
    assert finding["grade"] == "warning"
    assert "nothing is written" in finding["what"]
    assert "LOST" in finding["why"]


def test_snapshots_and_logs_are_distinguished(place, good):
    good.cli("config", "set", "appendfsync", "everysec")
    assert look(place, None).of("persistence")["grade"] == "note"
    good.cli("config", "set", "appendonly", "no")
    good.cli("config", "set", "save", "3600 1")
    finding = look(place, None).of("persistence")
    assert (finding["grade"], "save 3600 1" in finding["what"]) == ("warning", True)


# ---- rights -------------------------------------------------------------------------------------------


def rule(place, redis, *words):
    done = place.bowline("acl", "--user", "ann", *words, redis.url)
    assert done.returncode == 0
    return done.stdout.splitlines()[0].replace(">PASSWORD", ">c0rrect").split()


def test_a_user_without_eval(place, good):
    good.cli(*rule(place, good, "--feature", "queue,status,doctor"), "-eval")
    bill = look_as(place, good, "ann")
    finding = bill.of("rights", "failure")
    assert bill.code == 1
    assert finding["what"] == "user ann lacks: +eval"
    assert finding["type"] == "ACL SETUSER ann +eval"
    good.cli(*finding["type"].split())
    assert look_as(place, good, "ann").of("rights", "ok")


@pytest.mark.parametrize("taken", ["-evalsha", "-ssubscribe", "-spublish", "-zpopmin", "-incr", "-pexpire"])
def test_a_command_that_is_missing_is_named(place, good, taken):
    good.cli(*rule(place, good, "--feature", "queue,doctor"), taken)
    assert look_as(place, good, "ann").of("rights", "failure")["what"] == f"user ann lacks: +{taken[1:]}"


def test_keys_and_channels_that_are_missing_are_named(place, good):
    good.cli(*rule(place, good, "--feature", "queue,doctor"), "resetchannels")
    assert look_as(place, good, "ann").of("rights", "failure")["what"] == "user ann lacks: &bowline:i:*"
    good.cli(*rule(place, good, "--feature", "queue,doctor"), "resetkeys", "~other:*")
    assert look_as(place, good, "ann").of("rights", "failure")["what"] == "user ann lacks: ~bowline:*"


LOCKS = ["protocol=queue", "protocol=token", "protocol=setnx-del", "protocol=setnx-del-expire"]
LOCKS += ["protocol=setnx-stamp-del", "protocol=setnx-getset", "protocol=set-nx-ex", "protocol=setnx-expire-watch"]
LOCKS += ["profile=python-redis-lock", "profile=walrus", "profile=spring&key=reg:%25s", "profile=jedis-lock-1"]
NOT_LOOKED_AT = {"+watch", "+unwatch", "+multi", "+exec", "+select"}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_right_of_every_lock_is_checked(place, good, lock):
    """Except those of a transaction, in which the doctor asks."""
    url = f"{good.url}?db=1&accept-risk=1&{lock}"
    rule = place.bowline("acl", url).stdout.splitlines()[0]
    looked_at = {word for word in rule.split() if word[0] in "+~&"} - NOT_LOOKED_AT
    finding = look(place, url).of("rights")
    assert finding["grade"] == "ok"
    assert finding["what"].endswith(f" ({len(looked_at)} checked)")


def test_command_that_the_server_does_not_have(place, start_redis):
    server = start_redis(*GOOD, "--rename-command", "EVALSHA", "")
    finding = look(place, server.url).of("rights", "failure")
    assert finding["what"] == "the server has no command evalsha"


def test_user_with_the_rule_of_doctor_gets_every_finding(place, good):
    """And without any one item of the rule, at least one check is missing."""
    words = rule(place, good, "--feature", "queue,status,doctor")
    good.cli(*words)
    bill = look_as(place, good, "ann")
    assert [f for f in bill.findings if f["grade"] == "unknown"] == []
    assert bill.code == 0
    own = set(words) - set(rule(place, good, "--feature", "queue,status"))
    assert own == {"+ping", "+info", "+multi", "+discard", "+config|get", "+script|exists"}
    for item in sorted(own - {"+ping", "+discard"}):
        good.cli(*[word for word in words if word != item])
        missing = [f for f in look_as(place, good, "ann").findings if f["grade"] == "unknown" or "+config" in
                   (f["type"] or "")]
        assert missing, item
        assert all(finding["type"] for finding in missing)
        assert item in " ".join(finding["type"] for finding in missing)


def test_forbidden_check_is_no_failure(place, good):
    good.cli(*rule(place, good, "--feature", "queue"))
    bill = look_as(place, good, "ann")
    assert bill.code == 0
    unknown = [f["check"] for f in bill.findings if f["grade"] == "unknown"]
    assert sorted(unknown) == ["eviction", "foreign-locks", "persistence", "restart", "rights", "role"]
    assert all("ACL SETUSER ann +" in f["type"] for f in bill.findings if f["grade"] == "unknown")


# ---- user ---------------------------------------------------------------------------------------------


def test_a_wrong_password_ends_there(place, good):
    """The default user may do everything without a password, and is never tried instead."""
    good.cli("acl", "setuser", "ann", "on", ">c0rrect", "~*", "&*", "+@all")
    asked = monitored(good, lambda: look_as(place, good, "ann", "c4n4ry"))
    assert [words for words in asked if words[0] not in ("hello", "echo")] == []
    bill = look_as(place, good, "ann", "c4n4ry")
    assert (bill.code, bill.bad()) == (1, ["authentication"])
    assert "WRONGPASS" in bill.of("authentication")["what"]


def test_a_password_that_is_missing(place, good):
    good.cli("acl", "setuser", "default", "resetpass", ">c0rrect")
    bill = look(place, None)
    assert bill.code == 1
    assert "NOAUTH" in bill.of("authentication")["what"]
    assert "--url-file" in bill.of("authentication")["type"]


# ---- kind of server ------------------------------------------------------------------------------------


def test_a_replica_writes_nothing(place, good, start_redis):
    replica = start_redis(*GOOD)
    replica.cli("replicaof", "127.0.0.1", "1")
    bill = look(place, replica.url)
    assert bill.code == 1
    finding = bill.of("role", "failure")
    assert "READONLY" in finding["what"]
    assert finding["type"] == "use the URL of its primary: redis://127.0.0.1:1"


def test_a_master_with_replicas(place, start_redis):
    port = free_port()
    master = start_redis(*GOOD, "--port", str(port), "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0")
    replica = start_redis("--replicaof", "127.0.0.1", str(port))
    place.wait_for("the replica", lambda: "connected_slaves:1" in master.cli("info", "replication"))
    assert look(place, f"{master.url}?sync=1").of("role")["grade"] == "warning"
    finding = look(place, f"{master.url}?sync=2").of("role")
    assert (finding["grade"], "1 of the 2 replicas" in finding["what"]) == ("failure", True)
    finding = look(place, master.url).of("role")
    assert (finding["grade"], "1 replica" in finding["what"]) == ("warning", True)
    assert "min-replicas-to-write" in finding["type"]
    master.cli("config", "set", "min-replicas-to-write", "1")
    assert look(place, master.url).of("role")["grade"] == "note"
    assert look(place, replica.url).of("role")["grade"] == "failure"


@pytest.mark.skipif(not SHIM or os.environ.get("BOWLINE_SANITIZE", "none") != "none", reason="no clock shim")
@pytest.mark.parametrize("hours, where", [(1, "ahead of"), (-1, "behind")])
def test_a_clock_that_is_an_hour_wrong(place, start_redis, monkeypatch, hours, where):
    setting = place.path("clock")
    setting.write_bytes(struct.pack("qqqq", hours * 3600 * 1000000, 0, 0, 0))
    monkeypatch.setenv("LD_PRELOAD", SHIM)
    monkeypatch.setenv("BOWLINE_CLOCK_FILE", str(setting))
    server = start_redis(*GOOD)
    monkeypatch.delenv("LD_PRELOAD")
    finding = look(place, server.url).of("clock")
    assert finding["grade"] == "warning"
    assert where in finding["what"]
    seconds = int(finding["what"].partition("server is ")[2].partition("s ")[0])
    assert 3590 <= seconds <= 3610
    stamps = look(place, f"{server.url}?protocol=setnx-getset&accept-risk=1").of("clock")
    assert "the clocks of several machines" in stamps["why"]


# RedissonLock.java of Redisson 4.7.0 and 3.45.1.
REDISSON_TRY_LOCK = (
    "if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then "
    "redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; "
    "return redis.call('pttl', KEYS[1]);"
)
RUEIDIS_RELEASE = 'if redis.call("GET",KEYS[1]) == ARGV[1] then return redis.call("DEL",KEYS[1]) end;return 0'
# RedisStore::exists of symfony/lock 5.2 to 7.2, with the spaces that PHP sends.
SYMFONY_EXISTS = '''
            local key = KEYS[1]
            local uniqueToken = ARGV[2]

            -- asserts the KEY is compatible with current version (old Symfony <5.2 BC)
            if redis.call("TYPE", key).ok == "string" then
                return false
            end

            {nothing}
                local now = redis.call("TIME")
                now = now[1] * 1000 + math.floor(now[2] / 1000)
            {nothing}

            -- Remove expired values
            redis.call("ZREMRANGEBYSCORE", key, "-inf", now)

            if redis.call("ZSCORE", key, uniqueToken) then
                return true
            end

            return false
        '''.replace("{nothing}", "")


# A script of another program, its hash if it is documented, its name, what to type, and the URL that takes part.
FOREIGN = [
    (REDISSON_TRY_LOCK, None, "Redisson (RLock)", "?profile=redisson,", "profile=redisson"),
    (SYMFONY_EXISTS, None, "Symfony Lock", "?profile=symfony,", "profile=symfony"),
    (REDIS_PY_RELEASE, "c3f8721cbb97f72bc19e972846bd7aaf91901658", "redis-py", "?profile=redis-py", "profile=redis-py"),
    (RUEIDIS_RELEASE, "9eb62214c9af87ae5f9a9f12bb4520281c0d2ae1", "rueidislock", "?profile=rueidislock with its key=",
     "profile=rueidislock&accept-risk=1&key=rueidislock:0:%25s"),
]


@pytest.mark.parametrize("script, sha1, program, hint, options", FOREIGN, ids=[row[2] for row in FOREIGN])
def test_foreign_locks_are_found(place, good, script, sha1, program, hint, options):
    assert good.cli("script", "load", script) == (sha1 or hashlib.sha1(script.encode()).hexdigest())
    finding = look(place, None).of("foreign-locks")
    assert finding["grade"] == "note"
    assert finding["what"].startswith(f"{program} has locked on this server")
    assert hint in finding["type"]
    mine = look(place, f"{good.url}?{options}")
    assert "takes part" in mine.of("foreign-locks")["why"]
    assert mine.of("rights", "ok")


def test_foreign_locks_of_an_old_version_are_independent(place, good):
    good.cli("script", "load", REDIS_PY_RELEASE)
    other = look(place, f"{good.url}?profile=redis-py-2.7&accept-risk=1").of("foreign-locks")
    assert "are independent" in other["why"]


def test_risks_are_reported(place, good):
    bill = look(place, f"{good.url}?protocol=setnx-del&accept-risk=1")
    assert (bill.of("url")["grade"], bill.code) == ("warning", 0)
    assert "not safe" in bill.of("url")["what"]


# ---- directories -------------------------------------------------------------------------------------------


def test_directory_writable_for_all_users(place):
    place.locks.chmod(0o1777)
    finding = look(place, None).of("directory")
    assert (finding["grade"], "every user" in finding["why"]) == ("note", True)
    place.locks.chmod(0o777)
    bill = look(place, None)
    assert (bill.code, bill.bad()) == (1, ["url"])


def test_directory_of_one_user_is_reported_as_such(place):
    finding = look(place, "file:").of("users")
    assert finding["grade"] == "note" and f"user {os.geteuid()} only" in finding["what"]
    assert "another lock of the same name" in finding["why"] and "file:///run/lock/bowline" in finding["type"]
    assert "users" not in look(place, None).grades()


def test_a_shared_directory_of_another_user(place):
    if os.geteuid() != 0:
        pytest.skip("nobody but root can give a directory away")
    place.locks.chmod(0o1777)
    assert "owner" not in look(place, None).grades()
    os.chown(place.locks, 65534, 65534)
    bill = look(place, None)
    assert (bill.of("owner")["grade"], bill.code) == ("warning", 0)
    assert "hold the same lock" in bill.of("owner")["why"] and bill.of("owner")["type"].startswith("chown root ")


def test_a_shared_directory_that_cannot_be_read(place):
    if os.geteuid() == 0:
        pytest.skip("root may read every directory")
    place.locks.chmod(0o1733)
    finding = look(place, None).of("removal")
    assert finding["grade"] == "warning" and finding["type"].startswith("chmod a+r ")


# ---- options ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["--jsno"], ["a", "b"], ["redis://ann:swordfish@host.invalid"]])
def test_wrong_arguments_are_refused(place, words):
    done = place.bowline("doctor", *words)
    assert (done.returncode, done.stdout) == (125, "")
    assert "swordfish" not in done.stderr
    assert done.stderr.endswith("bowline: type: bowline help doctor\n")


def test_a_finding_is_three_lines(place, redis):
    lines = place.bowline("doctor").stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("warning   persistence: "))
    assert lines[at + 1].startswith("          a restart loses")
    assert lines[at + 2].startswith("          type: CONFIG SET appendonly yes")


def test_no_file_is_left(place):
    before = sorted(place.root.rglob("*"))
    look(place, None)
    assert sorted(place.root.rglob("*")) == before
    assert pathlib.Path(place.locks).is_dir()
