"""The pairs: a foreign program, and the options with which bowline and that program exclude each other.

The faults of an unsafe lock are flags of its pair; the tests check that it has these faults and no others.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    name: str  # of the test case
    language: str  # of the foreign program, see arena.command_of
    algorithm: str  # its argument
    query: str  # of the URL of bowline
    key: str = "%s"  # the key on the server; %s: the name of the lock

    # Keys that remain after a release: with an expiry, and without.
    leaves: tuple = ()
    stays: tuple = ()
    # A waiter sleeps until a release, also one of bowline, pushes a wake-up to a list.
    signals: bool = False
    # Between two attempts of a waiter, if bowline or the library uses a long pause.
    pause_ms: int = 4
    # A short lease that is long enough for timestamps in whole seconds.
    short_ms: int = 1000

    # A waiter adds the expiry to a lock that has none.
    repairs: bool = False

    # The faults of these locks.
    deletes_blindly: bool = False  # the release of the foreign program deletes any value
    we_delete_blindly: bool = False  # the release of bowline too, as the protocol demands
    we_delete_stamps: bool = False  # bowline deletes any timestamp that is not about to end, and reports LOST
    never_ends: bool = False  # the lock of a dead holder stays
    lets_two_in: bool = False  # two waiters that consider it expired
    moves_stamps: bool = False  # the loser of that race overwrites the timestamp of the winner

    def __str__(self):
        return self.name


TOKEN = "key=%25s&protocol=token"
RISK = "&accept-risk=1"


# Part of each test run: two languages for which Debian has all packages.
ALWAYS = [
    Pair("php-del", "php", "setnx-del", "key=%25s&protocol=setnx-del" + RISK, deletes_blindly=True,
         we_delete_blindly=True, never_ends=True),
    Pair("php-del-expire", "php", "setnx-del-expire", "key=%25s&protocol=setnx-del-expire" + RISK,
         deletes_blindly=True, we_delete_blindly=True, never_ends=True),
    Pair("php-stamp-del", "php", "setnx-stamp-del", "key=%25s&protocol=setnx-stamp-del" + RISK,
         deletes_blindly=True, we_delete_blindly=True, lets_two_in=True, short_ms=2000),
    Pair("php-getset", "php", "setnx-getset", "key=%25s&protocol=setnx-getset" + RISK,
         deletes_blindly=True, we_delete_blindly=True, short_ms=2000),
    Pair("php-set-nx-ex", "php", "set-nx-ex", "key=%25s&protocol=set-nx-ex" + RISK,
         deletes_blindly=True, we_delete_blindly=True),
    Pair("php-token", "php", "token", TOKEN),
    Pair("php-pidlock", "php", "pidlock", "profile=php-pidlock" + RISK, key="lock_%s", deletes_blindly=True,
         we_delete_stamps=True),
    Pair("php-expire-watch", "php", "expire-watch", "key=%25s&protocol=setnx-expire-watch" + RISK,
         repairs=True, pause_ms=200),
    Pair("redis-py", "python", "redis-py", "profile=redis-py"),
]

# Needs packages that tools/interop fetches.
FETCHED = [
    # Its release checks that the timestamp is at least its own, which that of a successor is too.
    Pair("redis-py-2.9", "redis-py-2.9", "redis-py-2.9", "profile=redis-py-2.9" + RISK,
         deletes_blindly=True, moves_stamps=True),
    Pair("django-redis", "python-locks", "django-redis", "profile=django-redis", key=":1:%s"),
    Pair("python-redis-lock", "python-locks", "python-redis-lock", "profile=python-redis-lock",
         key="lock:%s", leaves=("lock-signal:%s",), signals=True),
    Pair("walrus", "python-locks", "walrus", "profile=walrus",
         key="lock:%s", stays=("lock.event:%s",), signals=True),
    Pair("pottery", "python-locks", "pottery", "profile=pottery", key="redlock:%s", pause_ms=100),
    Pair("sherlock", "python-locks", "sherlock", "profile=sherlock"),
    Pair("ruby-redis", "ruby", "token", TOKEN),
    Pair("redis-mutex", "ruby", "redis-mutex", "profile=redis-mutex" + RISK, key="RedisMutex:%s"),
    Pair("node-redlock", "node", "redlock", "profile=node-redlock"),
    Pair("redis-semaphore", "node", "redis-semaphore", "profile=redis-semaphore", key="mutex:%s"),
    Pair("jedis-article", "java", "jedis-article", "profile=java-jedislock" + RISK,
         deletes_blindly=True, we_delete_blindly=True, pause_ms=100),
    Pair("jedis-lock", "java", "jedis-lock", "profile=jedis-lock-1" + RISK,
         deletes_blindly=True, pause_ms=100),
    Pair("redsync", "go", "redsync", "profile=redsync"),
    Pair("bsm-redislock", "go", "redislock", "profile=bsm-redislock"),
]

# On the majority of three servers.
MANY = [
    Pair("redsync-many", "go", "redsync", "profile=redsync"),
    Pair("node-redlock-many", "node", "redlock", "profile=node-redlock"),
    Pair("pottery-many", "python-locks", "pottery-many", "profile=pottery", key="redlock:%s", pause_ms=100),
    Pair("redlock-py-many", "python-locks", "redlock-py-many", "profile=redlock-py"),
    # Without a profile: the same keys, with values in the form of bowline.
    Pair("redsync-by-key", "go", "redsync", "key=%25s"),
]
