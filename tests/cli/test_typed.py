"""The command lines by which people see a lock, hold it, and run a job once per period, typed on each store.

typed.txt has each line behind a `$`, and what a user sees; a line behind [file] or [servers] only there. Numbers and
times differ from run to run and are shown as 1 and 1s; exit codes are not. A line that changes what the next ones see
is typed like the others. BOWLINE_TYPED_WRITE=DIRECTORY writes what was seen into a file for each store.
"""

import getpass
import os
import pathlib
import re
import socket
import subprocess

from own_redis import LIMIT
from test_look import opened, store  # noqa: F401 (fixtures)

TYPED = pathlib.Path(__file__).with_name("typed.txt")


def expected(kind):
    """The lines that are typed, each with what is seen."""
    where = "file" if kind == "file" else "servers"
    for block in TYPED.read_text(encoding="utf-8").split("\n$ ")[1:]:
        line, *seen = block.rstrip("\n").split("\n")
        parts = [re.fullmatch(r"(?:\[(\w+)\] ?)?(.*)", text) for text in seen]
        yield line, [part.group(2) for part in parts if part.group(1) in (None, where)]


def normal(text, place, url):
    """What a user sees, without what differs from run to run."""
    for own, name in [(f"{getpass.getuser()}@{socket.gethostname()}", "ann@web-1"), (url, "URL"), (str(place.root), "."),
                      (f'"user":"{getpass.getuser()}","host":"{socket.gethostname()}"', '"user":"ann","host":"web-1"')]:
        text = text.replace(own, name)
    text = re.sub(r'"id":"[0-9a-f]{16}"', '"id":"1"', text)
    text = re.sub(r"\b\d+(ms|s|m|h|d)(\d+(s|m|h))?\b", "1s", text)
    return re.sub(r"\b(?<!exit )(?<!web-)\d+(?!ms\b|\w)", "1", re.sub(r"\d\d:\d\d:\d\d", "1:1:1", text)).splitlines()


def test_what_people_type_and_see(place, store):  # noqa: F811
    url = place.env["BOWLINE_URL"]
    place.env["PATH"] = f"{pathlib.Path(os.environ['BOWLINE']).parent}:{place.env['PATH']}"
    for name in ("report", "poll"):
        place.script(name, f"#!/bin/sh\necho made by ./{name}\n")
    holder = place.hold("nightly")
    place.wait_for("the command", lambda: "command_pid" in place.bowline("who", "--json", "nightly").stdout)
    all_seen, all_wanted = [], []
    for line, wanted in expected(store):
        if line.startswith("# "):
            place.let_go(holder)
        if line.startswith("# ") or wanted == ["(not typed)"]:
            continue
        done = subprocess.run(["sh", "-c", line], env=place.env, cwd=place.root, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT, check=False)
        seen = normal(done.stdout, place, url) + ([f"(exit {done.returncode})"] if done.returncode else [])
        all_seen += [f"$ {line}", *seen]
        all_wanted += [f"$ {line}", *wanted]
    if "BOWLINE_TYPED_WRITE" in os.environ:
        pathlib.Path(os.environ["BOWLINE_TYPED_WRITE"], store).write_text("\n".join(all_seen), encoding="utf-8")
    assert all_seen == all_wanted
