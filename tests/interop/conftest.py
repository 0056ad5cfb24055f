"""A fixture with a server and a witness for each test; no process remains."""

import contextlib
import os

import pytest

from interop.arena import Arena, Server
from own_directory import own_directory


@pytest.fixture
def arena():
    if "BOWLINE_PARTY" not in os.environ:
        pytest.skip("BOWLINE_PARTY is not set: run through meson test, or make interop")
    with own_directory("bowline-interop-") as root, contextlib.ExitStack() as ends:
        server = Server(root)
        ends.callback(server.stop)
        arena = Arena(root, server)
        ends.callback(arena.end)
        yield arena
