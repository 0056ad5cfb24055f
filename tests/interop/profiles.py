"""Cases for each profile of a lock whose library wakes bowline, imported by the file of the library.

That file has PROFILE and the fixtures start_library(lease_ms) and await_bowline_waiting().
"""

import pytest

from interop.arena import KEY

LEASE_MS = 600_000
SHORT_MS = 2000
PATIENCE_MS = 60_000


@pytest.fixture
def start_bowline(arena, request):
    return lambda lease_ms: arena.bowline(f"profile={request.module.PROFILE}", lease_ms).await_ready()


@pytest.fixture
def bowline(start_bowline):
    return start_bowline(LEASE_MS)


@pytest.fixture
def library(start_library):
    return start_library(LEASE_MS)


def test_bowline_is_busy_and_leaves_a_hold_of_the_library_unchanged(arena, library, bowline):
    assert library.acquire() == "held"
    value = arena.server.dump()
    assert bowline.acquire() == "busy"
    assert bowline.acquire(300) == "busy"
    assert arena.server.dump() == value
    assert library.release() == "released"
    bowline.take_and_return()
    assert arena.server.keys() == []


def test_release_leaves_a_later_hold_of_the_other_unchanged(arena, library, bowline):
    for first, second in ((bowline, library), (library, bowline)):
        assert first.acquire() == "held"
        arena.server.cli("del", KEY)
        assert second.acquire() == "held"
        value = arena.server.dump()
        assert first.release() == "lost"
        assert arena.server.dump() == value
        arena.server.cli("del", KEY)
        assert second.release() == "lost"


def test_release_of_the_library_wakes_bowline(library, bowline, await_bowline_waiting):
    assert library.acquire() == "held"
    bowline.send(f"acquire {PATIENCE_MS}")
    await_bowline_waiting()
    assert library.release() == "released"
    assert bowline.read_reply() == "held"
    assert bowline.release() == "released"


def test_each_acquires_after_the_lease_of_the_other_that_was_killed(arena, start_library, start_bowline):
    for start_killed, start_next in ((start_bowline, start_library), (start_library, start_bowline)):
        killed = start_killed(SHORT_MS)
        other = start_next(LEASE_MS)
        assert killed.acquire() == "held"
        killed.kill()
        assert other.acquire() == "busy"
        other.take_and_return(PATIENCE_MS)
        assert arena.server.keys() == []


def test_killed_waiter_does_not_block_others(library, bowline, start_bowline, await_bowline_waiting):
    other = start_bowline(LEASE_MS)
    assert library.acquire() == "held"
    bowline.send(f"acquire {PATIENCE_MS}")
    await_bowline_waiting()
    bowline.kill()
    assert library.release() == "released"
    other.take_and_return()
