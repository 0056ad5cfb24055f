"""bowline in a lock of Symfony's RedisStore, by profile: they exclude and survive each other, and bowline is woken.

The PHP library is the real one, in each version that tools/interop has. A wait of bowline's ends by the push of the server,
by the end of the lease, by an attempt every half second, or by the end of its patience.

Not a test_*.py, as `make test` cannot run it: tools/interop does. BOWLINE_SYMFONY_COUNT is how often each party
has the lock where all of them want it.
"""

import os
import pathlib
import re

import pytest

from interop.arena import KEY

VERSIONS = ["symfony-5", "symfony-7"]
ABSENT = os.environ.get("BOWLINE_ABSENT", "").split()

LEASE_MS = 600_000
SHORT_MS = 2000
PATIENCE_MS = 60_000
COUNT = int(os.environ.get("BOWLINE_SYMFONY_COUNT", "100"))
TOKEN = re.compile(r"[A-Za-z0-9+/]{43}=")


@pytest.fixture(params=VERSIONS)
def version(request):
    if request.param in ABSENT:
        pytest.skip(f"{request.param} is absent")
    return request.param


@pytest.fixture
def symfony(arena, version):
    return arena.party(version, "symfony", LEASE_MS).await_ready()


@pytest.fixture
def bowline(arena):
    return arena.bowline("profile=symfony", LEASE_MS).await_ready()


def members(arena):
    """Each with its score."""
    words = arena.server.cli("zrange", KEY, "0", "-1", "withscores").split()
    return dict(zip(words[::2], words[1::2]))


def calls(arena, command):
    found = re.search(rf"cmdstat_{command}:calls=(\d+),", arena.server.cli("info", "commandstats"))
    return int(found.group(1)) if found else 0


def await_bowline_waiting(arena):
    """It has asked for pushes, and made the attempt that follows: each of its attempts asks for the time."""
    before = calls(arena, "time")
    arena.wait_until("the waiter", lambda: "tracking_clients:1" in arena.server.cli("info", "clients"))
    arena.wait_until("the attempt", lambda: calls(arena, "time") > before)


# ---- who has it ------------------------------------------------------------------------------------


def test_a_hold_of_symfonys_is_busy_and_not_touched(arena, symfony, bowline):
    assert symfony.acquire() == "held"
    value = arena.server.dump()
    assert bowline.acquire() == "busy"
    assert bowline.acquire(300) == "busy"
    assert arena.server.dump() == value
    assert symfony.ask("acquired") == "yes"
    assert symfony.release() == "released"
    assert bowline.acquire() == "held"
    assert bowline.release() == "released"
    assert arena.server.keys() == []


def test_a_hold_of_bowlines_is_busy_and_no_exception(arena, symfony, bowline):
    assert bowline.acquire() == "held"
    there = members(arena)
    assert "__write__" in there and len(there) == 2 and len(set(there.values())) == 1
    assert all(name == "__write__" or TOKEN.fullmatch(name) for name in there)
    value = arena.server.dump()
    assert symfony.acquire() == "busy"
    assert symfony.ask("read") == "busy"
    assert symfony.acquire(300) == "busy"
    assert symfony.ask("acquired") == "no"
    assert arena.server.dump() == value
    assert bowline.release() == "released"
    assert symfony.acquire() == "held"
    assert symfony.release() == "released"
    assert arena.server.keys() == []


def test_what_the_other_has_now_is_not_released(arena, symfony, bowline):
    assert bowline.acquire() == "held"
    arena.server.cli("del", KEY)
    assert symfony.acquire() == "held"
    value = arena.server.dump()
    assert bowline.release() == "lost"
    assert arena.server.dump() == value
    arena.server.cli("del", KEY)
    assert bowline.acquire() == "held"
    value = arena.server.dump()
    assert symfony.ask("refresh") == "conflict"
    assert symfony.release() == "lost"
    assert arena.server.dump() == value


def test_readers_keep_bowline_out_until_the_last_has_gone(arena, version, symfony, bowline):
    other = arena.party(version, "symfony", LEASE_MS).await_ready()
    assert symfony.ask("read") == "held"
    assert other.ask("read") == "held"
    assert bowline.acquire() == "busy"
    assert symfony.release() == "released"
    assert bowline.acquire(300) == "busy"
    assert other.acquire() == "held"  # the only reader is promoted
    assert bowline.acquire() == "busy"
    assert other.release() == "released"
    assert bowline.acquire() == "held"
    assert symfony.ask("read") == "busy"


def test_a_refresh_goes_on_beside_a_waiter(arena, symfony, bowline):
    assert symfony.acquire() == "held"
    bowline.tell(f"acquire {PATIENCE_MS}")
    await_bowline_waiting(arena)
    before = members(arena)
    assert symfony.ask("refresh") == "refreshed"
    after = members(arena)
    assert set(before) == set(after)
    assert all(int(after[name]) >= int(before[name]) for name in before)
    assert symfony.release() == "released"
    assert bowline.hear() == "held"


def test_versions_of_symfony_exclude_each_other_and_bowline(arena, bowline):
    if set(VERSIONS) & set(ABSENT):
        pytest.skip("a version is absent")
    old, new = [arena.party(version, "symfony", LEASE_MS).await_ready() for version in VERSIONS]
    for holder, others in ((old, (new, bowline)), (new, (old, bowline)), (bowline, (old, new))):
        assert holder.acquire() == "held"
        assert [other.acquire() for other in others] == ["busy", "busy"]
        assert holder.release() == "released"


# ---- who waits -------------------------------------------------------------------------------------


def test_a_release_of_symfonys_wakes_bowline(arena, symfony, bowline):
    assert symfony.acquire() == "held"
    bowline.tell(f"acquire {PATIENCE_MS}")
    await_bowline_waiting(arena)
    assert symfony.release() == "released"
    assert bowline.hear() == "held"
    assert bowline.release() == "released"


def test_a_release_of_bowlines_is_found_by_who_blocks_in_symfony(arena, symfony, bowline):
    assert bowline.acquire() == "held"
    before = calls(arena, "zremrangebyscore")
    symfony.tell("wait")
    arena.wait_until("two attempts", lambda: calls(arena, "zremrangebyscore") >= before + 2)
    assert bowline.release() == "released"
    assert symfony.hear() == "held"
    assert symfony.release() == "released"


# ---- who is killed ---------------------------------------------------------------------------------


def test_bowline_that_is_killed_leaves_the_lock_for_a_lease(arena, symfony):
    bowline = arena.bowline("profile=symfony", SHORT_MS).await_ready()
    assert bowline.acquire() == "held"
    bowline.kill()
    assert symfony.acquire() == "busy"
    assert symfony.acquire(PATIENCE_MS) == "held"
    assert symfony.release() == "released"
    assert arena.server.keys() == []


def test_symfony_that_is_killed_leaves_the_lock_for_a_lease(arena, version, bowline):
    symfony = arena.party(version, "symfony", SHORT_MS).await_ready()
    assert symfony.acquire() == "held"
    symfony.kill()
    assert bowline.acquire() == "busy"
    assert bowline.acquire(PATIENCE_MS) == "held"
    assert bowline.release() == "released"
    assert arena.server.keys() == []


def test_a_waiter_that_is_killed_is_in_nobodys_way(arena, symfony, bowline):
    other = arena.bowline("profile=symfony", LEASE_MS).await_ready()
    assert symfony.acquire() == "held"
    bowline.tell(f"acquire {PATIENCE_MS}")
    await_bowline_waiting(arena)
    bowline.kill()
    assert symfony.release() == "released"
    assert other.acquire() == "held"
    assert other.release() == "released"


# ---- what others are told --------------------------------------------------------------------------


def test_doctor_knows_the_scripts(arena, symfony):
    table = (pathlib.Path(__file__).parents[2] / "doctor/foreign_locks.c").read_text(encoding="utf-8")
    rows = re.findall(r'"Symfony Lock", "symfony", "([a-z ]+)",\s*"([0-9a-f]{40})"', table)
    assert [name for name, _ in rows] == ["save", "save for reading", "put off expiration", "delete", "exists"]
    for _, script in rows:
        assert arena.server.cli("script", "exists", script) == "0"
    assert symfony.acquire() == "held"
    assert symfony.release() == "released"
    assert symfony.ask("read") == "held"
    for _, script in rows:
        assert arena.server.cli("script", "exists", script) == "1"


# ---- all at once -----------------------------------------------------------------------------------


def test_never_two_inside(arena, version):
    parties = []
    for _ in range(2):
        parties.append(arena.party(version, "symfony", LEASE_MS))
        parties.append(arena.bowline("profile=symfony", LEASE_MS))
    outcome = arena.contend(parties, COUNT)
    for side in ("foreign", "bowline"):
        assert outcome.total("acquired", side) == 2 * COUNT
    for trouble in ("overlaps", "lost", "gave_up", "errors", "stolen"):
        assert outcome.total(trouble) == 0, f"{trouble}: {outcome}"
    assert outcome.overlaps == 0, outcome
    assert outcome.hand_overs > COUNT // 4, outcome
    assert arena.server.keys() == []
