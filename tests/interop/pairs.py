"""Who meets whom: a foreign program, and what bowline is told so that the two exclude each other."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    name: str  # of the case
    language: str  # of the foreign program, as in arena.command_of
    algorithm: str  # that it is told
    query: str  # of bowline's URL
    key: str = "%s"  # of the server, with the lock's name
    # Who waits sleeps until a release leaves it a signal, bowline's too.
    signals: bool = False
    # What is left behind: for a moment, and for ever.
    leaves: tuple = ()
    stays: tuple = ()
    # The foreign program gives back whatever is there, also when that is somebody else's.
    deletes_blindly: bool = False
    # How often the lock went from side to side, at least, when both contended.
    hand_overs: int = 3
    # A lock of its holder's that died: False when nothing ends it.
    ends: bool = True

    def __str__(self):
        return self.name


TOKEN = "key=%25s&protocol=token"

# What is part of every test: two languages of which Debian has all that is needed.
ALWAYS = [
    Pair("php-token", "php", "token", TOKEN),
    Pair("php-set-nx-ex", "php", "set-nx-ex", TOKEN, deletes_blindly=True),
    Pair("php-expire-watch", "php", "expire-watch", TOKEN),
    Pair("redis-py", "python", "redis-py", "profile=redis-py"),
]

# What tools/interop fetches first.
FETCHED = [
    Pair(
        "python-redis-lock", "python-locks", "python-redis-lock", "profile=python-redis-lock",
        key="lock:%s", leaves=("lock-signal:%s",), signals=True,
    ),
    Pair(
        "walrus", "python-locks", "walrus", "profile=walrus",
        key="lock:%s", stays=("lock.event:%s",), signals=True,
    ),
    Pair("pottery", "python-locks", "pottery", "profile=pottery", key="redlock:%s"),
    Pair("sherlock", "python-locks", "sherlock", "profile=sherlock"),
    Pair("ruby-redis", "ruby", "token", TOKEN),
    Pair("node-redlock", "node", "redlock", "profile=node-redlock"),
    Pair("redis-semaphore", "node", "redis-semaphore", "profile=redis-semaphore", key="mutex:%s"),
    Pair("redsync", "go", "redsync", "profile=redsync"),
    Pair("bsm-redislock", "go", "redislock", "profile=bsm-redislock"),
]
