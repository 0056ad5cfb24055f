"""Schedules in files: read strictly, and played against a real redis-server.

The program starts its own server in its own directory: both are removed afterwards in every case.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from own_redis import wait_for

LIMIT = 120
LOCKS = pathlib.Path(__file__).parent.parent.parent / "lab/locks"
REUSED = ["token-reused", "--loss", "1", "--invariant", "one holder"]


@pytest.fixture(scope="module")
def reused(tmp_path_factory):
    """The schedule of one token for every attempt, found once."""
    lab = os.environ.get("BOWLINE_LAB")
    if not lab:
        pytest.skip("this build has no lab")
    said = subprocess.run([lab, "try", *REUSED, "--json"], capture_output=True, text=True, check=False)
    assert said.returncode == 1, said.stderr
    return said.stdout


@pytest.fixture
def server():
    if shutil.which("redis-server"):
        return
    if os.environ.get("CI"):
        pytest.fail("there is no redis-server", pytrace=False)
    pytest.skip("there is no redis-server")


def changed(text, change):
    schedule = json.loads(text)
    change(schedule)
    return json.dumps(schedule)


def is_clean(lab):
    return list(lab.temporary.iterdir()) == []


# ---- against a server ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, invariant",
    [
        (REUSED, "one holder"),
        (["token-delete-blind", "--slow", "2", "--invariant", "one holder"], "one holder"),
        (["planted-set-overwrites", "--slow", "1"], "one holder"),
        (["token", "--restart", "1"], "one holder"),
        (["token", "--failover", "1"], "one holder"),
        (["mutant-no-is-yes", "--loss", "1", "--invariant", "one holder"], "one holder"),
        (["setnx-del", "--crash", "1", "--invariant", "never too late"], "never too late"),
        (["setnx-getset-jedis", "--crash", "1", "--invariant", "own key only"], "own key only"),
        (["redisson", "--restore", "1"], "one holder"),
        (["symfony", "--restore", "1"], "one holder"),
        (["symfony-release-blind", "--slow", "2", "--loss", "1", "--invariant", "one holder"], "one holder"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_the_same_invariant_breaks_on_a_real_server(lab, server, words, invariant):
    file = lab.write("it.json", lab.schedule(*words))
    said = lab("replay", file)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "answers of the real server, all as the model's" in said.stdout
    assert f"=> broken on a real server: {invariant}: " in said.stdout.splitlines()[-1]
    assert is_clean(lab)


def test_two_clients_hold_at_the_end_and_the_log_has_every_step(lab, server, reused):
    said = lab("replay", lab.write("it.json", reused))
    lines = said.stdout.splitlines()
    assert [int(line.split()[0]) for line in lines if line[:4].strip().isdigit()] == list(range(1, 18))
    assert "  A believes that it has the lock, for 28 ms more" in lines
    assert "  B believes that it has the lock, for 28 ms more" in lines
    assert [line for line in lines if "DELETE A1 arrives LATE, on the old connection" in line]


def test_a_late_machine_replays_more_slowly(lab, server):
    """The replay is stopped in the pause after which the key still lasts, until the key is gone."""
    file = lab.write("it.json", lab.schedule(str(LOCKS / "redis-plus-plus.lock"), "--invariant", "no overlap"))
    log = lab.root / "log"
    with log.open("w") as out:
        process = subprocess.Popen([os.environ["BOWLINE_LAB"], "replay", file], stdout=out, stderr=out, env=lab.env)
    wait_for("the pause", lambda: "18 ms pass" in log.read_text())
    process.send_signal(signal.SIGSTOP)
    (socket,) = lab.temporary.glob("*/redis")
    wait_for("the end of the key", lambda: subprocess.check_output(["redis-cli", "-s", socket, "dbsize"]).strip() == b"0")
    process.send_signal(signal.SIGCONT)
    assert process.wait(LIMIT) == 0, log.read_text()
    said = log.read_text()
    assert " ms late.  Once more, more slowly:" in said and "1 ms of the schedule is 40 ms" in said, said


def test_server_with_other_replies_is_detected(lab, server, reused):
    """It has no memory left: SET is refused, where the model says yes."""
    liar = lab.root / "redis-server"
    liar.write_text(f"#!/bin/sh\nexec {shutil.which('redis-server')} \"$@\" --maxmemory 1\n")
    liar.chmod(0o755)
    said = lab("replay", lab.write("it.json", reused), "--server", str(liar))
    assert said.returncode == 1
    assert "the real server answers otherwise than the model" in said.stderr
    assert "step 2, SET A1: the model says yes" in said.stderr and "the server later" in said.stderr
    assert "broken on a real server" not in said.stdout
    assert is_clean(lab)


def test_schedule_of_another_protocol_is_refused(lab, reused):
    text = reused.replace('"subject": "token-reused"', '"subject": "token"')
    assert "it was changed since it was written" in lab.refuses("replay", lab.write("it.json", text))


def test_missing_server_error_has_a_hint(lab, reused):
    file = lab.write("it.json", reused)
    said = lab("replay", file, "--server", str(lab.root / "none"))
    assert said.returncode == 1 and "is not found, or not executable" in said.stderr and "type: " in said.stderr
    said = lab("replay", file, "--server", "/bin/true")
    assert said.returncode == 1 and "/bin/true ended at once" in said.stderr
    assert is_clean(lab)


def in_a_pause(lab, reused):
    """A replay in the middle of a pause of 5 ms, each of which lasts ten seconds."""
    words = [os.environ["BOWLINE_LAB"], "replay", lab.write("it.json", reused), "--scale", "10000"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=lab.env)
    for line in process.stdout:
        if b" ms pass" in line:
            break
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_too(lab, server, reused, number):
    process = in_a_pause(lab, reused)
    process.send_signal(number)
    assert process.wait(60) == 128 + number
    process.stdout.close()
    assert is_clean(lab)


def test_kill_ends_the_server_too(lab, server, reused):
    process = in_a_pause(lab, reused)
    socket = next(lab.temporary.iterdir()) / "redis"
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 1 and socket.exists()
    process.kill()
    process.wait(60)
    process.stdout.close()
    server_stat = pathlib.Path(f"/proc/{children[0]}/stat")
    try:
        wait_for("its end", lambda: not server_stat.exists() or server_stat.read_text().rsplit(")", 1)[1].split()[0] == "Z")
    except pytest.fail.Exception:
        os.kill(int(children[0]), signal.SIGKILL)
        raise


# ---- refusals --------------------------------------------------------------------------------------


def cut_last(schedule):
    schedule["transitions"].pop()


def swap_two(schedule):
    transitions = schedule["transitions"]
    transitions[1], transitions[2] = transitions[2], transitions[1]


def other_client(schedule):
    schedule["transitions"][-1]["client"] = "C"


def add_one(schedule):
    schedule["transitions"].append({"do": "release", "client": "B"})


def other_invariant(schedule):
    schedule["invariant"] = "no creation"


def no_faults(schedule):
    schedule["budget"] = {}


@pytest.mark.parametrize("change", [cut_last, swap_two, other_client, add_one, other_invariant, no_faults])
def test_modified_schedule_is_refused(lab, reused, change):
    said = lab.refuses("replay", lab.write("it.json", changed(reused, change)))
    assert "it was changed since it was written" in said


def test_schedule_of_another_version_with_another_result_is_reported(lab, reused):
    def older(schedule):
        schedule["bowline"] = "0.0.1"
        swap_two(schedule)

    said = lab.refuses("replay", lab.write("it.json", changed(reused, older)))
    assert "written by bowline 0.0.1" in said


def set_to(name, value):
    return lambda schedule: schedule.update({name: value})


def in_the_world(**values):
    return lambda schedule: schedule["world"].update(values)


OUT_OF_BOUNDS = [("clients", 9), ("lease_ms", 2), ("lease_ms", None), ("extend_ms", 2), ("jump_ms", None), ("server_pace", None),
                 ("pace_a", 0), ("lease_b_ms", 0)]


@pytest.mark.parametrize(
    "change, part",
    [
        (set_to("format_version", 2), "the file is in format 2, and this bowline reads 1"),
        (set_to("format", "something"), "this is no schedule of bowline-lab"),
        (set_to("subject", "tokn"), "no protocol is called tokn"),
        (set_to("invariant", "no such invariant"), 'no invariant is called "no such invariant"'),
        (set_to("extra", 1), 'a schedule has no "extra"'),
        (set_to("budget", {"lost": 1}), 'no fault is called "lost"'),
        (set_to("budget", {"loss": 256}), "out of bounds"),
        (set_to("transitions", [{"do": "dance", "client": "A"}]), 'no step is called "dance"'),
        (set_to("transitions", [{"client": "A"}]), 'a step without "do"'),
        (set_to("transitions", [{"do": "start", "client": "AB"}]), 'no client is called "AB"'),
        (set_to("transitions", [{"do": "start", "client": "A", "which": -1}]), "out of bounds"),
        (set_to("transitions", [{"do": "start", "client": "A"}] * 5000), "more steps than a schedule may have"),
        *((in_the_world(**{name: value}), f'"{name}" is ' * (value is None) + "out of bounds") for name, value in OUT_OF_BOUNDS),
        (in_the_world(renews=1), "true or false has to be here"),
        (in_the_world(moon=1), 'a world has no "moon"'),
        (lambda s: s.pop("invariant"), "it lacks its subject, its invariant or its transitions"),
        (lambda s: s.pop("transitions"), "it lacks its subject, its invariant or its transitions"),
        (lambda s: s.pop("format_version"), '"format_version" has to come first'),
    ],
)
def test_a_schedule_that_is_broken_is_refused_with_the_reason(lab, reused, change, part):
    assert part in lab.refuses("replay", lab.write("it.json", changed(reused, change)))


@pytest.mark.parametrize(
    "text, part",
    [
        ("", "a { has to be here"),
        ("[]", "a { has to be here"),
        ("\x00\x01", "a { has to be here"),
        ('{"format": "bowline-lab schedule"', "a , has to be here"),
        ('{"format": "bowline-lab schedule"} {}', "more than one value"),
        ('{"format": "bow', "a text that is not closed"),
        ('{"format": "\\u00e9"}', "a character that does not belong here"),
        ('{"format_version": 1.5}', "a whole number has to be here"),
        ('{"format_version": 01}', "a whole number has to be here"),
        ('{"format_version": 99999999999999999999}', "out of bounds"),
        ("{\n\n\"format\": 3}", "line 3: "),
    ],
)
def test_invalid_json_is_refused_with_its_line(lab, text, part):
    assert part in lab.refuses("replay", lab.write("it.json", text))


def test_every_beginning_of_a_schedule_is_refused(lab, reused):
    for size in range(0, len(reused) - 2, 97):
        lab.refuses("replay", lab.write("it.json", reused[:size]))


def test_missing_or_too_large_file_is_reported(lab):
    assert "none.json cannot be read" in lab.refuses("replay", "none.json")
    assert "cannot be read" in lab.refuses("replay", str(lab.root))
    assert "too large" in lab.refuses("replay", lab.write("it.json", " " * (1 << 20)))
