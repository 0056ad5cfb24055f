"""What tools/sharing_peers.py says of an upgrade, in a world without a store: an answer may come after the share has gone."""

import collections

import pytest
import sharing_peers


class World:
    """A reader whose `upgrade` is answered after so many questions, and whose share is gone after so many looks."""

    def __init__(self, answered_after, gone_after=None, is_renewed=False):
        self.answered_after, self.gone_after, self.is_renewed = answered_after, gone_after, is_renewed
        self.asked, self.looks, self.held = 0, 0, False

    def party(self, name):
        return self

    def take(self, mode, lease_ms=0):
        self.held = True
        return "held"

    def start(self, line):
        assert line == "upgrade x"

    def answer(self, seconds):
        self.asked += 1
        return "held" if self.answered_after is not None and self.asked > self.answered_after else None

    def shares(self):
        self.looks += 1
        if not self.held or (self.gone_after is not None and self.looks > self.gone_after):
            return {}
        return {"a": 3000 + (200 * self.looks if self.is_renewed else 0)}


@pytest.fixture(autouse=True)
def no_time(monkeypatch):
    """A second passes with each look at the clock."""
    seconds = collections.deque(range(1000))
    monkeypatch.setattr(sharing_peers.time, "monotonic", seconds.popleft)
    monkeypatch.setattr(sharing_peers.time, "sleep", lambda _: None)


@pytest.mark.parametrize("answered_after", [0, 1, 20])
def test_answer_that_comes_after_the_share_has_gone_counts(answered_after):
    seen = sharing_peers.reader_upgrades(World(answered_after, gone_after=3))
    assert seen == (True, "it is answered: held")


def test_reader_whose_share_is_renewed_meanwhile_waits():
    seen = sharing_peers.reader_upgrades(World(None, is_renewed=True))
    assert seen == (False, "it waits for its own share, which is renewed 4 times meanwhile")


def test_reader_whose_share_has_gone_and_who_is_never_answered_waits():
    seen = sharing_peers.reader_upgrades(World(None, gone_after=3))
    assert seen == (False, "it waits, and its share has gone")
