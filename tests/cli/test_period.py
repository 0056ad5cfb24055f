"""`bowline run --once-per`, `--at-least` and `--retry-failed`, on Redis, Sentinel and Cluster; refused on files."""

import getpass
import json
import signal

import pytest

from test_look import ME, Watch, name, opened, store  # noqa: F401 (fixtures)

HOUR = ["--once-per", "1h"]


def command(place, after="true"):
    return ["sh", "-c", f"echo ran >>{place.path('log')}; {after}"]


def runs(place):
    return place.text_of(place.path("log")).count("ran\n")


def test_one_of_four_hosts_runs_the_command_once_per_period(place, store, name):  # noqa: F811
    if store == "file":
        pytest.skip("a lock of file: ends with its process; typed.txt has the refusal")
    hosts = [place.start(*HOUR, name, *command(place)) for _ in range(4)]
    assert [host.communicate() + (host.returncode,) for host in hosts] == [("", "", 0)] * 4
    assert runs(place) == 1
    again = place.run("-v", "--status-fd", "1", *HOUR, name, *command(place))
    event = json.loads(again.stdout.splitlines()[-1])
    assert (again.returncode, event["event"], f"{event['user']}@{event['host']}") == (0, "done", ME)
    assert 0 <= event["since_ms"] and event["left_ms"] <= 59 * 60000 and event["exit"] == 0
    assert f"{name}: done by {ME} at " in again.stderr
    shown = json.loads(place.bowline("who", "--json", name).stdout)
    assert (shown["held"], shown["done"], shown["user"]) == (False, True, event["user"])
    place.env["BOWLINE_URL"], url = place.env["BOWLINE_URL"] + "?protocol=token", place.env["BOWLINE_URL"]
    assert place.bowline("ls", name).stdout == "" and " done by " in place.bowline("who", name).stdout
    assert place.bowline("break", "--yes", name).stderr.endswith("remove protocol= or profile= from the URL\n")
    place.env["BOWLINE_URL"] = url
    assert place.bowline("break", "--yes", name).returncode == 0
    assert place.run(*HOUR, name, *command(place)).returncode == 0 and runs(place) == 2


def test_watch_shows_a_period_from_the_release_to_its_end(place, redis, name):  # noqa: F811
    watch = Watch(place, name)
    watch.next("free")
    holder = place.hold(name, "--at-least", "1h")
    watch.next("acquired")
    place.let_go(holder)
    watch.next("released")
    assert watch.next("done")["left_ms"] > 60000
    assert Watch(place, name).next("done").items() >= {"done": True, "user": getpass.getuser()}.items()
    place.bowline("break", "--yes", name)
    assert "user" not in watch.next("free")


def test_a_killed_holder_has_used_the_period(place, redis):
    holder = place.start("-t", "1s", *HOUR, "job", *command(place, "exec sleep 1000"))
    place.wait_for("the command", lambda: runs(place) == 1)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert json.loads(place.bowline("who", "--json", "job").stdout)["left_ms"] > 60000  # no lease lasts so long
    assert place.run(*HOUR, "job", *command(place)).returncode == 0
    assert place.run("-n", "job", *command(place)).returncode == 124
    assert runs(place) == 1


@pytest.mark.parametrize("options,expected", [([], 1), (["--retry-failed"], 2)])
def test_a_failed_command_gives_the_period_back_only_if_asked(place, redis, options, expected):
    for period in (HOUR, ["--at-least", "1h"]):
        place.path("log").unlink(missing_ok=True)
        assert place.run(*period, *options, period[0][2:], *command(place, "exit 3")).returncode == 3
        again = place.run("-n", *period, *options, period[0][2:], *command(place))
        assert runs(place) == expected
        assert again.returncode == (0 if expected == 2 or period is HOUR else 124)


def test_a_command_that_cannot_start_uses_no_period(place, redis):
    assert place.run(*HOUR, "job", "./missing").returncode == 127
    assert place.run(*HOUR, "job", *command(place)).returncode == 0 and runs(place) == 1


@pytest.mark.parametrize("status", [0, 1])
def test_a_wait_ends_when_the_other_host_is_done_or_has_failed(place, redis, status):
    first = place.start("--retry-failed", *HOUR, "job", *command(place, f"read x; exit {status}"), stdin=-1)
    place.wait_for("the command", lambda: runs(place) == 1)
    second = place.start("-w", "forever", *HOUR, "job", *command(place))
    assert "waiting for job: held by" in second.stderr.readline()
    first.communicate("go\n")
    assert (first.returncode, second.wait(), runs(place)) == (status, 0, 1 + status)


def test_the_end_of_at_least_lets_the_next_one_in(place, redis):
    assert place.run("--at-least", "200ms", "job", *command(place)).returncode == 0
    assert place.run("-w", "forever", "job", *command(place)).returncode == 0
    assert runs(place) == 2


@pytest.mark.parametrize(
    "words,says",
    [
        (["--once-per", "1d", "--at-least", "1d"], "exclude each other"),
        (["--retry-failed"], "needs --once-per or --at-least"),
        (["--once-per", "367d"], "it is from 1ms to 366d"),
        (["--at-least", "0s"], "it is from 1ms to 366d"),
        (["--once-per", "1d", "--url", "redis://h?protocol=token"], "protocol token does not keep"),
        (["--at-least", "1d", "--url", "redlock://a,b,c"], "do not keep a lock taken for a period"),
        (["--once-per", "1d", "--url", "redis://h?profile=redisson"], "protocol redisson does not keep"),
    ],
)
def test_what_cannot_be_promised_is_refused(place, words, says):
    done = place.run(*words, "job", *command(place))
    assert done.returncode == 125 and says in done.stderr and runs(place) == 0
