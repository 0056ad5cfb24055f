"""tests/torture can make each function fail that the library and the command call, unless it cannot fail.

No test would see the failure of a function that is neither in interpose.c nor in the list below.
"""

import os
import pathlib
import re
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["BOWLINE_BUILD"])
SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])

# Cannot fail, or only for arguments that our code never passes.
CANNOT_FAIL = """
    __ctype_b_loc __ctype_tolower_loc _exit clock_gettime dlerror dlsym fclose ferror freeaddrinfo gai_strerror getauxval getenv geteuid getopt_long
    getpgrp getpid getppid inet_ntop inet_pton inotify_rm_watch ioctl isatty kill munmap prctl secure_getenv
    sigaction sigaddset sigdelset sigemptyset sigfillset sigismember sigpending sigprocmask pthread_sigmask
    memchr memcmp memcpy memmem memmove memset explicit_bzero stpcpy strchr strcmp strcpy strcspn strerror strerror_r
    strftime strlen strncmp strnlen strrchr strspn strstr strtol strtoul strtoull sscanf snprintf vsnprintf
    sysconf tcgetpgrp timerfd_settime uname gethostname unsetenv optarg opterr optind optopt stdout stderr qsort
    gmtime_r localtime_r nanosleep sched_yield strpbrk stdin access getnameinfo strtok_r strtoll timegm closedir
    pthread_detach __sched_cpucount dirfd getpgid getrlimit memrchr rewinddir strncasecmp
    dirname raise setsid signal time
"""

# Output of stdio: say_done checks it with ferror.
PRINTED = "fprintf printf fputs fputc putc puts putchar fwrite fflush vfprintf"

# Mutexes and conditions of the default type: those of glibc cannot fail.
THREADS = re.compile(
    r"pthread_(mutex|cond|condattr|attr)_(init|destroy|lock|unlock|signal|broadcast|set\w+)|pthread_(join|once|self|setcancelstate)"
)

# Symbols of the compiler and its sanitizers.
COMPILER = re.compile(r"_GLOBAL_OFFSET_TABLE_|__assert_fail|__errno_location|__stack_chk_fail|__(a|ub|t|l)san_\w+|__gcov_\w+|"
                      r"__tls_get_addr|__udivti3|__udivmodti4|__start_\w+|__stop_\w+|__sanitizer_\w+|__cyg_\w+|mangle_path|__gcov\w*")


def symbols(*files, defined):
    command = ["nm", "--defined-only" if defined else "-u", *map(str, files)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in output.splitlines() if len(line.split()) >= 2 and not line.endswith(":")}


def plain(symbol):
    """The plain name of a function such as __read_chk, open64, __isoc99_sscanf."""
    symbol = re.sub(r"^__isoc(99|23)_", "", symbol)
    symbol = re.sub(r"^__(\w+?)(64)?_(chk|2)$", r"\1", symbol)
    symbol = re.sub(r"^__(?=getdelim|xpg_|poll)", "", symbol)
    return re.sub(r"64$", "", symbol)


def test_each_called_function_is_replaced_or_cannot_fail():
    parts = [BUILD / f"libbowline{part}.a" for part in ("", "_cli", "_doctor")]
    parts += [*BUILD.glob("bowline.p/*main.c.o")]
    assert all(part.exists() for part in parts)
    needed = symbols(*parts, defined=False) - symbols(*parts, defined=True)
    preload = BUILD / "tests" / "bowline_torture.so"
    known = {plain(name) for name in symbols("-D", preload, defined=True)}
    allowed = set(CANNOT_FAIL.split()) | set(PRINTED.split())
    missing = sorted(
        name
        for name in needed
        if plain(name) not in known | allowed and not THREADS.fullmatch(name) and not COMPILER.fullmatch(name)
    )
    assert not missing, f"neither in tests/torture/interpose.c nor in CANNOT_FAIL: {missing}"


def test_each_function_that_cannot_fail_is_not_replaced():
    if not (BUILD / "tests" / "bowline_torture.so").exists():
        pytest.fail("tests/bowline_torture.so is not built")
    known = {plain(name) for name in symbols("-D", BUILD / "tests" / "bowline_torture.so", defined=True)}
    assert not known & set(CANNOT_FAIL.split())
