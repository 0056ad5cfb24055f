"""Locks whose waiters sleep until a release leaves them a signal: bowline's release leaves it too.

Not a test_*.py, as none of the languages of `make test` has such a lock: tools/interop runs it.
"""

import os

import pytest

from interop import pairs

LEASE_MS = 30000
PATIENCE_MS = 60000
ABSENT = os.environ.get("BOWLINE_ABSENT", "").split()


@pytest.mark.parametrize("pair", [pair for pair in pairs.FETCHED if pair.signals], ids=str)
def test_a_release_of_bowlines_is_signalled(arena, pair):
    if pair.language in ABSENT:
        pytest.skip(f"{pair.language} is absent")
    theirs = arena.party(pair.language, pair.algorithm, LEASE_MS).await_ready()
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    assert ours.acquire() == "held"
    theirs.tell(f"acquire {PATIENCE_MS}")
    arena.wait_until("who waits", lambda: "blocked_clients:1" in arena.server.cli("info", "clients"))
    assert ours.release() == "released"
    # A signal of ours: whoever is not woken gets the lock too, when its patience is over.
    assert "cmdstat_lpush:calls=1," in arena.server.cli("info", "commandstats")
    assert theirs.hear() == "held"
    assert theirs.release() == "released"
