"""The examples, compiled as a user would and run: their output, its order, how often each line appears.

No time is measured. LIMIT only ends an example that hangs.
"""

import itertools
import os
import pathlib
import re
import select
import shlex
import shutil
import subprocess

import pytest

from own_redis import LIMIT, need_redis, own_redis

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
BUILD = pathlib.Path(os.environ["BOWLINE_BUILD"])
EXAMPLES = SOURCE / "examples"
ADAPTERS = sorted((EXAMPLES / "adapters").glob("*.h"))

COMPILERS = {
    ".c": [*shlex.split(os.environ.get("BOWLINE_CC", "cc")), "-std=gnu11"],
    ".cpp": [*shlex.split(os.environ.get("BOWLINE_CXX", "c++")), "-std=c++17"],
}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
LOOPS = {"04-libuv": "libuv", "05-libevent": "libevent", "06-glib": "glib-2.0"}
EVERY_LOOP = [*LOOPS, "08-selectors"]
SANITIZE = os.environ.get("BOWLINE_SANITIZE", "none")
os.environ["BOWLINE_LIBRARY"] = os.environ["BOWLINE_SO"]


def run(*words, **options):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, timeout=LIMIT, **options)


def missing(what):
    """On a build machine (CI is set), a missing program is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is not installed; tools/install-deps installs it", pytrace=False)
    pytest.skip(f"{what} is not installed")


def package(name):
    """What pkg-config says: flags for the compiler, and for the linker."""
    if run("pkg-config", "--exists", name).returncode != 0:
        missing(name)
    return [shlex.split(run("pkg-config", what, name).stdout) for what in ("--cflags", "--libs")]


def compile_example(source, output, *more, packages=(), library=(BUILD / "libbowline.a",)):
    command = COMPILERS[source.suffix]
    if not shutil.which(command[0]):
        missing(command[0])
    found = [package(name) for name in packages]
    flags = [] if SANITIZE == "none" else ["-fsanitize=" + SANITIZE]
    if os.environ.get("BOWLINE_COVERAGE") == "true":
        flags.append("--coverage")
    done = run(
        *command, *WARNINGS, *flags, *more, "-I", SOURCE / "include",
        *[flag for cflags, _ in found for flag in cflags], source, "-o", output,
        *library, *[flag for _, libs in found for flag in libs], "-lpthread", "-ldl",
        cwd=output.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """program(name): the example of that name, compiled once."""
    made = {}

    def give(name):
        if name not in made:
            (source,) = EXAMPLES.glob(f"{name}.*")
            if source.suffix == ".py":
                if SANITIZE != "none":
                    pytest.skip("an interpreter that is not sanitized cannot load a library that is")
                return source
            packages = [LOOPS[name]] if name in LOOPS else []
            made[name] = compile_example(source, tmp_path_factory.mktemp(name) / name, packages=packages)
        return made[name]

    return give


@pytest.fixture
def redis():
    need_redis(missing)
    with own_redis("bowline-examples-") as server:
        yield server


@pytest.fixture
def locks(tmp_path):
    directory = tmp_path / "locks"
    directory.mkdir(mode=0o700)
    return f"file:{directory}"


@pytest.fixture(params=["thread", "file", "redis"])
def url(request):
    if request.param == "thread":
        return "thread:"
    return request.getfixturevalue("locks") if request.param == "file" else request.getfixturevalue("redis").url


def said(done, status=0):
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout.splitlines()


def in_short(lines):
    """Each run of equal lines as one line."""
    return [line for line, _ in itertools.groupby(lines)]


# ---- one at a time ---------------------------------------------------------------------------------


def test_acquire_prints_its_hold(program, url):
    first, second, last = said(run(program("01-acquire"), url, "nightly"))
    assert re.fullmatch(r"nightly is ours, with fence [1-9]\d*", first)
    if url.startswith("unix:"):
        assert re.fullmatch(r"for the next \d+ ms, and renewed before they are over", second)
    else:
        assert second == "until we release it"
    assert last == "released"


def test_acquire_waits_for_others_to_finish(program, locks):
    words = [str(program("01-acquire")), locks, "crowded"]
    crowd = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    fences = []
    for process in crowd:
        out, _ = process.communicate(timeout=LIMIT)
        assert process.returncode == 0
        fences.append(re.search(r"with fence (\d+)", out).group(1))
    assert len(set(fences)) == 4


def test_acquire_reports_errors(program):
    done = run(program("01-acquire"), "nosuch:")
    assert said(done, 1) == []
    assert done.stderr.startswith("01-acquire: UNSUPPORTED: ")
    done = run(program("01-acquire"), "thread:", "")
    assert said(done, 1) == []
    assert done.stderr.startswith("01-acquire: USAGE: ")


def test_update_sells_no_seat_twice(program, redis):
    words = [str(program("09-update")), redis.url, "seats", "5"]
    crowd = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    said_by_all = []
    for process in crowd:
        out, _ = process.communicate(timeout=LIMIT)
        assert process.returncode == (1 if out == "sold out\n" else 0)
        said_by_all.append(re.sub(r"\d+ conflicts", "N conflicts", out))
    sold = [f"a seat is ours, {left} left (N conflicts)\n" for left in range(5)]
    assert sorted(said_by_all) == sorted(sold + ["sold out\n"] * 3)
    assert redis.cli("get", "seats") == "0"


def test_update_reports_errors(program, locks):
    done = run(program("09-update"), locks)
    assert said(done, 2) == []
    assert done.stderr.startswith("09-update: UNSUPPORTED: file: updates no keys")


FENCED = [
    "the first writes: accepted",
    "the second writes: accepted",
    "the first, which continues, writes: refused",
    "the hold of the first: lost",
    "the release of the first: LOST",
]


@pytest.mark.parametrize("engine", ["thread", "file"])
def test_a_file_refuses_an_older_fence(program, engine, locks, tmp_path):
    report = tmp_path / "report"
    url = locks if engine == "file" else "thread:"
    fences = []
    for _ in range(2):  # also when it has been written by another run
        assert said(run(program("02-fence"), url, report)) == FENCED
        fence, body = report.read_text().split(" ", 1)
        assert body == "the second\n"
        fences.append(int(fence))
    assert fences[0] < fences[1]


def test_a_database_refuses_an_older_fence(locks, tmp_path):
    if run("pkg-config", "--exists", "sqlite3").returncode != 0:
        pytest.skip("the example does without SQLite: a file takes its place")
    source = EXAMPLES / "02-fence.c"
    with_sqlite = compile_example(source, tmp_path / "02-fence", "-DWITH_SQLITE", packages=["sqlite3"])
    for _ in range(2):
        assert said(run(with_sqlite, locks, tmp_path / "report.db")) == FENCED


def test_missing_fence_is_reported(program, redis, tmp_path):
    done = run(program("02-fence"), redis.url + "?protocol=token", tmp_path / "report")
    assert said(done, 1) == []
    assert "there is no fence" in done.stderr
    assert not redis.keys()


# ---- several under way ------------------------------------------------------------------------------


def test_poll_acquires_each_lock_when_it_is_free(program, url):
    assert said(run(program("03-poll"), url)) == [
        "the other client releases third",
        "third is ours",
        "the other client releases first",
        "first is ours",
        "the other client releases second",
        "second is ours",
        "3 released",
    ]


WAITING, WORKING = "tick: waiting", "tick: working"


@pytest.mark.parametrize("loop", EVERY_LOOP)
def test_a_loop_goes_on_while_it_waits_and_works(program, loop, url):
    lines = said(run(program(loop), url, 10))
    assert in_short(lines) == [WAITING, "ours", WORKING, "release: OK"]
    assert lines.count(WAITING) >= 3
    assert lines.count(WORKING) == 10


@pytest.mark.parametrize("loop", EVERY_LOOP)
def test_a_loop_renews(program, loop, redis):
    # 50 ticks are 2.5 s, of which a lease of 1 s is less than half. A machine that stopped for most of one tries again.
    for _ in range(20):
        done = run(program(loop), redis.url + "?lease=1s", 50)
        if not any(word in done.stdout + done.stderr for word in ("LOST", "lost", "UNREACHABLE", "UNKNOWN")):
            break
    lines = said(done)
    assert in_short(lines) == [WAITING, "ours", WORKING, "release: OK"]
    assert lines.count(WORKING) == 50
    assert not redis.keys()


@pytest.mark.parametrize("loop", EVERY_LOOP)
def test_loop_detects_the_end_of_its_time(program, loop, url):
    lines = said(run(program(loop), url + "?max-hold=400ms", 10000), 1)
    assert in_short(lines)[-2:] == ["lost: the work is stopped", "release: LOST"]
    assert lines.count("ours") == 1
    assert lines.count(WORKING) < 10000


def said_to_a_terminal(words, heard):
    """Calls heard(line) for each line when it is printed; returns all lines, and the status."""
    ours, its = os.openpty()
    process = subprocess.Popen([str(w) for w in words], stdout=its)
    os.close(its)
    text = b""
    try:
        while select.select([ours], [], [], LIMIT)[0]:
            more = os.read(ours, 4096)
            for line in (text.rpartition(b"\n")[2] + more).split(b"\n")[:-1]:
                heard(line.decode().strip())
            text += more
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    return text.decode().splitlines(), process.wait(LIMIT)


@pytest.mark.parametrize("loop", EVERY_LOOP)
def test_loop_detects_a_loss_at_its_renewal(program, loop, redis):
    deleted = []

    def delete(line):
        if line == "ours":
            deleted.append(redis.cli("del", "bowline:{" + loop + "}"))

    lines, status = said_to_a_terminal([program(loop), redis.url + "?lease=3s", "10000"], delete)
    assert (deleted, status) == (["1"], 1)
    assert in_short(lines) == [
        WAITING, "ours", WORKING, "lost: the work is stopped", "release: LOST",
    ]  # fmt: skip


# ---- C++ --------------------------------------------------------------------------------------------


def test_cpp_releases_at_the_end_of_the_scope(program, url):
    assert said(run(program("07-cpp"), url)) == [
        "nightly is ours",
        "the work went wrong",
        "nightly is free again",
        "a second time it is BUSY",
        "20 transfers",
        "the slow one is LOST",
        "report is held by another",
        "report is ours",
    ]


# ---- all of them --------------------------------------------------------------------------------------


def test_an_example_links_with_the_shared_library(tmp_path, locks):
    library = pathlib.Path(os.environ["BOWLINE_SO"])
    made = compile_example(EXAMPLES / "01-acquire.c", tmp_path / "shared", library=(library,))
    environment = dict(os.environ, LD_LIBRARY_PATH=str(library.parent))
    assert said(run(made, locks, env=environment))[-1] == "released"


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda path: path.stem)
def test_an_adapter_is_short_and_is_c_and_cpp(adapter, tmp_path):
    assert len(adapter.read_text().splitlines()) < 120
    name = {"bowline_uv": "libuv", "bowline_libevent": "libevent", "bowline_glib": "glib-2.0"}[adapter.stem]
    for suffix in (".c", ".cpp"):
        source = tmp_path / ("alone" + suffix)
        source.write_text(f'#include "{adapter}"\nint main(void)\n{{\n    return 0;\n}}\n')
        compile_example(source, tmp_path / "alone", packages=[name])


def test_the_table_names_every_example_and_only_functions_that_it_uses():
    rows = re.findall(r"^\| \[([\w.-]+)\]\(\1\) \|.*\| (.*) \|$", (EXAMPLES / "README.md").read_text(), re.M)
    assert [name for name, _ in rows] == sorted(path.name for path in EXAMPLES.glob("0*.*"))
    for name, introduces in rows:
        text = (EXAMPLES / name).read_text()
        used = re.findall(r"`(bowline_\w+)`", introduces) + re.findall(r"\[(adapters/[\w.]+)\]", introduces)
        assert [word for word in used if word not in text] == [], name


def test_every_example_is_built_with_the_rest():
    listed = re.findall(r"'(\d\d-[\w-]+\.\w+)'", (EXAMPLES / "meson.build").read_text())
    assert sorted(listed) == sorted(path.name for path in EXAMPLES.glob("0*.c*"))
