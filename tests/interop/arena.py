"""Foreign programs and bowline compete for one key: a Redis server, the parties, and a witness.

All parties, in all languages, have the same interface, so that the tests can exchange them.

    PROGRAM ALGORITHM HOST PORT KEY LEASE_MS WITNESS WHO

PORT is a number, or several separated by commas for a lock on the majority of several servers.

A party prints "ready" when it is connected, then one line for each line that it reads:

    acquire WAIT_MS    held | busy | error TEXT       0: one attempt
    release            released | lost | left | error TEXT
    contend COUNT      one line of JSON, after COUNT holds

"lost": the algorithm reports that the key had another owner. "left": it did not delete the key, because that
was about to expire.  The JSON has: acquired, overlaps, lost, gave_up, errors, stolen (it replaced or deleted a
value that it considered expired), note (the first error).

A party that contends takes an exclusive flock(2) on the witness while it holds the lock, without waiting: if that
fails, there were two holders.  It also appends "in WHO" and "out WHO" to the witness, each in one write: the order
of the lines is the order of the events, which shows overlaps without a clock.

Two environment variables let both sides compete often.  PAUSE_MS is the pause between two attempts, unless the
library determines it; most programs would pause for 100 ms or more.  REST_MS is the longest pause after a release:
a party that polls must find the lock free now and then.
"""

import contextlib
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

from doctor_bill import free_port
from own_redis import wait_for

HERE = pathlib.Path(__file__).resolve().parent

# The Python of the system, for which Debian has the modules.
PYTHON = os.environ.get("BOWLINE_PYTHON", "/usr/bin/python3")

# Ends a test that hangs.
LIMIT = 120

KEY = "buy_order_lock"

REST_MS = 20

# The libraries of other languages, fetched by tools/interop.
FETCHED = pathlib.Path(os.environ["BOWLINE_INTEROP"]) if "BOWLINE_INTEROP" in os.environ else None


class Server:
    """A redis-server on a free port of the loopback interface."""

    def __init__(self, root):
        self.root = root
        self.process = None
        while self.process is None:
            self.port = free_port()
            self.process = self.start()

    def start(self):
        # The server ends with this process.
        words = ["setpriv", "--pdeathsig", "KILL", "redis-server", "--bind", "127.0.0.1", "--port",
                 str(self.port), "--save", "", "--dir", str(self.root)]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        wait_for("redis-server", lambda: process.poll() is not None or self.answers(process.pid), LIMIT)
        # If another process took the port: try the next one.
        return process if process.poll() is None else None

    def answers(self, pid):
        try:
            return f"process_id:{pid}" in self.cli("info", "server")
        except subprocess.CalledProcessError:
            return False

    def cli(self, *words):
        command = ["redis-cli", "-p", str(self.port), "--raw", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
        return done.stdout.removesuffix("\n")

    def keys(self):
        return sorted(key for key in self.cli("keys", "*").split("\n") if key)

    def calls(self, command):
        """How often it was executed, also in scripts."""
        found = re.search(rf"cmdstat_{command}:calls=(\d+),", self.cli("info", "commandstats"))
        return int(found.group(1)) if found else 0

    def dump(self, key=KEY):
        """The value of any type as bytes; None without a key."""
        command = ["redis-cli", "-p", str(self.port), "dump", key]
        value = subprocess.run(command, capture_output=True, timeout=LIMIT, check=True).stdout
        return value.removesuffix(b"\n") or None

    def stop(self):
        self.process.kill()
        self.process.wait()


def command_of(language):
    """The command that starts a party of this language, and its environment variables."""
    if language == "bowline":
        return [os.environ["BOWLINE_PARTY"]], {}
    if language == "php":
        return ["php", str(HERE / "php/party.php")], {}
    if language.startswith("symfony-"):
        return ["php", str(HERE / "php/party.php")], {"SYMFONY_LOCK": str(FETCHED / language)}
    if language == "python":
        return [PYTHON, str(HERE / "python/party.py")], {}
    if language == "ruby":
        return ["ruby", str(HERE / "ruby/party.rb")], {}
    if language == "go":
        return [str(FETCHED / "go/party")], {}
    if language == "node":
        return ["node", str(FETCHED / "node/party.js")], {}
    if language == "java":
        jars = f"{FETCHED}/java/classes:{FETCHED}/java/jars/*"
        return ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", jars, "Party"], {}
    # Python with the packages of this party.
    return [PYTHON, str(HERE / "python/party.py")], {"PYTHONPATH": str(FETCHED / language)}


@functools.lru_cache(maxsize=None)
def missing(language):
    """What a party of this language lacks; None if it can start."""
    probes = {
        "php": ("php with the redis extension", ["php", "-r", "exit(extension_loaded('redis') ? 0 : 1);"]),
        "python": ("redis-py", [PYTHON, "-c", "import redis"]),
    }
    if language not in probes:
        return None
    what, command = probes[language]
    try:
        subprocess.run(command, capture_output=True, check=True, timeout=LIMIT)
    except (OSError, subprocess.CalledProcessError):
        return f"{what} is not installed"
    return None


class Party:
    """A process that acquires and releases the lock."""

    def __init__(self, arena, language, algorithm, lease_ms, who, pause_ms):
        command, environment = command_of(language)
        self.who = who
        self.errors = open(arena.root / f"{who}.err", "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            [*command, algorithm, "127.0.0.1", arena.ports, KEY, str(lease_ms),
             str(arena.witness), who],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env={**os.environ, **environment, "PYTHONDONTWRITEBYTECODE": "1", "PAUSE_MS": str(pause_ms),
                 "REST_MS": str(max(REST_MS, pause_ms)),
                 "WITNESS_HELPER": str(HERE / "witness.py"), "WITNESS_PYTHON": sys.executable},
        )

    def read_reply(self):
        line = self.process.stdout.readline().strip()
        if not line:
            self.errors.seek(0)
            raise AssertionError(f"{self.who} ended: {self.errors.read()}")
        return line

    def await_ready(self):
        line = self.read_reply()
        assert line == "ready", f"{self.who}: {line}"
        return self

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line):
        self.send(line)
        return self.read_reply()

    def acquire(self, wait_ms=0):
        return self.ask(f"acquire {wait_ms}")

    def release(self):
        return self.ask("release")

    def take_and_return(self, wait_ms=0):
        assert self.acquire(wait_ms) == "held"
        assert self.release() == "released"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        """Closes its input; returns its exit status."""
        with contextlib.suppress(BrokenPipeError):  # it ended before it read all lines
            self.process.stdin.close()
        if self.process.poll() is None:
            try:
                self.process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                self.kill()
        self.process.stdout.close()
        self.errors.close()
        return self.process.returncode


class Outcome:
    """The replies of the parties, and the lines of the witness."""

    def __init__(self, replies, lines):
        self.replies = replies
        self.lines = lines
        self.overlaps = 0
        self.handoffs = 0
        inside = set()
        before = None
        for line in lines:
            what, who = line.split()
            if what == "out":
                inside.discard(who)
                continue
            self.overlaps += bool(inside)
            side = who.split("-")[0]
            self.handoffs += before not in (None, side)
            before = side
            inside.add(who)

    def total(self, field, side=None):
        return sum(each[field] for each in self.replies if side is None or each["who"].startswith(side + "-"))

    def check_exclusion(self, fewer_handoffs):
        assert max(self.overlaps, self.total("overlaps")) == 0, self
        assert self.total("lost") == 0, self
        assert self.handoffs > fewer_handoffs, self  # proves contention: the lock changed sides

    def __repr__(self):
        return f"{self.overlaps} overlaps, {self.handoffs} handoffs: {self.replies}"


class Arena:
    def __init__(self, root, server):
        self.root = root
        self.server = server
        self.ports = str(server.port)
        self.witness = root / "witness"
        self.parties = []

    def party(self, language, algorithm, lease_ms, pause_ms=4, side="foreign"):
        who = f"{side}-{len(self.parties)}"
        party = Party(self, language, algorithm, lease_ms, who, pause_ms)
        self.parties.append(party)
        return party

    def bowline(self, query, lease_ms, pause_ms=4):
        return self.party("bowline", query, lease_ms, pause_ms, "bowline")

    def contend(self, parties, count):
        """All in parallel, each until it had the lock `count` times."""
        for party in parties:
            party.await_ready()
        for party in parties:
            party.send(f"contend {count}")
        replies = [json.loads(party.read_reply()) for party in parties]
        return Outcome(replies, self.witness.read_text().splitlines())

    def contend_in_pairs(self, foreigner, bowline, count):
        """Two of each side: each had the lock `count` times, and none failed."""
        parties = [start() for _ in range(2) for start in (foreigner, bowline)]
        outcome = self.contend(parties, count)
        for side in ("foreign", "bowline"):
            assert outcome.total("acquired", side) == 2 * count, outcome
        for fault in ("gave_up", "errors"):
            assert outcome.total(fault) == 0, outcome
        return outcome

    @staticmethod
    def wait_until(what, condition):
        wait_for(what, condition, LIMIT)

    def end(self):
        with contextlib.ExitStack() as ends:  # all of them, also if one fails
            for party in self.parties:
                ends.callback(party.end)
