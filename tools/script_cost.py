#!/usr/bin/env python3
"""Measure what the scripts of protocol queue cost a server, and write the table of docs/design/script-cost.md.

    tools/script_cost.py [--rounds N] [--before REVISION] [--write PAGE]

Starts a redis-server of its own. Each case is a state of a lock and one call of a script in it. The state is made anew before
each call and does not count. The time is that of the server's slow log, which has each call in microseconds:

    warm   the calls follow each other: the mean without the slowest tenth
    cold   each call comes after two milliseconds without work: the median

--before measures the scripts of another revision in turns with those of this tree, so that other load affects both, and adds
the ratio. calls: the commands that the script has called, by INFO commandstats.
"""

import argparse
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import lua2h  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPTS = "src/engine/redis/wire/scripts"
IDLE_S = 0.002
BEGIN, END = "<!-- script cost -->", "<!-- end -->"

# As bowline writes them: 28 bytes of value; value, nonce, push channel and TTL of an entry in the queue.
LOCK = "bowline:{bench}"
KEYS = [LOCK, f"{LOCK}:bwl.q", f"{LOCK}:bwl.b", "bowline:f"]
SHARERS = f"{LOCK}:bwl.h"
TICKET = 1_700_000_000_000_000


def value_of(who):
    return f"b1:session-{who}{'t' * 16}"


def channel_of(who):
    return f"bowline:i:{'c' * 21}{who}"


def member_of(who, wish=""):
    return f"{value_of(who)} 1.000000000000000{who}{wish} {channel_of(who)} 2000"


class Server:
    """A redis-server on a socket in a directory, and on a port if one is given; and one connection to it."""

    def __init__(self, root, port=0):
        program = shutil.which("redis-server")
        if program is None:
            sys.exit("script_cost.py: redis-server is not in $PATH; make deps installs it")
        path = f"{root}/redis.sock"
        words = [program, "--port", str(port), "--bind", "127.0.0.1", "--unixsocket", path, "--save", "", "--dir", root]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        self.socket = socket.socket(socket.AF_UNIX)
        while self.socket.connect_ex(path) != 0:
            if self.process.poll() is not None:
                sys.exit("script_cost.py: redis-server has ended")
            time.sleep(0.01)
        self.file = self.socket.makefile("rb")

    def send(self, *commands):
        out = []
        for words in commands:
            out.append(b"*%d\r\n" % len(words))
            for word in words:
                word = str(word).encode()
                out.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.socket.sendall(b"".join(out))

    def reply(self):
        line = self.file.readline()[:-2]
        kind, rest = line[:1], line[1:].decode()
        if kind == b"-":
            raise RuntimeError(rest)
        if kind == b":":
            return int(rest)
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == "-1" else self.file.read(int(rest) + 2)[:-2].decode()
        return rest

    def call(self, *words):
        self.send(words)
        return self.reply()

    def stop(self):
        self.process.kill()
        self.process.wait()


def state(held, count, wish=""):
    """Commands: a lock, and so many live waiters in its queue. held: False, True, or how many share it."""
    commands = [["DEL", *KEYS[:3], SHARERS], ["SET", KEYS[3], TICKET + 1000]]
    if held is True:
        commands.append(["SET", LOCK, value_of(0), "PX", 30000])
    elif held == 1:
        commands.append(["SET", LOCK, f"b1:~{TICKET} {value_of(0)}", "PX", 30000])
    elif held:
        ends = int(time.time() * 1000) + 20000
        shares = [item for who in range(held) for item in (ends + who, value_of(who) if who == 0 else f"b1:{who:025}")]
        commands += [["SET", LOCK, f"b1:~{TICKET}", "PXAT", ends + held - 1], ["ZADD", SHARERS, *shares], ["PEXPIREAT", SHARERS, ends + held - 1]]
    for who in range(1, count + 1):
        commands.append(["ZADD", KEYS[1], TICKET + who, member_of(who, wish)])
        commands.append(["HSET", KEYS[2], value_of(who), int(time.time() * 1000)])
    if count:
        commands += [["PEXPIRE", KEYS[1], 60000], ["PEXPIRE", KEYS[2], 60000]]
    return commands


def join(who):
    return [*KEYS, value_of(who), 30000, "SPUBLISH", member_of(who), 0, 0]


def heartbeat(who):
    """Another revision has no ticket, ARGV[3]."""
    return [*KEYS, value_of(who), "SPUBLISH", TICKET + who, member_of(who)]


def share(who, limit=0):
    return [*KEYS, SHARERS, value_of(who), 30000, "SPUBLISH", member_of(who, f"+1/{limit}"), 0, 0, 1, limit]


RELEASE = [*KEYS, value_of(0), "SPUBLISH"]
LEAVE = [*KEYS, SHARERS, value_of(0), "SPUBLISH", 1]
EXTEND = [*KEYS, SHARERS, value_of(0), 30000, "SPUBLISH", 1, TICKET]

# case: (script, keys, whether the lock is held or how many share it, waiters, keys and arguments, what the waiters want)
CASES = {
    "acquire of a free lock": ("queue_join", 4, False, 0, join(1)),
    "acquire, and the lock is held": ("queue_join", 4, True, 0, join(1)),
    "acquire behind three waiters": ("queue_join", 4, True, 3, join(4)),
    "heartbeat of the first waiter": ("queue_heartbeat", 4, True, 3, heartbeat(1)),
    "heartbeat of the third waiter": ("queue_heartbeat", 4, True, 3, heartbeat(3)),
    "release without a waiter": ("queue_release", 4, True, 0, RELEASE),
    "release to the only waiter": ("queue_release", 4, True, 1, RELEASE),
    "release to the first of three": ("queue_release", 4, True, 3, RELEASE),
    "confirmation, renewal": ("extend_if_mine", 1, True, 0, [LOCK, value_of(0), 30000]),
    "cancel of the third waiter": ("queue_cancel", 4, True, 3, [*KEYS, value_of(3), "SPUBLISH", member_of(3)]),
    "share of a free lock": ("share_join", 5, False, 0, share(1)),
    "share beside one": ("share_join", 5, 1, 0, share(1)),
    "share beside two": ("share_join", 5, 2, 0, share(1)),
    "share beside 1,000": ("share_join", 5, 1000, 0, share(1)),
    "one permit beside 1,000": ("share_join", 5, 1000, 0, share(1, 2000)),
    "leave of the only share": ("share_leave", 5, 1, 0, LEAVE),
    "leave of one of two": ("share_leave", 5, 2, 0, LEAVE),
    "leave of one of 1,000": ("share_leave", 5, 1000, 0, LEAVE),
    "renewal of the only share": ("share_extend", 5, 1, 0, EXTEND),
    "renewal of one of two": ("share_extend", 5, 2, 0, EXTEND),
    "release to three that share": ("queue_release", 4, True, 3, RELEASE, "+1/0"),
}
EXCLUSIVE = ("acquire of a free lock", "release without a waiter")
PAIRS = {
    "A shared pair of the only client": ("share of a free lock", "leave of the only share"),
    "A shared pair beside a share": ("share beside two", "leave of one of two"),
}


def texts_of(revision):
    """{script: its text as sent} of this tree, or of a revision."""
    if revision is None:
        return texts_in(ROOT / SCRIPTS)
    with tempfile.TemporaryDirectory() as root:
        archive = subprocess.run(["git", "-C", ROOT, "archive", revision, SCRIPTS], capture_output=True, check=False)
        if archive.returncode != 0:
            sys.exit(f"script_cost.py: revision {revision} cannot be read: {archive.stderr.decode().strip()}")
        subprocess.run(["tar", "-x", "-C", root], input=archive.stdout, check=True)
        return texts_in(pathlib.Path(root) / SCRIPTS)


def texts_in(directory):
    paths = {script: directory / f"{script}.lua" for script, *_ in CASES.values()}
    return {script: lua2h.wire_text(lua2h.with_parts(path), path.name) for script, path in paths.items() if path.exists()}


def command_of(case, text, sha):
    _, keys, _, _, words, *_ = CASES[case]
    if case.startswith("heartbeat") and "ARGV[4]" not in text:
        words = words[:6] + words[7:]
    return ["EVALSHA", sha, keys, *words]


def calls_of(server, case, command):
    """The number of commands that the script calls."""
    prepare(server, case)
    server.call("CONFIG", "RESETSTAT")
    server.call(*command)
    stats = re.findall(r"cmdstat_([^:]+):calls=(\d+)", server.call("INFO", "commandstats"))
    return sum(int(calls) for name, calls in stats if name not in ("evalsha", "config|resetstat", "info"))


def prepare(server, case):
    commands = state(*CASES[case][2:4], *CASES[case][5:])
    server.send(*commands)
    for _ in commands:
        server.reply()


def time_of(server, case, sha, command, is_cold):
    prepare(server, case)
    if is_cold:
        time.sleep(IDLE_S)
    server.call(*command)
    entry = server.call("SLOWLOG", "GET", 1)[0]
    if entry[3][1] != sha:
        raise RuntimeError("the slow log has lost a call")
    return entry[2]


def middle(times, is_cold):
    if is_cold:
        return statistics.median(times)
    return statistics.mean(sorted(times)[: len(times) * 9 // 10])


def measure(server, texts, rounds):
    """{case: {revision: (calls, warm, cold)}}"""
    figures = {}
    for case, (script, *_) in CASES.items():
        print(case, file=sys.stderr)
        is_new = len(CASES[case]) > 5  # an older script does not know what such waiters want
        known = {revision: its[script] for revision, its in texts.items() if script in its and not (revision and is_new)}
        shas = {revision: server.call("SCRIPT", "LOAD", text) for revision, text in known.items()}
        commands = {revision: command_of(case, text, shas[revision]) for revision, text in known.items()}
        times = {}
        for is_cold in (False, True):
            for _ in range(rounds if is_cold else 4 * rounds):
                for revision, command in commands.items():
                    used = time_of(server, case, shas[revision], command, is_cold)
                    times.setdefault((revision, is_cold), []).append(used)
        figures[case] = {
            revision: (calls_of(server, case, command), *(middle(times[revision, cold], cold) for cold in (False, True)))
            for revision, command in commands.items()
        }
    return figures


def pair_ratios(server, texts, rounds):
    """Shared pairs beside an exclusive one, in turns."""
    pairs = {None: EXCLUSIVE, **PAIRS}
    times = {pair: [] for pair in pairs}
    shas = {script: server.call("SCRIPT", "LOAD", text) for script, text in texts.items()}
    for _ in range(4 * rounds):
        for pair, cases in pairs.items():
            scripts = [CASES[case][0] for case in cases]
            times[pair].append(sum(
                time_of(server, case, shas[script], command_of(case, texts[script], shas[script]), False)
                for case, script in zip(cases, scripts)
            ))
    return {pair: middle(times[pair], False) / middle(times[None], False) for pair in PAIRS}


def table(figures, before):
    lines = ["| | calls | warm, us | cold, us |" + (" before: calls | warm | cold | ratio, warm | cold |" if before else "")]
    lines.append("|---|" + "---:|" * (8 if before else 3))
    for case, its in figures.items():
        calls, warm, cold = its[None]
        line = f"| {case} | {calls} | {warm:.1f} | {cold:.0f} |"
        if before and before not in its:
            line += " | | | | |"
        elif before:
            old_calls, old_warm, old_cold = its[before]
            line += f" {old_calls} | {old_warm:.1f} | {old_cold:.0f} | {warm / old_warm:.2f} | {cold / old_cold:.2f} |"
        lines.append(line)
    return "\n".join(lines) + "\n"


def main(words):
    parser = argparse.ArgumentParser(description="What the scripts of protocol queue cost a server.")
    parser.add_argument("--rounds", type=int, default=500, help="cold calls of each case; four times as many warm ones")
    parser.add_argument("--before", metavar="REVISION", help="compare with the scripts of this revision")
    parser.add_argument("--write", metavar="PAGE", type=pathlib.Path, help="write the table into this page")
    options = parser.parse_args(words)
    texts = {revision: texts_of(revision) for revision in {None: 0, options.before: 0}}
    with tempfile.TemporaryDirectory() as root:
        server = Server(root)
        try:
            server.call("CONFIG", "SET", "slowlog-log-slower-than", 0)
            subscriber = socket.socket(socket.AF_UNIX)
            subscriber.connect(f"{root}/redis.sock")
            subscriber.sendall(f"SSUBSCRIBE {' '.join(channel_of(who) for who in range(1, 5))}\r\n".encode())
            subscriber.recv(1)
            ratios = pair_ratios(server, texts[None], options.rounds)
            text = table(measure(server, texts, options.rounds), options.before)
            text += "".join(f"\n{pair} takes {ratio:.2f} of the time of an exclusive pair (warm, in turns).\n" for pair, ratio in ratios.items())
        finally:
            server.stop()
    if options.write is None:
        print(text, end="")
        return
    page = options.write.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN)
    options.write.write_text(f"{head}{BEGIN}\n{text}{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
