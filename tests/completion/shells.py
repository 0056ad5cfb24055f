"""Shells on a terminal, with their own completion: a line with all its completions inserted.
Nothing of a shell is imitated; its line editor splits the words and inserts the completions.
"""

import os
import pty
import select
import shutil
import signal
import subprocess
import time

import pytest

LIMIT = 60


def needed(program):
    """The path of a shell. On a build machine (CI is set), a missing shell is a failure."""
    path = shutil.which(program)
    if not path:
        if os.environ.get("CI"):
            pytest.fail(f"{program} is not installed; tools/install-deps ci installs it", pytrace=False)
        pytest.skip(f"{program} is not installed")
    return path


class Shell:
    """An interactive shell. complete() types a line, asks for all its completions, and returns the line."""

    program = ""
    options = ()
    all_completions = b""  # the keys that insert them

    def __init__(self, directory, setup):
        self.answer = directory / "answer"
        self.directory = directory
        self.seen = b""
        path = needed(self.program)
        environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execve(path, [self.program, *self.options], environment)
        (directory / "setup").write_text(setup + self.binding() + "\nprintf '%s%s\\n' rea dy\n")
        self.type(f". {directory}/setup\n".encode())
        self.wait("the shell to be ready", lambda: b"ready" in self.seen)

    def binding(self):
        raise NotImplementedError

    def type(self, keys):
        os.write(self.terminal, keys)

    def wait(self, what, condition):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.01)[0]:
                try:
                    self.seen += os.read(self.terminal, 4096)
                except OSError:
                    break
            if condition():
                return
        pytest.fail(f"{self.program}: waited for {what}; it said {self.seen[-2000:]!r}", pytrace=False)

    def complete(self, text):
        self.answer.unlink(missing_ok=True)
        self.type(b"\x15" + text.encode() + self.all_completions + b"\x18o")
        self.wait(f"completions of {text!r}", lambda: self.answer.exists() and self.answer.read_text().endswith("\n"))
        return self.answer.read_text().removesuffix("\n")

    def end(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


class Bash(Shell):
    program = "bash"
    options = ("--norc", "--noprofile", "-i")
    all_completions = b"\x1b*"

    def binding(self):
        return f"""
bind 'set enable-bracketed-paste off'
bind -x '"\\C-xo": printf "%s\\n" "$READLINE_LINE" >{self.answer}'
"""


class Zsh(Shell):
    program = "zsh"
    options = ("-f", "-i")
    all_completions = b"\x18a"

    def binding(self):
        return f"""
autoload -Uz compinit && compinit -u -D
zstyle ':completion:*' completer _all_matches _complete
zstyle ':completion:*' insert true
zle -C all-matches complete-word _generic
zstyle ':completion:all-matches::::' completer _all_matches _complete
bindkey '^Xa' all-matches
report() {{ print -r -- "$BUFFER" >{self.answer} }}
zle -N report
bindkey '^Xo' report
"""


class Fish:
    """fish prints its completions without a terminal, each with a tab and its description."""

    # First in fish's path: it would load the completions of an installed bowline over those that were sourced.
    COMMANDS = (
        "set -g fish_complete_path $argv[1] $fish_complete_path; source $argv[1]/bowline.fish; "
        "complete --do-complete=$argv[2]"
    )

    def __init__(self, directory, completions):
        self.path = needed("fish")
        self.directory = directory
        self.completions = completions

    def complete(self, text):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.directory), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            [self.path, "-c", self.COMMANDS, self.completions, text],
            capture_output=True, text=True, timeout=LIMIT, check=False, env=environment, cwd=self.directory,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    def end(self):
        pass
