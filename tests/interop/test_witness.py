"""The witness sees what it is there for: without a lock, parties are inside together, and it says so."""

import pytest

from interop.arena import missing


def test_two_inside_are_seen(arena):
    if missing("php"):
        pytest.skip(missing("php"))
    outcome = arena.contend([arena.party("php", "nothing", 1000) for _ in range(3)], 25)
    assert outcome.total("overlaps") > 0, outcome
    assert outcome.overlaps > 0, outcome
