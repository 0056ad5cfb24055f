"""Who meets whom: a foreign program, and what bowline is told so that the two exclude each other."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    name: str  # of the case
    language: str  # of the foreign program, as in arena.command_of
    algorithm: str  # that it is told
    query: str  # of bowline's URL
    key: str = "%s"  # of the server, with the lock's name
    # What stays behind for a moment and ends by itself.
    leaves: tuple = ()
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
    Pair("redis-py", "python", "redis-py", TOKEN),
]

# What tools/interop fetches first.
FETCHED = [
    # Its waiters sleep, for a second here, until a release of their own kind leaves them a signal: bowline is done
    # before they look again, and they are all the faster among themselves.
    Pair(
        "python-redis-lock", "python-locks", "python-redis-lock", "key=lock:%25s&protocol=token",
        key="lock:%s", leaves=("lock-signal:%s",), hand_overs=1,
    ),
    Pair("pottery", "python-locks", "pottery", "key=redlock:%25s&protocol=token", key="redlock:%s"),
    Pair("sherlock", "python-locks", "sherlock", TOKEN),
    Pair("ruby-redis", "ruby", "token", TOKEN),
    Pair("node-redlock", "node", "redlock", TOKEN),
    Pair("redis-semaphore", "node", "redis-semaphore", "key=mutex:%25s&protocol=token", key="mutex:%s"),
    Pair("redsync", "go", "redsync", TOKEN),
    Pair("redislock", "go", "redislock", TOKEN),
]
