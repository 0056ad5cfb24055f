"""bowline and Redisson on one key: they exclude each other, and none harms the other; neither can wait well.

Redisson's lock is a hash, bowline's a string. Whoever comes second finds a value that is not of its kind.
bowline sees that somebody is there, and answers BUSY. Redisson's script ends with WRONGTYPE, and that comes to
its caller as an exception: not an answer that a program of Redisson's expects, but never the lock.
Beside each other they are safe, and meant for the time in which one takes the other's place, not for longer.

Not a test_*.py, as `make test` cannot run it: tools/interop does, when it has Redisson.
"""

import os

import pytest

from interop.arena import KEY

pytestmark = pytest.mark.skipif(
    "java" in os.environ.get("BOWLINE_ABSENT", "").split(), reason="Java is absent"
)

LEASE_MS = 30000
COUNT = 15
QUERY = "key=%25s&protocol=token"


@pytest.fixture
def redisson(arena):
    return arena.party("java", "redisson", LEASE_MS).await_ready()


@pytest.fixture
def bowline(arena):
    return arena.bowline(QUERY, LEASE_MS).await_ready()


def test_a_hash_of_redissons_is_somebody_and_is_not_touched(arena, redisson, bowline):
    assert redisson.acquire() == "held"
    assert arena.server.cli("type", KEY) == "hash"
    value = arena.server.dump()
    assert bowline.acquire() == "busy"
    assert bowline.acquire(300) == "busy"
    assert arena.server.dump() == value
    assert redisson.release() == "released"
    assert bowline.acquire() == "held"
    assert arena.server.cli("type", KEY) == "string"
    assert bowline.release() == "released"
    assert arena.server.keys() == []


def test_redisson_fails_on_a_string_of_ours_and_does_not_touch_it(arena, redisson, bowline):
    assert bowline.acquire() == "held"
    value = arena.server.dump()
    assert redisson.acquire() == "busy"
    assert redisson.acquire(300) == "busy"
    assert arena.server.dump() == value
    assert bowline.release() == "released"
    assert redisson.acquire() == "held"
    assert redisson.release() == "released"
    assert arena.server.keys() == []


def test_redisson_that_took_the_place_of_our_lock_is_left_alone(arena, redisson, bowline):
    assert bowline.acquire() == "held"
    arena.server.cli("del", KEY)
    assert redisson.acquire() == "held"
    value = arena.server.dump()
    assert bowline.release() == "lost"
    assert arena.server.dump() == value
    assert redisson.release() == "released"


def test_never_two_inside(arena):
    parties = [arena.party("java", "redisson", LEASE_MS), arena.bowline(QUERY, LEASE_MS)]
    parties += [arena.party("java", "redisson", LEASE_MS), arena.bowline(QUERY, LEASE_MS)]
    outcome = arena.contend(parties, COUNT)
    for side in ("foreign", "bowline"):
        assert outcome.total("acquired", side) == 2 * COUNT
    for trouble in ("overlaps", "lost", "gave_up", "errors"):
        assert outcome.total(trouble) == 0, f"{trouble}: {outcome}"
    assert outcome.overlaps == 0, outcome
    assert outcome.hand_overs > 2, outcome
    # The strings that it met: each was an exception to Redisson's caller.
    assert outcome.total("stolen", "foreign") > 0, outcome
    assert arena.server.keys() == []
