"""bowline with profiles for RLock and RFencedLock of Redisson: they exclude, wake and survive each other.

The Java library is the original. Its wait ends with the message on its channel, the end of the lease, or the time limit:
with a lease of ten minutes and a limit of one minute, "held" proves that the message arrived.

Not a test_*.py, because `make test` cannot run it: tools/interop does, if it has Redisson. BOWLINE_RLOCK_COUNT is the
number of holds of each party under contention.
"""

import os
import pathlib
import re

import pytest

from interop.arena import KEY
from interop.profiles import *  # noqa: F403 (its cases)

pytestmark = pytest.mark.skipif(
    "java" in os.environ.get("BOWLINE_ABSENT", "").split(), reason="Java is absent"
)

PROFILE = "redisson"
COUNT = int(os.environ.get("BOWLINE_RLOCK_COUNT", "40"))
CHANNEL = f"redisson_lock__channel:{{{KEY}}}"
COUNTER = f"redisson_lock_token:{{{KEY}}}"
FIELD = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[1-9][0-9]*")


@pytest.fixture
def start_library(arena):
    return lambda lease_ms: arena.party("java", "redisson", lease_ms).await_ready()


@pytest.fixture
def redisson(library):
    return library


@pytest.fixture
def await_bowline_waiting(arena):
    """Waits until it has enabled tracking and tried again afterwards: each attempt sends HEXISTS."""
    def wait():
        arena.wait_until("the waiter", lambda: "tracking_clients:1" in arena.server.cli("info", "clients"))
        arena.wait_until("the attempt", lambda: arena.server.calls("hexists") >= 2)

    return wait


def fields(arena):
    """The fields of the hash with their counts."""
    words = arena.server.cli("hgetall", KEY).split()
    return dict(zip(words[::2], words[1::2]))


def await_redisson_waiting(arena):
    """Waits until it has subscribed and tried again afterwards: a failed attempt sends PTTL."""
    arena.wait_until("the subscription", lambda: arena.server.cli("pubsub", "numsub", CHANNEL).endswith("\n1"))
    arena.wait_until("the attempt", lambda: arena.server.calls("pttl") >= 2)


# ---- exclusion ------------------------------------------------------------------------------------


def test_redisson_is_busy_without_an_exception_while_bowline_holds(arena, redisson, bowline):
    assert bowline.acquire() == "held"
    ((field, count),) = fields(arena).items()
    assert FIELD.fullmatch(field) and count == "1"
    value = arena.server.dump()
    assert redisson.acquire() == "busy"
    assert redisson.acquire(300) == "busy"
    assert arena.server.dump() == value
    assert bowline.release() == "released"
    redisson.take_and_return()
    assert arena.server.keys() == []


def test_reentrant_hold_stays_unchanged(arena, redisson, bowline):
    assert redisson.acquire() == "held"
    assert redisson.ask("again") == "held"
    before = fields(arena)
    assert list(before.values()) == ["2"]
    assert bowline.acquire(1000) == "busy"
    assert fields(arena) == before
    assert redisson.ask("count") == "2"
    assert redisson.release() == "released"
    assert bowline.acquire() == "busy"
    assert redisson.ask("count") == "1"
    assert redisson.release() == "released"
    assert bowline.acquire() == "held"


def test_watchdog_of_redisson_renews_while_bowline_waits(arena, bowline, await_bowline_waiting):
    """Without a lease the watchdog of Redisson renews every ten seconds, which restores the shortened TTL."""
    kept = arena.party("java", "redisson-kept", LEASE_MS).await_ready()
    assert kept.acquire() == "held"
    bowline.send(f"acquire {PATIENCE_MS}")
    await_bowline_waiting()
    arena.server.cli("pexpire", KEY, "20000")
    arena.wait_until("the watchdog", lambda: int(arena.server.cli("pttl", KEY)) > 20000)
    assert kept.release() == "released"
    assert bowline.read_reply() == "held"


# ---- the other locks of Redisson that have the same key -----------------------------------------------


@pytest.mark.parametrize("algorithm", ["redisson-fair", "redisson-spin"])
def test_other_exclusive_locks_of_redisson_exclude_bowline(arena, bowline, algorithm):
    other = arena.party("java", algorithm, LEASE_MS).await_ready()
    assert other.acquire() == "held"
    assert bowline.acquire() == "busy"
    assert other.release() == "released"
    assert bowline.acquire() == "held"
    assert other.acquire() == "busy"
    assert bowline.release() == "released"


@pytest.mark.parametrize("algorithm", ["redisson-read", "redisson-write"])
def test_read_write_lock_ignores_any_rlock(arena, redisson, bowline, algorithm):
    """It counts a hash without a mode as free, also with a holder, as docs/explanation/guarantees.md says."""
    other = arena.party("java", algorithm, LEASE_MS).await_ready()
    for holder in (redisson, bowline):
        assert holder.acquire() == "held"
        assert other.acquire() == "held"
        arena.server.cli("flushall")


# ---- wake-ups ----------------------------------------------------------------------------------


@pytest.mark.parametrize("profile, algorithm", [("redisson", "redisson"), ("redisson-fenced", "redisson-fenced")])
def test_release_of_bowline_wakes_redisson(arena, profile, algorithm):
    redisson = arena.party("java", algorithm, LEASE_MS).await_ready()
    bowline = arena.bowline(f"profile={profile}", LEASE_MS).await_ready()
    assert bowline.acquire() == "held"
    redisson.send(f"acquire {PATIENCE_MS}")
    await_redisson_waiting(arena)
    assert bowline.release() == "released"
    assert redisson.read_reply() == "held"
    # One attempt before the subscription, one after it, one after the message: no polling.
    assert arena.server.calls("hincrby") == 1
    assert redisson.release() == "released"


def test_hold_is_lost_after_force_unlock_of_redisson(arena, redisson, bowline):
    """forceUnlock sends DEL and PUBLISH, without a check of the owner."""
    assert bowline.acquire() == "held"
    redisson.send(f"acquire {PATIENCE_MS}")
    await_redisson_waiting(arena)
    script = "redis.call('del', KEYS[1]); return redis.call('publish', KEYS[2], '0')"
    arena.server.cli("eval", script, "2", KEY, CHANNEL)
    assert redisson.read_reply() == "held"
    assert bowline.release() == "lost"
    assert redisson.release() == "released"


# ---- fences ----------------------------------------------------------------------------------------


def test_fences_grow_across_both_programs(arena):
    redisson = arena.party("java", "redisson-fenced", LEASE_MS).await_ready()
    bowline = arena.bowline("profile=redisson-fenced", LEASE_MS).await_ready()
    fences = []
    for _ in range(5):
        for party in (redisson, bowline, bowline, redisson):
            assert party.acquire(PATIENCE_MS) == "held"
            fences.append(int(party.ask("fence")))
            assert party.release() == "released"
    assert fences == list(range(1, 21))
    assert arena.server.cli("get", COUNTER) == "20"


def test_rlock_has_no_fence_and_no_counter(arena, bowline):
    assert bowline.acquire() == "held"
    assert bowline.ask("fence") == "0"
    assert arena.server.keys() == [KEY]


@pytest.mark.parametrize("algorithm, program", [("redisson", "RLock"), ("redisson-fenced", "RFencedLock")])
def test_doctor_has_the_scripts_of_redisson(arena, algorithm, program):
    party = arena.party("java", algorithm, LEASE_MS).await_ready()
    table = (pathlib.Path(__file__).parents[2] / "doctor/foreign_locks.c").read_text(encoding="utf-8")
    of_lock = re.search(rf'"Redisson \({program}\)", "{algorithm}", "lock",\s+"([0-9a-f]{{40}})"', table).group(1)
    assert arena.server.cli("script", "exists", of_lock) == "0"
    assert party.acquire() == "held"
    assert arena.server.cli("script", "exists", of_lock) == "1"


# ---- contention -----------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["redisson", "redisson-fenced"])
def test_never_two_holders(arena, algorithm):
    outcome = arena.contend_in_pairs(
        lambda: arena.party("java", algorithm, LEASE_MS),
        lambda: arena.bowline(f"profile={algorithm}", LEASE_MS),
        COUNT,
    )
    assert outcome.total("stolen") == 0, outcome
    outcome.check_exclusion(COUNT // 4)
    # Each hold counts once. Redisson deletes the key of its last release when it has the reply.
    if algorithm == "redisson-fenced":
        assert arena.server.cli("get", COUNTER) == str(4 * COUNT)
    arena.wait_until("the end", lambda: set(arena.server.keys()) <= {COUNTER})
