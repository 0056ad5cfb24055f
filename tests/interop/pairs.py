"""Who meets whom: a foreign program, and what bowline is told so that the two exclude each other.

Where a lock is not sound, its pair says so, and the tests then ask for the fault to be what it is said to be, and
no more.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    name: str  # of the case
    language: str  # of the foreign program, as in arena.command_of
    algorithm: str  # that it is told
    query: str  # of bowline's URL
    key: str = "%s"  # of the server, with the lock's name

    # What is left behind: for a moment, and for ever.
    leaves: tuple = ()
    stays: tuple = ()
    # Who waits sleeps until a release leaves it a signal, bowline's too.
    signals: bool = False
    # Between two tries of who waits, where bowline's rules or the library say that it is long.
    pause_ms: int = 4
    # A lease that is short, and long enough for a stamp in whole seconds to be worth something.
    short_ms: int = 1000

    # Who waits puts an expiry on a lock of this kind that has none.
    repairs: bool = False

    # What is wrong with these locks.
    deletes_blindly: bool = False  # the foreign program gives back whatever is there
    we_delete_blindly: bool = False  # and so does bowline, by its rules
    we_delete_stamps: bool = False  # bowline deletes anybody's that is not about to end, and says that it was not its own
    never_ends: bool = False  # a dead holder's lock
    lets_two_in: bool = False  # two who believe it to be expired
    moves_stamps: bool = False  # who loses that race, and the winner then does not know its own lock

    def __str__(self):
        return self.name


TOKEN = "key=%25s&protocol=token"
RISK = "&accept-risk=1"


# What is part of every test: two languages of which Debian has all that is needed.
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

# What tools/interop fetches first.
FETCHED = [
    # Its release looks whether the stamp is at least its own, which a successor's is as well.
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

# On most of three servers.
MANY = [
    Pair("redsync-many", "go", "redsync", "profile=redsync"),
    Pair("node-redlock-many", "node", "redlock", "profile=node-redlock"),
    Pair("pottery-many", "python-locks", "pottery-many", "profile=pottery", key="redlock:%s", pause_ms=100),
    Pair("redlock-py-many", "python-locks", "redlock-py-many", "profile=redlock-py"),
    # Without a profile: the same keys, and values in bowline's own form.
    Pair("redsync-by-key", "go", "redsync", "key=%25s"),
]
