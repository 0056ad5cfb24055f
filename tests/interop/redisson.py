"""bowline with protocol token and Redisson on one key: they exclude each other, but their waiters only poll.

The lock of Redisson is a hash, that of bowline a string, so the second one finds a value of another type.
bowline reports BUSY. The script of Redisson fails with WRONGTYPE, which its caller gets as an exception: not an
expected result, but never the lock. This is safe, and meant only for a migration from one to the other.

Not a test_*.py, because `make test` cannot run it: tools/interop does, if it has Redisson.
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


def test_bowline_is_busy_and_leaves_a_hash_of_redisson_unchanged(arena, redisson, bowline):
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


def test_redisson_fails_and_leaves_a_string_of_bowline_unchanged(arena, redisson, bowline):
    assert bowline.acquire() == "held"
    value = arena.server.dump()
    assert redisson.acquire() == "busy"
    assert redisson.acquire(300) == "busy"
    assert arena.server.dump() == value
    assert bowline.release() == "released"
    redisson.take_and_return()
    assert arena.server.keys() == []


def test_release_is_lost_and_leaves_a_later_lock_of_redisson_unchanged(arena, redisson, bowline):
    assert bowline.acquire() == "held"
    arena.server.cli("del", KEY)
    assert redisson.acquire() == "held"
    value = arena.server.dump()
    assert bowline.release() == "lost"
    assert arena.server.dump() == value
    assert redisson.release() == "released"


def test_never_two_holders(arena):
    outcome = arena.contend_in_pairs(
        lambda: arena.party("java", "redisson", LEASE_MS), lambda: arena.bowline(QUERY, LEASE_MS), COUNT
    )
    outcome.check_exclusion(0)
    # The strings that Redisson found while bowline had the lock: each was an exception, and shows that both wanted it.
    assert outcome.total("stolen", "foreign") > 0, outcome
    assert arena.server.keys() == []
