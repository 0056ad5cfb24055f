"""A wait for an event, the processes that still run, and a private redis-server that ends with its test."""

import contextlib
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import pytest

from own_directory import own_directory

LIMIT = 60


def wait_for(what, condition, limit=LIMIT):
    """Wait until condition() is true and return its value. Fail with `what` after a time limit."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    return pytest.fail(f"waited {limit} s for: {what}", pytrace=False)


class Redis:
    """A server on a socket in a directory."""

    def __init__(self, root, *options):
        self.root = root
        self.socket = root / "redis.sock"
        self.url = f"unix://{self.socket}"
        words = ["redis-server", "--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir", str(root)]
        self.process = subprocess.Popen([*words, *options], stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        self.auth = []
        wait_for("redis-server", self.listens)

    def listens(self):
        """The socket exists before the server listens on it."""
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self.socket)) == 0

    def cli(self, *words):
        command = ["redis-cli", "-s", str(self.socket), *self.auth, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True).stdout.strip()

    def keys(self):
        """The keys of locks, without the count of fences and the info of clients."""
        aside = ("bowline:f", "bowline:who:")
        keys = self.cli("--raw", "keys", "*").split("\n")
        return [key for key in keys if key and key != aside[0] and not key.startswith(aside[1])]

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        self.process.kill()
        self.process.wait(LIMIT)


def need_redis(missing=pytest.skip):
    if not shutil.which("redis-server") or not shutil.which("redis-cli"):
        missing("redis-server is not installed")


@contextlib.contextmanager
def own_redis(prefix, *options, kind=Redis):
    """Not in tmp_path: the path of a socket has 107 bytes at most."""
    with own_directory(prefix) as root:
        server = kind(root, *options)
        try:
            yield server
        finally:
            server.stop()


def children_of(pid):
    """[(name, pid), ...] of the processes that a process has started."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            name, rest = (entry / "stat").read_text().split(" (", 1)[1].rsplit(") ", 1)
            if int(rest.split()[1]) == pid:
                found.append((name, int(entry.name)))
        except (OSError, IndexError):
            continue
    return found


def is_alive(pid):
    """True while the process runs; a zombie does not count."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"
