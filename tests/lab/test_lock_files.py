"""Lock files: what is refused and where, the same result as the lock in C, and the same commands on a real server."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from own_redis import LIMIT, need_redis, own_redis, wait_for

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
LOCKS = SOURCE / "lab" / "locks"
BOWLINE = os.environ.get("BOWLINE", "")

GOOD = "acquire: SETNX key token -> 1 ? held : busy\nrelease: DEL key\n"


@pytest.mark.parametrize(
    "text, where, what",
    [
        ("", "1:1", "expected a setting or acquire:, but the file ends here"),
        ("leese 10s\n" + GOOD, "1:1", "did you mean lease?"),
        ("lease 10\n" + GOOD, "1:7", "expected a duration"),
        ("lease 1fortnight\n" + GOOD, "1:7", "a duration is a number and"),
        (GOOD.replace("SETNX", "SETNC"), "1:10", "did you mean SETNX?"),
        (GOOD.replace("1 ?", "one ?"), "1:29", "expected a test"),
        (GOOD.replace(" : busy", ""), "1:1", "can end without a result"),
        (GOOD.replace("held", "released"), "1:33", "released is no result of acquire"),
        (GOOD.replace("key token", "lock token"), "1:16", "not lock"),
        (GOOD.replace("release: DEL key\n", ""), "2:1", "expected release:"),
        (GOOD + "acquire: DEL key\n", "3:1", "does not have yet"),
        (GOOD.replace("release", "unlock"), "2:1", "did you mean release:?"),
        (GOOD.replace("release", "relaese"), "2:1", "did you mean release:?"),
        (GOOD.replace("acquire", "lock"), "1:1", "did you mean acquire:?"),
        (GOOD + "  go home\n", "3:6", "has no label home"),
        (GOOD + "  again: go again\n", "3:1", "without a command and without a sleep"),
        (GOOD + "  WATCH key\n", "4:1", "still watched"),
        (GOOD + "  SET key 1 EX\n", "3:3", "the time behind EX or PX is missing"),
        (GOOD + "  SET key 1 NX XX\n", "3:3", "exclude each other"),
        (GOOD + "  EVAL `return 1` 2 key key\n", "3:3", "EVAL is followed by"),
        (GOOD + "  EVAL `return 1 1 key\n", "3:8", "has no end"),
        (GOOD + "  DEL key -> nil ? GET key -> 1 ? gone\n", "3:28", "has none of its own"),
        (GOOD + "  PEXPIRE key now + lease\n  released\n  DEL key\n", "5:3", "nothing leads to this step"),
        (GOOD + "  \x01\n", "3:3", "the byte 0x01 means nothing here"),
        ("# x\n" * 5000, "1:1", "less than 16384 bytes"),
    ],
)
def test_a_wrong_file_is_refused_where_it_is_wrong(lab, text, where, what):
    said = lab.refuses("try", lab.write("wrong.lock", text))
    assert f"wrong.lock:{where}: " in said and what in said, said


@pytest.mark.parametrize(
    "setting, what",
    [
        ("clients 9", "does not understand this value of clients"),
        ("slow many", "does not understand this value of slow"),
        ("slow 1 slow 2", "does not understand this value of slow"),
        ("ttl 5s", "does not understand this value of ttl"),
        ("client 3", "did you mean clients?"),
        ('breaks "one wroker"', 'did you mean breaks "one worker"?'),
        ("breaks frost", "bowline lab list"),
        ("twin token.lock", "a name has no dot here: token, without .lock"),
        ("rounds 1\nlab: clients 9", "wrong.lock:2:14: the lab does not understand"),
    ],
)
def test_a_wrong_setting_of_the_lab_is_refused(lab, setting, what):
    assert what in lab.refuses("try", lab.write("wrong.lock", f"lab: {setting}\n{GOOD}"))


def test_a_wrong_script_is_refused(lab):
    text = GOOD.replace("DEL key", "EVAL `local x = 1\n  retrun x` 1 key")
    said = lab.refuses("try", lab.write("wrong.lock", text))
    assert "wrong.lock:3: the script of this EVAL is wrong" in said and "'=' expected near 'x'" in said


def test_a_time_of_its_own_keeps_the_lease_of_the_file(lab):
    """The key ends after a second, and the holder relies on fifteen."""
    text = "lease 15s\n" + GOOD.replace("SETNX key token -> 1", "SET key token NX EX 1 -> OK")
    said = lab("try", lab.write("short.lock", text), "--slow", "0", "--quiet").stdout
    assert "lease 15000 ms" in said and "one worker       BREAKS with no fault" in said
    assert lab("run", lab.write("whole.lock", text.replace("EX 1", "EX lease"))).returncode == 0


@pytest.mark.parametrize("text", ["lease 10\n" + GOOD, 'lab: breaks "one worker" twin missing\n' + GOOD])
def test_run_refuses_a_file_that_cannot_be_compared(lab, text):
    lab.refuses("run", lab.write("wrong.lock", text))


def broken(lab, *words):
    """invariant -> budget, for those that both kinds of locks are checked for."""
    said = lab("try", *words, "--quiet").stdout
    found = dict(re.findall(r"^  (\w[\w ]+?) +BREAKS with (.+), in \d+ steps", said, re.M))
    return {name: found[name] for name in ("one holder", "one worker", "no overlap", "never too late") if name in found}


@pytest.mark.parametrize(
    "file, protocol",
    [
        ("token", "token"),
        ("way-5", "set-nx-ex"),
        ("watch", "setnx-expire-watch"),
    ],
)
def test_a_file_and_its_lock_in_c_break_in_the_same_way(lab, file, protocol):
    text = re.sub(r"^lab: .*\n", "", (LOCKS / f"{file}.lock").read_text(), flags=re.M)
    options = ["--slow", "1", "--crash", "1", "--rounds", "2", "--faults", "1"]
    in_c = broken(lab, protocol, *options)
    assert broken(lab, lab.write("it.lock", text), *options) == in_c
    assert (in_c == {}) == (file == "token")


# ---- on a real server ------------------------------------------------------------------------------


def commands_of(url, redis):
    """What `bowline run` sends for one acquire and release, without what differs between runs."""
    redis.cli("slowlog", "reset")
    command = [BOWLINE, "run", "--url", url, "a", "--", "true"]
    subprocess.run(command, capture_output=True, timeout=LIMIT, check=True)
    said = redis.cli("--json", "slowlog", "get", "100")
    sent = [" ".join(entry[3]) for entry in reversed(json.loads(said))]
    kept = [text.lower() for text in sent if "bowline:{a}" in text or text.lower() in ("multi", "exec", "unwatch")]
    return [re.sub(r"[\w-]{22,}|\d{10,}", "-", text) for text in kept]


@pytest.mark.skipif(not BOWLINE, reason="this build has no bowline")
@pytest.mark.parametrize(
    "file, protocol",
    [("way-1", "setnx-del"), ("way-5", "set-nx-ex"), ("watch", "setnx-expire-watch"), ("jedis", "setnx-getset")],
)
def test_a_file_and_its_lock_in_c_send_the_same_commands(lab, file, protocol):
    path = lab.write("it.lock", (LOCKS / f"{file}.lock").read_text())
    need_redis()
    with own_redis("lock-files-", "--slowlog-log-slower-than", "0", "--slowlog-max-len", "1000") as redis:
        url = f"{redis.url}?accept-risk=1&protocol"
        assert commands_of(f"{url}-file={path}", redis) == commands_of(f"{url}={protocol}", redis) != []


@pytest.mark.skipif(not BOWLINE, reason="this build has no bowline")
def test_a_file_that_others_may_write_is_not_trusted(lab):
    path = lab.write("it.lock", GOOD)
    os.chmod(path, 0o666)
    url = f"redis://127.0.0.1:1/?accept-risk=1&protocol-file={path}"
    said = subprocess.run([BOWLINE, "run", "--url", url, "a", "--", "true"], capture_output=True, text=True, check=False)
    assert said.returncode != 0 and "is not trusted" in said.stderr


@pytest.mark.skipif(not BOWLINE, reason="this build has no bowline")
def test_bowline_adds_nothing_after_a_broken_connection(lab):
    path = lab.write("it.lock", (LOCKS / "counter.lock").read_text())
    need_redis()
    with own_redis("lock-files-", "--slowlog-log-slower-than", "0", "--slowlog-max-len", "1000") as redis:
        command = [BOWLINE, "run", "--url", f"{redis.url}?accept-risk=1&protocol-file={path}", "a", "--", "cat"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
            wait_for("the lock", redis.keys)
            redis.cli("client", "kill", "type", "normal")
            wait_for("another connection", lambda: redis.cli("client", "list").count("laddr=") > 1)
            program.stdin.close()
        sent = {entry[3][0].lower() for entry in json.loads(redis.cli("--json", "slowlog", "get", "1000"))}
    assert program.returncode == 0
    assert sent - {"hello", "info", "client", "slowlog", "keys", "command"} == {"incr", "expire", "decr"}


def replayed():
    """All files with BOWLINE_LAB_SECONDS. Otherwise those without whole seconds: for these, time is stretched."""
    for path in sorted(LOCKS.glob("*.lock")):
        if os.environ.get("BOWLINE_LAB_SECONDS") or not re.search(r"\bEX\b|\bEXPIRE\b|unit s\b", path.read_text()):
            yield path.name


@pytest.mark.parametrize("file", list(replayed()))
def test_each_schedule_of_a_file_is_the_same_on_a_real_server(lab, file):
    need_redis()
    breaks = re.search(r'breaks "(.+)"', (LOCKS / file).read_text())
    options = ["--invariant", breaks[1] if breaks else "no overlap", "--quiet", "--json"]
    found = lab("try", str(LOCKS / file), *options)
    if found.returncode == 0:
        assert file in ("buffers.lock",), found.stderr
        return
    said = lab("replay", lab.write("it.json", found.stdout))
    assert said.returncode == 0, said.stdout + said.stderr
    assert "=> broken on a real server: " in said.stdout
