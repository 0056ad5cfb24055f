#!/usr/bin/env python3
"""The party of Python: the contract of arena.py, on the locks of redis-py and of python-redis-lock.

Which redis-py that is depends on the path: Debian's, or 2.9.1, whose lock was SETNX and GETSET with a float.
"""

import fcntl
import json
import os
import random
import sys
import time

import redis

PATIENCE_MS = 60000
GIVE_UP_MAX = 3
# The library's own pause is a tenth of a second; shorter, so that the two sides meet more often.
PAUSE_S = 0.005


class RedisPy:
    """redis.lock.Lock, since 2.10: a token, compared when it is given back."""

    def __init__(self, client, key, lease_ms):
        self.client, self.key, self.lease_ms = client, key, lease_ms
        self.lock = None

    def acquire(self, wait_ms):
        self.lock = self.client.lock(self.key, timeout=self.lease_ms / 1000, sleep=PAUSE_S)
        return self.lock.acquire(blocking=wait_ms > 0, blocking_timeout=wait_ms / 1000 if wait_ms else None)

    def release(self):
        try:
            self.lock.release()
            return "released"
        except redis.exceptions.LockError:
            return "lost"


class RedisPy29:
    """Before: the time at which it ends, as a float; it has no waiting time of its own."""

    def __init__(self, client, key, lease_ms):
        self.client, self.key, self.lease_ms = client, key, lease_ms
        self.lock = None

    def acquire(self, wait_ms):
        end = time.monotonic() + wait_ms / 1000
        self.lock = self.client.lock(self.key, timeout=self.lease_ms / 1000, sleep=PAUSE_S)
        while not self.lock.acquire(blocking=False):
            if time.monotonic() >= end:
                return False
            time.sleep(PAUSE_S)
        return True

    def release(self):
        before = self.client.get(self.key)
        self.lock.release()
        return "released" if before is not None else "lost"


class PythonRedisLock:
    """python-redis-lock: lock:KEY, and the list lock-signal:KEY that wakes one waiter."""

    def __init__(self, client, key, lease_ms):
        import redis_lock

        self.module = redis_lock
        self.client, self.key, self.lease_s = client, key, max(1, lease_ms // 1000)
        self.lock = None

    def acquire(self, wait_ms):
        self.lock = self.module.Lock(self.client, self.key, expire=self.lease_s)
        end = time.monotonic() + wait_ms / 1000
        while not self.try_for(wait_ms):
            if time.monotonic() >= end:
                return False
        return True

    def try_for(self, wait_ms):
        # It waits for whole seconds, and never for longer than its own lease.
        if wait_ms:
            return self.lock.acquire(timeout=1)
        return self.lock.acquire(blocking=False)

    def release(self):
        try:
            self.lock.release()
            return "released"
        except self.module.NotAcquired:
            return "lost"


class PythonRedisLockPolling(PythonRedisLock):
    """The same, by who does not wait for its signal: nobody but python-redis-lock gives one."""

    def try_for(self, wait_ms):
        if super().try_for(0):
            return True
        time.sleep(PAUSE_S)
        return False


LOCKS = {
    "redis-py": RedisPy,
    "redis-py-2.9": RedisPy29,
    "python-redis-lock": PythonRedisLock,
    "python-redis-lock-polling": PythonRedisLockPolling,
}


class Party:
    def __init__(self, algorithm, host, port, key, lease_ms, witness, who):
        self.lock = LOCKS[algorithm](redis.Redis(host=host, port=int(port)), key, int(lease_ms))
        self.witness = os.open(witness, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.who = who

    def work(self):
        """True when nobody else was inside."""
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
            except Exception as error:  # whatever a library throws is counted
                tally["errors"] += 1
                tally["note"] = tally["note"] or repr(error)
            time.sleep(random.uniform(0, 0.004))
        return tally

    def obey(self, line):
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
        print(party.obey(line), flush=True)


main()
