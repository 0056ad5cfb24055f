"""The tools of the build and the tests: the script compiler, the counter, the installer.

The installer is tried in a PATH of stand-ins, so nothing is installed and nothing is fetched.
"""

import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(os.environ.get("BOWLINE_SOURCE", pathlib.Path(__file__).resolve().parent.parent.parent))
COMPILER = shlex.split(os.environ.get("BOWLINE_CC", "cc"))


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)


# tools/lua2h.py


def compile_scripts(directory, **scripts):
    for name, text in scripts.items():
        (directory / f"{name}.lua").write_text(text)
    return run(
        "python3", ROOT / "tools/lua2h.py",
        "--source", directory / "scripts.c", "--header", directory / "scripts.h",
        *[directory / f"{name}.lua" for name in scripts],
    )  # fmt: skip


def test_part_is_inserted_where_it_is_included(tmp_path):
    (tmp_path / "part.lua").write_text("-- what it is\nlocal function f() return 1 end\n")
    done = compile_scripts(tmp_path, take="-- @include part.lua\nreturn f()\n")
    assert done.returncode == 0, done.stderr
    source = (tmp_path / "scripts.c").read_text()
    assert '"local function f() return 1 end\\n"\n                "return f()\\n"' in source
    assert "BWL_SCRIPT_PART" not in source


@pytest.mark.parametrize(
    "part,says", [(None, "there is no"), ("-- @include part.lua\n", "includes itself")]
)
def test_a_part_that_is_missing_or_includes_itself_is_refused(tmp_path, part, says):
    if part is not None:
        (tmp_path / "part.lua").write_text(part)
    done = compile_scripts(tmp_path, take="-- @include part.lua\nreturn 1\n")
    assert done.returncode != 0
    assert says in done.stderr


def test_scripts_are_compiled_without_their_comments(tmp_path):
    done = compile_scripts(
        tmp_path,
        take="#!lua flags=no-writes\n-- what it does\n\nlocal a = 'x--y' -- stays\n    -- goes\n\tif a then return a end\n",
        give='--[[ a block\nof prose ]]\nreturn "\\1??/\u00e4"\n',
    )
    assert done.returncode == 0, done.stderr
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include <string.h>\n#include "scripts.h"\n'
        "int main(void)\n{\n    for (int i = 0; i < BWL_SCRIPTS_COUNT; i++)\n"
        '        printf("%s %zu %zu %s\\n%s", bwl_scripts[i].name, bwl_scripts[i].size,\n'
        "               strlen(bwl_scripts[i].text), bwl_scripts[i].sha1, bwl_scripts[i].text);\n"
        "    return BWL_SCRIPT_TAKE != 0 || BWL_SCRIPT_GIVE != 1;\n}\n"
    )
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion"]
    built = run(*COMPILER, *flags, "main.c", "scripts.c", "-o", "main", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    take = "#!lua flags=no-writes\nlocal a = 'x--y' -- stays\nif a then return a end\n"
    give = 'return "\\1??/\u00e4"\n'
    expected = ""
    for name, text in (("take", take), ("give", give)):
        data = text.encode()
        expected += f"{name} {len(data)} {len(data)} {hashlib.sha1(data).hexdigest()}\n{text}"
    assert run(tmp_path / "main").stdout == expected


def test_a_script_longer_than_the_standard_string_compiles(tmp_path):
    assert compile_scripts(tmp_path, long="local a = 1\n" * 1000).returncode == 0
    built = run(*COMPILER, "-std=c11", "-Wpedantic", "-Werror", "-c", "scripts.c", cwd=tmp_path)
    assert built.returncode == 0, built.stderr


@pytest.mark.parametrize("text", ["local a = [[long]]\n", "local a = [==[\n", "-- nothing\n", "--[[ no end\n"])
def test_a_script_that_cannot_be_stripped_is_refused(tmp_path, text):
    done = compile_scripts(tmp_path, bad=text)
    assert done.returncode == 1
    assert "bad.lua" in done.stderr


# tools/count-tests


def count(tmp_path, *programs):
    log = tmp_path / "testlog.json"
    log.write_text("".join(json.dumps(program) + "\n" for program in programs))
    done = run(ROOT / "tools/count-tests", log)
    return done.returncode, done.stdout.splitlines()[-1], done.stdout


def program(stdout, result="OK", status=0):
    return {"name": "p", "stdout": stdout, "result": result, "returncode": status}


OF_AN_OLD_CMOCKA = "1..2\nok 1 - a\nnot ok 2 # SKIP b\n"  # it counts a skip as a failure


@pytest.mark.parametrize("programs, ends, shown", [
    # Cases are counted, and not programs; one without TAP is a case.
    ([program("1..2\nok 1 - a\nok 2 - b\n"), program("1..1\nok 1\n")], (0, "3 passed, 0 failed"), ""),
    ([program("hello\n")], (0, "1 passed, 0 failed"), ""),
    ([program("ok then\n", "TIMEOUT")], (1, "0 passed, 1 failed"), ""),
    ([program("1..2\nok 1 - a\nnot ok 2 - b\n# because\n", "FAIL", 1)], (1, "1 passed, 1 failed"), "because"),
    # What a tear-down writes is on standard error.
    ([program("1..1\nnot ok 1 - a\n", "FAIL", 1) | {"stderr": "keys remain\n"}], (1, "0 passed, 1 failed"), "keys remain"),
    # A crash after good cases is a failure.
    ([program("1..3\nok 1 - a\nok 2 - b\n", "ERROR", -6)], (1, "2 passed, 1 failed"), ""),
    # Skipped cases are named and not passed; the reason may be the comment before.
    ([program("1..2\nok 1 - a\nok 2 - b # SKIP no server\n")], (0, "1 passed, 0 failed"), "b: no server"),
    ([program("1..2\n# skipped: no TLS\nnot ok 1 # SKIP a\nok 2 # SKIP b\n", "FAIL", 0)], (0, "0 passed, 0 failed"), "p: a: no TLS"),
    ([program("1..2\n# skipped: no TLS\nnot ok 1 # SKIP a\nok 2 # SKIP b\n", "FAIL", 0)], (0, "0 passed, 0 failed"), "p: b\n"),
    ([program(OF_AN_OLD_CMOCKA, "FAIL", 0)], (0, "1 passed, 0 failed"), "p: b"),
    ([program(OF_AN_OLD_CMOCKA, "FAIL", 1)], (1, "1 passed, 1 failed"), ""),
    ([program(OF_AN_OLD_CMOCKA.replace("1..2", "1..3"), "FAIL", 0)], (1, "1 passed, 1 failed"), ""),
    ([program(OF_AN_OLD_CMOCKA + "not ok 3 - c\n", "FAIL", 1)], (1, "1 passed, 1 failed"), ""),
    ([], (1, "0 passed, 1 failed"), ""),
])  # fmt: skip
def test_cases_are_counted(tmp_path, programs, ends, shown):
    status, last, text = count(tmp_path, *programs)
    assert (status, last) == ends and shown in text


def test_errors_of_a_program_that_passed_are_not_shown(tmp_path):
    assert "harmless" not in count(tmp_path, program("1..1\nok 1 - a\n") | {"stderr": "harmless\n"})[2]


def test_log_that_does_not_exist_is_a_failure(tmp_path):
    assert run(ROOT / "tools/count-tests", tmp_path / "nowhere").returncode == 1


# tools/pytest


def test_pytest_speaks_tap(tmp_path):
    (tmp_path / "test_x.py").write_text(
        "import pytest\n"
        "def test_good():\n    print('unseen')\n"
        "def test_bad():\n    print('seen')\n    assert 1 == 2\n"
        "def test_left_out():\n    pytest.skip('why not')\n"
        "@pytest.fixture\ndef broken():\n    yield\n    raise OSError('tear-down')\n"
        "def test_tear_down(broken):\n    pass\n"
    )
    done = run(ROOT / "tools/pytest", tmp_path / "test_x.py")
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    assert lines == [
        "1..4",
        "ok 1 - test_good",
        "not ok 2 - test_bad",
        "ok 3 - test_left_out # SKIP why not",
        "not ok 4 - test_tear_down",
    ]
    assert "# seen" in done.stdout and "unseen" not in done.stdout
    assert done.returncode != 0


def test_a_test_file_that_does_not_load_is_a_failure(tmp_path):
    (tmp_path / "test_x.py").write_text("import nothing_of_that_name\n")
    done = run(ROOT / "tools/pytest", tmp_path / "test_x.py")
    assert "Bail out!" in done.stdout
    assert done.returncode != 0


# tools/install-deps

# All that the script looks for or calls. What is not here on the machine that runs the test is a stand-in too.
CALLED = "sh dirname env mktemp rm cat tail mkdir ln cp chmod".split()
WANTED = "cc g++ ninja meson pkg-config scdoc redis-server redis-cli flock ip openssl php".split()


class Machine:
    """A machine with some programs, without those named, and with an apt-get that records its words and runs `apt`."""

    def __init__(self, directory, *without, uid, apt=""):
        self.bin = directory / "bin"
        self.bin.mkdir()
        self.apt_log = directory / "apt.log"
        tools = directory / "tree" / "tools"
        tools.mkdir(parents=True)
        self.script = shutil.copy(ROOT / "tools/install-deps", tools)
        for name in CALLED:
            (self.bin / name).symlink_to(shutil.which(name))
        for name in WANTED:
            self.program(name, "exit 0")
        self.program("id", f"echo {uid}")
        self.program("python", "exit 0")
        self.program(
            "apt-get",
            f'echo "$*" >>"{self.apt_log}"\n{apt.format(log=self.apt_log)}\n'
            f'case "$*" in *" install "*scdoc*) printf "#!/bin/sh\\n" >"{self.bin}/scdoc"; '  # it installs scdoc
            f'chmod +x "{self.bin}/scdoc" ;; esac',
        )
        for name in without:
            (self.bin / name).unlink()

    def program(self, name, text):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def install(self, *words):
        environment = {"PATH": str(self.bin), "BOWLINE_PYTHON": str(self.bin / "python"), "TMPDIR": str(self.bin.parent)}
        return run(shutil.which("sh"), self.script, *words, env=environment, stdin=subprocess.DEVNULL)

    def told_apt(self):
        return self.apt_log.read_text().splitlines() if self.apt_log.exists() else []


def test_complete_machine_needs_no_action(tmp_path):
    machine = Machine(tmp_path, uid=1000)
    done = machine.install()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert machine.told_apt() == []


def test_only_what_is_missing_is_installed_and_lists_are_not_fetched(tmp_path):
    machine = Machine(tmp_path, "scdoc", uid=0)
    done = machine.install()
    assert done.returncode == 0, done.stderr
    assert done.stderr == "install-deps: installing scdoc\n"
    told = machine.told_apt()
    assert len(told) == 1 and told[0].endswith("install -y --no-install-recommends scdoc")


def test_library_is_installed_by_the_name_of_its_package(tmp_path):
    machine = Machine(tmp_path, uid=0)
    machine.program("pkg-config", 'case "$*" in *libuv|*libevent|*glib-2.0) exit 1 ;; esac')
    assert machine.install().returncode == 1  # still not found
    assert machine.told_apt()[0].endswith(" libuv1-dev libevent-dev libglib2.0-dev")


def test_lists_are_fetched_when_installing_did_not_work(tmp_path):
    machine = Machine(tmp_path, "scdoc", uid=0, apt='[ "$(cat "{log}")" != "$*" ] || exit 100')
    done = machine.install()
    assert done.returncode == 0, done.stderr
    kinds = [re.search(r"\b(install|update)\b", line).group(1) for line in machine.told_apt()]
    assert kinds == ["install", "update", "install"]


def test_output_of_apt_is_shown_when_it_fails(tmp_path):
    machine = Machine(tmp_path, "scdoc", uid=0, apt='echo "E: no such thing" >&2; exit 100')
    done = machine.install()
    assert done.returncode == 1
    assert "could not install: scdoc" in done.stderr and "E: no such thing" in done.stderr


def test_command_is_printed_without_root_and_sudo(tmp_path):
    machine = Machine(tmp_path, "scdoc", "flock", uid=1000)
    done = machine.install()
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == "apt-get install -y --no-install-recommends scdoc util-linux"
    assert machine.told_apt() == []


def test_sudo_is_used_if_it_needs_no_password(tmp_path):
    machine = Machine(tmp_path, "scdoc", uid=1000)
    machine.program("sudo", '[ "$1" = -n ] && shift\nexec "$@"')
    machine.program("true", "exit 0")
    assert machine.install().returncode == 0
    assert len(machine.told_apt()) == 1


def test_sudo_with_a_password_is_not_used_without_a_terminal(tmp_path):
    machine = Machine(tmp_path, "scdoc", uid=1000)
    machine.program("sudo", "exit 1")
    done = machine.install()
    assert done.returncode == 1
    assert "type this as root" in done.stderr


def test_no_system_service_is_ever_installed(tmp_path):
    machine = Machine(tmp_path, "redis-server", "redis-cli", "apt-get", uid=1000)
    if os.access("/usr/bin/redis-check-rdb", os.X_OK):
        # The script finds the server's other name on this machine, whatever the PATH.
        assert "redis-tools" in machine.install().stderr
        assert (tmp_path / "tree/.deps/bin/redis-server").is_symlink()
    machine.program("redis-cli", "exit 0")
    assert not re.search(r"redis-server\b", machine.install().stderr)


def test_unknown_argument_installs_nothing(tmp_path):
    machine = Machine(tmp_path, "scdoc", uid=0)
    assert machine.install("everything").returncode == 2
    assert machine.told_apt() == []
