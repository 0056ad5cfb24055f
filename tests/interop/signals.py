"""Locks whose waiters sleep until a release pushes a wake-up to a list: a release of bowline does so too.

Not a test_*.py, because no language of `make test` has such a lock: tools/interop runs it.
"""

import json
import os
import pathlib
import subprocess

import pytest

from interop import pairs

BOWLINE = pathlib.Path(os.environ.get("BOWLINE_PARTY", "")).parent.parent / "bowline"
LEASE_MS = 30000
PATIENCE_MS = 60000
ABSENT = os.environ.get("BOWLINE_ABSENT", "").split()


@pytest.mark.parametrize("pair", [pair for pair in pairs.FETCHED if pair.signals], ids=str)
def test_release_of_bowline_wakes_a_sleeping_waiter(arena, pair):
    if pair.language in ABSENT:
        pytest.skip(f"{pair.language} is absent")
    theirs = arena.party(pair.language, pair.algorithm, LEASE_MS).await_ready()
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    assert ours.acquire() == "held"
    theirs.send(f"acquire {PATIENCE_MS}")
    arena.wait_until("the waiter", lambda: "blocked_clients:1" in arena.server.cli("info", "clients"))
    assert ours.release() == "released"
    # Proves the wake-up: without it the waiter would acquire the lock too, after its time limit.
    assert "cmdstat_lpush:calls=1," in arena.server.cli("info", "commandstats")
    assert theirs.read_reply() == "held"
    assert theirs.release() == "released"


# Programs that the doctor recognizes by their scripts on the server.
KNOWN = {
    "django-redis": "redis-py",
    "python-redis-lock": "python-redis-lock",
    "walrus": "walrus",
    "pottery": "pottery",
    "sherlock": "sherlock",
    "node-redlock": "node-redlock",
    "redis-semaphore": "redis-semaphore",
    "redsync": "redsync",
    "bsm-redislock": "bsm/redislock",
}


@pytest.mark.parametrize("pair", [pair for pair in pairs.FETCHED if pair.name in KNOWN], ids=str)
def test_doctor_reports_the_program_by_its_scripts(arena, pair):
    if pair.language in ABSENT:
        pytest.skip(f"{pair.language} is absent")
    theirs = arena.party(pair.language, pair.algorithm, LEASE_MS).await_ready()
    theirs.take_and_return()
    url = f"redis://127.0.0.1:{arena.server.port}"
    done = subprocess.run([BOWLINE, "doctor", "--json", url], capture_output=True, text=True, timeout=60, check=False)
    findings = json.loads(done.stdout)["findings"]
    reported = [each["what"] for each in findings if each["check"] == "foreign-locks"]
    assert [what.split(" has locked")[0] for what in reported] == [KNOWN[pair.name]], done.stdout
