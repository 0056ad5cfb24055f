"""The driver of Python: the contract of ../README.md, on redis-py's Lock and on python-redis-lock.

    peer.py redis-py|python-redis-lock HOST PORT NAME

Every waiter of a crowd is a thread with a client of its own.
"""

import sys
import threading
import time

import redis

LEASE_S = 30

now = time.monotonic_ns


class RedisPy:
    """redis.lock.Lock as its documentation shows it: it tries again every tenth of a second."""

    def __init__(self, host, port, name):
        self.client = redis.Redis(host=host, port=port)
        self.client.ping()
        self.name = name
        self.lock = None

    def acquire(self):
        self.lock = self.client.lock(self.name, timeout=LEASE_S)
        if not self.lock.acquire():
            raise RuntimeError("not acquired")

    def release(self):
        self.lock.release()


class PythonRedisLock(RedisPy):
    """python-redis-lock: a list wakes the waiter."""

    def acquire(self):
        import redis_lock

        self.lock = redis_lock.Lock(self.client, self.name, expire=LEASE_S)
        if not self.lock.acquire():
            raise RuntimeError("not acquired")


class Driver:
    def __init__(self, make):
        self.make = make
        self.lock = make()
        self.crowd = []

    def pair(self, count):
        took = []
        for _ in range(count):
            began = now()
            self.lock.acquire()
            self.lock.release()
            took.append(now() - began)
        return "pair " + " ".join(map(str, took))

    def gather(self, count):
        self.crowd = [self.make() for _ in range(count)]
        return f"crowd {count}"

    def contend(self, ms, hold_us, path):
        end = now() + ms * 1_000_000
        turns = [[] for _ in self.crowd]
        errors = []

        def work(lock, mine):
            try:
                while True:
                    lock.acquire()
                    began = now()
                    if hold_us > 0:
                        time.sleep(hold_us / 1e6)
                    mine.append((began, now()))
                    lock.release()
                    if now() >= end:
                        return
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=each) for each in zip(self.crowd, turns)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        with open(path, "w", encoding="ascii") as out:
            for who, mine in enumerate(turns):
                out.writelines(f"{who} {began} {ended}\n" for began, ended in mine)
        return f"done {sum(map(len, turns))}"

    def obey(self, line):
        words = line.split()
        if words[0] == "pair":
            return self.pair(int(words[1]))
        if words[0] == "acquire":
            self.lock.acquire()
            return f"held {now()}"
        if words[0] == "release":
            began = now()
            self.lock.release()
            return f"released {began}"
        if words[0] == "crowd":
            return self.gather(int(words[1]))
        if words[0] == "contend":
            return self.contend(int(words[1]), int(words[2]), words[3])
        return "error not a line of the contract"


def main():
    locks = {"redis-py": RedisPy, "python-redis-lock": PythonRedisLock}
    which, host, port, name = sys.argv[1:]
    threading.stack_size(256 * 1024)
    driver = Driver(lambda: locks[which](host, int(port), name))
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            said = driver.obey(line)
        except Exception as error:
            said = f"error {type(error).__name__}: {error}".replace("\n", " ")
        print(said, flush=True)


main()
