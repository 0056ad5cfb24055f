"""bowline and a program that is none of ours, on one key.

For every pair the same is asked: does either keep the other out, is nothing of the other's touched, does the
lock of a dead holder come back, and are there never two inside when two processes of either side contend.
The programs are in the directories beside this file, the pairs in pairs.py.
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
# Where who loses a race leaves a stamp that nobody knows: until that has passed, nobody gets the lock.
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


def only_what_ends_by_itself_is_left(arena, pair):
    """Nothing on the server, but for what the foreign program leaves too, with an expiry or without."""
    for key in arena.server.keys():
        assert key in [left % KEY for left in pair.leaves + pair.stays], key
        # -2: it has ended meanwhile.
        assert (arena.server.cli("pttl", key) != "-1") == (key in [left % KEY for left in pair.leaves]), key


def test_a_foreign_holder_keeps_bowline_out(arena, pair):
    theirs = foreigner(arena, pair).await_ready()
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    assert theirs.acquire() == "held"
    value = arena.server.dump(key_of(pair))
    assert value is not None
    assert ours.acquire() == "busy"
    assert ours.acquire(200) == "busy"
    assert arena.server.dump(key_of(pair)) == value
    assert theirs.release() == "released"
    assert ours.acquire() == "held"
    assert ours.release() == "released"
    only_what_ends_by_itself_is_left(arena, pair)


def test_bowline_keeps_a_foreign_program_out(arena, pair):
    theirs = foreigner(arena, pair).await_ready()
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    assert ours.acquire() == "held"
    value = arena.server.dump(key_of(pair))
    assert value is not None
    assert theirs.acquire() == "busy"
    assert theirs.acquire(200) == "busy"
    assert arena.server.dump(key_of(pair)) == value
    assert ours.release() == "released"
    assert theirs.acquire() == "held"
    assert theirs.release() == "released"
    only_what_ends_by_itself_is_left(arena, pair)


def test_whoever_waits_gets_it(arena, pair):
    theirs = foreigner(arena, pair).await_ready()
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    assert theirs.acquire() == "held"
    ours.tell(f"acquire {PATIENCE_MS}")
    assert theirs.release() == "released"
    assert ours.hear() == "held"
    theirs.tell(f"acquire {PATIENCE_MS}")
    assert ours.release() == "released"
    assert theirs.hear() == "held"
    assert theirs.release() == "released"


def test_what_a_dead_foreign_holder_left(arena, pair):
    theirs = foreigner(arena, pair, pair.short_ms).await_ready()
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    assert theirs.acquire() == "held"
    value = arena.server.dump(key_of(pair))
    theirs.kill()
    if not pair.never_ends:
        assert ours.acquire(PATIENCE_MS) == "held"
        assert ours.release() == "released"
    else:
        assert ours.acquire(2 * pair.short_ms) == "busy"
        assert arena.server.dump(key_of(pair)) == value


def test_what_a_dead_bowline_left(arena, pair):
    theirs = foreigner(arena, pair, pair.short_ms).await_ready()
    ours = arena.bowline(pair.query, pair.short_ms).await_ready()
    assert ours.acquire(PATIENCE_MS) == "held"  # with a short lease it waits for an answer for a third of that only
    value = arena.server.dump(key_of(pair))
    ours.kill()
    if not pair.never_ends:
        assert theirs.acquire(PATIENCE_MS) == "held"
        assert theirs.release() == "released"
    else:
        assert theirs.acquire(2 * pair.short_ms) == "busy"
        assert arena.server.dump(key_of(pair)) == value


@pytest.mark.parametrize("pair", ENDING, ids=str)
def test_a_late_bowline(arena, pair):
    """Its lease ran out while it worked, and a foreign program holds the lock when it gives back."""
    ours = arena.bowline(pair.query + "&renew=off", pair.short_ms).await_ready()
    theirs = foreigner(arena, pair).await_ready()
    assert ours.acquire(PATIENCE_MS) == "held"
    assert theirs.acquire(PATIENCE_MS) == "held"
    value = arena.server.dump(key_of(pair))
    assert ours.release() == "lost"
    assert arena.server.dump(key_of(pair)) == value
    assert theirs.release() == "released"


@pytest.mark.parametrize("pair", ENDING, ids=str)
def test_a_late_foreign_program(arena, pair):
    """The other way round. What a program deletes without looking is what its kind of lock has as a fault."""
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


STRANGERS = [
    ("set", "not a lock"),
    ("set", ""),
    ("set", "12 o'clock"),
    ("rpush", "1", "2"),
    ("hset", "0b3c:1", "1"),
    ("zadd", "1", "a"),
]


def test_a_value_that_is_not_ours_is_not_touched(arena, pair):
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    for command, *words in STRANGERS:
        arena.server.cli("del", key_of(pair))
        arena.server.cli(command, key_of(pair), *words)
        value = arena.server.dump(key_of(pair))
        assert ours.acquire() == "busy", words
        assert ours.acquire(100) == "busy", words
        assert arena.server.dump(key_of(pair)) == value, words
        assert arena.server.cli("ttl", key_of(pair)) == "-1", words


def test_what_somebody_put_in_place_of_ours_is_not_touched(arena, pair):
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


def test_a_foreign_lock_in_place_of_ours_is_not_touched(arena, pair):
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


def test_two_of_each_side_contend(arena, pair):
    lease_ms = MOVED_LEASE_MS if pair.moves_stamps else LEASE_MS
    # Those who pause for long do so once or twice for each time that they hold the lock.
    count = COUNT if pair.pause_ms < 50 else COUNT // 3
    parties = []
    for _ in range(2):
        parties.append(foreigner(arena, pair, lease_ms))
        parties.append(arena.bowline(pair.query, lease_ms, pair.pause_ms))
    outcome = arena.contend(parties, count)
    for side in ("foreign", "bowline"):
        assert outcome.total("acquired", side) == 2 * count, outcome
    assert outcome.total("gave_up") == 0, outcome
    assert outcome.total("errors") == 0, outcome
    # They did contend: the lock went from side to side.
    assert outcome.hand_overs >= 3, outcome
    faults_are_those_that_are_known(pair, outcome)
    if not pair.moves_stamps:
        only_what_ends_by_itself_is_left(arena, pair)
    assert [party.end() for party in parties] == [0, 0, 0, 0]


def faults_are_those_that_are_known(pair, outcome):
    overlaps = max(outcome.overlaps, outcome.total("overlaps"))
    lost = outcome.total("lost")
    if pair.lets_two_in:
        # Whoever came in second had deleted the first one's key: one of them finds none of its own.
        assert overlaps == 0 or lost > 0, outcome
    else:
        assert overlaps == 0, outcome
        # A timestamp is lost if a foreign program overwrote it by GETSET, because it believed that it had expired or
        # was gone.  A program without GETSET counts none.
        assert lost <= outcome.total("stolen"), outcome
