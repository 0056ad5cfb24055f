"""bowline and a foreign program on one key.

The checks for each pair: each side excludes the other and leaves its values unchanged, the lock of a dead holder
becomes free, and two processes of each side never hold the lock at once under contention. The programs are in the
subdirectories, the pairs in pairs.py.
"""

import os

import pytest

from interop import pairs
from interop.arena import KEY, missing

PAIRS = [
    pair
    for pair in (pairs.FETCHED if "BOWLINE_INTEROP" in os.environ else pairs.ALWAYS)
    if pair.language not in os.environ.get("BOWLINE_ABSENT", "").split()
]
ENDING = [pair for pair in PAIRS if not pair.never_ends]
LEASE_MS = 30000
# The loser of a race overwrites the timestamp: until that has passed, no party acquires the lock.
MOVED_LEASE_MS = 3000
PATIENCE_MS = 60000
COUNT = 25


@pytest.fixture(params=PAIRS, ids=str)
def pair(request):
    if missing(request.param.language):
        pytest.skip(missing(request.param.language))
    return request.param


def key_of(pair):
    return pair.key % KEY


def foreigner(arena, pair, lease_ms=LEASE_MS):
    return arena.party(pair.language, pair.algorithm, lease_ms, pair.pause_ms)


def check_remaining_keys(arena, pair):
    """Only the keys that the foreign program leaves too exist, with an expiry or without."""
    for key in arena.server.keys():
        assert key in [left % KEY for left in pair.leaves + pair.stays], key
        # -2: expired meanwhile.
        assert (arena.server.cli("pttl", key) != "-1") == (key in [left % KEY for left in pair.leaves]), key


@pytest.fixture(params=["bowline", "foreign"])
def holder(request):
    """The side that holds the lock; the other one tries to acquire it."""
    return request.param


def test_other_side_is_busy_while_one_holds(arena, pair, holder):
    theirs = foreigner(arena, pair).await_ready()
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    first, second = (ours, theirs) if holder == "bowline" else (theirs, ours)
    assert first.acquire() == "held"
    value = arena.server.dump(key_of(pair))
    assert value is not None
    assert second.acquire() == "busy"
    assert second.acquire(200) == "busy"
    assert arena.server.dump(key_of(pair)) == value
    assert first.release() == "released"
    second.take_and_return()
    check_remaining_keys(arena, pair)


def test_waiter_acquires_after_the_release_of_the_other(arena, pair):
    theirs = foreigner(arena, pair).await_ready()
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    assert theirs.acquire() == "held"
    ours.send(f"acquire {PATIENCE_MS}")
    assert theirs.release() == "released"
    assert ours.read_reply() == "held"
    theirs.send(f"acquire {PATIENCE_MS}")
    assert ours.release() == "released"
    assert theirs.read_reply() == "held"
    assert theirs.release() == "released"


def test_other_side_after_a_killed_holder(arena, pair, holder):
    theirs = foreigner(arena, pair, pair.short_ms).await_ready()
    ours = arena.bowline(pair.query, pair.short_ms if holder == "bowline" else LEASE_MS).await_ready()
    killed, other = (ours, theirs) if holder == "bowline" else (theirs, ours)
    # A short lease means a short time-out for replies.
    assert killed.acquire(PATIENCE_MS if holder == "bowline" else 0) == "held"
    value = arena.server.dump(key_of(pair))
    killed.kill()
    if not pair.never_ends:
        other.take_and_return(PATIENCE_MS)
    else:
        assert other.acquire(2 * pair.short_ms) == "busy"
        assert arena.server.dump(key_of(pair)) == value


@pytest.mark.parametrize("pair", ENDING, ids=str)
def test_late_release_of_bowline_is_lost_and_leaves_the_next_holder(arena, pair):
    """Its lease ended before its release, and a foreign program has the lock."""
    ours = arena.bowline(pair.query + "&renew=off", pair.short_ms).await_ready()
    theirs = foreigner(arena, pair).await_ready()
    assert ours.acquire(PATIENCE_MS) == "held"
    assert theirs.acquire(PATIENCE_MS) == "held"
    value = arena.server.dump(key_of(pair))
    assert ours.release() == "lost"
    assert arena.server.dump(key_of(pair)) == value
    assert theirs.release() == "released"


@pytest.mark.parametrize("pair", ENDING, ids=str)
def test_late_release_of_a_foreign_program_deletes_only_as_documented(arena, pair):
    """The reverse. A program that deletes without a check deletes the lock of bowline."""
    theirs = foreigner(arena, pair, pair.short_ms).await_ready()
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    assert theirs.acquire() == "held"
    assert ours.acquire(PATIENCE_MS) == "held"
    value = arena.server.dump(key_of(pair))
    if pair.deletes_blindly:
        assert theirs.release() == "released"
        assert arena.server.dump(key_of(pair)) is None
        assert ours.release() == "lost"
    else:
        assert theirs.release() == "lost"
        assert arena.server.dump(key_of(pair)) == value
        assert ours.release() == "released"


FOREIGN_VALUES = [
    ("set", "not a lock"),
    ("set", ""),
    ("set", "12 o'clock"),
    ("rpush", "1", "2"),
    ("hset", "0b3c:1", "1"),
    ("zadd", "1", "a"),
]


def test_foreign_value_is_busy_and_stays_unchanged(arena, pair):
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    for command, *words in FOREIGN_VALUES:
        arena.server.cli("del", key_of(pair))
        arena.server.cli(command, key_of(pair), *words)
        value = arena.server.dump(key_of(pair))
        assert ours.acquire() == "busy", words
        assert ours.acquire(100) == "busy", words
        assert arena.server.dump(key_of(pair)) == value, words
        assert arena.server.cli("ttl", key_of(pair)) == "-1", words


def test_release_leaves_a_value_that_replaced_ours(arena, pair):
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    assert ours.acquire() == "held"
    arena.server.cli("set", key_of(pair), "somebody else")
    value = arena.server.dump(key_of(pair))
    if pair.we_delete_blindly:
        assert ours.release() == "released"
        assert arena.server.dump(key_of(pair)) is None
    else:
        assert ours.release() == "lost"
        assert arena.server.dump(key_of(pair)) == value


def test_release_leaves_a_foreign_lock_that_replaced_ours(arena, pair):
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    theirs = foreigner(arena, pair).await_ready()
    assert ours.acquire() == "held"
    arena.server.cli("del", key_of(pair))
    assert theirs.acquire() == "held"
    value = arena.server.dump(key_of(pair))
    if pair.we_delete_blindly or pair.we_delete_stamps:
        assert ours.release() == ("released" if pair.we_delete_blindly else "lost")
        assert arena.server.dump(key_of(pair)) is None
    else:
        assert ours.release() == "lost"
        assert arena.server.dump(key_of(pair)) == value
        assert theirs.release() == "released"


def test_two_of_each_side_exclude_each_other(arena, pair):
    lease_ms = MOVED_LEASE_MS if pair.moves_stamps else LEASE_MS
    # With a long pause each hold takes longer.
    count = COUNT if pair.pause_ms < 50 else COUNT // 3
    outcome = arena.contend_in_pairs(
        lambda: foreigner(arena, pair, lease_ms),
        lambda: arena.bowline(pair.query, lease_ms, pair.pause_ms),
        count,
    )
    # Proves contention: the lock changed sides.
    assert outcome.handoffs >= 3, outcome
    check_known_faults(pair, outcome)
    if not pair.moves_stamps:
        check_remaining_keys(arena, pair)
    assert [party.end() for party in arena.parties] == [0, 0, 0, 0]


def check_known_faults(pair, outcome):
    overlaps = max(outcome.overlaps, outcome.total("overlaps"))
    lost = outcome.total("lost")
    if pair.lets_two_in:
        # The second holder deleted the key of the first: one of them loses its key.
        assert overlaps == 0 or lost > 0, outcome
    else:
        assert overlaps == 0, outcome
        # A timestamp is lost if a foreign program overwrote it by GETSET, because it considered it expired or missing.
        # A program without GETSET counts none.
        assert lost <= outcome.total("stolen"), outcome
