"""A directory that is removed after the test, however it ends: a failure, a signal, even a kill."""

import contextlib
import pathlib
import subprocess
import tempfile

# Runs in a session of its own, and waits for the end of its input: the tests close it, or have ended.
JANITOR = ["sh", "-c", 'cat >/dev/null; rm -rf "$1"', "sh"]


@contextlib.contextmanager
def own_directory(prefix):
    root = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
    janitor = subprocess.Popen([*JANITOR, str(root)], stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield root
    finally:
        janitor.stdin.close()
        janitor.wait()
