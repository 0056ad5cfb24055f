#!/usr/bin/env python3
"""Write the output of `bowline doctor`, `caps` and `acl` into docs/how-to/doctor.md.

    doctor_page.py BOWLINE PAGE [--check]

A block behind `<!-- said: SCENARIO -->` is replaced by a command and its output, on a server that is started for that.
What differs from run to run (ports, versions, times) is written in one way. --check changes nothing, and exits with 1 if
the page is not as it would be written.
"""

import contextlib
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

LIMIT_S = 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def server(*options):
    """Its port, and a function that sends a command to it."""
    with tempfile.TemporaryDirectory(prefix="bowline-page-") as directory:
        port = free_port()
        words = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", directory, "--save", "", *options]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def say(*command):
            done = subprocess.run(["redis-cli", "-p", str(port), *command], capture_output=True, text=True, check=False)
            return done.stdout.strip()

        try:
            end = time.monotonic() + LIMIT_S
            while say("ping") != "PONG":
                if time.monotonic() > end or process.poll() is not None:
                    raise RuntimeError("redis-server does not answer")
                time.sleep(0.02)
            yield port, say
        finally:
            process.kill()
            process.wait()


def said(bowline, *words):
    done = subprocess.run([bowline, *words], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


def bare(bowline):
    with server("--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl") as (port, _):
        return "bowline doctor redis://127.0.0.1", said(bowline, "doctor", f"redis://127.0.0.1:{port}")


def few(bowline):
    with server("--appendonly", "yes", "--appendfsync", "always") as (port, say), tempfile.NamedTemporaryFile("w") as file:
        rule = said(bowline, "acl", "--user", "ann", "--feature", "queue,doctor", f"redis://127.0.0.1:{port}")
        words = rule.splitlines()[0].replace(">PASSWORD", ">c0rrect").split()
        assert say(*words, "-zpopmin", "-config|get", "resetchannels") == "OK"
        file.write(f"redis://ann:c0rrect@127.0.0.1:{port}\n")
        file.flush()
        return "bowline doctor --url-file lock.url", said(bowline, "doctor", "--url-file", file.name)


def caps(bowline):
    return "bowline caps redis://db.example", said(bowline, "caps", "redis://db.example")


def acl(bowline):
    words = ["acl", "--feature", "token,status", "redis://db.example"]
    return "bowline " + " ".join(words), said(bowline, *words)


SCENARIOS = {"bare": bare, "few": few, "caps": caps, "acl": acl}


def in_one_way(text):
    text = re.sub(r"(127\.0\.0\.1):\d+", r"\1:6379", text)
    text = re.sub(r"version [\d.]+, ", "version 7.0.15, ", text)
    text = re.sub(r"takes \d+\.\d+ms", "takes 0.05ms", text)
    return re.sub(r"ours are \d+ms apart", "ours are 0ms apart", text)


def filled_in(page, bowline):
    def block(match):
        command, output = SCENARIOS[match.group(1)](bowline)
        return f"<!-- said: {match.group(1)} -->\n```\n$ {command}\n{in_one_way(output)}```\n"

    return re.sub(r"<!-- said: (\w+) -->\n```\n.*?^```\n", block, page, flags=re.M | re.S)


def main(argv):
    if len(argv) < 2:
        print("usage: doctor_page.py BOWLINE PAGE [--check]", file=sys.stderr)
        return 2
    path = pathlib.Path(argv[1])
    page = path.read_text(encoding="utf-8")
    made = filled_in(page, argv[0])
    if argv[2:] == ["--check"]:
        return int(made != page)
    path.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
