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
from interop.profiles import *  # noqa: F403 (its cases)

VERSIONS = ["symfony-5", "symfony-7"]
ABSENT = os.environ.get("BOWLINE_ABSENT", "").split()

PROFILE = "symfony"
COUNT = int(os.environ.get("BOWLINE_SYMFONY_COUNT", "100"))
TOKEN = re.compile(r"[A-Za-z0-9+/]{43}=")


@pytest.fixture(params=VERSIONS)
def version(request):
    if request.param in ABSENT:
        pytest.skip(f"{request.param} is absent")
    return request.param


@pytest.fixture
def start_library(arena, version):
    return lambda lease_ms: arena.party(version, "symfony", lease_ms).await_ready()


@pytest.fixture
def symfony(library):
    return library


@pytest.fixture
def await_bowline_waiting(arena):
    """Waits until it has enabled tracking and tried again afterwards: each attempt sends TIME."""
    def wait():
        before = arena.server.calls("time")
        arena.wait_until("the waiter", lambda: "tracking_clients:1" in arena.server.cli("info", "clients"))
        arena.wait_until("the attempt", lambda: arena.server.calls("time") > before)

    return wait


def members(arena):
    """The members with their scores."""
    words = arena.server.cli("zrange", KEY, "0", "-1", "withscores").split()
    return dict(zip(words[::2], words[1::2]))


# ---- exclusion ------------------------------------------------------------------------------------


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
    symfony.take_and_return()
    assert arena.server.keys() == []


def test_refresh_of_a_lost_hold_leaves_that_of_bowline_unchanged(arena, symfony, bowline):
    assert symfony.acquire() == "held"
    assert symfony.ask("acquired") == "yes"
    arena.server.cli("del", KEY)
    assert bowline.acquire() == "held"
    value = arena.server.dump()
    assert symfony.ask("refresh") == "conflict"
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


def test_refresh_succeeds_while_bowline_waits(arena, symfony, bowline, await_bowline_waiting):
    assert symfony.acquire() == "held"
    bowline.send(f"acquire {PATIENCE_MS}")
    await_bowline_waiting()
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


def test_blocked_symfony_acquires_after_a_release_of_bowline(arena, symfony, bowline):
    assert bowline.acquire() == "held"
    before = arena.server.calls("zremrangebyscore")
    symfony.send("wait")
    arena.wait_until("two attempts", lambda: arena.server.calls("zremrangebyscore") >= before + 2)
    assert bowline.release() == "released"
    assert symfony.read_reply() == "held"
    assert symfony.release() == "released"


# ---- the doctor --------------------------------------------------------------------------


def test_doctor_has_the_scripts_of_symfony(arena, symfony):
    table = (pathlib.Path(__file__).parents[2] / "doctor/foreign_locks.c").read_text(encoding="utf-8")
    rows = re.findall(r'"Symfony Lock", "symfony", "([a-z ]+)",\s*"([0-9a-f]{40})"', table)
    assert [name for name, _ in rows] == ["save", "save for reading", "put off expiration", "delete", "exists"]
    for _, script in rows:
        assert arena.server.cli("script", "exists", script) == "0"
    symfony.take_and_return()
    assert symfony.ask("read") == "held"
    for _, script in rows:
        assert arena.server.cli("script", "exists", script) == "1"


# ---- contention -----------------------------------------------------------------------------------


def test_never_two_holders(arena, version):
    outcome = arena.contend_in_pairs(
        lambda: arena.party(version, "symfony", LEASE_MS),
        lambda: arena.bowline("profile=symfony", LEASE_MS),
        COUNT,
    )
    assert outcome.total("stolen") == 0, outcome
    outcome.check_exclusion(COUNT // 4)
    assert arena.server.keys() == []
