"""An arena for each test: a server and a witness of its own, and no process left behind."""

import os
import pathlib
import shutil
import tempfile

import pytest

from interop.arena import Arena, Server


@pytest.fixture
def arena():
    if "BOWLINE_PARTY" not in os.environ:
        pytest.skip("BOWLINE_PARTY is not set: run through meson test, or make interop")
    root = pathlib.Path(tempfile.mkdtemp(prefix="bowline-interop-"))
    server = Server(root)
    arena = Arena(root, server)
    yield arena
    arena.end()
    server.stop()
    shutil.rmtree(root)
