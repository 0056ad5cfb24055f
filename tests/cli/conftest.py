"""Shared by the tests of the command: a directory with bowline, and a private Redis.

No test asserts an upper limit of time. LIMIT only ends a test that hangs.
"""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

import pytest

from own_directory import own_directory
from own_redis import LIMIT, Redis, is_alive, need_redis, wait_for

PROGRAM = os.environ.get("BOWLINE")
PROMPT = "ready> "
CTRL_C, CTRL_D, CTRL_Z = "\x03", "\x04", "\x1a"

# bowline ignores files that others can write to, and the caller of the tests may have another umask.
os.umask(0o022)

# A caller in the background ignores some signals, and bowline would inherit that.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


def text_of(path):
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def state_of(pid):
    """R: runs, S: sleeps, T: is stopped."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def failed(done, code=125, prints=""):
    """The three lines of a command that must fail, and print this (None: anything) on standard output."""
    assert done.returncode == code and prints in (None, done.stdout), done
    lines = done.stderr.splitlines()
    assert len(lines) == 3 and all(line.startswith("bowline: ") for line in lines), done.stderr
    return [line.removeprefix("bowline: ") for line in lines]


def finish(place, run):
    """Wait for the end of a run with a status descriptor; return the exit code. The run has its events and their order."""
    code = place.finish(run)
    run.events = [json.loads(line) for line in run.out.splitlines()]
    run.order = [line["event"] + ":" + line["action"] if "action" in line else line["event"] for line in run.events]
    return code


def has_line(path, text):
    content = text_of(path)
    return text in content and content.endswith("\n")


class Place:
    """A directory with its own locks, and an environment in which bowline finds no other settings."""

    def __init__(self, root):
        self.root = root
        self.locks = root / "locks"
        self.locks.mkdir(mode=0o700)
        self.home = root / "home"
        self.home.mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "BOWLINE_URL": f"file:{self.locks}",
            "LC_ALL": "C.UTF-8",
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LLVM_PROFILE_FILE"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        self.started = []

    # The tests cannot import this module: the fixture gives access to its functions.
    wait_for = staticmethod(wait_for)
    text_of = staticmethod(text_of)
    is_alive = staticmethod(is_alive)

    def path(self, name):
        return self.root / name

    def script(self, name, text, mode=0o755):
        path = self.root / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def python(self, code):
        """The command line that runs this Python code."""
        return [sys.executable, "-c", code]

    def bowline(self, *words, **how):
        """Run it to its end. Output is text by default."""
        how.setdefault("env", self.env)
        how.setdefault("cwd", self.root)
        how.setdefault("text", True)
        if "input" not in how:
            how.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([PROGRAM, *words], capture_output=True, timeout=LIMIT, check=False, **how)

    def run(self, *words, **how):
        return self.bowline("run", *words, **how)

    def start(self, *words, **how):
        return self.begin("run", *words, **how)

    def begin(self, *words, **how):
        """Start `bowline ...` in its own session: no terminal, and nothing survives the test."""
        how.setdefault("env", self.env)
        how.setdefault("cwd", self.root)
        how.setdefault("stdin", subprocess.DEVNULL)
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("stderr", subprocess.PIPE)
        how.setdefault("text", True)
        process = subprocess.Popen([PROGRAM, *words], start_new_session=True, **how)
        self.started.append(process)
        return process

    def hold(self, name="job", *options):
        """A holder of `name` that has started, and runs until let_go."""
        mark = self.path(f"held-{len(self.started)}")
        code = f"echo $$ > {mark}; exec sleep 1000"
        process = self.start(*options, name, "sh", "-c", code)
        process.command = int(wait_for("the holder", lambda: text_of(mark).endswith("\n") and text_of(mark)))
        return process

    def let_go(self, process):
        process.terminate()
        return process.wait(LIMIT)

    def finish(self, process):
        """Wait for the end and return the exit code. process.out and process.err have the output."""
        process.out, process.err = process.communicate(timeout=LIMIT)
        return process.returncode

    def wait_for_text(self, path, text=""):
        """Wait until the file has a whole line with the text; return the contents."""
        return wait_for(f"{text!r} in {path.name}", lambda: has_line(path, text) and text_of(path))

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait(LIMIT)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        # Commands have their own process groups, but all stay in a session that began here.
        sessions = {process.pid for process in self.started}
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                fields = (entry / "stat").read_text(errors="replace").rsplit(")", 1)[1].split()
                if int(fields[3]) in sessions:
                    os.kill(int(entry.name), signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                pass


@pytest.fixture
def place():
    if not PROGRAM:
        pytest.skip("BOWLINE is not set: run through meson test")
    with own_directory("bowline-cli-") as root:
        place = Place(root)
        try:
            yield place
        finally:
            place.end()


@pytest.fixture
def start_redis(place):
    need_redis()
    servers = []

    def start(*options):
        root = place.path(f"redis-{len(servers)}")
        root.mkdir()
        servers.append(Redis(root, *options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def redis(start_redis, place):
    server = start_redis()
    place.env["BOWLINE_URL"] = server.url
    return server


class Terminal:
    """bash on a pty of its own."""

    def __init__(self, place, columns=80):
        self.place = place
        self.text = ""  # the whole output, and how much of it was checked
        self.seen = 0
        env = dict(place.env, TERM="xterm", PS1=PROMPT, HISTFILE="", B=f"{os.environ['BOWLINE']} run")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(place.root)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], env)
        self.typed = 0  # the length of the output when the last line was typed
        self.resize(columns)

    def resize(self, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def shown(self, pattern, begin):
        """Waits until the pattern is shown after `begin`; returns the match."""
        end = time.monotonic() + LIMIT
        while True:
            match = re.compile(pattern).search(self.text, begin)
            if match:
                return match
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                pytest.fail(f"{pattern!r} was not shown, but: {self.text!r}", pytrace=False)
            self.text += os.read(self.fd, 65536).decode(errors="replace").replace("\r\n", "\n")

    def expect(self, *patterns):
        """Waits until each pattern is shown, in this order, after the last match; returns the last match."""
        match = None
        for pattern in patterns:
            match = self.shown(pattern, self.seen)
            self.seen = match.end()
        return match

    def type(self, text, *patterns):
        os.write(self.fd, text.encode())
        return self.expect(*patterns)

    def command(self, line, *patterns):
        """Types a line at the prompt of the shell; expects the patterns after its echo."""
        self.shown(r"(ready|inner)> ", self.typed)  # keys typed before the prompt are echoed before it
        self.type(line + "\n", re.escape(line) + "\n")
        self.typed = self.seen
        return self.expect(*patterns)

    def foreground(self):
        return os.tcgetpgrp(self.fd)

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def terminal(place):
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    terminals = []

    def open_one(**how):
        terminals.append(Terminal(place, **how))
        return terminals[-1]

    yield open_one
    for one in terminals:
        one.close()


class Peer:
    """Listens at a free port; answers every connection with `says` (None: never), then closes it if it `closes`."""

    def __init__(self, says, closes):
        self.says = says
        self.closes = closes
        self.open = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(connection)
            if self.says is not None:
                connection.recv(1)  # an unexpected reply could be read as another protocol
                connection.sendall(self.says)
            if self.closes:
                connection.close()

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        for connection in self.open:
            connection.close()


@pytest.fixture
def start_peer():
    peers = []

    def start(says, closes=False):
        peers.append(Peer(says, closes))
        return peers[-1]

    yield start
    for peer in peers:
        peer.stop()
