#!/usr/bin/env python3
"""The order in which clients of an older bowline and of this one are granted the same lock. See tools/mixed-fleet.

    tests/mixed/order.py OLDER NEWER        two builds of party.c

One after the other, the parties of a sequence ask for the lock: the next one when the one before it is granted or is in the queue of
the server. Then the holders release, one at a time. After each step exactly those must hold the lock that one first-come-first-served
queue grants it to: nobody overtakes a head that does not fit, whichever bowline asks, releases or waits. All that hold the lock
together have one fence, above every earlier one. Sequences are all of four kinds of requests behind each kind of holder.

In some sequences the head of the queue gives up, or dies: the older scripts wake nobody then, and the others must come in
nevertheless, in their order.
"""

import itertools
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import namedtuple

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from script_cost import Server  # noqa: E402

LIMIT_S = 60  # for an event: it ends a schedule that hangs
FOREVER = -1
SHORT_MS = 300
QUEUE = "bowline:{x}:bwl.q"

Kind = namedtuple("Kind", "name build weight limit")
OLD = Kind("old", "older", 0, 0)
NEW = Kind("new", "newer", 0, 0)
SHARED = Kind("shared", "newer", 1, 0)
PERMITS = Kind("2/3", "newer", 2, 3)
KINDS = OLD, NEW, SHARED, PERMITS


class Wrong(Exception):
    pass


class Party:
    """A process. What it says goes to the events of all."""

    def __init__(self, program, url, events):
        self.process = subprocess.Popen([program, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.kind = None
        threading.Thread(target=self.read, args=(events,), daemon=True).start()

    def read(self, events):
        for line in self.process.stdout:
            events.put((self, line.strip()))

    def ask(self, line):
        self.process.stdin.write(line + "\n")

    def end(self):
        self.process.kill()
        self.process.wait()


class Lock:
    """What the lock must be like: its holders, and its queue. The latest fence, and whether an exclusive hold had it."""

    def __init__(self):
        self.holders, self.queue, self.fence, self.was_alone = [], [], 0, True

    def fits(self, kind):
        used = sum(party.kind.weight for party in self.holders)
        is_alone = any(party.kind.weight == 0 for party in self.holders)
        if kind.weight == 0:
            return not self.holders
        return not is_alone and (kind.limit == 0 or used + kind.weight <= kind.limit)

    def accepts(self, entered, fences):
        """Whether the fences of those that have come in are right. A gate that permits keep open keeps its fence."""
        joins, former = len(self.holders) > len(entered), self.fence
        is_alone = entered[0].kind.weight == 0
        is_another_period = is_alone or self.was_alone
        self.fence, self.was_alone = max(fences), is_alone
        if joins:
            return set(fences) == {former}
        return len(set(fences)) == 1 and (self.fence > former if is_another_period else self.fence >= former)

    def serve(self):
        """Those that come in now, in their order."""
        entered = []
        while self.queue and self.fits(self.queue[0].kind):
            entered.append(self.queue.pop(0))
            self.holders.append(entered[-1])
        return entered


class World:
    def __init__(self, programs):
        self.programs, self.events, self.idle = programs, queue.Queue(), {name: [] for name in programs}
        self.parties, self.root = [], tempfile.TemporaryDirectory()
        self.server = Server(self.root.name)
        self.lock = Lock()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for party in self.parties:
            party.end()
        self.server.stop()
        self.root.cleanup()

    def party(self, kind):
        """One that has nothing to do, or a new one."""
        if not self.idle[kind.build]:
            party = Party(self.programs[kind.build], f"unix://{self.root.name}/redis.sock", self.events)
            self.parties.append(party)
            self.idle[kind.build].append(party)
        party = self.idle[kind.build].pop()
        party.kind = kind
        return party

    def await_queue(self):
        """Nobody may be granted the lock meanwhile."""
        end = time.monotonic() + LIMIT_S
        while self.server.call("ZCARD", QUEUE) != len(self.lock.queue):
            if not self.events.empty() or time.monotonic() > end:
                self.fail_with_event(f"instead of {len(self.lock.queue)} in the queue")
            time.sleep(0.001)

    def fail_with_event(self, why):
        try:
            party, said = self.events.get(timeout=LIMIT_S)
        except queue.Empty:
            raise Wrong(f"nothing happens {why}") from None
        raise Wrong(f"{party.kind.name}: {said} {why}")

    def await_events(self, expected):
        """{party: the first word that it says}, in any order, and nothing else. Returns {party: the rest}"""
        rest, seen = dict(expected), {}
        while rest:
            try:
                party, said = self.events.get(timeout=LIMIT_S)
            except queue.Empty:
                raise Wrong(f"not granted: {' '.join(p.kind.name for p in rest)}") from None
            word, _, value = said.partition(" ")
            if rest.pop(party, None) != word:
                raise Wrong(f"{party.kind.name}: {said}, out of its order")
            seen[party] = value
        return seen

    def settle(self, *others):
        """Those that fit come in, and nobody else; the others say something, too."""
        former, entered = self.lock.fence, self.lock.serve()
        seen = self.await_events([(party, "held") for party in entered] + list(others))
        fences = [int(seen[party]) for party in entered]
        if entered and not self.lock.accepts(entered, fences):
            raise Wrong(f"fences {fences} after {former}")
        self.await_queue()

    def asks(self, kind, wait_ms=FOREVER):
        party = self.party(kind)
        self.lock.queue.append(party)
        party.ask(f"take {kind.weight} {kind.limit} {wait_ms}")
        self.settle()
        return party

    def releases(self, party):
        party.ask("release")
        self.lock.holders.remove(party)
        self.settle((party, "released"))
        self.idle[party.kind.build].append(party)

    def drain(self, position):
        """position: which of several holders releases first."""
        while self.lock.holders:
            self.releases(self.lock.holders[position])
        left = [key for key in self.server.call("KEYS", "*") if key != "bowline:f" and not key.startswith("bowline:who:")]
        if left or self.lock.queue:
            raise Wrong(f"left over: {left}, {len(self.lock.queue)} in the queue")

    # ---- schedules

    def in_order(self, kinds, position):
        for kind in kinds:
            self.asks(kind)
        self.drain(position)

    def head_gives_up(self, kinds, position):
        """The second one."""
        for kind in kinds[:1]:
            self.asks(kind)
        head = self.asks(kinds[1], SHORT_MS)
        for kind in kinds[2:]:
            self.asks(kind)
        if head not in self.lock.queue:
            raise Wrong("the head does not wait")
        self.lock.queue.remove(head)
        self.settle((head, "TIMEOUT"))
        self.idle[head.kind.build].append(head)
        self.drain(position)

    def head_dies(self, kinds, position):
        parties = [self.asks(kind) for kind in kinds]
        parties[1].end()
        self.lock.queue.remove(parties[1])
        self.settle()
        self.drain(position)


def sequences():
    """(schedule, kinds, position)"""
    for holder in KINDS:
        for position, kinds in enumerate(itertools.product(KINDS, repeat=4)):
            yield World.in_order, (holder, *kinds), -(position % 2)
    for schedule in World.head_gives_up, World.head_dies:
        for head in OLD, NEW:
            yield schedule, (SHARED, head, SHARED, OLD, SHARED, NEW), 0


def main(older, newer):
    count = 0
    with World({"older": older, "newer": newer}) as world:
        for schedule, kinds, position in sequences():
            try:
                schedule(world, kinds, position)
            except Wrong as wrong:
                print(f"order: {schedule.__name__} of {' '.join(kind.name for kind in kinds)}: {wrong}")
                return 1
            count += 1
    print(f"order: {count} sequences in their order")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
