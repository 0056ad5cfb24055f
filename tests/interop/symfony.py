"""bowline with the profile for the RedisStore of Symfony: they exclude and survive each other, and a push wakes bowline.

The PHP library is the original, in each version that tools/interop has. A wait of bowline ends with the push of the server,
the end of the lease, an attempt every half second, or its time limit.

Not a test_*.py, because `make test` cannot run it: tools/interop does. BOWLINE_SYMFONY_COUNT is the number of holds of
each party under contention.
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
    """The members with their scores."""
    words = arena.server.cli("zrange", KEY, "0", "-1", "withscores").split()
    return dict(zip(words[::2], words[1::2]))


def calls(arena, command):
    found = re.search(rf"cmdstat_{command}:calls=(\d+),", arena.server.cli("info", "commandstats"))
    return int(found.group(1)) if found else 0


def await_bowline_waiting(arena):
    """Waits until it has enabled tracking and tried again afterwards: each attempt sends TIME."""
    before = calls(arena, "time")
    arena.wait_until("the waiter", lambda: "tracking_clients:1" in arena.server.cli("info", "clients"))
    arena.wait_until("the attempt", lambda: calls(arena, "time") > before)


# ---- exclusion ------------------------------------------------------------------------------------


def test_bowline_is_busy_and_leaves_a_hold_of_symfony_unchanged(arena, symfony, bowline):
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


def test_symfony_is_busy_without_an_exception_while_bowline_holds(arena, symfony, bowline):
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


def test_release_leaves_a_later_hold_of_the_other_unchanged(arena, symfony, bowline):
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


def test_bowline_is_busy_until_the_last_reader_released(arena, version, symfony, bowline):
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


def test_refresh_succeeds_while_bowline_waits(arena, symfony, bowline):
    assert symfony.acquire() == "held"
    bowline.send(f"acquire {PATIENCE_MS}")
    await_bowline_waiting(arena)
    before = members(arena)
    assert symfony.ask("refresh") == "refreshed"
    after = members(arena)
    assert set(before) == set(after)
    assert all(int(after[name]) >= int(before[name]) for name in before)
    assert symfony.release() == "released"
    assert bowline.read_reply() == "held"


def test_versions_of_symfony_exclude_each_other_and_bowline(arena, bowline):
    if set(VERSIONS) & set(ABSENT):
        pytest.skip("a version is absent")
    old, new = [arena.party(version, "symfony", LEASE_MS).await_ready() for version in VERSIONS]
    for holder, others in ((old, (new, bowline)), (new, (old, bowline)), (bowline, (old, new))):
        assert holder.acquire() == "held"
        assert [other.acquire() for other in others] == ["busy", "busy"]
        assert holder.release() == "released"


# ---- wake-ups -------------------------------------------------------------------------------------


def test_release_of_symfony_wakes_bowline(arena, symfony, bowline):
    assert symfony.acquire() == "held"
    bowline.send(f"acquire {PATIENCE_MS}")
    await_bowline_waiting(arena)
    assert symfony.release() == "released"
    assert bowline.read_reply() == "held"
    assert bowline.release() == "released"


def test_blocked_symfony_acquires_after_a_release_of_bowline(arena, symfony, bowline):
    assert bowline.acquire() == "held"
    before = calls(arena, "zremrangebyscore")
    symfony.send("wait")
    arena.wait_until("two attempts", lambda: calls(arena, "zremrangebyscore") >= before + 2)
    assert bowline.release() == "released"
    assert symfony.read_reply() == "held"
    assert symfony.release() == "released"


# ---- killed processes ---------------------------------------------------------------------------------


def test_symfony_acquires_after_the_lease_of_a_killed_bowline(arena, symfony):
    bowline = arena.bowline("profile=symfony", SHORT_MS).await_ready()
    assert bowline.acquire() == "held"
    bowline.kill()
    assert symfony.acquire() == "busy"
    assert symfony.acquire(PATIENCE_MS) == "held"
    assert symfony.release() == "released"
    assert arena.server.keys() == []


def test_bowline_acquires_after_the_lease_of_a_killed_symfony(arena, version, bowline):
    symfony = arena.party(version, "symfony", SHORT_MS).await_ready()
    assert symfony.acquire() == "held"
    symfony.kill()
    assert bowline.acquire() == "busy"
    assert bowline.acquire(PATIENCE_MS) == "held"
    assert bowline.release() == "released"
    assert arena.server.keys() == []


def test_killed_waiter_does_not_block_others(arena, symfony, bowline):
    other = arena.bowline("profile=symfony", LEASE_MS).await_ready()
    assert symfony.acquire() == "held"
    bowline.send(f"acquire {PATIENCE_MS}")
    await_bowline_waiting(arena)
    bowline.kill()
    assert symfony.release() == "released"
    assert other.acquire() == "held"
    assert other.release() == "released"


# ---- the doctor --------------------------------------------------------------------------


def test_doctor_has_the_scripts_of_symfony(arena, symfony):
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


# ---- contention -----------------------------------------------------------------------------------


def test_never_two_holders(arena, version):
    parties = []
    for _ in range(2):
        parties.append(arena.party(version, "symfony", LEASE_MS))
        parties.append(arena.bowline("profile=symfony", LEASE_MS))
    outcome = arena.contend(parties, COUNT)
    for side in ("foreign", "bowline"):
        assert outcome.total("acquired", side) == 2 * COUNT
    for fault in ("overlaps", "lost", "gave_up", "errors", "stolen"):
        assert outcome.total(fault) == 0, f"{fault}: {outcome}"
    assert outcome.overlaps == 0, outcome
    assert outcome.handoffs > COUNT // 4, outcome
    assert arena.server.keys() == []
