"""Lock files: what is refused and where, the same result as the lock in C, and the same commands on a real server."""

import html
import os
import pathlib
import re
import shlex
import socket
import subprocess

import pytest

from interop.arena import KEY
from interop.conftest import arena  # noqa: F401, pylint: disable=unused-import
from own_redis import LIMIT, need_redis, wait_for

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
LOCKS = SOURCE / "lab" / "locks"
BOWLINE = os.environ.get("BOWLINE", "")

GOOD = "acquire: SETNX key token -> 1 ? held : busy\nrelease: DEL key\n"


def cases(name):
    """The blocks of a text file: the words of the first line, and the lines that are indented behind it."""
    for block in (HERE / name).read_text(encoding="utf-8").split("\n\n")[1:]:
        first, *lines = block.strip("\n").split("\n")
        yield (*first.split(" | "), "".join(line[4:].replace("\\x01", "\1") + "\n" for line in lines))


# More than there is room for.
TOO_MUCH = [
    ("1:1", "less than 16384 bytes", "# x\n" * 5000),
    ("3:196", "at most 16 cases", GOOD + "  DEL key -> " + " | ".join(f"{i} ? gone" for i in range(17)) + "\n"),
    ("43:3", "too many labels", GOOD + "".join(f"  x{i}: DEL key\n" for i in range(41))),
    ("43:6", "too many labels", GOOD + "".join(f"  go x{i}\n  x{i}: DEL key\n" for i in range(21))),
    ("61:3", "at most 60 commands", GOOD + "  DEL key\n" * 60),
    ("33:16", "at most 30 texts", GOOD + "".join(f'  GET key -> = "t{i}" ? gone\n' for i in range(31))),
    ("3:1598", "too long: 250 operations", GOOD + "  GET key -> " + " or ".join(map(str, range(246))) + " ? gone\n"),
    ("21:6", "at most 20 lines of lab:", "lab: rounds 1\n" * 21 + GOOD),
    ("1:1", "or acquire:, not " + "x" * 30 + "\n", "x" * 40 + " 5\n" + GOOD),
    ("4:1", "expected acquire:, but the file ends here", "\n\nrelease: DEL key\n"),
    ("1:726", "too many settings", "lab: " + "rounds 1 " * 81 + "\n" + GOOD),
]


@pytest.mark.parametrize("where, what, text", [*cases("wrong_files.txt"), *TOO_MUCH])
def test_a_wrong_file_is_refused_where_it_is_wrong(lab, where, what, text):
    said = lab.refuses("try", lab.write("wrong.lock", text))
    assert f"wrong.lock:{where}: " in said and what in said, said


RIGHT = [
    GOOD.replace("\n", "\r\n"),
    "#\n##  of an article \t\n# zh 文章\n# zh again\n# more\n\t" + GOOD + "# the end",
    "acquire:SETNX key token->1?held:busy\nrelease:DEL key",
    "wait 0ms\ntoken uuid # as theirs\n\n\nunit s\ntrust whole\ntries 3\n" + GOOD,
    GOOD + "  a = GET key\n  a = GET key\n  GET key -> = a ? gone | = \"5\" or = \"x\" ? released : next\n",
    GOOD + "  a = 1 + lease - 5 + now\n  b = lease\n  SET key a EXAT a\n  SET key 1 PX lease - 10ms + 5\n",
    GOOD + "  PUBLISH \"freed\" key\n  GET key -> error or down ? gone\n  GET key -> down ? gone\n",
    GOOD + "  GET key -> 1 ? go one : go two\n  two: GET key -> retry 2\n  one: GET key -> next\n",
    GOOD + "  averylonglabel: GET key -> -1 ? go averylonglabel\n  lock: GET key -> nil ? gone | 1 ? retry 2, released : go lock\n",
    "release: DEL key\nrenew: PEXPIRE key lease -> 1 ? held : gone\n" + GOOD.split("\n")[0],
]


@pytest.mark.parametrize("text", RIGHT)
def test_a_file_may_be_written_in_several_ways(lab, text):
    (lab.root / "right.lock").write_bytes(text.encode())
    said = lab("try", "right.lock", "--slow", "0", "--crash", "0", "--loss", "0", "--quiet")
    assert said.returncode in (0, 1) and said.stderr == "", said.stderr


def test_a_time_of_its_own_keeps_the_lease_of_the_file(lab):
    """The key ends after a second, and the holder relies on fifteen."""
    text = "lease 15s\n" + GOOD.replace("SETNX key token -> 1", "SET key token NX EX 1 -> OK")
    said = lab("try", lab.write("short.lock", text), "--slow", "0", "--quiet").stdout
    assert "lease 15000 ms" in said and "one worker       BREAKS with no fault" in said
    assert lab("run", lab.write("whole.lock", text.replace("EX 1", "EX lease"))).returncode == 0


BAD_SCRIPTS = {
    "return redis.call('hset', KEYS[1], 'a', 1)": "it has no command hset",
    "return redis.call('get')": "script:1: wrong arguments of get",
    "return cjson.encode({})": "it has no function cjson",
    "n = (n or 0) + 1 return n": "script:1: there is no variable n",
    "n = 1 return n": "script:1: a script cannot set 'n'",
    "string.n = 1 return string.n": "script:1: a script cannot set 'n'",
    "while true do end": "it has not ended after 100000 instructions",
    "local s = 'x' while true do s = s .. s end": "it needs more than 16 MB",
}


@pytest.mark.parametrize("script, why", BAD_SCRIPTS.items())
def test_a_script_that_the_lab_cannot_run_is_refused(lab, script, why):
    text = GOOD.replace("DEL key", f"EVAL `{script}` 1 key")
    assert why in lab.refuses("try", lab.write("it.lock", text), "--quiet")


def test_a_script_may_handle_a_refused_command(lab):
    script = "local r = redis.pcall('incr', KEYS[1]) return type(r) == 'table' and redis.error_reply(r.err) or r"
    text = GOOD.replace("SETNX key token -> 1 ? held : busy", f"EVAL `{script}` 1 key -> error ? held : busy")
    assert lab("try", lab.write("it.lock", text), "--start", "abc", "--invariant", "in time").returncode == 0


def test_more_attempts_than_there_are_tokens_are_refused(lab):
    path = lab.write("it.lock", "lab: wait 100s poll 1ms\n" + GOOD)
    assert "makes too many attempts" in lab.refuses("try", path) and "waits 100000 ms" in lab.refuses("run", path)
    assert lab("try", path, "--set", "wait 30ms", "--slow", "1", "--invariant", "pauses").returncode == 0


def test_the_rate_of_a_clock_is_set_as_by_the_command_line(lab):
    """The drift allowance covers the usual rate, and not this one."""
    path = lab.write("it.lock", "lab: rate 1 pace 90\n" + (LOCKS / "token.lock").read_text())
    found = [lab("try", *words, "--invariant", "honest lease").stdout for words in ([path], [str(LOCKS / "token.lock"), "--rate", "1", "--pace", "90"])]
    assert "honest lease     BREAKS with 1 rate" in found[0] and found[0].split("\n\n")[1] == found[1].split("\n\n")[1]


def test_each_fault_may_happen_to_a_lock_that_cannot_extend(lab):
    faults = re.findall(r"^ +--([\w-]+) N", lab("--help").stdout.split("\nfaults, ")[1], re.M)
    assert len(faults) == 24
    for name in ("set-nx-ex", lab.write("it.lock", GOOD)):
        said = [lab("try", name, f"--{fault}", "1", "--faults", "1", "--quiet") for fault in faults]
        assert {one.returncode for one in said} <= {0, 1}, [one.stderr for one in said]


@pytest.mark.parametrize("start, why", [("1 ttl 5s", "for the key of a lock file"), ("stale", "are no times")])
def test_only_the_key_of_a_lock_file_has_a_value_of_yours_at_the_start(lab, start, why):
    assert why in lab.refuses("try", "token", "--start", start)
    assert "not the time that a value has left" in lab.refuses("try", str(LOCKS / "token.lock"), "--start", "1 ttl x")


@pytest.mark.parametrize("words, part", [("leas 5s", "did you mean lease?"), ("slow 1", "--set: slow 1"), ("lease", "each with its value")])
def test_settings_of_the_command_line_are_numbers_and_times(lab, words, part):
    assert part in lab.refuses("try", "token", "--set", words)
    for name in ("setnx-getset", str(LOCKS / "way-4.lock")):
        said = lab("try", name, "--set", "skew 3s lease 3s", "--slow", "0", "--invariant", "one worker").stdout
        assert "one worker       BREAKS with no fault, in" in said and "clock +3000 ms" in said, said


@pytest.mark.parametrize("rule, part", [("trust forever", "one worker       BREAKS"), ("trust lease", "hold:            one worker"), ("tries 1", "B is done")])
def test_what_a_file_says_of_its_rules_can_be_changed(lab, rule, part):
    options = ["--slow", "0", "--crash", "0", "--loss", "0", "--invariant", "one worker", *(["--mermaid"] if rule == "tries 1" else [])]
    said = lab("try", str(LOCKS / "token.lock"), "--set", rule, *options).stdout
    assert part in said and "alarm" not in said, said
    assert "is not possible here" in lab.refuses("try", "token", "--set", rule)


def test_a_key_at_the_start_is_also_on_the_real_server(lab):
    need_redis()
    found = lab("try", str(LOCKS / "by-time.lock"), "--start", "5", "--json", "--invariant", "one worker")
    said = lab("replay", lab.write("it.json", found.stdout)).stdout
    assert '"start": "5"' in found.stdout and "GET key: the server says yes (5)" in said and "=> broken" in said, said


@pytest.mark.parametrize("words", [["setnx-stamp-del"], [str(LOCKS / "way-4.lock"), "--set", "lease 4s skew 3s"], [str(LOCKS / "watch-ttl.lock"), "--start", "a b"]])
def test_a_page_has_the_settings_and_each_of_its_commands_finds_its_schedule(lab, words):
    said = lab("try", *words, "--slow", "1", "--html", "it.html").stdout
    page = html.unescape((lab.root / "it.html").read_text())
    notes = said.split("\n\n")[0].splitlines()[2:]
    assert len(notes) == len(words) // 2 + (len(words) > 1) and all(f"<p>{note}</p>" in page for note in notes), notes
    commands = [shlex.split(command)[2:] for command in re.findall("<code>(bowline lab try .*)</code>", page)]
    assert len(commands) == said.count("BREAKS with") > 0
    for command in commands:
        broken = re.search(rf"^  {command[-1]} +BREAKS with .*? in \d+ steps", said, re.M)
        assert broken[0] in lab(*command).stdout


@pytest.mark.parametrize("text", ["lease 10\n" + GOOD, 'lab: breaks "one worker" twin missing\n' + GOOD])
def test_run_refuses_a_file_that_cannot_be_compared(lab, text):
    lab.refuses("run", lab.write("wrong.lock", text))


def test_run_finds_a_lock_that_no_client_gets(lab):
    said = lab("run", lab.write("it.lock", 'lab: holds "one worker"\nacquire: GET key -> busy\nrelease: DEL key\n'))
    assert said.returncode == 1 and "BUT no client gets the lock" in said.stdout, said.stdout


def test_run_finds_a_budget_that_is_too_large(lab):
    text = (LOCKS / "setnx-expire.lock").read_text().replace("crash 1 twin way-6", "crash 1 loss 1")
    said = lab("run", lab.write("it.lock", text))
    assert said.returncode == 1 and "BUT it breaks with 1 crash too" in said.stdout, said.stdout


def results(lab, *words):
    """invariant -> the budget that breaks it; None: it holds, or the search was cut short."""
    said = lab("try", *words, "--quiet").stdout
    rest = re.findall(r"^  (?:hold|cut short): +((?:.|\n {10,})*)", said, re.M)
    names = [name for part in rest for name in re.sub(r"\s+", " ", part).strip().split(", ")]
    return dict.fromkeys(names) | dict(re.findall(r"^  (\w[\w ]+?) +BREAKS with (.+?), in", said, re.M))


TWINS = [line.split(maxsplit=4) for line in (HERE / "twins.txt").read_text().splitlines() if line and line[0] != "#"]


@pytest.mark.parametrize("file, protocol", [(twin[0], twin[2]) for twin in TWINS if twin[2] != "-"])
def test_a_file_and_its_lock_in_c_break_in_the_same_way(lab, file, protocol):
    """By the same faults, each invariant that both are checked for; behind the / of the table, those that differ."""
    protocol, _, differ = protocol.partition("/")
    text = re.sub(r"^lab: .*\n", "", (LOCKS / f"{file}.lock").read_text(), flags=re.M)
    options = ["--slow", "1", "--crash", "1", "--rounds", "2", "--faults", "1"]
    in_c, of_file = results(lab, protocol, *options), results(lab, lab.write("it.lock", text), *options)
    both = in_c.keys() & of_file.keys()
    assert {name for name in both if in_c[name] != of_file[name]} == set(differ.replace("-", " ").split(",")) - {""}
    assert len(both) == 11 and any(of_file.values()) == (protocol != "token")


# ---- on a real server ------------------------------------------------------------------------------


class Monitor:
    """The commands of a server, as MONITOR shows them."""

    def __init__(self, server):
        self.server = server
        self.stream = socket.create_connection(("127.0.0.1", server.port), LIMIT).makefile("rwb")
        self.stream.write(b"MONITOR\r\n")
        self.stream.flush()
        assert self.stream.readline() == b"+OK\r\n"

    def commands(self):
        """Those since the last call."""
        self.server.cli("echo", "so far")
        for line in iter(self.stream.readline, b""):
            words = re.findall(r'"((?:[^"\\]|\\.)*)"', line.decode())
            if words == ["echo", "so far"]:
                return
            yield words


def shape(word):
    """A token or a timestamp, without what differs between two of them; any other word in lower case."""
    is_one = len(word) == 22 or re.fullmatch(r"\d{10,}|[\w+/-]{16,}=*", word)
    return re.sub(r"[\w+/]|-(?=.{21}$)" if len(word) != 22 else ".", "x", word) if is_one and word != KEY else word.lower()


def compared(commands):
    """The commands on the key, without the differences that are none, each with its reason."""
    kept = []
    for words in commands:
        name = words[0].lower()
        if KEY not in words and name not in ("multi", "exec", "unwatch"):
            continue  # the handshake of a connection
        if name == "pttl":
            continue  # bowline looks whether its extension would shorten the lease, or a key is of another program
        if name in ("eval", "evalsha"):
            words = ["script", *words[2:]]  # a file has its own text; bowline sends the hash first
        if name == "set":
            words[3:] = sorted(" ".join(words[3:]).lower().replace("x ", "x=").replace("nx=", "nx ").split())
        words = [shape(word) for word in words]
        if words[0] != "script" or kept[-1:] != [words]:
            kept.append(words)
    return kept


def story(server, monitor, a, b, text):
    """What a lock does: step -> (reply, key, commands)."""
    done = {}

    def step(name, does):
        list(monitor.commands())
        reply, sent = does(), compared(monitor.commands())
        ttl = int(server.cli("pttl", KEY))
        done[name] = (reply, (shape(server.cli("get", KEY)), round(ttl / 100000) if ttl > 0 else ttl), sent)

    server.cli("flushall")
    step("acquire", a.acquire)
    step("busy", b.acquire)
    if "\nrenew:" in text:
        step("extend", lambda: a.ask("extend 900000"))
    step("release", a.release)
    step("again", a.acquire)
    server.cli("del", KEY)
    step("lost", a.release)
    if re.search(r"[<>]=? now", text):
        server.cli("set", KEY, "1400000000" if "\nunit s" in text else "1400000000000")
        step("over", a.acquire)
    return done


@pytest.mark.parametrize("file, query, subject, differs, why", TWINS)
def test_a_file_and_its_lock_in_c_send_the_same_commands(arena, tmp_path, file, query, subject, differs, why):
    text = (LOCKS / f"{file}.lock").read_text()
    (tmp_path / "it.lock").write_text(text)
    monitor = Monitor(arena.server)
    stories = []
    for of_lock in (f"protocol-file={tmp_path}/it.lock", query):
        parties = [arena.bowline(f"accept-risk=1&key=%25s&{of_lock}", 600000).await_ready() for _ in range(2)]
        stories.append(story(arena.server, monitor, *parties, text))
    for name, (reply, key, commands) in stories[0].items():
        theirs = stories[1][name]
        assert key == theirs[1], name
        assert (reply != theirs[0]) == (f"{name}!" in differs.split(",")), (name, reply, theirs[0], why)
        assert (commands != theirs[2]) == (name in differs.split(",")), (name, commands, theirs[2], why)
    assert stories[0]["acquire"][2] and stories[0]["release"][2]


@pytest.mark.skipif(not BOWLINE, reason="this build has no bowline")
def test_each_command_has_its_rights(lab, arena):
    """All that a file may send, and a script that calls what only a server has."""
    words = re.findall(r"^    X\((\w+), (\d)", (SOURCE / "src/protocol/lock_file/program.h").read_text(), re.M)
    lines = ["  " + " ".join([word, *["key", "1"][: int(count)]]) for word, count in words if word not in ("EVAL", "PUBLISH")]
    lines += ["  PUBLISH key 1", "  EVAL `redis.call('hincrby', 'a', 'b', 1) redis.call('get ~*')` 1 key"]
    path = lab.write("it.lock", "acquire:\n" + "\n".join(lines) + "\n  held\nrelease: DEL key\n")
    url = f"redis://127.0.0.1:{arena.server.port}?accept-risk=1&protocol-file={path}"
    said = {word: subprocess.run([BOWLINE, word, url], capture_output=True, text=True, check=False) for word in ("acl", "caps", "doctor")}
    assert [one.returncode for one in said.values()] == [0, 0, 0], said
    rights = said["acl"].stdout.splitlines()[0].split()
    assert {f"+{word.lower()}" for word, _ in words} | {"+hincrby", "&*"} <= set(rights) and not {"+get ~*", "~*"} & set(rights)
    assert "has all permissions of protocol lock-file" in said["doctor"].stdout


@pytest.mark.skipif(not BOWLINE, reason="this build has no bowline")
def test_a_file_that_others_may_write_is_not_trusted(lab):
    path = lab.write("it.lock", GOOD)
    os.chmod(path, 0o666)
    url = f"redis://127.0.0.1:1/?accept-risk=1&protocol-file={path}"
    said = subprocess.run([BOWLINE, "run", "--url", url, "a", "--", "true"], capture_output=True, text=True, check=False)
    assert said.returncode != 0 and "is not trusted" in said.stderr


@pytest.mark.skipif(not BOWLINE, reason="this build has no bowline")
def test_run_waits_as_long_as_the_file_says(lab, arena):
    path = lab.write("it.lock", "wait 120ms poll 50ms\n" + GOOD)
    arena.server.cli("set", "bowline:a", "held")
    url = f"redis://127.0.0.1:{arena.server.port}?accept-risk=1&key=bowline:%25s&protocol-file={path}"
    said = subprocess.run([BOWLINE, "run", "--url", url, "a", "true"], capture_output=True, text=True, timeout=LIMIT, check=False)
    waited = re.search(r"a was not acquired within ([\d.]+)(ms|s)\n", said.stderr)
    assert said.returncode == 124 and waited, said.stderr
    assert float(waited[1]) * (1 if waited[2] == "ms" else 1000) >= 120, said.stderr


@pytest.mark.skipif(not BOWLINE, reason="this build has no bowline")
def test_bowline_adds_nothing_after_a_broken_connection(lab, arena):
    path = lab.write("it.lock", (LOCKS / "counter.lock").read_text())
    server = arena.server
    url = f"redis://127.0.0.1:{server.port}?accept-risk=1&protocol-file={path}"
    command = [BOWLINE, "run", "--url", url, "a", "--", "cat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
        wait_for("the lock", server.keys)
        server.cli("client", "kill", "type", "normal")
        wait_for("another connection", lambda: server.cli("client", "list").count("laddr=") > 1)
        program.stdin.close()
    assert program.returncode == 0
    sent = set(re.findall(r"cmdstat_(\w+)", server.cli("info", "commandstats")))
    assert sent - {"hello", "info", "client", "config", "keys", "command"} == {"incr", "expire", "decr"}


def replayed():
    """All files with BOWLINE_LAB_SECONDS. Otherwise those without whole seconds: for these, time is stretched."""
    for path in sorted(LOCKS.glob("*.lock")):
        if os.environ.get("BOWLINE_LAB_SECONDS") or not re.search(r"\bEX\b|\bEXPIRE\b|unit s\b", path.read_text()):
            yield path.name


LENGTHS = """acquire:
  SET key token PX lease + 5s
  PTTL key -> > 14000 ? EXPIRE key lease + 1m - 1s : busy
  TTL key -> > 68 ? SET key token XX PXAT now + lease + 90s : busy
  PTTL key -> > 99000 ? SET key token EX 1s + 5 : busy
  TTL key -> > 4 ? held : busy
release: DEL key
"""
MOMENT = "unit s\nacquire: SET key token EXAT now + lease + 10\n  TTL key -> > 10 ? held : busy\nrelease: DEL key\n"


@pytest.mark.parametrize("text", [LENGTHS, MOMENT])
def test_the_lab_and_a_server_have_the_same_times(lab, text):
    """The acquire checks them itself: two clients only hold it if it succeeds."""
    need_redis()
    found = lab("try", lab.write("it.lock", text), "--slow", "0", "--loss", "0", "--crash", "0", "--invariant", "one worker", "--json")
    said = lab("replay", lab.write("it.json", found.stdout))
    assert "=> broken on a real server: one worker" in said.stdout, found.stderr + said.stdout


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


def test_seconds_that_are_left_are_rounded_otherwise_in_a_slower_replay(lab):
    need_redis()
    found = lab("try", str(LOCKS / "watch-no-end.lock"), "--invariant", "in time", "--quiet", "--json")
    said = lab("replay", lab.write("it.json", found.stdout), "--scale", "2")
    assert said.returncode == 0, said.stdout + said.stderr
    assert re.search(r"TTL key: the server says yes \([1-9]\), the model 0\n", said.stdout), said.stdout
