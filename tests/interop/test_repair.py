"""Locks that get their expiry by a second command: a waiter repairs a lock whose holder died in between."""

import signal

import pytest

from interop import pairs
from interop.arena import KEY, missing

PATIENCE_MS = 60000


@pytest.mark.parametrize("pair", [pair for pair in pairs.ALWAYS if pair.repairs], ids=str)
@pytest.mark.parametrize("foreign_dies", [True, False], ids=["theirs", "ours"])
def test_waiter_acquires_a_lock_whose_holder_died_before_the_expiry(arena, pair, foreign_dies):
    if missing(pair.language):
        pytest.skip(missing(pair.language))
    theirs = arena.party(pair.language, pair.algorithm, pair.short_ms).await_ready()
    ours = arena.bowline(pair.query + "&renew=off", pair.short_ms).await_ready()
    dies, waits = (theirs, ours) if foreign_dies else (ours, theirs)
    for _ in range(20):
        assert dies.acquire(PATIENCE_MS) == "held"
        dies.process.send_signal(signal.SIGSTOP)  # it must not release when its lease is over
        if arena.server.cli("persist", pair.key % KEY) == "1":
            break
        dies.process.send_signal(signal.SIGCONT)
        dies.release()  # the machine was slower than its lease
    dies.kill()
    assert arena.server.cli("pttl", pair.key % KEY) == "-1"
    assert waits.acquire(PATIENCE_MS) == "held"
    assert waits.release() in ("released", "lost")  # the lease is short
