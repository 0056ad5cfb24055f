#!/usr/bin/env python3
"""The party of Python: the interface of arena.py, with the locks of locks.py.

PYTHONPATH selects the libraries: redis-py of Debian, or those that tools/interop has fetched.
"""

import fcntl
import json
import os
import random
import sys
import time

from locks import LOCKS

PATIENCE_MS = 60000
GIVE_UP_MAX = 3
REST_S = int(os.environ["REST_MS"]) / 1000


class Party:
    def __init__(self, algorithm, host, port, key, lease_ms, witness, who):
        ports = [int(each) for each in port.split(",")]
        self.lock = LOCKS[algorithm](host, ports if len(ports) > 1 else ports[0], key, int(lease_ms))
        self.witness = os.open(witness, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.who = who

    def work(self):
        """True if no other party was inside."""
        try:
            fcntl.flock(self.witness, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alone = True
        except BlockingIOError:
            alone = False
        os.write(self.witness, f"in {self.who}\n".encode())
        time.sleep(random.uniform(0, 0.004))
        os.write(self.witness, f"out {self.who}\n".encode())
        if alone:
            fcntl.flock(self.witness, fcntl.LOCK_UN)
        return alone

    def contend(self, count):
        tally = dict(who=self.who, acquired=0, overlaps=0, lost=0, gave_up=0, errors=0, stolen=0, note="")
        while tally["acquired"] < count and tally["gave_up"] + tally["errors"] < GIVE_UP_MAX:
            try:
                if not self.lock.acquire(PATIENCE_MS):
                    tally["gave_up"] += 1
                    continue
                tally["acquired"] += 1
                tally["overlaps"] += not self.work()
                tally["lost"] += self.lock.release() == "lost"
            except Exception as error:  # any exception of a library is counted
                tally["errors"] += 1
                tally["note"] = tally["note"] or repr(error)
            time.sleep(random.uniform(0, REST_S))
        return tally

    def execute(self, line):
        words = line.split()
        try:
            if words[0] == "acquire":
                return "held" if self.lock.acquire(int(words[1])) else "busy"
            if words[0] == "release":
                return self.lock.release()
            return json.dumps(self.contend(int(words[1])))
        except Exception as error:
            return "error " + repr(error)


def main():
    party = Party(*sys.argv[1:])
    print("ready", flush=True)
    for line in sys.stdin:
        print(party.execute(line), flush=True)


main()
