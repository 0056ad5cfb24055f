"""The simulator itself: a seed is a run, a failure shrinks to a smaller one, and no system call is left out."""

import os
import re
import subprocess

import pytest

SIM = os.environ.get("BOWLINE_SIM")
SUBJECT = os.environ.get("BOWLINE_SIM_SUBJECT")
LIMIT = 300

# What the library may take from the C library unchanged: memory, text and numbers.
PLAIN = re.compile(
    r"(__|_)?(mem|str|bcmp|explicit_bzero|v?snprintf|isoc\d+_(sscanf|strto)|ctype|errno_location|assert|stack_chk|to(upper|lower)|inet_)\w*"
    r"|__u?(div|mod|divmod|mul|ashl|ashr|lshr)[sdt]i\d|_GLOBAL_OFFSET_TABLE_|gai_strerror|crc32\w*|sysconf|__sched_cpucount"
    r"|sigfillset|pthread_condattr_\w+|pthread_once|qsort"
)
# Engines and files that are not simulated: locks in files, and OpenSSL. Here they find no file and no library.
OTHERS = set(
    "__getdelim closedir dirfd dlerror dlopen dlsym fchmod fchmodat fchown fclose fdopen fdopendir fgets fgetxattr flock fstat64"
    " fstatat64 fstatfs64 ftruncate64 futimens getcwd inotify_add_watch inotify_init1 inotify_rm_watch kill linkat lstat64"
    " mkdirat openat64 opendir pipe2 pread64 pwrite64 readdir64 readlink readlinkat stat64 unlinkat renameat"
    " getdelim fstat fstatat fstatfs ftruncate lstat openat pread pwrite readdir stat".split()
)

pytestmark = pytest.mark.skipif(not SIM, reason="bowline-sim is not built: it needs lua5.1 and objcopy")


def sim(*words):
    return subprocess.run([SIM, *words], capture_output=True, text=True, timeout=LIMIT, check=False)


def test_worlds_hold():
    done = sim("--seeds", "1..4")
    assert done.stdout.splitlines()[-1] == "4 passed, 0 failed", done.stdout
    assert done.returncode == 0


def test_a_seed_is_a_run():
    first, second = (sim("--seed", "7", "--print").stdout.splitlines()[0] for _ in range(2))
    assert first == second and "trace" in first
    assert sim("--seed", "8", "--print").stdout.splitlines()[0] != first


def test_each_seed_is_named_before_its_world_runs():
    lines = sim("--seeds", "7..8", "--first", "--length", "5000").stdout.splitlines()
    assert lines[:2] == ["world 7", "world 8"]
    assert sim("--seeds", "7..8", "--first", "--jobs", "2").returncode == 2


def test_what_happens_is_shown():
    shown = sim("--seed", "3", "--show").stdout
    assert "bowline_acquire: OK" in shown and "FAULT " in shown and "HELLO" in shown


def test_a_world_is_drawn(tmp_path):
    assert sim("--seed", "3", "--length", "5000", "--svg", str(tmp_path / "a.svg")).returncode == 0
    drawn = (tmp_path / "a.svg").read_text()
    assert "<title>seed 3</title>" in drawn and "server 0" in drawn and "bowline_" in drawn and drawn.endswith("</svg>\n")
    assert "cannot be written" in sim("--seed", "3", "--length", "9", "--svg", "/none/a.svg").stderr


@pytest.mark.skipif(bool(os.environ.get("BOWLINE_SANITIZE", "none") != "none"), reason="a sanitizer adds calls of its own")
def test_every_system_call_is_simulated():
    done = subprocess.run(["nm", "-u", SUBJECT], capture_output=True, text=True, timeout=LIMIT, check=True)
    names = {line.split()[-1] for line in done.stdout.splitlines() if " U " in line}
    own = {name for name in names if name.startswith(("bwl_", "bowline_", "sim_call_"))}
    left = {name for name in names - own - OTHERS if not PLAIN.fullmatch(name) and not name.startswith(("__gcov", "__llvm"))}
    assert left == set()
    assert {"sim_call_connect", "sim_call_clock_gettime", "sim_call_getrandom", "sim_call_pthread_create"} <= own


@pytest.mark.parametrize("words", [["--seeds", "5..1"], ["--seeds", "x"], ["--jobs", "0"], ["--nothing"], ["more"]])
def test_wrong_options_are_refused(words):
    done = sim(*words)
    assert done.returncode == 2 and "usage: bowline-sim" in done.stderr and done.stdout == ""
