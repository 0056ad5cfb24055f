"""The witness detects two holders: parties without a lock overlap, and it reports that."""

import pytest

from interop.arena import missing


def test_witness_reports_an_overlap_without_a_lock(arena):
    if missing("php"):
        pytest.skip(missing("php"))
    outcome = arena.contend([arena.party("php", "nothing", 1000) for _ in range(3)], 25)
    assert outcome.total("overlaps") > 0, outcome
    assert outcome.overlaps > 0, outcome
