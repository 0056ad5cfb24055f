#!/usr/bin/env python3
"""Make docs/profiles.md from the table of profiles.

    profile_page.py TABLE > docs/profiles.md

TABLE is what tools/profile_table.c wrote: `make docs` builds and runs both. The test of the page compares it
with what the table says now.
"""

import pathlib
import re
import sys

FIELDS = "name program protocol key value example expiry clock lease wait signal many wants fault note".split()

INTRO = """\
# Locks of other programs

A *profile* is the exact bytes of somebody else's lock: its keys, its values, how it expires, and whom it wakes. With
one, bowline takes part in a lock that other programs already share:

```sh
bowline run --url 'redis://127.0.0.1/?profile=redis-py' nightly ./report.sh
```

and a Python program that says `redis.lock.Lock(client, "nightly")` keeps out of the way, as bowline keeps out of its
way. What bowline finds that it has not written it never touches: it counts as held.

- `key=` says otherwise what the key is: `?profile=laravel&key=shop_database_shop_cache_%25s` (`%25` is how a URL
  writes `%`). Where there is a signal, `key=` ends as the profile's keys do.
- `lease=` and `wait=`, and the options of a call, come before the profile's own.
- A profile with a fault is used only with `accept-risk=1`, and `bowline run` then says so on standard error. The fault
  is in what the others do, and bowline cannot mend it from its side.
- `protocol=` is part of the profile. The protocols themselves are in bowline(7), and in [catalogue.md](catalogue.md).
- A token is new for every attempt, and made of 128 random bits, as many as its form has room for: no fewer than the
  program's own tokens hold, or 128. 16 letters and digits have room for 95, and so it is with the program's.

A lock whose value is a *token* is a lease: it is renewed, and released by comparing. A lock whose value is a *stamp*,
the time when it ends, is never renewed: it ends when it said that it would, and `bowline_extend` is UNSUPPORTED. Where
the clock is the server's, bowline takes, steals and releases in one step there, and its keys also vanish by themselves.

Programs that take a lock over by GETSET write even when they lose: the stamp of the winner is then theirs. If bowline
is the winner, its release finds another value, says LOST and leaves the key; the lock stays taken until that stamp is
over, a timeout of the other program at most. A stamp does not say whose it is, so the key cannot be deleted safely: it
may be the lock of a third program by then. To be rid of it, make the takeovers rare (a lease longer than the work), or
move the last old program.

A stamp that is over is taken over, with two exceptions. A time before 2001 or after 2099 is not one that the program
wrote lately: `1`, `0` and a time in another unit are such values. And these programs set no expiry in Redis: while a
key has one, it is not theirs, however old its value looks. Both are BUSY and left alone, and `bowline_who` and
`bowline run` say why. A key with an expiry is free when that has come.

%sp and %ss below stand for what comes before the key's own part, and for the name of the lock.

This page is made of the table in `src/engine/redis/profile.c`, which says where each row was read: `make docs`.
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


def page(table):
    out = [INTRO.replace("%sp and %ss", "`%p` and `%s`")]
    known = list(rows(table))
    out.append("| profile | program | value | at risk |\n| --- | --- | --- | --- |\n" + "".join(
        f"| [`{row['name']}`](#{row['name']}) | {row['program']} | {'stamp' if row['clock'] else 'token'} "
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
        if row["fault"]:
            lines.append(f"- at risk: {row['fault']}")
        if row["note"]:
            lines.append(f"- {row['note']}")
        out.append("\n".join(lines) + "\n")
    return "\n".join(out)


if __name__ == "__main__":
    sys.stdout.write(page(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
