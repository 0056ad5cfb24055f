"""A directory that is gone afterwards, whatever happens to the test: a failure, a signal, even a kill."""

import contextlib
import pathlib
import subprocess
import tempfile

# Sits in a session of its own, and is told by the end of its input: when the tests close it, or are no more.
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
