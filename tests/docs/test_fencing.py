"""docs/explanation/fencing.md is tested: its SQL on SQLite, the script for Redis on a private server, its lines for the shell.

Each guard refuses a late holder here, and each is also tested without its comparison, where the late write
must succeed: a test that passes with both would prove nothing.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess

import pytest

from own_redis import LIMIT, Redis, need_redis, own_redis

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
BOWLINE = os.environ.get("BOWLINE", "")
PAGE = (SOURCE / "docs/explanation/fencing.md").read_text(encoding="utf-8")
SCRIPT = (SOURCE / "examples/fence/set_if_not_late.lua").read_text(encoding="utf-8")

# Two fences that are the same double; and the largest BIGINT.
EXACT = 2**53
LAST = 2**63 - 1


def blocks(language):
    return re.findall(r"^```" + language + r"\n(.*?)^```", PAGE, re.M | re.S)


TABLE, WRITE, WRITE_OR_MAKE, FENCES, BEGIN = blocks("sql")


def without(text, comparison):
    """The same without its guard."""
    assert text.count(comparison) == 1
    return text.replace(comparison, "")


def fences_of_two_holders(place):
    """The fences of two holders of one lock, one after the other."""
    url = f"file:{place}"
    words = [BOWLINE, "run", "--url", url, "nightly", "printenv", "BOWLINE_FENCE"]
    first, second = (
        int(subprocess.run(words, capture_output=True, check=True, text=True, timeout=LIMIT).stdout) for _ in range(2)
    )
    assert first < second
    return first, second


@pytest.fixture
def two_fences(tmp_path):
    if not BOWLINE:
        pytest.skip("this build has no command")
    locks = tmp_path / "locks"
    locks.mkdir(mode=0o700)
    return fences_of_two_holders(locks)


# ---- SQL -------------------------------------------------------------------------------------------


class Report:
    def __init__(self, *schemas):
        self.database = sqlite3.connect(":memory:", isolation_level=None)
        for schema in schemas:
            self.database.executescript(schema)

    def put(self, statement, fence, body, row=1):
        """Returns the number of changed rows."""
        return self.database.execute(statement, {"fence": fence, "body": body, "id": row}).rowcount

    def rows(self):
        return self.database.execute("SELECT id, body FROM report ORDER BY id").fetchall()


@pytest.mark.parametrize("write", [WRITE, WRITE_OR_MAKE], ids=["update", "upsert"])
def test_sql_refuses_a_late_holder(two_fences, write):
    first, second = two_fences
    report = Report(TABLE)
    assert report.put(write, first, "the first begins") == 1
    assert report.put(write, first, "and may write again") == 1
    assert report.put(write, second, "the second has taken over") == 1
    assert report.put(write, first, "the first wakes up, too late") == 0
    assert report.rows() == [(1, "the second has taken over")]
    assert report.put(write, second, "and goes on") == 1


@pytest.mark.parametrize(
    ("guarded", "guard"),
    [(WRITE, " AND fence <= :fence"), (WRITE_OR_MAKE, "WHERE report.fence <= excluded.fence")],
    ids=["update", "upsert"],
)
def test_sql_without_its_guard_lets_a_late_holder_write(two_fences, guarded, guard):
    first, second = two_fences
    report = Report(TABLE)
    write = without(guarded, guard)
    assert report.put(write, second, "the second has taken over") == 1
    assert report.put(write, first, "the first wakes up, too late") == 1
    assert report.rows() == [(1, "the first wakes up, too late")]


def test_sql_inserts_a_missing_row(two_fences):
    first, second = two_fences
    report = Report(TABLE)
    assert report.put(WRITE_OR_MAKE, second, "made", row=2) == 1
    assert report.put(WRITE_OR_MAKE, first, "late", row=2) == 0
    assert report.rows() == [(1, "empty"), (2, "made")]


@pytest.mark.parametrize("write", [WRITE, WRITE_OR_MAKE], ids=["update", "upsert"])
def test_sql_compares_every_fence_exactly(write):
    report = Report(TABLE)
    for fence in (EXACT, EXACT + 1, LAST - 1, LAST):
        assert report.put(write, fence, "on time") == 1
        assert report.put(write, fence - 1, "late") == 0
    with pytest.raises(OverflowError):
        report.put(write, LAST + 1, "no BIGINT")
    assert report.rows() == [(1, "on time")]


def write_two_rows(report, begin, fence, body):
    """A transaction that begins with the fence, as the page says."""
    start, compare = begin.strip().split("\n")
    report.database.execute(start)
    if report.database.execute(compare, {"fence": fence}).rowcount != 1:
        report.database.execute("ROLLBACK")
        return False
    report.database.execute("UPDATE report SET body = ?", [body])
    report.database.execute("INSERT INTO report SELECT max(id) + 1, 0, ? FROM report", [body])
    report.database.execute("COMMIT")
    return True


def test_sql_several_rows_are_guarded_by_one(two_fences):
    first, second = two_fences
    report = Report(TABLE, FENCES)
    assert write_two_rows(report, BEGIN, first, "first")
    assert write_two_rows(report, BEGIN, second, "second")
    before = report.rows()
    assert len(before) == 3 and {body for _, body in before} == {"second"}
    assert not write_two_rows(report, BEGIN, first, "late")
    assert report.rows() == before
    assert write_two_rows(report, without(BEGIN, " AND seen <= :fence"), first, "late")
    assert {body for _, body in report.rows()} == {"late"}


def test_a_comparison_that_is_a_step_of_its_own_is_no_guard(two_fences, tmp_path):
    """Why the page requires one statement: another holder writes between the two."""
    first, second = two_fences
    late, other = (sqlite3.connect(tmp_path / "db", isolation_level=None) for _ in range(2))
    late.executescript(TABLE)
    (seen,) = late.execute("SELECT fence FROM report WHERE id = 1").fetchone()
    assert seen <= first
    assert other.execute(WRITE, {"fence": second, "body": "the second"}).rowcount == 1
    late.execute(without(WRITE, " AND fence <= :fence"), {"fence": first, "body": "late"})
    assert other.execute("SELECT body FROM report").fetchone() == ("late",)
    # A comparison inside the statement reads the current row.
    assert other.execute(WRITE, {"fence": second, "body": "the second"}).rowcount == 1
    assert late.execute(WRITE, {"fence": first, "body": "late"}).rowcount == 0


# ---- Redis -----------------------------------------------------------------------------------------


class Writer(Redis):
    def put(self, fence, *fields, script=SCRIPT):
        path = self.root / "script.lua"
        path.write_text(script)
        return self.cli("--eval", path, "report", ",", fence, *fields)


@pytest.fixture
def redis():
    need_redis()
    with own_redis("bowline-fencing-", kind=Writer) as server:
        yield server


def test_redis_refuses_a_late_holder(redis, two_fences):
    first, second = two_fences
    assert redis.put(first, "body", "the first begins", "mood", "good") == "1"
    assert redis.put(first, "body", "and may write again") == "1"
    assert redis.put(second) == "1", "a fence can be shown without writing"
    assert redis.put(first, "body", "too late") == "0"
    assert redis.cli("hgetall", "report").split("\n")[:4] == ["body", "and may write again", "mood", "good"]
    assert redis.put(second, "body", "the second") == "1"
    assert redis.put(first, "body", "too late", "fence", second) == "0"
    assert redis.cli("hmget", "report", "body", "fence").split("\n") == ["the second", str(second)]


def test_redis_without_its_guard_lets_a_late_holder_write(redis, two_fences):
    first, second = two_fences
    bare = without(SCRIPT, "if seen and is_lower(fence, seen) then\n    return 0\nend\n")
    assert redis.put(second, "body", "the second", script=bare) == "1"
    assert redis.put(first, "body", "late", script=bare) == "1"
    assert redis.cli("hget", "report", "body") == "late"


def test_redis_compares_every_fence_exactly(redis):
    for fence in (9, 10, 99, 100, EXACT, EXACT + 1, 2**60 + 1, LAST, 2**64 - 1):
        assert redis.put(fence, "body", "on time") == "1", fence
        assert redis.put(fence - 1, "body", "late") == "0", fence
    # The obvious comparison does not.
    by_number = SCRIPT.replace("if #a ~= #b then\n        return #a < #b\n    end\n    return a < b", "return a + 0 < b + 0")
    assert by_number != SCRIPT
    redis.cli("del", "report")
    assert redis.put(EXACT + 1, "body", "on time", script=by_number) == "1"
    assert redis.put(EXACT, "body", "late", script=by_number) == "1"


def test_redis_a_fence_in_the_fields_does_not_lower_it(redis):
    assert redis.put(7, "fence", 3, "body", "x") == "1"
    assert redis.cli("hget", "report", "fence") == "7"


@pytest.mark.parametrize("fence", ["", "0", "007", "-1", "1e3", "0x10", " 7", "7 ", "1" * 21])
def test_redis_invalid_fence_is_an_error_and_changes_nothing(redis, fence):
    assert redis.put(6, "body", "before") == "1"
    assert "is not a fence" in redis.put(fence, "body", "after")
    assert redis.cli("hgetall", "report").split("\n") == ["body", "before", "fence", "6"]


def test_redis_foreign_hash_is_left_unchanged(redis):
    redis.cli("hset", "report", "fence", "white picket")
    assert "is not one" in redis.put(7, "body", "x")
    assert redis.put(7, "odd") != "1"
    assert redis.cli("hgetall", "report").split("\n") == ["fence", "white picket"]
    redis.cli("del", "report")
    assert redis.put(7, "odd") != "1"
    assert redis.cli("dbsize") == "0"
    redis.cli("set", "report", "text")
    assert redis.put(7, "body", "x") != "1"
    assert redis.cli("get", "report") == "text"


def test_the_line_for_redis_runs_as_it_stands(redis):
    (line,) = [line for line in "".join(blocks("sh")).splitlines() if line.startswith("redis-cli")]
    shutil.copy(SOURCE / "examples/fence/set_if_not_late.lua", redis.root)
    line = line.replace("redis-cli", f"redis-cli -s {redis.socket}", 1)
    for fence, answer in (("7", "1"), ("6", "0")):
        said = subprocess.run(
            ["sh", "-c", line], cwd=redis.root, env=dict(os.environ, BOWLINE_FENCE=fence),
            capture_output=True, text=True, check=True, timeout=LIMIT,
        )
        assert said.stdout.strip() == answer
    assert redis.cli("hmget", "report", "body", "fence").split("\n") == ["all is well", "7"]


# ---- readers ---------------------------------------------------------------------------------------


class Holder:
    """`bowline run` with a shell that carries out what it is sent. It goes on when its lock is lost."""

    def __init__(self, server, options="", *words):
        self.server = server
        line = [BOWLINE, "run", "--url", server.url + options, "--on-lost", "warn", *words, "nightly", "sh"]
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.fence = int(self.says("echo $BOWLINE_FENCE"))

    def says(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def put(self, *fields):
        script = SOURCE / "examples/fence/set_if_not_late.lua"
        return self.says(f'redis-cli -s {self.server.socket} --eval {script} report , "$BOWLINE_FENCE" {" ".join(fields)}')

    def reads(self):
        return self.says(f"redis-cli -s {self.server.socket} hget report body")

    def ends(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(LIMIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        if not self.process.stdin.closed:
            self.ends()


@pytest.fixture
def late_writer(redis):
    """A writer, whose bowline is stopped until its lease is over, and two readers that share the lock then."""
    if not BOWLINE:
        pytest.skip("this build has no command")
    with contextlib.ExitStack() as stack:
        writer = stack.enter_context(Holder(redis, "?lease=1s"))
        assert writer.put("body", "early") == "1"
        writer.process.send_signal(signal.SIGSTOP)
        yield writer, *(stack.enter_context(Holder(redis, "", "-s")) for _ in range(2))


def test_late_writer_is_refused_if_readers_show_their_fence(late_writer):
    writer, reader, other = late_writer
    assert writer.fence < reader.fence == other.fence
    assert reader.put() == "1", "before it reads"
    assert reader.reads() == "early"
    assert writer.put("body", "late") == "0"
    assert other.put() == "1", "they have one fence"
    assert reader.reads() == other.reads() == "early"
    writer.process.send_signal(signal.SIGCONT)
    assert (writer.ends(), reader.ends(), other.ends()) == (123, 0, 0)


def test_late_writer_changes_what_readers_read_that_do_not_show_their_fence(late_writer):
    writer, reader, _ = late_writer
    assert reader.reads() == "early"
    assert writer.put("body", "late") == "1"
    assert reader.reads() == "late"


@pytest.mark.parametrize("shows", [True, False])
def test_sql_refuses_a_late_writer_if_readers_show_their_fence(late_writer, shows):
    writer, reader, _ = late_writer
    report = Report(TABLE, FENCES)
    assert write_two_rows(report, BEGIN, writer.fence, "early")
    if shows:
        _, compare = BEGIN.strip().split("\n")
        assert report.database.execute(compare, {"fence": reader.fence}).rowcount == 1
    assert write_two_rows(report, BEGIN, writer.fence, "late") != shows
    assert {body for _, body in report.rows()} == {"early" if shows else "late"}


# ---- the shell -------------------------------------------------------------------------------------


@pytest.mark.skipif(not BOWLINE, reason="this build has no command")
def test_the_lines_for_the_shell_run_as_they_stand(tmp_path):
    lines = [line for line in "".join(blocks("sh")).splitlines() if line.startswith("bowline")]
    assert len(lines) == 4
    locks = tmp_path / "locks"
    locks.mkdir(mode=0o700)
    (tmp_path / "new").write_text("all is well\n")
    (tmp_path / "make-report").write_text("#!/bin/sh\necho made\n")
    (tmp_path / "make-report").chmod(0o755)
    path = f"{pathlib.Path(BOWLINE).parent}:{SOURCE / 'examples/fence'}:{tmp_path}:{os.environ['PATH']}"
    environment = dict(os.environ, PATH=path, BOWLINE_URL=f"file:{locks}", BOWLINE_FENCE="7")
    said = [
        subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=LIMIT
        ).stdout
        for line in lines
    ]
    assert said == ["", "", "7\n", ""]
    assert (tmp_path / "report").read_text() == "made\n"
    assert int((tmp_path / "report.fence").read_text().split()[2]) > 7
