"""The model of a Redis server answers as the redis-server of the PATH does: see differential.py.

Programs of each kind from fixed seeds; BOWLINE_SIM_SEED and BOWLINE_SIM_PROGRAMS choose others. tools/old-redis and
tools/valkey run the same with other servers.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import differential  # noqa: E402
import programs  # noqa: E402

PIPE = os.environ.get("BOWLINE_REDIS_PIPE")
SERVER = shutil.which("redis-server")
FIRST = int(os.environ.get("BOWLINE_SIM_SEED", "1"))
COUNT = int(os.environ.get("BOWLINE_SIM_PROGRAMS", "40"))

if PIPE is None:
    pytest.skip("the simulator is not built: no lua5.1", allow_module_level=True)
if SERVER is None:
    pytest.skip("no redis-server", allow_module_level=True)


def version():
    """The version of the model that is to be like this server; None: there is none."""
    text = subprocess.run([SERVER, "--version"], capture_output=True, text=True, check=True).stdout
    if re.match(r"Redis server v=6\.2\.", text):
        return "6.2"
    if re.match(r"Redis server v=7\.0\.", text):
        return "7.0"
    return "valkey" if re.match(r"Valkey server v=9\.", text) else None


@pytest.mark.parametrize("kind", sorted(programs.KINDS))
def test_model_answers_as_the_server(kind):
    if version() is None:
        pytest.skip("the model knows Redis 6.2, 7.0 and Valkey 9")
    _, _, differences = differential.run(
        PIPE, SERVER, version(), FIRST, COUNT, programs.KINDS[kind], programs.SETUP
    )
    assert not differences, differences[0]


def test_model_of_another_version_is_noticed():
    other = "6.2" if version() != "6.2" else "7.0"
    _, _, differences = differential.run(PIPE, SERVER, other, 1, 20, programs.KINDS["lua"], programs.SETUP)
    assert differences
