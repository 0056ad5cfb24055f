#!/usr/bin/env python3
"""Make docs/reference/profiles.md from the table of profiles.

    profile_page.py TABLE > docs/reference/profiles.md

TABLE is what tools/profile_table.c wrote: `make docs` builds and runs both. The test of the page compares it
with what the table says now.
"""

import pathlib
import re
import sys

FIELDS = "name program protocol key value example expiry clock lease wait signal many wants fault note".split()

LOCKS = pathlib.Path(__file__).resolve().parent.parent / "lab" / "locks"

# The lock file of a profile, if it has another name.
FILES = {"laravel-11": "laravel", "laravel-10": "laravel", "php-pidlock": "buffers", "java-jedislock": "jedis"}

# Why a lock file cannot say it.
PUSHES = "its release pushes to a list, and a lock file has one key"
PUBLISHES = "its release publishes on a channel that is named after the key"
FRACTION = "its value is a number with a fraction"
NO_FILE = {
    "python-redis-lock": PUSHES,
    "walrus": PUSHES,
    "spring": PUBLISHES,
    "spring-6": PUBLISHES,
    "bsm-redislock": "its scripts call GETRANGE",
    "rueidislock": "a lock has several keys, and the server tracks its waiters",
    "shedlock": "its value has the time of day, and a release may keep the key",
    "distributedlock": "its value begins with the host and the process",
    "redisson": "a hash, and a channel that waiters subscribe to",
    "redisson-fenced": "a hash, and a counter",
    "symfony": "a sorted set",
    "redis-py-2.7": FRACTION,
    "redis-py-2.9": FRACTION,
    "redis-mutex": FRACTION,
    "redis-mutex-3": FRACTION,
    "crowdtap-redis-lock": "its value has a time and two other numbers",
}

INTRO = """\
# Locks of other programs

A *profile* is the exact format of another library's lock: its keys, its values, how it expires, and how a release wakes waiters. With a profile, bowline shares
a lock with the programs that use it:

```sh
bowline run --url 'redis://127.0.0.1/?profile=redis-py' nightly ./report.sh
```

This command and a Python program with `redis.lock.Lock(client, "nightly")` exclude each other. bowline never writes a value that it has not written itself: it counts as held.

- `key=` sets another key: `?profile=laravel&key=shop_database_shop_cache_%25s` (in a URL `%` is written `%25`). If a release wakes waiters, `key=` must end as the
  profile's keys do.
- `lease=` and `wait=`, and the options of a call, take precedence over those of the profile.
- A profile with a fault needs `accept-risk=1`, and `bowline run` then prints the fault on standard error. The fault is in the other programs; bowline cannot mend
  it from its side.
- A profile sets the protocol. bowline(7) and [catalogue.md](catalogue.md) describe the protocols.
- A token is new for every attempt: 128 random bits, or as many as its form has room for, but no fewer than the program's own tokens have. 16 letters and digits
  have room for 95.

A lock whose value is a *token* has a lease: it is renewed, and released after a comparison. A lock whose value is a *timestamp*, its end, is never
renewed: it ends at that time, and `bowline_extend` is UNSUPPORTED. If the clock is the server's, bowline acquires, takes over and releases in one step there,
and its keys also expire by themselves.

Programs that take a lock over by GETSET write even when they lose: the winner's key then has the loser's timestamp. If bowline is the winner, its release finds
another value, returns LOST and leaves the key. The lock stays taken until that time has passed, a timeout of the other program at most. A timestamp does not identify
its owner, so the key cannot be deleted safely: it may be the lock of a third program by then. To avoid this, make takeovers rare (a lease longer
than the work), or replace the last old program.

An expired timestamp is taken over, with two exceptions. The program cannot have written a time before 2001 or after 2099 lately: `1`, `0` and a time in another unit are such
values. And these programs set no expiry in Redis: a key with one is not theirs, however old its value looks. Both are BUSY and never written, and `bowline_who`
and `bowline run` give the reason. A key with an expiry is free when it expires.

%sp and %ss below stand for the prefix of the key and for the name of the lock.

A [lock file](lock-files.md) says in text what the library itself does on one server: with it, the lab tries that lock. Its scripts send the same commands as those of the
library, in our words; the release that some send after a failed attempt is left out, as it finds another token.

This page is generated from the table in `src/engine/redis/profile.c`, which says where each row was read: `make docs`.
"""


def duration(ms):
    ms = int(ms)
    if ms == 0:
        return ""
    for size, unit in ((60000, "m"), (1000, "s")):
        if ms % size == 0:
            return f"{ms // size}{unit}"
    return f"{ms}ms"


def rows(text):
    for line in text.splitlines():
        kind, *fields = line.split("\t")
        if kind != "profile" or len(fields) != len(FIELDS):
            raise ValueError(f"not a line of the table: {line}")
        yield dict(zip(FIELDS, fields))


def lock_file(name):
    """Where it is, or why there is none; an error for a profile about which nothing is known."""
    file = f"{FILES.get(name, name)}.lock"
    if name in NO_FILE:
        return f"no lock file: {NO_FILE[name]}"
    if not (LOCKS / file).exists():
        raise ValueError(f"{name} has no lock file, and no reason for that in NO_FILE")
    return f"as a lock file: [{file}](../../lab/locks/{file})"


def page(table):
    out = [INTRO.replace("%sp and %ss", "`%p` and `%s`")]
    known = list(rows(table))
    out.append("| profile | program | value | at risk |\n| --- | --- | --- | --- |\n" + "".join(
        f"| [`{row['name']}`](#{row['name'].replace('.', '')}) | {row['program']} | {'timestamp' if row['clock'] else 'token'} "
        f"| {'yes' if row['fault'] else ''} |\n"
        for row in known
    ))
    for row in known:
        lines = [f"## {row['name']}\n", f"{row['program']}.\n"]
        lines.append(f"- protocol: `{row['protocol']}`")
        lines.append(f"- key: `{row['key']}`" + (", refused without `key=`" if row["wants"] else ""))
        lines.append(f"- value: {row['value']}, such as `{row['example']}`")
        expiry = {"EX": "in whole seconds (EX)", "PX": "in milliseconds (PX)", "": "none"}[row["expiry"]]
        lines.append(f"- expiry of the key: {expiry}")
        if row["clock"]:
            lines.append(f"- clock: the {row['clock']}'s")
        if duration(row["lease"]):
            lines.append(f"- lease: {duration(row['lease'])}")
        if duration(row["wait"]):
            lines.append(f"- wait: {duration(row['wait'])}")
        if row["signal"]:
            words, *names = re.split(r" (?=%p)", row["signal"])
            many = "s" if len(names) > 1 else ""
            lines.append(f"- a release also does: {words}{many} " + " and ".join(f"`{name}`" for name in names))
        if row["many"]:
            lines.append(f"- on several servers: `redlock://HOST1,HOST2,HOST3/?profile={row['name']}`")
        lines.append(f"- {lock_file(row['name'])}")
        if row["fault"]:
            lines.append(f"- at risk: {row['fault']}")
        if row["note"]:
            lines.append(f"- {row['note']}")
        out.append("\n".join(lines) + "\n")
    return "\n".join(out)


if __name__ == "__main__":
    sys.stdout.write(page(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
