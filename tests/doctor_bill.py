"""What the tests of `bowline doctor` share: how it is asked, and what it said."""

import json
import pathlib
import random
import socket


class Bill:
    """What the doctor said, as JSON."""

    def __init__(self, done):
        self.code = done.returncode
        assert done.stderr == ""
        self.all = json.loads(done.stdout)
        self.findings = self.all["findings"]
        for finding in self.findings:
            assert {"server", "check", "grade", "what"} <= set(finding)
            for key in ("why", "type"):  # left out where there is nothing to say
                assert finding.setdefault(key, None) != ""
            assert len(finding) == 6
        assert (self.code == 1) == (self.all["worst"] == "failure")

    def of(self, check, grade=None):
        """The finding of this check, of which there is one."""
        found = [f for f in self.findings if f["check"] == check and (grade is None or f["grade"] == grade)]
        assert len(found) == 1, (check, self.findings)
        return found[0]

    def grades(self):
        return {f["check"]: f["grade"] for f in self.findings}

    def bad(self):
        return sorted({f["check"] for f in self.findings if f["grade"] in ("failure", "warning")})


def look(place, url, **env):
    done = place.bowline("doctor", "--json", *([url] if url else []), env=place.env | env)
    assert done.returncode in (0, 1), done.stderr
    return Bill(done)


def look_as(place, redis, user, password="c0rrect", options=""):
    url = redis.url.replace("unix://", f"unix://{user}:{password}@") + options
    secret = place.script("doctor.url", url + "\n", mode=0o600)
    done = place.bowline("doctor", "--json", "--url-file", str(secret))
    assert password not in done.stdout + done.stderr
    return Bill(done)


GOOD = ["--appendonly", "yes", "--appendfsync", "always", "--enable-debug-command", "yes"]


def free_port():
    """A free port outside the range from which the kernel takes ephemeral ports: no other program gets it by chance."""
    least, kernels = 10000, int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", random.randrange(least, kernels) if kernels > 2 * least else 0))
            except OSError:
                continue  # in use
            return probe.getsockname()[1]
