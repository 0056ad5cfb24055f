"""`bowline hold` and `bowline release`: who holds the lock, what ends the hold, and what a shell makes of the text."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess

import pytest

from own_redis import LIMIT, wait_for
from own_store import STORES, open_store

@pytest.fixture(scope="module", params=STORES)
def store(request):
    with open_store(request.param) as opened:
        yield opened


class Keepers:
    """Runs bowline hold, and knows the keepers by their sockets."""

    def __init__(self, place, url):
        self.place = place
        if url:
            place.env["BOWLINE_URL"] = url
        runtime = place.path("run")
        runtime.mkdir(mode=0o700)
        place.env["XDG_RUNTIME_DIR"] = str(runtime)
        place.env["PATH"] = f"{pathlib.Path(os.environ['BOWLINE']).parent}:{place.env['PATH']}"
        self.sockets = runtime / "bowline"

    def pids(self):
        return [int(path.name.split("-")[0]) for path in self.sockets.glob("*-*")] if self.sockets.exists() else []

    def shell(self, text, shell="sh", **how):
        words = [shell, "-c", text]
        return subprocess.run(words, env=self.place.env, cwd=self.place.root, text=True, capture_output=True,
                              timeout=LIMIT, check=False, stdin=subprocess.DEVNULL, **how)

    def start(self, text, **how):
        process = subprocess.Popen(["sh", "-c", text], env=self.place.env, cwd=self.place.root, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, **how)
        self.place.started.append(process)
        return process

    def hold(self, *words):
        """A hold of `job` for this test, as JSON."""
        done = self.place.bowline("hold", "--json", "--for", str(os.getpid()), *words, "job")
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    def ask(self, hold, *words):
        return self.place.bowline("release", "--hold", hold["hold"], *words)

    def is_free(self, name="job", *words):
        return self.place.run("-n", *words, name, "true").returncode == 0


@pytest.fixture
def keepers(place, store):
    yield from open_keepers(place, store.url)


@pytest.fixture
def local(place):
    """On file: alone."""
    yield from open_keepers(place, None)


def open_keepers(place, url):
    opened = Keepers(place, url)
    yield opened
    for pid in opened.pids():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


# ---- on every store ------------------------------------------------------------------------------------------


def test_a_shell_holds_checks_and_releases(keepers, store):
    done = keepers.shell("""
        eval "$(bowline hold -w 5m --for $$ deploy)" || exit
        echo "$? $BOWLINE_NAME ${BOWLINE_FENCE:+fence}"
        bowline run -n deploy true; echo $?
        bowline run -w 5m deploy true; echo $?
        bowline hold -w 5m --for $$ deploy; echo $?
        bowline release --check; echo $?
        bowline release; echo $?
        bowline release; echo $?
        eval "$(bowline hold -w 5m --for $$ deploy)"; bowline run -n other echo ran
        bowline release; echo $?
    """)
    words = done.stdout.split("\n")
    refused = "unset BOWLINE_HOLD BOWLINE_FENCE BOWLINE_NAME; (exit 125)"
    assert words == ["0 deploy fence", "124", "125", refused, "125", "0", "0", "125", "ran", "0", ""]
    lines = [line.removeprefix("bowline: ") for line in done.stderr.splitlines()]
    assert "(bowline hold)" in lines[1]
    assert [line.split(", pid")[1].split(", ")[1] for line in (lines[4], lines[7])] == [
        "holds it around this command"] * 2
    assert lines[9].startswith("there is no hold at ") and lines[10] == "No such file or directory"
    assert len(lines) == 12
    assert keepers.pids() == []
    if store.kind != "file":
        assert store.cli("keys", "bowline:{*") == ""


def test_the_end_of_the_process_releases(keepers):
    """The lease is a day: nothing else could end it."""
    shell = keepers.start('eval "$(bowline hold -t 1d -w 5m --for $$ job)" || exit; echo held; exec sleep 1000')
    assert shell.stdout.readline() == "held\n"
    assert not keepers.is_free()
    shell.kill()
    wait_for("the release", keepers.is_free)
    wait_for("the end of the keeper", lambda: keepers.pids() == [])


def test_a_dead_keeper_ends_with_its_lease(keepers):
    hold = keepers.hold("-t", "2s")
    os.kill(hold["pid"], signal.SIGKILL)
    wait_for("the end of the lease", keepers.is_free)
    done = keepers.ask(hold)
    assert (done.returncode, done.stderr.splitlines()[1]) == (125, "bowline: Connection refused")
    assert keepers.pids() == [hold["pid"]]
    assert keepers.ask(keepers.hold("-t", "2s")).returncode == 0
    assert keepers.pids() == []  # the stale socket is gone


def test_a_lost_lock_is_123(keepers, store):
    if store.kind == "file":
        pytest.skip("a lock of file: cannot be lost")
    hold = keepers.hold("-t", "1s")
    assert keepers.ask(hold, "--check").returncode == 0
    assert store.cli("del", "bowline:{job}") == "1"
    wait_for("the loss", lambda: keepers.ask(hold, "--check").returncode == 123)
    for words in (["--check"], []):
        done = keepers.ask(hold, *words)
        assert done.returncode == 123
        assert done.stderr.splitlines()[:2] == [
            "bowline: job was lost", "bowline: the store does not have the lock any more"]
    assert keepers.ask(hold).returncode == 125


# ---- tickets -------------------------------------------------------------------------------------------------------

PROTOCOLS = ["", "?protocol=token"]


def lines_of(done):
    return [line.removeprefix("bowline: ") for line in done.stderr.splitlines()]


@pytest.mark.parametrize("options", PROTOCOLS)
def test_a_ticket_passes_the_lock_on_once(keepers, store, options):
    if store.kind == "file":
        pytest.skip("a lock of file: cannot be passed on")
    place = keepers.place
    place.env["BOWLINE_URL"] += options
    done = place.bowline("hold", "--json", "-t", "1h", "--ticket", "t", "a job")
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert (said["event"], said["name"], said["ticket"]) == ("exported", "a job", "t")
    ticket = place.path("t")
    assert ticket.stat().st_mode & 0o777 == 0o600
    assert 3_500_000 < int(store.cli("pttl", "bowline:{a job}")) <= 3_600_000
    place.script("copy", ticket.read_text(), mode=0o600)
    assert not keepers.is_free("a job")  # no process holds it
    done = place.run("--ticket", "t", "a job", "sh", "-c", "echo ${BOWLINE_FENCE-none}; bowline run -n 'a job' true; echo $?")
    assert (done.returncode, done.stdout) == (0, f"{said.get('fence', 'none')}\n124\n")
    assert not ticket.exists()
    done = place.run("--ticket", "copy", "a job", "touch", "ran")
    assert done.returncode == 123
    assert lines_of(done) == ["a job was not taken over from copy",
                              "a job: the ticket was used already, or the lock has ended",
                              "to acquire it anew, type: bowline run a job ..."]
    assert not place.path("ran").exists()
    assert keepers.is_free("a job")


def test_two_takers_of_one_ticket_are_one_holder(keepers, store):
    """All at once, many times: one has the lock, all others exit 123."""
    if store.kind == "file":
        pytest.skip("a lock of file: cannot be passed on")
    place = keepers.place
    for nth in range(5):
        assert place.bowline("hold", "--ticket", f"t{nth}", "job").returncode == 0
        for i in range(4):
            place.script(f"copy{i}", place.path(f"t{nth}").read_text(), mode=0o600)
        takers = [place.start("--ticket", f"copy{i}", "job", "sh", "-c", "mkdir here && sleep .05 && rmdir here")
                  for i in range(4)]
        assert sorted(place.finish(taker) for taker in takers) == [0, 123, 123, 123]


def test_a_ticket_ends_with_its_lease_and_with_a_break(keepers, store):
    if store.kind == "file":
        pytest.skip("a lock of file: cannot be passed on")
    place = keepers.place
    assert place.bowline("hold", "-t", "1s", "--ticket", "t", "job").returncode == 0
    wait_for("the end of the lease", keepers.is_free)
    assert place.run("--ticket", "t", "job", "true").returncode == 123
    assert place.bowline("hold", "--ticket", "t2", "job").returncode == 0
    assert place.bowline("break", "--yes", "job").returncode == 0
    assert place.run("--ticket", "t2", "job", "true").returncode == 123


GARBAGE = {
    "not a ticket": "this is not a ticket of bowline",
    "": "this is not a ticket of bowline",
    "x" * 5000: "this is not a ticket of bowline",
    "bowline-ticket 2 queue": "the ticket has a version that this bowline does not know",
    "bowline-ticket 1 queue 0123456789abcdef 7": "the ticket is damaged",
    "bowline-ticket 1 queue 0123456789abcdef x {value} job": "the ticket is damaged",
    "bowline-ticket 1 queue {place} 7 b1:x$(){{}} job": "the ticket is damaged",
    "bowline-ticket 1 token {place} 7 {value} job": "the ticket is of protocol token, and this URL has protocol queue",
    "bowline-ticket 1 queue 0123456789abcdef 7 {value} job": "the ticket is of another place: the name, key= or db= differs",
    "{ticket}er": "it is the ticket of jober, not of job",
}


def test_bad_tickets_are_refused_and_the_good_one_stays_good(place, redis):
    assert place.bowline("hold", "--ticket", "t", "job").returncode == 0
    good = place.path("t").read_text().strip()
    fields = good.split(" ")
    for text, said in GARBAGE.items():
        text = text.format(place=fields[3], value=fields[5], ticket=good)
        place.script("bad", text + "\n", mode=0o600)
        done = place.run("--ticket", "bad", "job", "touch", "ran")
        assert (done.returncode, lines_of(done)[1]) == (125, said)
        assert fields[5] not in done.stderr
    place.path("t").chmod(0o640)
    done = place.run("--ticket", "t", "job", "touch", "ran")
    assert done.returncode == 125 and lines_of(done)[1].startswith("a ticket is a secret, and ")
    assert not place.path("ran").exists()
    place.path("t").chmod(0o600)
    assert place.run("--ticket", "t", "job", "true").returncode == 0


def test_where_tickets_would_lie_they_are_refused(local, start_redis):
    place, url = local.place, start_redis().url
    for url, why in [(place.env["BOWLINE_URL"], "a lock of file: belongs to its process"),
                     (f"{url}?profile=redis-py", "other programs lock with this profile or protocol, and do not know tickets"),
                     (f"{url}?protocol=token&token=x&accept-risk=1", "with token= its value does not identify the hold"),
                     (f"{url}?protocol=setnx-getset&accept-risk=1",
                      "other programs lock with this profile or protocol, and do not know tickets")]:
        done = place.bowline("hold", "--ticket", "t", "job", env=place.env | {"BOWLINE_URL": url})
        assert (done.returncode, lines_of(done)[-2]) == (125, f"job cannot be passed on: {why}")
        assert not any(path.name.startswith("t") for path in place.root.iterdir())
        assert local.is_free("job", "-w", "10s")


def test_a_ticket_is_whole_or_not_there(place, redis):
    """The file cannot be written at the end: the lock is taken back. Killed in the middle: there is no file."""
    place.path("t").write_text("of another lock")
    done = place.bowline("hold", "--ticket", "t", "job")
    assert (done.returncode, lines_of(done)[1]) == (125, "it exists, and may be a ticket that is not used yet")
    assert place.path("t").read_text() == "of another lock"
    holder = place.hold()
    for name, ends in (("u", "made"), ("v", "killed")):
        words = [os.environ["BOWLINE"], "hold", "-w", "1h", "--ticket", name, "job"]
        waiter = subprocess.Popen(words, env=place.env, cwd=place.root, stderr=subprocess.PIPE, text=True)
        place.started.append(waiter)
        assert waiter.stderr.readline().startswith("bowline: waiting")
        drafts = [path for path in place.root.iterdir() if path.name.startswith(f"{name}.")]
        assert [draft.stat().st_size for draft in drafts] == [0] and not place.path(name).exists()
        if ends == "killed":
            waiter.kill()
            assert waiter.wait() == -signal.SIGKILL and not place.path(name).exists()
            continue
        place.path(name).write_text("made meanwhile")
        place.let_go(holder)
        assert waiter.wait(LIMIT) == 125
        assert place.path(name).read_text() == "made meanwhile" and not drafts[0].exists()
        holder = place.hold()  # it was taken back and released


# ---- on file: alone, where the store does not matter ---------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_keeper_releases(local, number):
    # TERM works even if the caller ignores it.
    done = local.shell("trap '' TERM; bowline hold --json --max-hold 1d job")
    os.kill(json.loads(done.stdout)["pid"], number)
    wait_for("the release", local.is_free)
    wait_for("its socket", lambda: local.pids() == [])


def test_max_hold_releases_and_the_keeper_says_so(local):
    hold = local.hold("--max-hold", "50ms")
    wait_for("the release", local.is_free)
    done = local.ask(hold)
    assert (done.returncode, done.stderr.splitlines()[1]) == (123, "bowline: --max-hold has ended: 50ms")
    # Without --for the keeper ends, too.
    assert local.place.bowline("hold", "--max-hold", "50ms", "job").returncode == 0
    wait_for("its end", lambda: local.pids() == [])
    assert local.is_free()


def test_holds_do_not_disturb_each_other(local):
    holds = [json.loads(local.shell(f"bowline hold --json --max-hold 1d {name}").stdout) for name in ("a", "b", "job")]
    assert [local.ask(hold, "--check").returncode for hold in holds] == [0, 0, 0]
    assert [local.ask(hold).returncode for hold in holds] == [0, 0, 0]


def test_broken_locks_name_the_breaker(place, redis):
    for local in open_keepers(place, redis.url):
        hold = local.hold()
        assert place.bowline("break", "--yes", "job").returncode == 0
        wait_for("the loss", lambda: local.ask(hold, "--check").returncode == 123)
        wait_for("its name", lambda: "bowline: it was broken by " in local.ask(hold, "--check").stderr)


def test_the_caller_is_not_kept_waiting(local):
    """The keeper has none of the descriptors, the session, the directory and the streams of the caller."""
    theirs, ours = os.pipe()
    done = local.shell("bowline hold --json --max-hold 1d job", pass_fds=[ours])
    os.close(ours)
    assert os.read(theirs, 1) == b""
    os.close(theirs)
    keeper = pathlib.Path(f"/proc/{json.loads(done.stdout)['pid']}")
    assert os.readlink(keeper / "cwd") == "/"
    assert [os.readlink(keeper / f"fd/{fd}") for fd in range(3)] == ["/dev/null"] * 3
    assert (keeper / "stat").read_text().rsplit(")", 1)[1].split()[3] == keeper.name  # its own session
    assert not local.is_free()


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize(("words", "said"), [
    ("-n", "124"), ("-w 20ms", "124"), ("-n -E 7", "7"), ("-n -E 0", "0"), ("--skip", None), ("-w", "125"),
    ("--url thread: -n", "125"), ("--for 0", "125"), ("--url-file /no/such", "125"), ("--nope", "125")])
def test_eval_fails_if_the_lock_is_not_held(local, shell, words, said):
    local.hold()
    done = local.shell(f'BOWLINE_HOLD=old; eval "$(bowline hold {words} --max-hold 1h job)"; echo $? $BOWLINE_HOLD; exit 9',
                       shell)
    assert (done.stdout, done.returncode) == ((f"{said}\n", 9) if said else ("", 0))
    if said == "124":  # and ends a script with set -e
        assert local.shell(f'set -e; eval "$(bowline hold {words} --max-hold 1h job)"; echo on', shell).stdout == ""


def test_a_name_is_quoted(local):
    name = "it's $(touch boom) \"`touch boom`\" \\ *"
    local.place.env["NAME"] = name
    done = local.shell('eval "$(bowline hold --for $$ -- "$NAME")"; printf %s "$BOWLINE_NAME"; bowline release; echo $?')
    assert (done.stdout, done.stderr) == (f"{name}0\n", "")
    assert not local.place.path("boom").exists()


@pytest.mark.parametrize(("words", "said"), [
    (["hold", "job"], ["nothing would end this hold", "without --for or --max-hold, a script that is killed leaves it",
                       "type: bowline hold --for $$ job"]),
    (["hold", "--for", "4194303", "job"], ["--for: process 4194303 cannot be watched", "No such process", None]),
    (["hold", "--for", "me", "job"], ['--for: "me" is not a number from 0 to 4194304', "type: bowline help hold"]),
    (["hold", "--for", "1", "--max-hold", "1h", "a", "b"], ["more than one lock is named", None, None]),
    (["hold", "--max-hold", "1h", "redis://h"], ["a URL is in the place of the name of the lock", None, None]),
    (["release"], ["no hold is named", "BOWLINE_HOLD is not set, and --hold was not given", None]),
    (["release", "--hold", "x" * 200], ["there is no hold at " + "x" * 200, "the path is too long for a socket", None]),
    (["release", "job"], ["too many arguments", None, None]),
])
def test_errors_say_what_why_and_what_to_type(local, words, said):
    done = local.place.bowline(*words)
    assert done.returncode == 125
    lines = [line.removeprefix("bowline: ") for line in done.stderr.splitlines()]
    assert [line if want else None for line, want in zip(lines, said)] == said
    assert local.pids() == []


def test_a_directory_of_others_is_not_used(local):
    for mode in (0o755, 0o770):
        local.sockets.mkdir(exist_ok=True)
        local.sockets.chmod(mode)
        assert not local.hold("-n")["hold"].startswith(str(local.sockets))
        # Another directory was used: find the keeper by its lock.
        held = local.place.run("-n", "job", "true").stderr
        os.kill(int(held.split(" pid ")[1].split()[0]), signal.SIGTERM)
        wait_for("the release", local.is_free)


# ---- while it waits ---------------------------------------------------------------------------------------------


def waiting(keepers, words="--max-hold 1h"):
    """A bowline hold that has said that it waits, and the pid of its keeper."""
    process = keepers.start(f"exec bowline hold {words} job")
    assert process.stderr.readline().startswith("bowline: waiting for job: held by ")
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return process, int(children[0])


def test_a_signal_ends_the_wait(keepers):
    hold = keepers.hold()
    process, keeper = waiting(keepers)
    process.terminate()
    assert keepers.place.finish(process) == 128 + signal.SIGTERM
    assert not keepers.place.is_alive(keeper)
    process, keeper = waiting(keepers)
    process.kill()
    process.wait()
    wait_for("the end of the keeper", lambda: not keepers.place.is_alive(keeper))
    # The process that it is for ends.
    owner = keepers.start("exec sleep 1000")
    process, keeper = waiting(keepers, f"--for {owner.pid}")
    owner.kill()
    owner.wait()
    assert keepers.place.finish(process) == 128 + signal.SIGTERM
    assert keepers.ask(hold).returncode == 0
    assert keepers.is_free()
