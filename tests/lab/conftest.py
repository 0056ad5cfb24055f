"""Shared by the tests of bowline-lab: the program, and a directory for each test."""

import os
import subprocess

import pytest

from own_directory import own_directory

LAB = os.environ.get("BOWLINE_LAB")
LIMIT = 120


class Lab:
    def __init__(self, root, temporary):
        self.root = root
        # Where replay makes its directories: what is left behind is seen. A socket's path has to be short.
        self.temporary = temporary
        self.env = {**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": str(self.temporary)}

    def __call__(self, *words, **how):
        """Runs it to its end."""
        how.setdefault("cwd", self.root)
        how.setdefault("env", self.env)
        how.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([LAB, *words], capture_output=True, text=True, timeout=LIMIT, check=False, **how)

    def schedule(self, *words):
        """A schedule as text, from `try --json`."""
        said = self("try", *words, "--json")
        assert said.returncode == 1, said.stderr
        return said.stdout

    def write(self, name, text):
        path = self.root / name
        path.write_text(text)
        return str(path)

    def refuses(self, *words, code=2):
        """Runs a command that must be refused; returns its standard error."""
        said = self(*words)
        assert said.returncode == code, said.stdout + said.stderr
        assert said.stdout == ""
        assert all(line.startswith("bowline-lab: ") for line in said.stderr.splitlines()), said.stderr
        return said.stderr


@pytest.fixture
def lab(tmp_path):
    if not LAB:
        pytest.skip("this build has no lab")
    with own_directory("lab-") as temporary:
        yield Lab(tmp_path, temporary)
