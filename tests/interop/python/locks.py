"""The locks of Python, with one interface: acquire(wait_ms) and release()."""

import os
import time

import redis

PAUSE_S = int(os.environ["PAUSE_MS"]) / 1000


class Lock:
    """A client, and attempts that are repeated until the wait is over."""

    def __init__(self, host, port, key, lease_ms):
        self.client = redis.Redis(host=host, port=port)
        self.key, self.lease_ms = key, lease_ms
        self.lock = None

    def acquire(self, wait_ms):
        end = time.monotonic() + wait_ms / 1000
        while not self.try_once():
            if time.monotonic() >= end:
                return False
            time.sleep(PAUSE_S)
        return True


class RedisPy(Lock):
    """redis.lock.Lock, since 2.10: a token that the release compares."""

    def acquire(self, wait_ms):
        self.lock = self.client.lock(self.key, timeout=self.lease_ms / 1000, sleep=PAUSE_S)
        return self.lock.acquire(blocking=wait_ms > 0, blocking_timeout=wait_ms / 1000 if wait_ms else None)

    def release(self):
        try:
            self.lock.release()
            return "released"
        except redis.exceptions.LockError:
            return "lost"


class RedisPy29(Lock):
    """redis-py before that: the time of its end, as a float. Its release has no result."""

    def try_once(self):
        self.lock = self.client.lock(self.key, timeout=self.lease_ms / 1000, sleep=PAUSE_S)
        return self.lock.acquire(blocking=False)

    def release(self):
        before = self.client.get(self.key)
        self.lock.release()
        return "released" if before is not None else "lost"


class PythonRedisLock(Lock):
    """python-redis-lock: lock:KEY, and the list lock-signal:KEY, which wakes one waiter."""

    def acquire(self, wait_ms):
        import redis_lock

        self.lock = redis_lock.Lock(self.client, self.key, expire=max(1, self.lease_ms // 1000))
        if wait_ms == 0:
            return self.lock.acquire(blocking=False)
        # It waits for whole seconds, and at most for its lease.
        end = time.monotonic() + wait_ms / 1000
        while not self.lock.acquire(timeout=max(1, min(wait_ms, self.lease_ms) // 1000)):
            if time.monotonic() >= end:
                return False
        return True

    def release(self):
        import redis_lock

        try:
            self.lock.release()
            return "released"
        except redis_lock.NotAcquired:
            return "lost"


class Walrus(Lock):
    """walrus: lock:KEY, and the list lock.event:KEY, which wakes one waiter and stays."""

    def __init__(self, host, port, key, lease_ms):
        import walrus

        super().__init__(host, port, key, lease_ms)
        self.lock = walrus.Database(host=host, port=port).lock(key, ttl=lease_ms)

    def acquire(self, wait_ms):
        # Its own wait has no limit; this is the same with a limit.
        end = time.monotonic() + wait_ms / 1000
        while not self.lock.acquire(block=False):
            if time.monotonic() >= end:
                return False
            self.client.blpop([self.lock.event], min(wait_ms, self.lease_ms) / 1000)
        return True

    def release(self):
        return "released" if self.lock.release() else "lost"


class Pottery(Lock):
    """Redlock of pottery, with one server."""

    def try_once(self):
        import pottery

        self.lock = pottery.Redlock(
            key=self.key, masters={self.client}, auto_release_time=self.lease_ms / 1000
        )
        return self.lock.acquire(blocking=False)

    def release(self):
        import pottery

        try:
            self.lock.release()
            return "released"
        except pottery.ReleaseUnlockedLock:
            return "lost"


class PotteryMany(Pottery):
    """The same with several servers."""

    def __init__(self, host, ports, key, lease_ms):
        super().__init__(host, ports[0], key, lease_ms)
        self.masters = {redis.Redis(host=host, port=port) for port in ports}

    def try_once(self):
        import pottery

        self.lock = pottery.Redlock(
            key=self.key, masters=self.masters, auto_release_time=self.lease_ms / 1000
        )
        return self.lock.acquire(blocking=False)


class RedlockPyMany(Lock):
    """redlock-py, with several servers. Its release has no result."""

    def __init__(self, host, ports, key, lease_ms):
        import redlock

        super().__init__(host, ports[0], key, lease_ms)
        self.clients = [redis.Redis(host=host, port=port) for port in ports]
        self.manager = redlock.Redlock([{"host": host, "port": port} for port in ports], retry_count=1)

    def try_once(self):
        self.lock = self.manager.lock(self.key, self.lease_ms)
        return bool(self.lock)

    def release(self):
        votes = sum(client.get(self.key) == self.lock.key for client in self.clients)
        self.manager.unlock(self.lock)
        return "released" if votes > len(self.clients) // 2 else "lost"


class DjangoRedis(RedisPy):
    """django-redis: the lock of redis-py on the key of the cache."""

    def __init__(self, host, port, key, lease_ms):
        import django.conf
        import django.core.cache

        super().__init__(host, port, key, lease_ms)
        cache = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": f"redis://{host}:{port}/0"}
        django.conf.settings.configure(CACHES={"default": cache})
        self.cache = django.core.cache.cache

    def acquire(self, wait_ms):
        self.lock = self.cache.lock(self.key, timeout=self.lease_ms / 1000, sleep=PAUSE_S)
        return self.lock.acquire(blocking=wait_ms > 0, blocking_timeout=wait_ms / 1000 if wait_ms else None)


class Sherlock(Lock):
    """RedisLock of sherlock."""

    def try_once(self):
        import sherlock

        self.lock = sherlock.RedisLock(self.key, client=self.client, expire=max(1, self.lease_ms // 1000))
        return self.lock.acquire(blocking=False)

    def release(self):
        import sherlock.lock

        try:
            self.lock.release()
            return "released"
        except sherlock.lock.LockException:
            return "lost"


LOCKS = {
    "redis-py": RedisPy,
    "redis-py-2.9": RedisPy29,
    "python-redis-lock": PythonRedisLock,
    "walrus": Walrus,
    "pottery": Pottery,
    "pottery-many": PotteryMany,
    "redlock-py-many": RedlockPyMany,
    "django-redis": DjangoRedis,
    "sherlock": Sherlock,
}
