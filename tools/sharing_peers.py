#!/usr/bin/env python3
"""Drive the known faults of shared locks: in bowline, in Redisson and in Curator, on the same schedules.

    tools/sharing_peers.py BUILD [--only FAULT] [--library NAME] [--write PAGE]
    tools/sharing_peers.py BUILD --pairs N       acquire and release N times: ratios to a plain write

Fetches the libraries with Maven into build-sharing/; what is not available is named. Redisson and bowline have a redis-server of
their own, Curator a ZooKeeper in a process of its own. bench/peers/README.md has the contract of the parties. Every schedule goes on
at an event: an answer, a party that waits, a share that was renewed or has ended. Only the statement that something does *not* happen
needs a limit, PATIENCE_S.

A fault that the newest release does not show is driven in an older one, too: it shows that the schedule finds the fault.
"""

import argparse
import pathlib
import queue
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import namedtuple

sys.dont_write_bytecode = True
from script_cost import Server  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
FETCHED = ROOT / "build-sharing"
JAVA = ROOT / "bench/peers/java"
BEGIN, END = "<!-- faults of shared locks -->", "<!-- end -->"
NEWEST = {"Redisson": "4.7.0", "Curator": "5.9.0"}
LEASE_MS = 3000
LONG_MS = 600_000
PATIENCE_S = 5
LIMIT_S = 60
ROUNDS = 5

Seen = namedtuple("Seen", "holds text")


class NotDriven(Exception):
    """The library does not have it, or a schedule does not apply: the reason."""


# ---- parties ---------------------------------------------------------------------------------------


class Program:
    """A process with parties: bowline-sharer, or java Sharer."""

    def __init__(self, words, log):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1)
        self.answers, self.lock = {}, threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()

    def of(self, party):
        with self.lock:
            return self.answers.setdefault(party, (queue.Queue(), queue.Queue()))

    def read(self):
        for line in self.process.stdout:
            party, _, answer = line.strip().partition(" ")
            self.of(party)[answer.startswith("waiting ")].put(answer)

    def send(self, party, line):
        self.process.stdin.write(f"{party} {line}\n")

    def kill(self):
        self.process.kill()
        self.process.wait()


class Party:
    def __init__(self, program, name):
        self.program, self.name = program, name

    def start(self, line):
        self.program.send(self.name, line)

    def answer(self, seconds=LIMIT_S):
        """None: there is no answer yet."""
        try:
            answer = self.program.of(self.name)[0].get(timeout=seconds)
        except queue.Empty:
            return None
        if answer.startswith("error bowline has no "):
            raise NotDriven(answer.removeprefix("error "))
        if answer.startswith("error "):
            raise RuntimeError(f"{self.name}: {answer}")
        return answer

    def ask(self, line):
        self.start(line)
        answer = self.answer()
        if answer is None:
            raise RuntimeError(f"{self.name}: no answer to {line}")
        return answer

    def take(self, mode, name="x", wait_ms=-1, lease_ms=0):
        return self.ask(f"take {mode} {name} {wait_ms} {lease_ms}")

    def start_to_take(self, mode, name="x", lease_ms=0):
        self.start(f"take {mode} {name} -1 {lease_ms}")

    def tries(self, mode, name="x"):
        return self.take(mode, name, 0) == "held"

    def release(self):
        return self.ask("release")

    def is_waiting(self):
        self.program.send(self.name, "waiting")
        return self.program.of(self.name)[1].get(timeout=LIMIT_S) == "waiting true"


def until(condition, seconds=LIMIT_S):
    """Whether it came true: it is asked again and again."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def must(condition, what):
    if not until(condition):
        raise RuntimeError(f"it never came to this: {what}")


# ---- libraries -------------------------------------------------------------------------------------


class TcpServer(Server):
    """A redis-server that also has a port."""

    def __init__(self, root):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        super().__init__(root, self.port)


class Library:
    """A world of one schedule: a store, and programs with parties."""

    def __init__(self, build, log):
        self.build, self.log, self.root, self.programs = build, log, tempfile.TemporaryDirectory(), []

    def run(self, *words):
        program = Program([str(word) for word in words], self.log)
        self.programs.append(program)
        return program

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.kill()
        self.close()
        self.root.cleanup()

    def must_have_leases(self):
        pass

    def start_all(self, parties):
        """{names: party}: each wants all of its names, in its order, and has one of them before any has two."""
        for names, party in parties.items():
            party.start(f"all {names}")

    def given_back(self, answers):
        """How many holds were given back before their party had all of them."""
        return sum(int(answer.split()[1]) for answer in answers)

    def await_waiting(self, *parties):
        must(lambda: all(party.is_waiting() for party in parties), "the parties wait")


class Redis(Library):
    def open(self):
        self.server = TcpServer(self.root.name)

    def close(self):
        self.server.stop()

    def keys(self):
        """The keys that have no end."""
        return [key for key in self.server.call("KEYS", "*") if self.server.call("PTTL", key) == -1 and key != "bowline:f"]


class Bowline(Redis):
    name = "bowline"

    def party(self, name):
        program = self.run(self.build / "bowline-sharer", f"redis://127.0.0.1:{self.server.port}?lease={LEASE_MS}ms")
        return Party(program, name)

    def await_waiting(self, *parties):
        queues = [f"bowline:{{{name}}}:bwl.q" for name in "xy"]
        must(lambda: sum(self.server.call("ZCARD", queue) for queue in queues) == len(parties), "the parties are in the queue")

    def shares(self):
        """{share: how many ms are left}"""
        seconds, micros = self.server.call("TIME")
        now = int(seconds) * 1000 + int(micros) // 1000
        _, _, alone = (self.server.call("GET", "bowline:{x}") or "").partition(" ")
        if alone:  # one client shares the lock: it stands in the gate
            return {alone: self.server.call("PTTL", "bowline:{x}")}
        words = self.server.call("ZRANGE", "bowline:{x}:bwl.h", "0", "-1", "WITHSCORES")
        return {share: int(end) - now for share, end in zip(words[::2], words[1::2]) if int(end) > now}

    def start_all(self, parties):
        """All are held by another party: they wait, and find no name free."""
        holder = self.party("holder")
        for name in "xy":
            holder.take("free", name)
        super().start_all(parties)
        self.await_waiting(*parties)
        self.server.call("CONFIG", "RESETSTAT")
        for _ in "xy":
            holder.release()

    def given_back(self, answers):
        """A grant is a SET of the lock."""
        grants = int(re.search(r"cmdstat_set:calls=(\d+)", self.server.call("INFO", "commandstats"))[1])
        return grants - 2 * len(answers)


class Java(Library):
    def java(self, *words):
        return self.run("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{FETCHED}/classes:{self.jars}/*", "Sharer", *words)

    def party(self, name):
        """alone/..: in a process of its own."""
        if not hasattr(self, "program"):
            self.program = self.java(*self.place())
        return Party(self.java(*self.place()) if name.startswith("alone") else self.program, name)


class Redisson(Redis, Java):
    name = "Redisson"

    def place(self):
        return "redisson", f"127.0.0.1:{self.server.port}", LEASE_MS

    def shares(self):
        """A read lock has a key for each of its holders."""
        left = {key: self.server.call("PTTL", key) for key in self.server.call("KEYS", "{x}:*:rwlock_timeout:*")}
        return {key: ms for key, ms in left.items() if ms > 0}


class Curator(Java):
    name = "Curator"

    def open(self):
        zookeeper = self.java("zookeeper")
        self.address = next(iter(self.wait_for_address(zookeeper)))

    @staticmethod
    def wait_for_address(program):
        must(lambda: program.answers, "ZooKeeper has started")
        return program.answers

    def close(self):
        pass

    def place(self):
        return "curator", self.address, LEASE_MS

    def shares(self):
        count = int(self.party("observer").ask("count x").split()[1])
        return {number: LEASE_MS for number in range(count)}

    def must_have_leases(self):
        raise NotDriven("no leases: a hold lasts as long as its session")

    def keys(self):
        raise NotDriven("the server removes nodes without children, later")


KINDS = {"bowline": Bowline, "Redisson": Redisson, "Curator": Curator}


# ---- schedules -------------------------------------------------------------------------------------


def new_share(world, party, lease_ms=0):
    """Takes a share, and says how the store calls it."""
    before = set(world.shares())
    if party.take("read", lease_ms=lease_ms) != "held":
        raise RuntimeError("a share was refused")
    return next(iter(set(world.shares()) - before))


class Renewals:
    """Counts how often a share got more time."""

    def __init__(self, world, share):
        self.world, self.share, self.count, self.last = world, share, 0, None
        self.look()

    def look(self):
        left = self.world.shares().get(self.share)
        if left is not None and self.last is not None and left > self.last + 100:
            self.count += 1
        self.last = left
        return self.count

    def come_to(self, count):
        return self.look() >= count or self.last is None


def writers_starve(world):
    readers, writer = [world.party("a"), world.party("b")], world.party("c")
    readers[0].take("read")
    writer.start_to_take("write")
    world.await_waiting(writer)
    holding, passed = 0, 0
    for _ in range(100):
        if readers[1 - holding].tries("read"):
            readers[holding].release()
            holding, passed = 1 - holding, passed + 1
    early = writer.answer(0) is not None
    readers[holding].release()
    if writer.answer() != "held" or early:
        raise RuntimeError("the writer came out of turn")
    return Seen(passed == 0, f"{passed} of 100 later readers pass a writer that waits")


def dead_reader(world):
    live, dead, writer = world.party("a"), world.party("alone/b"), world.party("c")
    if isinstance(world, Curator):
        live.take("read")
        dead.take("read")
        dead.program.kill()
        ended = until(lambda: len(world.shares()) == 1, 4 * LEASE_MS / 1000)
        return Seen(ended, "its share ends with its session" if ended else "its share has no end")
    mine, its = new_share(world, live), new_share(world, dead)
    dead.program.kill()
    renewals = Renewals(world, mine)
    must(lambda: renewals.come_to(8) or its not in world.shares(), "the share of the dead ends, or is renewed")
    ended = its not in world.shares()
    live.release()
    entered = writer.tries("write")
    if ended:
        return Seen(entered, "its share ends, while that of the other is renewed")
    return Seen(False, f"its share has not ended after {renewals.count} renewals by the other, and keeps a writer out")


CUT = "a writer enters, and the other has ten minutes left"


def shorter_lease(world):
    world.must_have_leases()
    long, short, writer = world.party("a"), world.party("b"), world.party("c")
    mine, its = new_share(world, long, lease_ms=LONG_MS), new_share(world, short, lease_ms=1000)
    must(lambda: its not in world.shares(), "the short lease is over")
    entered = writer.tries("write")
    return Seen(not entered and mine in world.shares(), CUT if entered else "the other keeps its ten minutes")


def renewed_beside(world):
    world.must_have_leases()
    long, renewed, writer = world.party("a"), world.party("alone/b"), world.party("c")
    new_share(world, long, lease_ms=LONG_MS)
    its = new_share(world, renewed)
    renewals = Renewals(world, its)
    must(lambda: renewals.come_to(2), "the share is renewed")
    renewed.program.kill()
    must(lambda: its not in world.shares(), "the share of the dead ends")
    entered = until(lambda: writer.tries("write"), PATIENCE_S)
    return Seen(not entered, CUT if entered else "the other keeps its ten minutes")


def downgraded_is_renewed(world):
    world.must_have_leases()
    holder, writer = world.party("a"), world.party("c")
    holder.take("write")
    holder.ask("downgrade x")
    renewals = Renewals(world, next(iter(world.shares())))
    must(lambda: renewals.come_to(4), "the share is renewed, or ends")
    entered = writer.tries("write")
    what = "and ends: a writer enters" if entered else "and a writer is refused"
    return Seen(renewals.count >= 4 and not entered, f"renewed {renewals.count} times, {what}")


def queued_writer(world):
    holder, writer = world.party("a"), world.party("c")
    holder.take("write")
    writer.start_to_take("write")
    world.await_waiting(writer)
    holder.ask("downgrade x")
    early = writer.answer(PATIENCE_S) is not None
    holder.release()
    if not early and writer.answer() != "held":
        raise RuntimeError("the writer never enters")
    return Seen(not early, "the writer enters beside the reader" if early else "the writer enters after the reader's release")


def reader_upgrades(world):
    """Ends with the answer, or when the call waits while the share is renewed. A share that has gone is no answer: that is on its way."""
    reader, has_leases = world.party("a"), not isinstance(world, Curator)
    renewals = Renewals(world, new_share(world, reader)) if has_leases else reader.take("read")
    reader.start("upgrade x")
    answers = []
    until(lambda: answers.append(reader.answer(0)) or answers[-1] or (has_leases and renewals.look() >= 4), LIMIT_S if has_leases else PATIENCE_S)
    answer = answers[-1] or reader.answer(0)
    if answer is None and has_leases and renewals.last is None:
        return Seen(False, "it waits, and its share has gone")
    if answer is None:
        return Seen(False, "it waits for its own share" + (f", which is renewed {renewals.count} times meanwhile" if has_leases else ""))
    return Seen(True, f"it is answered: {answer}")


def one_each(world):
    holder, waiters = world.party("b"), [world.party(f"a/{number}") for number in range(3)]
    holder.take("3/3", lease_ms=LONG_MS)
    for waiter in waiters:
        waiter.start_to_take("1/3", lease_ms=LONG_MS)
    world.await_waiting(*waiters)
    holder.release()
    end = time.monotonic() + PATIENCE_S
    held = sum(waiter.answer(max(end - time.monotonic(), 0)) == "held" for waiter in waiters)
    return Seen(held == 3, f"{held} of 3 waiters get their permit")


def two_at_once(world):
    holder, waiter = world.party("b"), world.party("a")
    holder.take("2/2", lease_ms=LONG_MS)
    waiter.start_to_take("2/2", lease_ms=LONG_MS)
    world.await_waiting(waiter)
    holder.release()
    held = waiter.answer(PATIENCE_S) == "held"
    return Seen(held, "the waiter gets both" if held else "both are free, and the waiter sleeps on")


def keys_left(world):
    party, counts = world.party("a"), []
    for modes in (["1/4"], ["read", "write"]):
        for number in range(10):
            for mode in modes:
                party.take(mode, f"{modes[0][0]}{number}", lease_ms=LONG_MS)
                party.release()
        counts.append(len(world.keys()))
    return Seen(sum(counts) == 0, f"{counts[0]} keys for 10 names of permits, {counts[1] - counts[0]} for 10 of locks")


def two_of_two_each(world):
    holder, callers = world.party("a"), [world.party("b"), world.party("c")]
    holder.take("2/2", lease_ms=LONG_MS)
    for count, caller in enumerate(callers, 1):
        caller.start_to_take("2/2", lease_ms=LONG_MS)
        world.await_waiting(*callers[:count])
    holder.release()
    granted = 0
    for _ in callers:
        done = []
        if not until(lambda: any(caller.answer(0) and (done.append(caller) or True) for caller in callers), PATIENCE_S):
            break
        granted += 1
        done[0].release()
    return Seen(granted == 2, f"{granted} of 2 callers that want both permits get them")


def opposite_orders(world):
    parties = {"x y": world.party("a"), "y x": world.party("b")}
    world.start_all(parties)
    answers, left = [], list(parties.values())
    while left:
        done = []
        if not until(lambda: any((answer := party.answer(0)) and (done.append((party, answer)) or True) for party in left)):
            return Seen(False, "neither has both after a minute")
        answers.append(done[0][1])
        left.remove(done[0][0])
        done[0][0].release()
    given_back = world.given_back(answers)
    return Seen(given_back == 0, f"holds that are given back before both have had both: {given_back}")


# control: an older release that shows the fault. read: what the source of DistributedLock does. tests: of bowline.
Fault = namedtuple("Fault", "title schedule of control meaning read tests")
FAULTS = {
    "writers-starve": Fault(
        "writers starve", writers_starve, "Redisson #5379", {},
        "A nightly rebuild that needs the lock alone never starts, as long as readers come often enough to overlap.",
        "a waiting writer marks its key, and readers stop", ["waiting_writer_lets_no_later_reader_pass"],
    ),
    "dead-reader": Fault(
        "a dead reader is kept alive", dead_reader, "Redisson #7098", {"Redisson": "3.50.0"},
        "A reader that was killed keeps writers out, as long as any other reader renews.",
        "**yes**: all readers have one expiry", ["share_that_nobody_renews_ends_while_others_are_renewed"],
    ),
    "shorter-lease": Fault(
        "a shorter lease cuts a longer one", shorter_lease, "Redisson #2144", {"Redisson": "3.10.7"},
        "A reader that asked for ten minutes loses the lock after a second, because another reader asked for a second.",
        "no: the expiry only grows", ["shorter_lease_of_one_leaves_the_others_theirs"],
    ),
    "renewed-beside": Fault(
        "a renewal cuts a longer lease", renewed_beside, "Redisson #2144", {},
        "The same, by the renewal of another reader instead of its acquire: when that reader is killed, a writer enters beside the first.",
        "no: the expiry only grows", ["shorter_lease_of_one_leaves_the_others_theirs"],
    ),
    "downgrade-renewal": Fault(
        "a downgrade ends the renewal", downgraded_is_renewed, "Redisson #4217", {"Redisson": "3.17.0"},
        "A writer that goes on as a reader loses the lock one lease later.",
        "no downgrade", ["downgraded_hold_is_renewed_past_its_lease"],
    ),
    "queued-writer": Fault(
        "a queued writer enters after a downgrade", queued_writer, "CURATOR-276, CURATOR-621", {"Curator": "5.4.0"},
        "A writer changes what the former writer, now a reader, still reads.",
        "no downgrade", ["downgrade_lets_in_the_readers_at_the_head_and_no_writer"],
    ),
    "upgrade": Fault(
        "a reader that asks for the write lock hangs", reader_upgrades, "Redisson #4796", {},
        "A program that reads, and then wants to write, waits for itself for ever.",
        "no upgrade with Redis", ["upgrade_is_for_the_only_one_who_shares"],
    ),
    "one-each": Fault(
        "several permits, one wake-up", one_each, "Redisson #6664", {},
        "Three permits are free, and two of three waiters sleep on.",
        "nobody is woken: it polls", ["release_lets_in_all_who_fit_at_once"],
    ),
    "two-at-once": Fault(
        "a waiter for two permits is not woken", two_at_once, "Redisson #6664", {"Redisson": "3.50.0"},
        "The permits are free, and the waiter sleeps until its time limit.",
        "one permit per request", ["permits_are_granted_all_or_none", "request_for_many_permits_does_not_starve"],
    ),
    "one-by-one": Fault(
        "permits are taken one by one", two_of_two_each, "Curator, `InterProcessSemaphoreV2`", {},
        "Two callers that want two permits each have one each, and both wait for ever.",
        "one permit per request", ["permits_are_granted_all_or_none"],
    ),
    "keys-left": Fault(
        "keys stay after the last release", keys_left, "Redisson #4100", {},
        "A lock for each order or customer fills the memory of the server, one key at a time.",
        "no: its keys have an expiry", ["readers_share_the_lock_and_its_fence_and_a_writer_is_above_them"],
    ),
    "opposite-orders": Fault(
        "several locks, in opposite orders", opposite_orders, "Redisson #4050", {},
        "Two programs want the same two locks, each has one, and both wait: for ever, or until both give up and begin again.",
        "**yes**: one after the other, as given", ["clients_with_different_orders_never_wait_for_each_other"],
    ),
}


# Below the tables.
NOTES = """\
- Fault 4 is what is left of fault 3. The acquire of a reader no longer shortens the lease of another. But a renewal sets the expiry of the whole lock, to the
  timeout of the watchdog, whatever time a reader without renewal has left.
- Fault 7: Curator documents that a reader cannot become a writer, and the maintainers of Redisson say so in the issue. The call waits all the same. bowline:
  `bowline_upgrade` never waits. The only reader gets the lock at once, others get BUSY.
- Fault 8 is the weaker form of fault 9, and no release that was tried shows it.
- Fault 11: `RPermitExpirableSemaphore` keeps the number of permits under the name of the semaphore, and it stays. With bowline each request brings its own.
"""

# ---- what was fetched ------------------------------------------------------------------------------


def fetch(library, version):
    """The directory of its jars; None, and says why."""
    jars = FETCHED / f"{library}-{version}".lower()
    if (jars / "made").exists():
        return jars
    if not shutil.which("mvn") or not shutil.which("javac"):
        print(f"absent: {library} {version}: java or mvn is not installed")
        return None
    words = ["mvn", "--quiet", "--batch-mode", "--file", JAVA / "pom.xml", "--activate-profiles", library.lower(), f"-Dversion={version}"]
    with open(FETCHED / "log", "a", encoding="utf-8") as log:
        done = subprocess.run([*words, "dependency:copy-dependencies", f"-DoutputDirectory={jars}"], stdout=log, stderr=log, check=False, timeout=240)
    if done.returncode != 0:
        print(f"absent: {library} {version}: Maven did not fetch it; see {FETCHED}/log")
        return None
    (jars / "made").touch()
    return jars


def compile_parties(log):
    for library, version in NEWEST.items():
        if not fetch(library, version):
            sys.exit("sharing_peers.py: the parties in Java need both libraries")
    words = ["javac", "-d", FETCHED / "classes", "-cp", ":".join(f"{FETCHED}/{name.lower()}-{version}/*" for name, version in NEWEST.items())]
    subprocess.run([*words, JAVA / "Sharer.java"], check=True, stdout=log, stderr=log)


# ---- pairs -----------------------------------------------------------------------------------------

PAIRS = {"plain": "a plain write and its removal", "free": "exclusive", "read": "shared", "1/4": "one permit of four", "all": "eight locks at once"}


def measure(kind, build, log, jars, count):
    """{mode: (pairs per second, its time by that of a plain pair)}: medians of rounds in which every mode has its turn."""
    world, times = kind(build, log), {}
    world.jars = jars
    with world:
        party = world.party("a")
        for number in range(ROUNDS + 1):
            for mode in PAIRS:
                name = f"pairs-{mode.replace('/', '-')}"
                try:
                    used = int(party.ask(f"pairs {mode} {name} {count}").split()[1]) / count / 1e9
                except NotDriven:
                    continue
                if number > 0:  # the first round warms the program
                    times.setdefault(mode, []).append(used)
    return {mode: (1 / statistics.median(its), statistics.median(a / b for a, b in zip(its, times["plain"]))) for mode, its in times.items()}


def print_pairs(here, build, log, count):
    print("| | " + " | ".join(PAIRS.values()) + " |\n|---|" + "---:|" * len(PAIRS))
    for library, jars in here.items():
        found = measure(KINDS[library], build, log, jars, count)
        cells = [f"{found[mode][0]:.0f}/s, {found[mode][1]:.2f}" if mode in found else "" for mode in PAIRS]
        print(f"| {library} | " + " | ".join(cells) + " |", flush=True)


# ---- the page --------------------------------------------------------------------------------------


def drive(fault, library, build, log, jars):
    """What was seen, as a cell of the table."""
    world = KINDS[library](build, log)
    world.jars = jars
    try:
        with world:
            seen = FAULTS[fault].schedule(world)
    except NotDriven as reason:
        return str(reason)
    return f"{'not seen' if seen.holds else '**seen**'}: {seen.text}"


def table(head, rows):
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *rows])


def faults_table(faults, here, build, log):
    """What was seen; each row is shown on standard error when it is known."""
    rows = []
    for number, fault in enumerate(FAULTS, 1):
        if fault not in faults:
            continue
        cells = {name: drive(fault, name, build, log, jars) for name, jars in here.items()}
        older = [
            f"{library} {version}: {drive(fault, library, build, log, jars)}"
            for library, version in FAULTS[fault].control.items()
            if library in here and (jars := fetch(library, version))
        ]
        rows.append([str(number), FAULTS[fault].title, *cells.values(), FAULTS[fault].read, "; ".join(older)])
        print(f"{fault}: " + "; ".join([f"{name}: {cell}" for name, cell in cells.items()] + older), file=sys.stderr, flush=True)
    names = [f"{name} {NEWEST.get(name, '')}".strip() for name in here]
    return table(["", "fault", *names, "DistributedLock, by its source", "an older release"], rows)


def meanings_table():
    """What each fault means, and the tests of bowline."""
    rows = []
    for number, fault in enumerate(FAULTS.values(), 1):
        tests = " ".join(f"`test_{name}`" for name in fault.tests) or "bowline does not have it"
        rows.append([str(number), fault.meaning, fault.of, tests])
    return table(["", "what it means", "reported as", "test of bowline"], rows)


def main(words):
    parser = argparse.ArgumentParser(description="The known faults of shared locks, driven.")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", metavar="FAULT", action="append", choices=list(FAULTS), help=", ".join(FAULTS))
    parser.add_argument("--library", dest="kinds", action="append", choices=list(KINDS))
    parser.add_argument("--write", metavar="PAGE", type=pathlib.Path, help="write the table into this page")
    parser.add_argument("--pairs", metavar="N", type=int, help="measure pairs instead: N in a round")
    options = parser.parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no program of ours stays
    FETCHED.mkdir(exist_ok=True)
    here = {name: fetch(name, NEWEST[name]) if name in NEWEST else ROOT for name in options.kinds or KINDS}
    here = {name: jars for name, jars in here.items() if jars}
    with open(FETCHED / "log", "a", encoding="utf-8") as log:
        if set(here) & set(NEWEST):
            compile_parties(log)
        if options.pairs:
            print_pairs(here, options.build, log, options.pairs)
            return
        text = faults_table(options.only or list(FAULTS), here, options.build, log)
    if options.write is None:
        print(text, end="")
        return
    if len(here) < len(KINDS) or options.only:
        sys.exit("sharing_peers.py: the page needs every library and every fault")
    head, rest = options.write.read_text(encoding="utf-8").split(BEGIN)
    options.write.write_text(f"{head}{BEGIN}\n{text}\n{meanings_table()}\n{NOTES}{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
