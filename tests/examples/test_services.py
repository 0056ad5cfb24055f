"""The systemd unit and the crontab of examples/, with their own command lines, run as cron and systemd would:
no terminal, next to no environment, a home.

The commands come out of the files. Only the places are others: bowline is that of this build, the jobs are a
script of the test, and the locks are in a directory of the test, by way of bowline.conf or of the URL file.
"""

import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess

import pytest

from own_redis import LIMIT, wait_for

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
BOWLINE = os.environ.get("BOWLINE", "")
UNIT = SOURCE / "examples/systemd/nightly-report.service"
TIMER = SOURCE / "examples/systemd/nightly-report.timer"
DROP_IN = SOURCE / "examples/systemd/nightly-report.service.d/url.conf"
CRONTAB = SOURCE / "examples/cron/bowline-report"

pytestmark = pytest.mark.skipif(not BOWLINE, reason="this build has no command")

# Reports its start, and runs until it may end or gets TERM; a line for each TERM.
JOB = """#!/bin/sh
trap 'echo term >>{root}/log; exit 3' TERM
echo begin >>{root}/log
while [ ! -e {root}/may-end ]; do sleep 0.01; done
echo end >>{root}/log
"""


def settings(path, key):
    """The values of a key of a unit file, in their order; an empty one clears those before it."""
    values = []
    for value in re.findall(rf"^{key}=(.*)$", path.read_text(), re.M):
        values = values + [value] if value else []
    return values


def cron_lines():
    """The commands of the crontab: what follows five fields and a user, with \\% as %."""
    rows = re.findall(r"^(?:[\d*/,-]+\s+){5}(\S+)\s+(.*)$", CRONTAB.read_text(), re.M)
    assert rows and all(user == "root" for user, _ in rows)
    assert not any(re.search(r"(?<!\\)%", command) for _, command in rows), "cron ends the line there"
    return [command.replace("\\%", "%") for _, command in rows]


class Host:
    """The environment of a job."""

    def __init__(self, root):
        self.root = root
        self.log = root / "log"
        self.bin = root / "bin"
        self.bin.mkdir()
        (self.bin / "bowline").symlink_to(BOWLINE)
        (root / "locks").mkdir(mode=0o700)
        (root / ".config").mkdir()
        (root / ".config/bowline.conf").write_text(f"url = file:{root}/locks\n")
        self.credentials = root / "credentials"
        self.credentials.mkdir()
        for url in (self.credentials / "bowline.url", root / "url"):
            url.write_text(f"file:{root}/locks\n")
            url.chmod(0o600)
        self.job = self.bin / "job"
        self.job.write_text(JOB.format(root=root))
        self.job.chmod(0o755)
        self.started = []

    def environment(self, **more):
        kept = {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS") if name in os.environ}
        return {"HOME": str(self.root), "SHELL": "/bin/sh", "PATH": f"{self.bin}:/usr/bin:/bin", **kept, **more}

    def in_place(self, text):
        """The same command with the places of this test."""
        text = re.sub(r"/usr/local/bin/[\w-]+", str(self.job), text)
        return text.replace("/usr/bin/bowline", BOWLINE).replace("/etc/bowline/url", str(self.root / "url"))

    def start(self, words):
        process = subprocess.Popen(
            words, env=self.environment(), cwd=self.root, stdin=subprocess.DEVNULL, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.started.append(process)
        return process

    def cron(self, line):
        return self.start(["/bin/sh", "-c", self.in_place(line)])

    def systemd(self, unit):
        (command,) = settings(unit, "ExecStart")
        command = command.replace("%d", str(self.credentials))
        assert "%" not in command and "$" not in command, "systemd would put something else there"
        return self.start(shlex.split(self.in_place(command)))

    def lines(self):
        return self.log.read_text().splitlines() if self.log.exists() else []

    def wait_for(self, *lines):
        wait_for(lines, lambda: self.lines() == list(lines))

    def finish(self, process):
        """Its exit status and what it wrote, which cron would mail."""
        said, _ = process.communicate(timeout=LIMIT)
        return process.returncode, said

    def end(self):
        (self.root / "may-end").touch()
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait(LIMIT)
            process.stdout.close()


@pytest.fixture
def host(tmp_path):
    host = Host(tmp_path)
    yield host
    host.end()


def test_each_file_has_the_tested_entries():
    assert len(cron_lines()) >= 3
    assert all("bowline run" in line for line in cron_lines())
    assert settings(UNIT, "Type") == ["oneshot"] and settings(TIMER, "OnCalendar")
    assert settings(DROP_IN, "LoadCredential") == ["bowline.url:/etc/bowline/url"]


@pytest.mark.parametrize("line", [line for line in cron_lines() if "--wait 1h" not in line])
def test_a_second_run_from_cron_is_skipped_and_nothing_is_mailed(host, line):
    host.bin.joinpath("logger").write_text(f'#!/bin/sh\necho "logger $*" >>{host.root}/logged\n')
    host.bin.joinpath("logger").chmod(0o755)
    first = host.cron(line)
    host.wait_for("begin")
    assert host.finish(host.cron(line)) == (0, "")
    assert host.lines() == ["begin"], "the second one ran"
    (host.root / "may-end").touch()
    assert host.finish(first) == (0, "")
    assert host.lines() == ["begin", "end"]
    assert (host.root / "logged").exists() == ("logger" in line)
    assert host.finish(host.cron(line)) == (0, "")
    assert host.lines() == ["begin", "end"] * 2, "a third one, alone, does not run"


@pytest.mark.parametrize("line", [line for line in cron_lines() if "--wait 1h" in line])
def test_a_second_run_from_cron_waits_and_nothing_is_mailed(host, line):
    first = host.cron(line)
    host.wait_for("begin")
    second = host.cron(line)
    (host.root / "may-end").touch()
    assert host.finish(first) == (0, "")
    assert host.finish(second) == (0, "")
    assert host.lines() == ["begin", "end"] * 2


@pytest.mark.parametrize("line", cron_lines())
def test_failed_job_or_bowline_is_mailed(host, line):
    host.job.write_text("#!/bin/sh\necho wrong >&2; exit 9\n")
    assert host.finish(host.cron(line)) in [(9, "wrong\n"), (0, "wrong\n")]
    for place in (host.root / "url", host.root / ".config/bowline.conf"):
        place.write_text("url = nosuch:\n" if place.name == "bowline.conf" else "nosuch:\n")
    _, said = host.finish(host.cron(line))
    assert len(said.splitlines()) == 3 and said.startswith("bowline: ")


@pytest.mark.parametrize("unit", [UNIT, DROP_IN], ids=["unit", "drop-in"])
def test_a_second_start_of_the_service_is_a_success_and_does_not_run(host, unit):
    first = host.systemd(unit)
    host.wait_for("begin")
    status, said = host.finish(host.systemd(unit))
    assert str(status) in settings(UNIT, "SuccessExitStatus"), said
    assert len(said.splitlines()) >= 1, "the journal should say why nothing ran"
    assert host.lines() == ["begin"]
    (host.root / "may-end").touch()
    assert host.finish(first)[0] == 0
    assert host.lines() == ["begin", "end"]


def test_stopping_the_service_signals_the_command_once_and_waits(host):
    """What KillMode=mixed does: TERM to bowline alone."""
    assert settings(UNIT, "KillMode") == ["mixed"]
    first = host.systemd(UNIT)
    host.wait_for("begin")
    first.send_signal(signal.SIGTERM)
    assert host.finish(first)[0] == 3, "the command's own status"
    assert host.lines() == ["begin", "term"]
    (host.root / "may-end").touch()
    assert host.finish(host.systemd(UNIT))[0] == 0, "the lock was not released"


def test_the_url_file_is_refused_when_others_can_read_a_password_in_it(host):
    url = host.credentials / "bowline.url"
    url.write_text("redis://user:secret@127.0.0.1:1\n")
    url.chmod(0o644)
    status, said = host.finish(host.systemd(DROP_IN))
    assert status == 125 and "is not private" in said and "secret" not in said


def test_systemd_finds_nothing_wrong_with_the_units(host):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not installed")
    units = host.root / "units"
    shutil.copytree(UNIT.parent, units)
    for path in units.rglob("*"):
        if path.is_file():
            path.write_text(host.in_place(path.read_text()))
    for name in (UNIT.name, TIMER.name):
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", units / name],
            capture_output=True, text=True, timeout=LIMIT, check=False, env=host.environment(),
        )  # fmt: skip
        assert (done.returncode, done.stdout + done.stderr) == (0, "")
    # And it detects an error.
    broken = units / UNIT.name
    broken.write_text(broken.read_text().replace("KillMode=mixed", "KillMode=maxed"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", broken], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert "kill mode" in done.stderr.lower()


def test_the_version_of_the_package_is_that_of_the_build():
    version = re.search(r"^ *version: '(.*)',", (SOURCE / "meson.build").read_text(), re.M).group(1)
    assert re.match(r"bowline \((.*)\)", (SOURCE / "debian/changelog").read_text()).group(1) == version
