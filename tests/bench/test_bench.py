"""The benchmark program: its options, its reports, and that it leaves nothing behind.

No test asserts a speed.
"""

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import xml.etree.ElementTree

import pytest

from own_redis import children_of, is_alive, wait_for

LIMIT = 120
BENCH = os.environ.get("BOWLINE_BENCH")
SHORT = ["--settle", "0", "--rounds", "1"]
LOCAL = "thread-pair,file-pair"

pytestmark = pytest.mark.skipif(not BENCH, reason="this build has no benchmark (no hiredis)")

needs_redis = pytest.mark.skipif(
    not shutil.which("redis-server") and "CI" not in os.environ, reason="redis-server is not installed"
)


@pytest.fixture
def bench(tmp_path):
    """Runs it to its end, with its files in a directory of the test; none of them may be left."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = dict(os.environ, TMPDIR=str(scratch))

    def run(*words, **how):
        how.setdefault("stderr", subprocess.PIPE)
        done = subprocess.run(
            [BENCH, *words], stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=False, env=env, **how
        )
        assert list(scratch.iterdir()) == []
        return done

    run.env = env
    run.scratch = scratch
    return run


def refused(bench, *words, code=2):
    """Runs a command that must be refused; returns the three lines."""
    done = bench(*words)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 3 and all(line.startswith("bowline-bench: ") for line in lines), done.stderr
    return [line.removeprefix("bowline-bench: ") for line in lines]


# Options.


def test_help_fits_on_a_screen_and_begins_with_an_example(bench):
    done = bench("--help")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("bowline-bench ")
    assert len(lines) <= 25 and max(map(len, lines)) <= 80


def test_every_option_of_the_help_is_an_option(bench):
    found = re.findall(r"^  --([a-z]+)( [A-Z]\S*)?", bench("--help").stdout, re.M)
    assert len(found) >= 10
    for name, argument in found:
        if argument:
            assert "needs a value" in refused(bench, f"--{name}")[0]
        else:
            assert bench(f"--{name}", "--help").returncode == 0, name


def test_list_has_the_goal_of_each_measure(bench):
    done = bench("--list")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert sum(1 for line in lines if re.match(r"\S+ +at (most|least) \d", line)) == 74
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    "words",
    [["--fast"], ["-x"], ["--json=yes"], ["--rounds"], ["pair-P"], ["--delay", "0"], ["--settle", "601"]]
    + [["--rounds", count] for count in ("0", "100", "-1", "3x", "", "99999999999999999999")]
    + [["--only", names] for names in ("", "pair-Q", "pair-", "threa", "bytes,", "bytes,,pair-P", "x" * 5000)],
)
def test_bad_options_are_refused_in_three_lines(bench, words):
    assert refused(bench, *words)[2] == "type: bowline-bench --help"


def test_impossible_measure_is_refused_in_three_lines(bench):
    what, why, _ = refused(bench, *SHORT, "--only", "run-file", "--bowline", "/nowhere/bowline", code=3)
    assert "bowline" in what and "/nowhere/bowline" in why


def test_file_that_cannot_be_written_is_reported(bench):
    done = bench(*SHORT, "--only", "thread-pair", "--svg", "/nowhere/file.svg")
    assert done.returncode == 3
    assert "/nowhere/file.svg" in done.stderr.splitlines()[0] and len(done.stderr.splitlines()) == 3


def test_only_takes_whole_names_and_beginnings_before_a_dash(bench):
    done = bench(*SHORT, "--json", "--only", "file,thread-pair")
    assert [m["name"] for m in json.loads(done.stdout)["measures"]] == ["file-pair", "thread-pair"]


# Reports.


def check_figures(figures, unit):
    if unit == "us":
        assert 0 < figures["p50"] <= figures["p99"] <= figures["p999"]
    else:
        assert figures["median"] > 0


@needs_redis
def test_json_has_every_field(bench):
    done = bench(*SHORT, "--json", "--only", "thread-pair,file-pair,bytes,pair-P")
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert set(said) == {"program", "version", "machine", "quiet", "rounds", "delay_us", "measures", "peers"}
    assert set(said["machine"]) == {"cpu", "kernel", "redis", "hiredis", "cpus"}
    assert all(said["machine"].values())
    assert said["quiet"]["asked"] is False
    assert (said["rounds"], said["delay_us"]) == (1, 1000)
    measures = {m["name"]: m for m in said["measures"]}
    assert set(measures) == {"pair-P", "file-pair", "thread-pair", "bytes"}
    for m in measures.values():
        fields = "name regime what against bound goal stretch ratio met stretch_met min max rounds unit ours theirs note"
        assert set(m) == set(fields.split())
        assert len(m["rounds"]) == 1 and m["min"] == m["max"] == m["rounds"][0] > 0
        assert abs(m["ratio"] - m["min"]) <= 0.0051
        assert m["bound"] == "at most" and m["met"] is (m["ratio"] <= m["goal"])
        check_figures(m["ours"], m["unit"])
        check_figures(m["theirs"], m["unit"])
    assert measures["bytes"]["note"] == "0 keys left after release"
    # Four times the delay, at least: two round trips.
    assert measures["pair-P"]["theirs"]["p50"] >= 4000
    assert measures["pair-P"]["ours"]["p50"] >= 4000


@needs_redis
def test_the_delay_of_the_proxy_can_be_chosen(bench):
    said = json.loads(bench(*SHORT, "--json", "--only", "pair-P", "--delay", "2000").stdout)
    assert said["delay_us"] == 2000
    assert said["measures"][0]["theirs"]["p50"] >= 8000


@needs_redis
def test_throughput_and_commands_are_measured_too(bench):
    done = bench(*SHORT, "--json", "--only", "pair-S,threads-2,run")
    assert (done.returncode, done.stderr) == (0, "")
    measures = {m["name"]: m for m in json.loads(done.stdout)["measures"]}
    assert set(measures) == {"pair-S", "threads-2-X", "threads-2-free", "run-file", "run-redis"}
    for m in measures.values():
        if m["ratio"] is not None:
            check_figures(m["ours"], m["unit"])
            check_figures(m["theirs"], m["unit"])
    assert measures["threads-2-free"]["bound"] == "at least"


@needs_redis
def test_queue_is_measured(bench):
    queue = "hand-over,takeover,million,waiters-16,waiters-fairness,waiters-commands,same-name,idle,depth,renewals"
    only = queue + ",redlock"
    done = bench(*SHORT, "--brief", "--json", "--only", only)
    assert (done.returncode, done.stderr) == (0, "")
    measures = {m["name"]: m for m in json.loads(done.stdout)["measures"]}
    assert len(measures) == 19
    for m in measures.values():
        assert m["ratio"] is not None or m["note"] == "this machine has one CPU", m
        if m["ratio"] is not None:
            check_figures(m["theirs"], m["unit"])
        # In so short a contest some waiters get no lock, and so short a wait may take no time.
        if m["ratio"] is not None and m["name"] not in ("waiters-fairness-128", "idle-cpu", "idle-commands"):
            check_figures(m["ours"], m["unit"])
    # Twice the delay, at least: to the server, and from there to the other.
    assert measures["hand-over-P"]["ours"]["p50"] >= 2000
    assert measures["million-bytes"]["note"] == "0 keys left after release"
    assert measures["takeover"]["note"].endswith("of 2")
    assert measures["waiters-commands-128"]["ratio"] >= 1
    assert measures["redlock-dead"]["theirs"]["p50"] >= 12000 # twice there and back, at three times the delay
    assert measures["same-name-16"]["ratio"] < 1 and "with turns=1" in measures["same-name-16"]["note"]


@needs_redis
def test_one_cpu_has_no_x_regime_and_that_is_reported(bench):
    cpu = min(os.sched_getaffinity(0))
    done = bench(
        *SHORT, "--json", "--strict", "--only", "threads-1-X", preexec_fn=lambda: os.sched_setaffinity(0, {cpu})
    )
    assert (done.returncode, done.stderr) == (0, "")
    (measure,) = json.loads(done.stdout)["measures"]
    assert measure["ratio"] is None and measure["met"] is None and measure["ours"] is None
    assert measure["note"] == "this machine has one CPU"


def test_the_table_has_a_line_per_measure_and_the_machine(bench):
    done = bench(*SHORT, "--only", LOCAL)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split()[:3] == ["measure", "ratio", "goal"]
    rows = [line for line in lines if re.match(r"(file|thread)-pair +\d+\.\d\d  <= \d+\.\d\d +(not )?met", line)]
    assert len(rows) == 2 and all(re.search(r"\d \.\. \d", row) for row in rows)
    assert os.uname().release in done.stdout and "bowline " in done.stdout


def test_the_drawing_is_well_formed_and_has_a_row_per_measure(bench, tmp_path):
    drawing = tmp_path / "drawing.svg"
    assert bench(*SHORT, "--only", LOCAL, "--svg", str(drawing)).returncode == 0
    root = xml.etree.ElementTree.parse(drawing).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == space + "svg"
    texts = [text.text for text in root.iter(space + "text")]
    assert "file-pair" in texts and "thread-pair" in texts
    bars = [bar for bar in root.iter(space + "rect") if bar.get("class") in ("met", "missed")]
    assert len(bars) == 2 and all(float(bar.get("width")) > 0 for bar in bars)
    assert len(list(root.iter(space + "line"))) == 1
    assert "prefers-color-scheme: dark" in drawing.read_text()


def test_page_says_that_it_is_generated_and_by_which_program(bench, tmp_path):
    page, drawing = tmp_path / "page.md", tmp_path / "page.svg"
    done = bench(*SHORT, "--only", LOCAL, "--svg", str(drawing), "--report", str(page))
    assert done.returncode == 0
    text = page.read_text()
    assert text.startswith("<!-- Made by `make bench-report`.")
    assert "](page.svg)" in text and "| file-pair |" in text and "**thread-pair**:" in text
    assert str(tmp_path) not in text


def test_progress_is_for_terminals_only(bench):
    ours, theirs = pty.openpty()
    done = bench(*SHORT, "--only", "thread-pair", stderr=theirs)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while more := os.read(ours, 65536):
            said += more
    os.close(ours)
    assert done.returncode == 0
    assert b"thread-pair: round 1 of 1" in said and said.endswith(b"\r\x1b[K")


def test_strict_follows_the_goals(bench):
    done = bench(*SHORT, "--json", "--strict", "--only", LOCAL)
    met = all(m["met"] for m in json.loads(done.stdout)["measures"])
    assert done.returncode == (0 if met else 1)


# Cleanup.


@needs_redis
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_every_kind_of_end_leaves_nothing(bench, end):
    process = subprocess.Popen(
        [BENCH, "--settle", "0", "--rounds", "99", "--only", "pair-P"], env=bench.env, stdout=subprocess.DEVNULL
    )
    try:
        # The server; the proxy and the janitor have the name of the program.
        wait_for("all three", lambda: len(children_of(process.pid)) == 3, LIMIT)
        children = [pid for _, pid in children_of(process.pid)]
        assert "redis-server" in dict(children_of(process.pid))
    finally:
        process.send_signal(end)
    assert process.wait(LIMIT) == -end
    wait_for("the end of all that it started", lambda: not any(map(is_alive, children)), LIMIT)
    wait_for("the end of its directory", lambda: list(bench.scratch.iterdir()) == [], LIMIT)
