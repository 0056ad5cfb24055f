"""The model of a Redis server beside a real one: both get the same commands, every reply is compared.

A program is a list of steps (link, words) made from a seed. After each step, the replies of the two servers are
compared byte for byte, and so are pushes to the other links. What cannot be equal is masked, and MASKS says why.

    tests/sim/differential.py PIPE SERVER VERSION FIRST_SEED PROGRAMS

A difference prints the seed, and the shortest part of the program that still shows it.
"""

import os
import pathlib
import random
import re
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINKS = 3
# Seconds to wait for a reply that the model has given: longer than any stall of a busy machine. Less is enough while a
# known difference is made shorter.
PATIENCE, LESS_PATIENCE = 10, 0.5

# What two servers cannot have in common.
MASKS = [
    (rb"\b1[789]\d{11}\b", b"<ms>", "a moment in milliseconds: the two servers run a moment apart"),
    (rb"\b1[789]\d{14}(\.\d+)?\b", b"<us>", "a moment in microseconds: fences and tickets begin with one"),
    (rb"(?s)^.{5}[\x60-\x63]\x06\x00$", b"<us>", "the same as 8 bytes, of a timestamp lock"),
    (rb"(?s)^.{4}[\x90-\xb0]\x01\x00\x00$", b"<ms>", "and in milliseconds"),
    (rb"\b1[789]\d{17}\b", b"<ns>", "a moment in nanoseconds, of a timestamp lock"),
    (rb"\b1[789]\d{8}\.\d+\b", b"<s>", "a moment in seconds, of a timestamp lock"),
    (rb"\b1\.[789]\d+e\+1[25]\b", b"<us>", "the same as a double"),
    (rb"invalid expire time in '?\w+'? ?(command)?", b"invalid expire time", "Valkey names the command otherwise"),
]
# The order of what Redis has in hash tables is not defined: sorted before the comparison.
UNORDERED = {b"KEYS", b"SMEMBERS", b"PUBSUB", b"CONFIG", b"UNSUBSCRIBE", b"PUNSUBSCRIBE", b"SUNSUBSCRIBE"}
# Replies that are numbers which pass by: (command, tolerance).
PASSING = {b"TTL": 3, b"PTTL": 3000}


class End(Exception):
    """No whole frame yet."""


def line(data, at):
    end = data.find(b"\r\n", at)
    if end < 0:
        raise End
    return data[at:end], end + 2


def frame(data, at):
    """(value, end) of the RESP frame at `at`; a value is (type, content)."""
    if at >= len(data):
        raise End
    kind = data[at : at + 1]
    text, at = line(data, at + 1)
    if kind in b"+-:,_#(":
        return (kind, text), at
    size = int(text)
    if kind in b"$=!":
        if size < 0:
            return (kind, None), at
        if len(data) < at + size + 2:
            raise End
        return (kind, data[at : at + size]), at + size + 2
    if kind not in b"*%~>":
        raise ValueError(f"no RESP: {data[at - 20 : at + 20]!r}")
    if size < 0:
        return (kind, None), at
    items = []
    for _ in range(size * (2 if kind == b"%" else 1)):
        item, at = frame(data, at)
        items.append(item)
    return (kind, items), at


def frames(data):
    found, at = [], 0
    while True:
        try:
            value, at = frame(data, at)
        except End:
            return found, data[at:]
        found.append(value)


class Model:
    """The program redis_pipe."""

    def __init__(self, pipe, version, *more):
        self.process = subprocess.Popen([pipe, version, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.out = {link: b"" for link in range(LINKS)}
        self.closed = set()
        self.text = b""

    def ask(self, letter, link=0, data=b""):
        self.process.stdin.write(letter + struct.pack("<II", link, len(data)) + data)
        self.process.stdin.flush()
        read = self.process.stdout.read
        while True:
            head = read(9)
            if len(head) < 9:
                raise RuntimeError("the model has ended")
            number, size = struct.unpack("<II", head[1:])
            data = read(size) if size else b""
            if head[:1] == b"s":
                self.out[number] = self.out.get(number, b"") + data
            elif head[:1] == b"x":
                self.closed.add(number)
            elif head[:1] == b"d":
                self.text += data
            else:
                return

    def now(self):
        self.ask(b"t", 0, b"%d" % (time.time_ns() // 1000))

    def open(self, link):
        self.now()
        self.out[link] = b""
        self.closed.discard(link)
        self.ask(b"o", link)

    def shut(self, link):
        self.ask(b"c", link)

    def feed(self, link, data):
        self.now()
        self.ask(b"f", link, data)

    def take(self, link):
        found, self.out[link] = frames(self.out[link])
        return found

    def replica_is_equal(self):
        self.text = b""
        self.ask(b"r")
        if self.text == b"1":
            return None
        other = self.text
        self.text = b""
        self.ask(b"d")
        return self.text + b"\nthe replica:\n" + other

    def end(self):
        self.process.stdin.close()
        return self.process.wait()


class Real:
    """A server of its own on a free loopback port."""

    def __init__(self, program, *options):
        self.place = tempfile.TemporaryDirectory(prefix="bowline-sim-")
        while True:  # the bus of a cluster needs the port 10000 above
            self.port = random.SystemRandom().randrange(20000, 30000)
            with socket.socket() as probe, socket.socket() as bus:
                try:
                    probe.bind(("127.0.0.1", self.port))
                    bus.bind(("127.0.0.1", self.port + 10000))
                    break
                except OSError:
                    continue
        command = [program, "--port", str(self.port), "--save", "", "--dir", self.place.name, "--bind", "127.0.0.1",
                   "--enable-debug-command", "yes", *options]
        if "6.2" in subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout:
            command = [word for word in command if word not in ("--enable-debug-command",)]
            command.remove("yes")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.links = {}
        self.rest = {}
        self.patience = PATIENCE
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError("the server does not start")

    def open(self, link):
        self.links[link] = socket.create_connection(("127.0.0.1", self.port))
        self.links[link].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest[link] = b""

    def shut(self, link):
        self.links.pop(link).close()

    def feed(self, link, data):
        try:
            self.links[link].sendall(data)
        except OSError:
            pass  # it was closed, which the comparison of closed links sees

    def take(self, link, count):
        """That many frames, or fewer if they do not come; and whatever is there beyond them."""
        found = []
        end = time.monotonic() + self.patience
        while True:
            more, self.rest[link] = frames(self.rest[link])
            found += more
            left = end - time.monotonic() if len(found) < count else 0
            ready, _, _ = select.select([self.links[link]], [], [], max(left, 0))
            if not ready:
                return found
            try:
                data = self.links[link].recv(1 << 20)
            except OSError:
                data = b""
            if not data:
                return found
            self.rest[link] += data

    def is_closed(self, link):
        ready, _, _ = select.select([self.links[link]], [], [], self.patience)
        try:
            return bool(ready) and self.links[link].recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def end(self):
        for link in list(self.links):
            self.shut(link)
        self.process.terminate()
        self.process.wait()
        self.place.cleanup()


class RealCluster(Real):
    """Two nodes, of which the first is asked: it gives slot 3300 to the other, and gets slot 15495 from it."""

    def __init__(self, program):
        options = ["--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"]
        super().__init__(program, *options)
        self.other = Real(program, *options)
        half = 16384 // 2
        ids = [self.say(node, b"CLUSTER", b"MYID")[1] for node in (self, self.other)]
        slots = [b"%d" % slot for slot in range(16384)]
        self.say(self, b"CLUSTER", b"ADDSLOTS", *slots[:half])
        self.say(self.other, b"CLUSTER", b"ADDSLOTS", *slots[half:])
        self.say(self, b"CLUSTER", b"SET-CONFIG-EPOCH", b"1")
        self.say(self.other, b"CLUSTER", b"SET-CONFIG-EPOCH", b"2")
        self.say(self, b"CLUSTER", b"MEET", b"127.0.0.1", b"%d" % self.other.port)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if b"cluster_slots_assigned:16384" in self.say(self, b"CLUSTER", b"INFO")[1]:
                break
            time.sleep(0.05)
        self.say(self, b"CLUSTER", b"SETSLOT", b"3300", b"MIGRATING", ids[1])
        self.say(self, b"CLUSTER", b"SETSLOT", b"15495", b"IMPORTING", ids[1])
        while b"cluster_state:ok" not in self.say(self, b"CLUSTER", b"INFO")[1] and time.monotonic() < end:
            time.sleep(0.05)

    @staticmethod
    def say(node, *words):
        with socket.create_connection(("127.0.0.1", node.port)) as link:
            link.sendall(packed(words))
            data = b""
            while not frames(data)[0]:
                data += link.recv(1 << 16)
            return frames(data)[0][0]

    def end(self):
        super().end()
        self.other.end()


def masked(text):
    for pattern, by, _ in MASKS:
        text = re.sub(pattern, by, text)
    return text


def plain(value, sort=False):
    """The value with everything masked."""
    kind, content = value
    if content is None:
        return kind, None
    if isinstance(content, bytes):
        return kind, masked(content)
    items = [plain(item) for item in content]
    if kind == b"%":
        pairs = list(zip(items[::2], items[1::2]))
        items = [item for pair in (sorted(pairs) if sort else pairs) for item in pair]
    elif sort:
        items = sorted(items, key=repr)
    return kind, items


def passes(ours, theirs, tolerance):
    return (ours[0] == theirs[0] == b":" and int(ours[1]) > 0 and int(theirs[1]) > 0
            and abs(int(ours[1]) - int(theirs[1])) <= tolerance)


def near(ours, theirs):
    """Equal, but for times that pass: integers inside an array, as the PTTL in the reply of a script."""
    if ours == theirs:
        return True
    if isinstance(ours[1], list) and isinstance(theirs[1], list):
        return (ours[0] == theirs[0] and len(ours[1]) == len(theirs[1])
                and all(map(near, ours[1], theirs[1])))
    return passes(ours, theirs, 3000) and int(ours[1]) > 3000


def without_id(value):
    """HELLO without the id of the client, which counts the links since the start, and the modules: Valkey has one."""
    if not isinstance(value[1], list):
        return value
    items = [without_id(item) for item in value[1]]
    for name in (b"id", b"modules"):
        at = next((i for i, item in enumerate(items) if item == (b"$", name)), None)
        items = items if at is None else items[: at + 1] + items[at + 2 :]
    return value[0], items


def equal(words, ours, theirs):
    command = words[0].upper()
    if len(ours) != len(theirs):
        return False
    sort = command in UNORDERED
    left, right = [plain(value, sort) for value in ours], [plain(value, sort) for value in theirs]
    if command in (b"UNSUBSCRIBE", b"PUNSUBSCRIBE", b"SUNSUBSCRIBE") and len(words) == 1:
        left, right = (sorted(repr(v[1][:1]) for v in side) for side in (left, right))
    if command in (b"PUBLISH", b"EXEC", b"EVAL") and len(left) > 1:
        # Which pattern of a link comes first is not defined.
        left, right = sorted(left, key=repr), sorted(right, key=repr)
    for one, other in zip(left, right):
        if command in (b"HELLO", b"EXEC"):
            one, other = without_id(one), without_id(other)
        if one == other or (command in PASSING and passes(one, other, PASSING[command])):
            continue
        if isinstance(one, tuple) and command in (b"EVAL", b"EVALSHA", b"EXEC", b"SPUBLISH") and near(one, other):
            continue
        return False
    return True


def packed(words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class Difference(Exception):
    pass


class Table:
    """Both servers, with the same links open to each."""

    def __init__(self, model, real, setup):
        self.model, self.real, self.setup = model, real, setup
        self.commands = 0
        for link in range(LINKS):
            self.model.open(link)
            self.real.open(link)

    def reset(self):
        """As at the start: new links, no data, no scripts."""
        for link in range(LINKS):
            self.model.shut(link)
            self.real.shut(link)
            self.model.open(link)
            self.real.open(link)
        for words in self.setup:
            data = packed(words)
            self.model.feed(0, data)
            self.real.feed(0, data)
            self.model.take(0)
            self.real.take(0, 1)

    def step(self, link, words):
        data = words if isinstance(words, bytes) else packed(words)
        said = [data] if isinstance(words, bytes) else words
        self.commands += 1
        self.real.feed(link, data)
        self.model.feed(link, data)
        for other in range(LINKS):
            ours = self.model.take(other)
            theirs = self.real.take(other, len(ours))
            if not equal(said, ours, theirs):
                raise Difference(f"link {other}\n  model {ours}\n  real  {theirs}")
            if other in self.model.closed:
                if not self.real.is_closed(other):
                    raise Difference(f"link {other}: the model closes it")
                self.model.shut(other)
                self.real.shut(other)
                self.model.open(other)
                self.real.open(other)

    def play(self, program):
        """None, or (how many steps, what differs)."""
        self.reset()
        for at, (link, words) in enumerate(program):
            try:
                self.step(link, words)
            except (Difference, ValueError) as found:
                return at + 1, str(found)
        problem = self.model.replica_is_equal()
        return (len(program), "the replica has other data:\n" + problem.decode("latin-1")) if problem else None


def shortest(table, program, found):
    """Steps are left out one after the other, as long as a difference stays."""
    first, found = found, table.play(program)
    if found is None:
        return program[-1:], f"after {first[0]} steps, and it does not happen again: {first[1]}"
    program = program[: found[0]]
    at = len(program) - 2
    while at >= 0:
        shorter = program[:at] + program[at + 1 :]
        again = table.play(shorter)
        if again is not None:
            program, found = shorter[: again[0]], again
        at -= 1
        at = min(at, len(program) - 2)
    return program, found[1]


def run(pipe, server, version, first, count, make, setup):
    """Plays the programs of the seeds; returns (programs, commands, differences)."""
    is_cluster = make.__name__ == "cluster"
    model = Model(pipe, version, *(["cluster"] if is_cluster else []))
    real = RealCluster(server) if is_cluster else Real(server)
    if is_cluster:
        model.ask(b"v", 0, b"%d %d" % (real.port, real.other.port))
    differences = []
    played = 0
    try:
        table = Table(model, real, setup)
        for seed in range(first, first + count):
            program = make(random.Random(seed), version)
            found = table.play(program)
            played += 1
            if found is None:
                continue
            real.patience = LESS_PATIENCE
            steps, what = shortest(table, program, found)
            real.patience = PATIENCE
            shown = "\n".join(f"  {link}: {words!r}" for link, words in steps)
            differences.append(f"seed {seed}:\n{shown}\n{what}")
            if len(differences) >= int(os.environ.get("DIFFERENCES", "1")):
                break
        return played, table.commands, differences
    finally:
        model.end()
        real.end()


def main(arguments):
    import programs

    pipe, server, version, first, count = arguments[:5]
    kinds = arguments[5:] or sorted(programs.KINDS)
    failed = False
    for kind in kinds:
        began = time.monotonic()
        played, commands, differences = run(pipe, server, version, int(first), int(count), programs.KINDS[kind],
                                            programs.SETUP)
        print(f"{kind}: {played} programs, {commands} commands, {time.monotonic() - began:.1f} s, "
              f"{len(differences)} differences")
        for text in differences:
            print(text)
        failed = failed or bool(differences)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
