#!/usr/bin/env python3
"""Type the commands of a page into terminals, and write what they print into the page.

    shell_page.py BOWLINE PAGE... [--check]

A block of commands and their output follows a line that names its terminal:

    <!-- terminal: 1 -->
    ```console
    $ bowline run nightly echo hello
    hello
    ```

The terminals of a page are interactive shells in one new directory. The default of BOWLINE_URL is a directory of locks there.

    <!-- terminal: 1, until: CONDITION -->   the last command goes on; CONDITION is a command that succeeds once it has come so far
    <!-- terminal: 1, after: CONDITION -->   nothing is typed before CONDITION holds
    <!-- terminal: 1, goes on -->            first the rest of the output of that command

What differs between two runs (users, hosts, processes, times, fences) does not count as a difference, and a page keeps the
value that it has. A process in a command is the process of this run, and a port is one that is free. --check changes no page,
prints the differences, and exits with 1 if there is one.
"""

import difflib
import os
import pathlib
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time

LIMIT_S = 60
BLOCK = re.compile(r"^<!-- terminal: (?P<head>[^\n]+?) -->\n```console\n(?P<body>.*?)^```$", re.M | re.S)
PROMPT = re.compile(rb"\x1e(\d+)\x1f")
PID = r"(?<=pid )(\d+)|(?<=^\[1\] )(\d+)"
VARIES = [
    (r"\b[\w.-]+@[\w.-]+\b(?!\.\w)", "USER@HOST"),
    (PID, "PID"),
    (r"\b\d+\.\d{3}$", "SECONDS"),
    (r"\b1\d{15,18}(?:…)?", "FENCE"),
    (r"\b1\d{9,12}\b", "TIME"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?|\b\d\d:\d\d:\d\d\b", "TIME"),
    (r"\S*/bowline-hold-\S+", "SOCKET"),
    (r"(?<![\w.=])(?:\d+(?:\.\d+)?(?:ms|[dhms]))+\b", "SPAN"),
    (r"(?<=\)) for SPAN\b|, command pid PID\b", ""),  # not shown: less than a millisecond, a command that has just begun
]


def comparable(text):
    for pattern, word in VARIES:
        text = re.sub(pattern, word, text, flags=re.M)
    return re.sub(r"[ \t]+$", "", text, flags=re.M)


def shown(output):
    """What a terminal shows in the end: a line that was written over is gone."""
    text = re.sub(rb"\x1b\[[\d;?]*[A-Za-z]", b"", output).decode(errors="replace")
    lines = re.sub(r"\r+\n", "\n", text).split("\n")
    whole = "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1].rstrip() for line in lines).strip("\n")
    return whole and whole + "\n"


class Terminal:
    """An interactive bash. Its prompt says in bytes of its own that a command has ended."""

    def __init__(self, directory, environment):
        self.process, self.fd = pty.fork()
        if self.process == 0:
            os.chdir(directory)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], environment)
        attributes = termios.tcgetattr(self.fd)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(self.fd, termios.TCSANOW, attributes)
        termios.tcsetwinsize(self.fd, (40, 100))
        self.left, self.last = b"", "bash"
        self.read(lambda: False)

    def more(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            self.left += os.read(self.fd, 1 << 16)
        except OSError:
            raise ValueError("the shell has ended") from None
        return True

    def read(self, enough, limit=LIMIT_S):
        """The output until the next prompt, or until `enough` says so."""
        end = time.monotonic() + limit
        while not (prompt := PROMPT.search(self.left)):
            if enough():
                break
            if time.monotonic() > end:
                raise ValueError(f"no prompt behind `{self.last}`: {shown(self.left)}")
            self.more(0.05)
        size = prompt.start() if prompt else len(self.left)
        text, self.left = self.left[:size], self.left[prompt.end() if prompt else size:]
        return shown(text)

    def write(self, command):
        self.last = command
        os.write(self.fd, command.encode() + b"\n")

    def close(self):
        """The processes that it has started end with it."""
        for pid in self.family(self.process):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.waitpid(self.process, 0)
        os.close(self.fd)

    def family(self, pid):
        found = []
        try:
            words = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            words = []
        for child in words:
            found += self.family(int(child))
        return [*found, pid]


class World:
    """The directory and the terminals of a page, and which process and which port stand for those of the page."""

    def __init__(self, bowline):
        self.place = tempfile.TemporaryDirectory(prefix="bowline-shell-", ignore_cleanup_errors=True)
        self.root = pathlib.Path(self.place.name)
        self.home = self.root / "home"
        self.home.mkdir()
        (self.root / "locks").mkdir(mode=0o700)
        self.environment = {
            "PATH": f"{pathlib.Path(bowline).resolve().parent}:{os.environ['PATH']}",
            "HOME": str(self.home), "PS1": r"\[\]" + "\x1e$?\x1f", "PS2": "", "TERM": "xterm", "LC_ALL": "C.UTF-8",
            "BOWLINE_URL": f"file:{self.root}/locks", "HISTFILE": "/dev/null",
        }
        self.terminals, self.real = {}, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for terminal in self.terminals.values():
            terminal.close()
        for file in self.home.glob("*.pid"):  # of servers that the page has started
            try:
                os.kill(int(file.read_text()), signal.SIGKILL)
            except (OSError, ValueError):
                pass
        self.place.cleanup()

    def terminal(self, name):
        if name not in self.terminals:
            self.terminals[name] = Terminal(self.home, self.environment)
        return self.terminals[name]

    def port(self, shown):
        if shown not in self.real:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.real[shown] = str(probe.getsockname()[1])
        return self.real[shown]

    def typed(self, command):
        """The command with the processes and the ports of this run."""
        command = re.sub(r"(?<=127\.0\.0\.1:)\d+|(?<=--port )\d+|(?<=-p )\d+", lambda m: self.port(m[0]), command)
        return re.sub(r"(?<=kill).*", lambda line: re.sub(r"(?<= )-?\d{3,}\b", self.process, line[0]), command)

    def process(self, shown):
        """Never a process that this page has not shown."""
        sign, number = re.fullmatch(r"(-?)(\d+)", shown[0]).groups()
        if number not in self.real:
            raise ValueError(f"no output before has the process {number}")
        return sign + self.real[number]

    def learn(self, old, new):
        """The processes of the page, from an output that is the same but for what varies."""
        found, now = re.findall(PID, old, re.M), re.findall(PID, new, re.M)
        for was, is_now in zip(found, now):
            self.real["".join(was)] = "".join(is_now)

    def told(self, text):
        """An output with the names and the processes of the page."""
        text = re.sub(VARIES[0][0], "ann@web-1", text)
        for real in ("".join(found) for found in re.findall(PID, text, re.M)):
            if real not in self.real.values():
                self.real[str(max([4120, *(int(was) for was in self.real if int(was) < 5000)]) + 1)] = real
        back = {real: was for was, real in self.real.items()}
        return re.sub(PID, lambda m: back[m[0]], text, flags=re.M)

    def holds(self, condition):
        done = subprocess.run(["bash", "-c", self.typed(condition)], cwd=self.home, env=self.environment, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return done.returncode == 0

    def wait(self, condition):
        end = time.monotonic() + LIMIT_S
        while not self.holds(condition):
            if time.monotonic() > end:
                raise ValueError(f"{condition} did not come")
            time.sleep(0.05)


def commands_of(body):
    """The parts of a block: a command, which may have further lines behind `> `, and its output. The first has no command."""
    parts = [(None, "")]
    for line in body.splitlines():
        command, output = parts[-1]
        if line.startswith("$ "):
            parts.append((line[2:], ""))
        elif line.startswith("> ") and command is not None and not output:
            parts[-1] = (command + "\n" + line[2:], "")
        else:
            parts[-1] = (command, output + line + "\n")
    return parts


def play(world, head, body):
    """The block as it is now."""
    name, _, rest = head.partition(", ")
    terminal, until = world.terminal(name), rest.partition("until: ")[2]
    if rest.startswith("after: "):
        world.wait(rest.partition(": ")[2])
    parts, made = commands_of(body), ""
    for at, (command, old) in enumerate(parts):
        if command is None and rest != "goes on":
            continue
        if command is not None:
            made += "$ " + command.replace("\n", "\n> ") + "\n"
            terminal.write(world.typed(command))
            if command.startswith("export BOWLINE_URL="):  # for the conditions
                world.environment["BOWLINE_URL"] = world.typed(command).partition("=")[2]
        goes_on = until and at == len(parts) - 1
        end = time.monotonic() + LIMIT_S

        def is_there(end=end, old=old):
            if not world.holds(until):
                return False
            if comparable(shown(terminal.left)) == comparable(old):
                return True
            return time.monotonic() > end - LIMIT_S + 5  # the page differs

        new = terminal.read(is_there if goes_on else lambda: False)
        same = comparable(old) == comparable(new)
        if same:
            world.learn(old, new)
        made += old if same else world.told(new)
    return made


def played(bowline, text):
    with World(bowline) as world:
        return BLOCK.sub(lambda m: f"<!-- terminal: {m['head']} -->\n```console\n{play(world, m['head'], m['body'])}```", text)


def main(bowline, *words):
    check, changed = "--check" in words, False
    for name in (word for word in words if word != "--check"):
        page = pathlib.Path(name)
        text = page.read_text(encoding="utf-8")
        try:
            made = played(bowline, text)
        except ValueError as error:
            sys.exit(f"shell_page.py: {page.name}: {error}")
        changed = changed or made != text
        if check:
            sys.stdout.writelines(difflib.unified_diff(text.splitlines(True), made.splitlines(True), name, "now", n=1))
        else:
            page.write_text(made, encoding="utf-8")
    return int(check and changed)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
