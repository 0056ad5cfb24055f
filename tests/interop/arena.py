"""Where foreign programs and bowline meet on one key: a server of its own, the parties, and a witness.

Every party, of whatever language, keeps the same contract, so that the tests need not know who is who.

    PROGRAM ALGORITHM HOST PORT KEY LEASE_MS WITNESS WHO

PORT is a number, or several with commas between them for a lock on most of several servers.

It says "ready" when it is connected, then answers one line for each line it is given:

    acquire WAIT_MS    held | busy | error TEXT       0: it tries once
    release            released | lost | left | error TEXT
    contend COUNT      one line of JSON, when it has held the lock COUNT times

"lost" is an algorithm's own word that the key was not its own any more; "left" that it left the key alone,
because it was about to expire.  In the JSON: acquired, overlaps, lost, gave_up, errors, stolen (it took or
removed a value that it believed to be expired), note (the first error).

Who contends takes an exclusive flock(2) on the witness while it is inside, without waiting: if that fails,
two were inside.  And it appends "in WHO" and "out WHO" to the witness, each in one write: the order of the
lines is the order of what happened, so overlaps are seen a second time, and by no clock.

Two words of the environment are there so that both sides meet often.  PAUSE_MS is how long a program pauses
between two tries, where it is not the library that decides; most would pause for a tenth of a second or more.
REST_MS is the most that it rests after a release: whoever polls must find the lock free now and then.
"""

import contextlib
import functools
import json
import os
import pathlib
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent

# The system's, which is the one that Debian's modules are for.
PYTHON = os.environ.get("BOWLINE_PYTHON", "/usr/bin/python3")

# Only so that what hangs does not hang for ever.
LIMIT = 120

KEY = "buy_order_lock"

REST_MS = 20

# Where the libraries of other languages are: tools/interop has fetched them.
FETCHED = pathlib.Path(os.environ["BOWLINE_INTEROP"]) if "BOWLINE_INTEROP" in os.environ else None


class Server:
    """A redis-server on a port of the loopback interface that nobody else has."""

    def __init__(self, root):
        self.root = root
        self.process = None
        while self.process is None:
            self.port = free_port()
            self.process = self.start()

    def start(self):
        # Whatever ends these tests ends it as well.
        words = ["setpriv", "--pdeathsig", "KILL", "redis-server", "--bind", "127.0.0.1", "--port",
                 str(self.port), "--save", "", "--dir", str(self.root)]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            # Somebody was faster: another port.
            if process.poll() is not None:
                return None
            if self.answers(process.pid):
                return process
            time.sleep(0.01)
        process.kill()
        process.wait()
        raise TimeoutError("redis-server does not answer")

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

    def dump(self, key=KEY):
        """The bytes of the value, of whatever type; None without one."""
        command = ["redis-cli", "-p", str(self.port), "dump", key]
        value = subprocess.run(command, capture_output=True, timeout=LIMIT, check=True).stdout
        return value.removesuffix(b"\n") or None

    def stop(self):
        self.process.kill()
        self.process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def command_of(language):
    """The words that start a party of this language, and what has to be in its environment."""
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
    # Python with the packages that are installed for this one alone.
    return [PYTHON, str(HERE / "python/party.py")], {"PYTHONPATH": str(FETCHED / language)}


@functools.lru_cache(maxsize=None)
def missing(language):
    """What a program of this language would need and does not find; None when it can be started."""
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
    """A process that has the lock, wants it, or has had it."""

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

    def hear(self):
        line = self.process.stdout.readline().strip()
        if not line:
            self.errors.seek(0)
            raise AssertionError(f"{self.who} ended: {self.errors.read()}")
        return line

    def await_ready(self):
        line = self.hear()
        assert line == "ready", f"{self.who}: {line}"
        return self

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line):
        self.tell(line)
        return self.hear()

    def acquire(self, wait_ms=0):
        return self.ask(f"acquire {wait_ms}")

    def release(self):
        return self.ask("release")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        """Lets it go; its status."""
        with contextlib.suppress(BrokenPipeError):  # it ended before it had read everything
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
    """What the parties said, and what the witness saw."""

    def __init__(self, said, lines):
        self.said = said
        self.lines = lines
        self.overlaps = 0
        self.hand_overs = 0
        inside = set()
        before = None
        for line in lines:
            what, who = line.split()
            if what == "out":
                inside.discard(who)
                continue
            self.overlaps += bool(inside)
            side = who.split("-")[0]
            self.hand_overs += before not in (None, side)
            before = side
            inside.add(who)

    def total(self, field, side=None):
        return sum(each[field] for each in self.said if side is None or each["who"].startswith(side + "-"))

    def __repr__(self):
        return f"{self.overlaps} overlaps, {self.hand_overs} hand-overs: {self.said}"


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
        """All at once, each until it has held the lock `count` times."""
        for party in parties:
            party.await_ready()
        for party in parties:
            party.tell(f"contend {count}")
        said = [json.loads(party.hear()) for party in parties]
        return Outcome(said, self.witness.read_text().splitlines())

    def wait_until(self, what, condition):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.01)
        raise AssertionError(f"waited {LIMIT} s for: {what}")

    def end(self):
        with contextlib.ExitStack() as ends:  # all of them, also when one does not end well
            for party in self.parties:
                ends.callback(party.end)
