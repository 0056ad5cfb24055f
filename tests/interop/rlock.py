"""bowline in Redisson's RLock and RFencedLock, by profile: they exclude, wake and survive each other.

The Java library is the real one. A wait of the Java side ends by the message on its channel, by the end of the lease or
by the end of its patience: with a lease of ten minutes and a patience of one, "held" means that the message came.

Not a test_*.py, as `make test` cannot run it: tools/interop does, when it has Redisson. BOWLINE_RLOCK_COUNT is how
often each party has the lock where all of them want it.
"""

import os
import pathlib
import re

import pytest

from interop.arena import KEY

pytestmark = pytest.mark.skipif(
    "java" in os.environ.get("BOWLINE_ABSENT", "").split(), reason="Java is absent"
)

LEASE_MS = 600_000
SHORT_MS = 2000
PATIENCE_MS = 60_000
COUNT = int(os.environ.get("BOWLINE_RLOCK_COUNT", "40"))
CHANNEL = f"redisson_lock__channel:{{{KEY}}}"
COUNTER = f"redisson_lock_token:{{{KEY}}}"
FIELD = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[1-9][0-9]*")


@pytest.fixture
def redisson(arena):
    return arena.party("java", "redisson", LEASE_MS).await_ready()


@pytest.fixture
def bowline(arena):
    return arena.bowline("profile=redisson", LEASE_MS).await_ready()


def fields(arena):
    """Of the hash, each field with its count."""
    words = arena.server.cli("hgetall", KEY).split()
    return dict(zip(words[::2], words[1::2]))


def await_redisson_waiting(arena):
    """It has subscribed, and made the attempt that follows: PTTL is what an attempt says that failed."""
    arena.wait_until("the subscription", lambda: arena.server.cli("pubsub", "numsub", CHANNEL).endswith("\n1"))
    arena.wait_until("the attempt", lambda: calls(arena, "pttl") >= 2)


def await_bowline_waiting(arena):
    """It has asked for pushes, and made the attempt that follows: each of its attempts asks for its field."""
    arena.wait_until("the waiter", lambda: "tracking_clients:1" in arena.server.cli("info", "clients"))
    arena.wait_until("the attempt", lambda: calls(arena, "hexists") >= 2)


def calls(arena, command):
    found = re.search(rf"cmdstat_{command}:calls=(\d+),", arena.server.cli("info", "commandstats"))
    return int(found.group(1)) if found else 0


# ---- who has it ------------------------------------------------------------------------------------


def test_a_hold_of_redissons_is_busy_and_not_touched(arena, redisson, bowline):
    assert redisson.acquire() == "held"
    value = arena.server.dump()
    assert bowline.acquire() == "busy"
    assert bowline.acquire(300) == "busy"
    assert arena.server.dump() == value
    assert redisson.release() == "released"
    assert bowline.acquire() == "held"
    assert bowline.release() == "released"
    assert arena.server.keys() == []


def test_a_hold_of_bowlines_is_busy_and_no_exception(arena, redisson, bowline):
    assert bowline.acquire() == "held"
    ((field, count),) = fields(arena).items()
    assert FIELD.fullmatch(field) and count == "1"
    value = arena.server.dump()
    assert redisson.acquire() == "busy"
    assert redisson.acquire(300) == "busy"
    assert arena.server.dump() == value
    assert bowline.release() == "released"
    assert redisson.acquire() == "held"
    assert redisson.release() == "released"
    assert arena.server.keys() == []


def test_a_hold_that_was_entered_again_is_left_alone(arena, redisson, bowline):
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


def test_what_the_other_has_now_is_not_released(arena, redisson, bowline):
    assert bowline.acquire() == "held"
    arena.server.cli("del", KEY)
    assert redisson.acquire() == "held"
    value = arena.server.dump()
    assert bowline.release() == "lost"
    assert arena.server.dump() == value
    arena.server.cli("del", KEY)
    assert bowline.acquire() == "held"
    value = arena.server.dump()
    assert redisson.release() == "lost"
    assert arena.server.dump() == value


def test_the_watchdog_goes_on_beside_a_waiter(arena, bowline):
    """Without a lease Redisson renews every ten seconds; the key is set to end before that, and its watchdog mends it."""
    kept = arena.party("java", "redisson-kept", LEASE_MS).await_ready()
    assert kept.acquire() == "held"
    bowline.tell(f"acquire {PATIENCE_MS}")
    await_bowline_waiting(arena)
    arena.server.cli("pexpire", KEY, "20000")
    arena.wait_until("the watchdog", lambda: int(arena.server.cli("pttl", KEY)) > 20000)
    assert kept.release() == "released"
    assert bowline.hear() == "held"


# ---- the other locks of Redisson that have the same key -----------------------------------------------


@pytest.mark.parametrize("algorithm", ["redisson-fair", "redisson-spin"])
def test_its_other_exclusive_locks_are_excluded(arena, bowline, algorithm):
    other = arena.party("java", algorithm, LEASE_MS).await_ready()
    assert other.acquire() == "held"
    assert bowline.acquire() == "busy"
    assert other.release() == "released"
    assert bowline.acquire() == "held"
    assert other.acquire() == "busy"
    assert bowline.release() == "released"


@pytest.mark.parametrize("algorithm", ["redisson-read", "redisson-write"])
def test_its_read_write_lock_comes_in_beside_any_rlock(arena, redisson, bowline, algorithm):
    """A hash without a mode is free to it, whoever has it: the guarantees say so."""
    other = arena.party("java", algorithm, LEASE_MS).await_ready()
    for holder in (redisson, bowline):
        assert holder.acquire() == "held"
        assert other.acquire() == "held"
        arena.server.cli("flushall")


# ---- who is woken ----------------------------------------------------------------------------------


@pytest.mark.parametrize("profile, algorithm", [("redisson", "redisson"), ("redisson-fenced", "redisson-fenced")])
def test_a_release_of_bowlines_wakes_redisson(arena, profile, algorithm):
    redisson = arena.party("java", algorithm, LEASE_MS).await_ready()
    bowline = arena.bowline(f"profile={profile}", LEASE_MS).await_ready()
    assert bowline.acquire() == "held"
    redisson.tell(f"acquire {PATIENCE_MS}")
    await_redisson_waiting(arena)
    assert bowline.release() == "released"
    assert redisson.hear() == "held"
    # Before it subscribes, after that, and after the message: it did not ask in between.
    assert calls(arena, "hincrby") == 1
    assert redisson.release() == "released"


def test_a_release_of_redissons_wakes_bowline(arena, redisson, bowline):
    assert redisson.acquire() == "held"
    bowline.tell(f"acquire {PATIENCE_MS}")
    await_bowline_waiting(arena)
    assert redisson.release() == "released"
    assert bowline.hear() == "held"
    assert bowline.release() == "released"


def test_a_hold_that_is_broken_by_redisson_is_lost(arena, redisson, bowline):
    """forceUnlock is DEL and PUBLISH, whoever has it."""
    assert bowline.acquire() == "held"
    redisson.tell(f"acquire {PATIENCE_MS}")
    await_redisson_waiting(arena)
    script = "redis.call('del', KEYS[1]); return redis.call('publish', KEYS[2], '0')"
    arena.server.cli("eval", script, "2", KEY, CHANNEL)
    assert redisson.hear() == "held"
    assert bowline.release() == "lost"
    assert redisson.release() == "released"


# ---- who is killed ---------------------------------------------------------------------------------


def test_bowline_that_is_killed_leaves_the_lock_for_a_lease(arena, redisson):
    bowline = arena.bowline("profile=redisson", SHORT_MS).await_ready()
    assert bowline.acquire() == "held"
    bowline.kill()
    assert redisson.acquire() == "busy"
    assert redisson.acquire(PATIENCE_MS) == "held"
    assert redisson.release() == "released"
    assert arena.server.keys() == []


def test_redisson_that_is_killed_leaves_the_lock_for_a_lease(arena, bowline):
    redisson = arena.party("java", "redisson", SHORT_MS).await_ready()
    assert redisson.acquire() == "held"
    redisson.kill()
    assert bowline.acquire() == "busy"
    assert bowline.acquire(PATIENCE_MS) == "held"
    assert bowline.release() == "released"
    assert arena.server.keys() == []


def test_a_waiter_that_is_killed_is_in_nobodys_way(arena, redisson, bowline):
    other = arena.bowline("profile=redisson", LEASE_MS).await_ready()
    assert redisson.acquire() == "held"
    bowline.tell(f"acquire {PATIENCE_MS}")
    await_bowline_waiting(arena)
    bowline.kill()
    assert redisson.release() == "released"
    assert other.acquire() == "held"
    assert other.release() == "released"


# ---- fences ----------------------------------------------------------------------------------------


def test_fences_grow_across_both(arena):
    redisson = arena.party("java", "redisson-fenced", LEASE_MS).await_ready()
    bowline = arena.bowline("profile=redisson-fenced", LEASE_MS).await_ready()
    said = []
    for _ in range(5):
        for party in (redisson, bowline, bowline, redisson):
            assert party.acquire(PATIENCE_MS) == "held"
            said.append(int(party.ask("fence")))
            assert party.release() == "released"
    assert said == list(range(1, 21))
    assert arena.server.cli("get", COUNTER) == "20"


def test_an_rlock_has_no_fence_and_counts_nothing(arena, bowline):
    assert bowline.acquire() == "held"
    assert bowline.ask("fence") == "0"
    assert arena.server.keys() == [KEY]


@pytest.mark.parametrize("algorithm, program", [("redisson", "RLock"), ("redisson-fenced", "RFencedLock")])
def test_doctor_knows_the_scripts(arena, algorithm, program):
    party = arena.party("java", algorithm, LEASE_MS).await_ready()
    table = (pathlib.Path(__file__).parents[2] / "doctor/foreign_locks.c").read_text(encoding="utf-8")
    of_lock = re.search(rf'"Redisson \({program}\)", "{algorithm}", "lock",\s+"([0-9a-f]{{40}})"', table).group(1)
    assert arena.server.cli("script", "exists", of_lock) == "0"
    assert party.acquire() == "held"
    assert arena.server.cli("script", "exists", of_lock) == "1"


# ---- all at once -----------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["redisson", "redisson-fenced"])
def test_never_two_inside(arena, algorithm):
    parties = []
    for _ in range(2):
        parties.append(arena.party("java", algorithm, LEASE_MS))
        parties.append(arena.bowline(f"profile={algorithm}", LEASE_MS))
    outcome = arena.contend(parties, COUNT)
    for side in ("foreign", "bowline"):
        assert outcome.total("acquired", side) == 2 * COUNT
    for trouble in ("overlaps", "lost", "gave_up", "errors", "stolen"):
        assert outcome.total(trouble) == 0, f"{trouble}: {outcome}"
    assert outcome.overlaps == 0, outcome
    assert outcome.hand_overs > COUNT // 4, outcome
    # Each hold counts once; and Redisson deletes the key of its last release when it has its answer.
    if algorithm == "redisson-fenced":
        assert arena.server.cli("get", COUNTER) == str(4 * COUNT)
    arena.wait_until("the end", lambda: set(arena.server.keys()) <= {COUNTER})
