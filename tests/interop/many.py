"""A lock on the majority of three servers: redlock:// of bowline and the libraries that have such a lock.

Not a test_*.py, because no language of `make test` has such a lock: tools/interop runs it.
"""

import contextlib
import os

import pytest

from interop import pairs
from interop.arena import KEY, Server

LEASE_MS = 30000
PATIENCE_MS = 60000
COUNT = 8
ABSENT = os.environ.get("BOWLINE_ABSENT", "").split()
PAIRS = [pair for pair in pairs.MANY if pair.language not in ABSENT]


@pytest.fixture
def three(arena):
    """The server of the arena and two more."""
    with contextlib.ExitStack() as ends:
        servers = [arena.server]
        for number in (2, 3):
            root = arena.root / f"server-{number}"
            root.mkdir()
            servers.append(Server(root))
            ends.callback(servers[-1].stop)
        arena.ports = ",".join(str(server.port) for server in servers)
        yield servers


def foreigner(arena, pair):
    return arena.party(pair.language, pair.algorithm, LEASE_MS, pair.pause_ms)


def wait_for_key(arena, servers, pair, count):
    """Waits until so many servers have the key."""
    arena.wait_until(
        f"the key on {count}",
        lambda: sum(server.dump(pair.key % KEY) is not None for server in servers) == count,
    )


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_bowline_is_busy_while_a_foreign_program_has_the_majority(arena, three, pair):
    theirs = foreigner(arena, pair).await_ready()
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    assert theirs.acquire() == "held"
    wait_for_key(arena, three, pair, 3)
    assert ours.acquire() == "busy"
    assert theirs.release() == "released"
    wait_for_key(arena, three, pair, 0)
    ours.take_and_return(PATIENCE_MS)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_foreign_program_is_busy_while_bowline_has_the_majority(arena, three, pair):
    theirs = foreigner(arena, pair).await_ready()
    ours = arena.bowline(pair.query, LEASE_MS).await_ready()
    assert ours.acquire() == "held"
    wait_for_key(arena, three, pair, 3)
    assert theirs.acquire() == "busy"
    wait_for_key(arena, three, pair, 3)
    # Two of three are still a majority.
    three[2].cli("del", pair.key % KEY)
    assert theirs.acquire() == "busy"
    assert ours.release() == "released"
    wait_for_key(arena, three, pair, 0)
    theirs.take_and_return(PATIENCE_MS)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_two_of_each_side_exclude_each_other(arena, three, pair):
    outcome = arena.contend_in_pairs(
        lambda: foreigner(arena, pair), lambda: arena.bowline(pair.query, LEASE_MS, pair.pause_ms), COUNT
    )
    outcome.check_exclusion(0)
    assert [party.end() for party in arena.parties] == [0, 0, 0, 0]
