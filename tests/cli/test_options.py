"""The command line, the config file, the URL, and that no secret is shown.

A mistake gives three lines and exit code 125, before any lock is acquired.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest

from conftest import failed

CANARY = "c4n4ry-Pa55w0rd"


def refused(place, *words, code=125, **how):
    """Run a command that must be refused; return the three lines."""
    lines = failed(place.bowline(*words, **how), code)
    assert not place.path("ran").exists()
    return lines


# Help.


@pytest.mark.parametrize("words", [["run", "--help"], ["run", "-h"], ["help"], ["--help"], ["-h"]])
def test_help_fits_on_a_screen_and_begins_with_an_example(place, words):
    done = place.bowline(*words)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) <= 33 and max(map(len, lines)) <= 80
    assert lines[0].startswith("bowline run nightly ")


def test_the_long_help_says_what_the_short_one_says_and_more(place):
    short, long = place.bowline("run", "--help").stdout, place.bowline("help", "run").stdout
    assert long.startswith(short) and "BOWLINE_FENCE" in long
    assert max(map(len, long.splitlines())) <= 80


def test_the_long_help_names_every_option_of_a_url(place):
    manual = (pathlib.Path(os.environ["BOWLINE_SOURCE"]) / "docs/man/bowline.7.scd").read_text(encoding="utf-8")
    options = manual.partition("# OPTIONS OF A URL\n")[2].partition("\n# ")[0]
    named = {name for line in re.findall(r"^\*[a-z-]+=.*$", options, re.M) for name in re.findall(r"\*([a-z-]+)=", line)}
    assert named >= {"lease", "protocol", "retry", "pause", "buffer", "guard", "queue-max", "sentinel-user"}
    part = place.bowline("help", "run").stdout.partition("A URL may have options")[2].partition("\n")[2]
    assert set(re.findall(r"\b([a-z-]+)=", part)) == named


def test_every_option_of_the_help_is_an_option(place):
    names = re.findall(r"^ *(?:-\w,)? *--([a-z-]+)( \S+)?", place.bowline("run", "--help").stdout, re.M)
    assert len(names) == 26
    for name, argument in names:
        if not argument:
            done = place.run(f"--{name}", "--help")
            assert done.returncode == 0, name
        else:
            assert "needs a value" in refused(place, "run", f"--{name}")[0]


def test_help_after_an_option_is_still_help(place):
    assert place.run("-w", "5m", "--help").returncode == 0


def test_help_of_the_command_is_the_commands(place):
    assert place.run("job", "printf", "%s", "--help").stdout == "--help"


def test_help_into_a_full_disk_is_an_error(place):
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run(
            [os.environ["BOWLINE"], "help"], stdout=full, stderr=subprocess.PIPE, env=place.env, check=False, timeout=60
        )
    assert done.returncode == 125


def test_version(place):
    said = {place.bowline(word).stdout for word in ("version", "--version", "-V")}
    assert re.fullmatch(r"bowline \d+\.\d+\.\d+\n", said.pop()) and not said
    assert refused(place, "version", "now")[0] == "too many arguments"


# Errors, and suggestions.


def test_error_does_not_print_the_help(place):
    for line in ("", "run", "run job", "run job --", "rum", "help rum", "--verbose", "run -x"):
        refused(place, *line.split())


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("--wiat", "--wait"), ("--skpi", "--skip"), ("--ur1", "--url"), ("--kill-aftr", "--kill-after"),
        ("--max_hold", "--max-hold"), ("--lost", None), ("--quite", "--quiet"), ("--timeout", None),
    ],
)
def test_unknown_option_has_a_suggestion_if_a_similar_one_exists(place, typed, meant):
    what, why, _ = refused(place, "run", typed, "job", "touch", "ran")
    assert what == f"there is no option {typed}"
    assert why == (f"did you mean {meant}?" if meant else "usage: bowline run [OPTION...] NAME COMMAND [ARG...]")


def test_an_unknown_option_with_a_value_or_in_a_cluster(place):
    what, why, _ = refused(place, "run", "--wiat=5s", "job", "true")
    assert (what, why) == ("there is no option --wiat", "did you mean --wait?")
    assert refused(place, "run", "-nx", "job", "true")[0] == "there is no option -x"
    assert refused(place, "run", "-x", "job", "true")[0] == "there is no option -x"


@pytest.mark.parametrize(("typed", "meant"), [("rum", "run"), ("hlep", "help"), ("ru", "run"), ("r", None), ("frobnicate", None)])
def test_an_unknown_command(place, typed, meant):
    what, why, _ = refused(place, typed, "job", "touch", "ran")
    assert what == f"there is no command {typed}"
    if meant:
        assert why == f"did you mean bowline {meant}?"
    else:
        assert "did you mean" not in why


def test_values_where_there_are_none_and_none_where_there_are(place):
    assert refused(place, "run", "--skip=1", "job", "true")[0] == "--skip takes no value"
    assert refused(place, "run", "--url")[0] == "--url needs a value"
    assert refused(place, "run", "-w")[0] == "-w needs a value"


def test_options_behind_the_name_are_explained(place):
    what, why, _ = refused(place, "run", "job", "-w", "5s", "touch", "ran", code=127)
    assert what == "-w cannot be run"
    assert why == "options of bowline stand before the name of the lock"


@pytest.mark.parametrize("text", ["", "/", "2", "/2", "2/", "a/2", "2/b", "2/3x", "2/3/4", "-1/2", "0/2", "3/2", "257/300", "1/1000001", "9" * 30 + "/" + "9" * 30])
@pytest.mark.parametrize("command, operands", [("run", ["job", "touch", "ran"]), ("hold", ["job"])])
def test_permits_that_are_no_number_of_a_number(place, command, operands, text):
    what, why, hint = failed(place.bowline(command, "--permits", text, *operands), prints=None)
    assert what == f"--permits {text}: not K/N, with K from 1 to 256 and N from K to 1000000"
    assert why == "1/4 is one of four permits: four may run at a time" and hint == f"type: bowline help {command}"


@pytest.mark.parametrize("words, says", [
    (["run", "--ticket", "t", "--once-per", "1d", "job", "true"], "--ticket excludes --once-per and --at-least"),
    (["run", "--ticket", "t", "--at-least", "1d", "job", "true"], "--ticket excludes --once-per and --at-least"),
    (["run", "--ticket", "t", "-s", "job", "true"], "--ticket excludes -s and --permits"),
    (["run", "--permits", "1/2", "--at-least", "1d", "job", "true"], "-s and --permits exclude --once-per and --at-least"),
    (["run", "--and", "a", "--at-least", "1d", "job", "true"], "--and excludes --once-per, --at-least and --ticket"),
    (["run", "--and", "a", "--ticket", "t", "job", "true"], "--and excludes --once-per, --at-least and --ticket"),
    (["run", "--metrics-name", "x", "job", "true"], "--metrics-name needs --metrics-file"),
    (["run", "--metrics-name", b"a\xff", "job", "true"], "--metrics-name: the text is not UTF-8"),
    (["break", "--id", "12", "job"], "--id: 12 is no id of a hold"),
    (["break", "--id", "0" * 16, "job"], "--id: 0000000000000000 is no id of a hold"),
    (["break", "--id", "x" * 16, "job"], f"--id: {'x' * 16} is no id of a hold"),
    (["elect", "--value", "a\x7f", "job", "true"], "--value: the text has a control character, such as a new line"),
    (["observe", "--until", "free", "job"], '--until: there is no event "free"'),
])
def test_values_and_options_that_have_no_sense(place, words, says):
    what, _, hint = refused(place, *words)
    assert (what, hint) == (says, "type: bowline who --json NAME" if "--id" in words else f"type: bowline help {words[0]}")


@pytest.mark.parametrize("option", ["-w", "-t", "--max-hold", "--kill-after"])
@pytest.mark.parametrize("text", ["5", "", "5 s", "-5s", "1.5s", "s", "5x", "5S", "5s5m", "9" * 21 + "s", "ever"])
def test_a_time_without_a_unit_or_sense_is_an_error(place, option, text):
    what, why, _ = refused(place, "run", option, text, "job", "touch", "ran")
    assert what == f'{option}: "{text}" is not a time'
    assert "a time has a unit" in why


@pytest.mark.parametrize(
    ("option", "text", "bounds"),
    [
        ("-t", "99ms", "from 100ms to 1d"), ("-t", "2d", "from 100ms to 1d"), ("-t", "0s", "from 100ms to 1d"),
        ("--max-hold", "0s", "from 1ms to"), ("-w", "25d", "from 0ms to 24d20h"),
    ],
)
def test_a_time_out_of_bounds_is_an_error(place, option, text, bounds):
    what, why, _ = refused(place, "run", option, text, "job", "touch", "ran")
    assert what == f"{option}: {text} is out of range" and why.startswith(f"it is {bounds}")


def test_times_that_are_right(place):
    for line in ("-w 1m30s", "-w forever", "-t 100ms", "-t1d", "--max-hold=1h", "--kill-after 0s"):
        assert place.run(*line.split(), "job", "true").returncode == 0, line


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["-E", "256"], '-E: "256" is not a number from 0 to 255'), (["-E", "-1"], '-E: "-1" is not a number'),
        (["-E", ""], '-E: "" is not a number'), (["-E", "1x"], '-E: "1x" is not a number'),
        (["-E", "99999999999"], '-E: "99999999999" is not a number'),
        (["-E", "4294967296"], '-E: "4294967296" is not a number'),
        (["--on-lost", "stop"], '--on-lost: there is no policy "stop"'),
        (["--status-fd", "x"], '--status-fd: "x" is not a number'),
    ],
)
def test_numbers_and_words_that_are_wrong(place, words, what):
    lines = place.bowline("run", *words, "job", "touch", "ran").stderr.splitlines()
    assert lines[0].startswith(f"bowline: {what}")
    assert not place.path("ran").exists()


def test_the_last_of_two_wins(place):
    place.hold()
    assert place.run("-w", "50s", "-n", "job", "true").returncode == 124
    assert place.run("-E", "3", "-E", "4", "-n", "job", "true").returncode == 4


# Names.


@pytest.mark.parametrize("name", ["", "n" * 201, "a\tb", "a\nb", "a\x7fb", "\x1b[31m", "a\x01"])
def test_invalid_name_is_refused_and_shown_escaped(place, name):
    lines = refused(place, "run", name, "touch", "ran")
    assert "name" in lines[1]
    assert all(ord(char) >= 32 for line in lines for char in line)


@pytest.mark.parametrize("name", ["n" * 200, "ü" * 100, " ", ".", "..", "a/b", "%2F", "with spaces", "~", "*", "-"])
def test_a_name_is_any_text(place, name):
    assert place.run("--", name, "true").returncode == 0
    holder = place.hold("--", name) if name.startswith("-") else place.hold(name)
    assert place.run("-n", "--", name, "true").returncode == 124
    place.let_go(holder)


def test_name_of_invalid_utf8_is_shown_escaped(place):
    place.start(b"a\xff\x1b", "sleep", "1000", text=False)
    done = place.run("-n", b"a\xff", b"/no\xffsuch\x1b[31m", text=False)
    assert done.returncode == 127
    assert rb"/no\xffsuch\x1b[31m cannot be run" in done.stderr and b"\x1b" not in done.stderr


# The source of the URL.


def locks_in(directory):
    return sorted(entry.name for entry in directory.iterdir())


@pytest.fixture
def two(place):
    """Directories for locks, and a config file; no URL is set yet."""
    del place.env["BOWLINE_URL"]
    for name in ("option", "file", "environment", "config"):
        place.path(name).mkdir(mode=0o700)
    config = place.home / ".config"
    config.mkdir()
    place.config = config / "bowline.conf"
    place.script("url", f"file:{place.path('file')}\n", mode=0o600)
    return place


def test_the_order_of_sources_is_option_environment_config(two):
    used = []
    two.config.write_text(f"url = file:{two.path('config')}\n")
    two.run("job", "true")
    used.append({name for name in ("option", "file", "environment", "config") if locks_in(two.path(name))})
    two.env["BOWLINE_URL"] = f"file:{two.path('environment')}"
    two.run("job", "true")
    used.append({name for name in ("option", "file", "environment", "config") if locks_in(two.path(name))})
    two.run("--url-file", "url", "job", "true")
    two.run("--url", f"file:{two.path('option')}", "job", "true")
    used.append({name for name in ("option", "file", "environment", "config") if locks_in(two.path(name))})
    assert used == [{"config"}, {"config", "environment"}, {"config", "environment", "file", "option"}]


def test_two_urls_are_refused(two):
    assert refused(two, "run", "--url", "file:", "--url-file", "url", "job", "touch", "ran")[0].startswith("both")


def test_empty_variable_is_an_error(place):
    place.env["BOWLINE_URL"] = ""
    assert refused(place, "run", "job", "touch", "ran")[0] == "the URL in BOWLINE_URL is empty"


def test_error_of_a_url_names_its_source(place):
    place.env["BOWLINE_URL"] = "nonsense"
    assert refused(place, "run", "job", "touch", "ran")[2] == "check the URL, from BOWLINE_URL"
    assert refused(place, "run", "--url", "reddis://h", "job", "touch", "ran")[2].endswith("from --url")


def test_missing_directory_error_has_a_hint(place):
    nowhere = place.path("no")
    what, why, what_to_type = refused(place, "run", "--url", f"file:{nowhere}", "job", "touch", "ran")
    assert what == "the locks cannot be opened" and why.endswith(f"{nowhere}: it does not exist")
    assert what_to_type == f"type: install -d -m 700 {nowhere}, or -m 1777 if all users are to share it"


def test_refused_link_error_has_a_hint(place):
    place.path("link").symlink_to(place.locks)
    why, what_to_do = refused(place, "run", "--url", f"file:{place.path('link')}", "job", "touch", "ran")[1:]
    assert why.endswith("link is not a directory, but a symbolic link: not followed")
    assert what_to_do == "name the directory that it leads to: readlink -f says which"
    place.path("locks/job").symlink_to(place.path("elsewhere"))
    why, what_to_do = refused(place, "run", "job", "touch", "ran")[1:]
    assert why.endswith("job is a symbolic link: not followed") and what_to_do == "remove it"


def test_url_with_a_password_is_not_run_as_a_command(place):
    what, _, what_to_type = refused(place, "run", "job", "redis://u:secret@127.0.0.1:1")
    assert what == "a URL with a password is in the place of COMMAND" and "help run" in what_to_type


def test_locks_of_threads_are_not_for_commands(place):
    assert refused(place, "run", "--url", "thread:", "job", "touch", "ran")[0] == "thread: cannot lock for a command"


def test_the_url_file_may_have_blanks_around_and_one_line(two):
    for text in ("  file:{0}  ", "file:{0}\r\n", "\tfile:{0}\n\n \n"):
        two.script("url", text.format(two.path("file")), mode=0o600)
        assert two.run("--url-file", "url", "job", "true").returncode == 0
    two.script("url", "file:\nredis://h\n", mode=0o600)
    assert "more than one line" in refused(two, "run", "--url-file", "url", "job", "touch", "ran")[0]
    two.script("url", "\n", mode=0o600)
    assert "empty" in refused(two, "run", "--url-file", "url", "job", "touch", "ran")[0]
    two.path("url").write_bytes(b"file:\0x\n")
    refused(two, "run", "--url-file", "url", "job", "touch", "ran")
    two.script("url", "x" * 100000, mode=0o600)
    refused(two, "run", "--url-file", "url", "job", "touch", "ran")


def test_a_url_file_that_is_not_there_or_is_a_directory(two):
    assert refused(two, "run", "--url-file", "nowhere", "job", "touch", "ran")[1] == "No such file or directory"
    two.path("directory").mkdir(mode=0o700)
    assert refused(two, "run", "--url-file", "directory", "job", "touch", "ran")[1] == "Is a directory"


def test_a_url_may_come_through_a_pipe(two):
    read, write = os.pipe()
    os.write(write, f"file:{two.path('file')}\n".encode())
    os.close(write)
    done = two.run("--url-file", f"/dev/fd/{read}", "job", "true", pass_fds=[read])
    os.close(read)
    assert done.returncode == 0 and locks_in(two.path("file"))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o620])
def test_a_url_file_that_others_can_read_is_refused(two, mode):
    two.path("url").chmod(mode)
    what, why, what_to_type = refused(two, "run", "--url-file", "url", "job", "touch", "ran")
    assert "not private" in what and "password" in why and what_to_type == "type: chmod 600 url"


def test_a_file_of_another_user_is_refused(two):
    if os.getuid() != 0:
        pytest.skip("needs root, to give a file away")
    two.config.write_text("url = file:\n")
    os.chown(two.config, 65534, 65534)
    what, why, what_to_type = refused(two, "run", "job", "touch", "ran")
    assert what == f"{two.config} is not trusted" and "it belongs to user 65534, not to user 0 or root" in why
    assert what_to_type == f"type: ls -l {two.config}"
    two.path("url").write_text("file:\n")
    os.chown(two.path("url"), 65534, 65534)
    assert "belongs to user 65534" in refused(two, "run", "--url-file", "url", "job", "touch", "ran")[1]


@pytest.mark.parametrize(("mode", "who"), [(0o666, "everybody"), (0o646, "everybody"), (0o660, "its group"), (0o620, "its group")])
def test_config_file_writable_for_others_is_refused(two, mode, who):
    two.config.write_text("url = file:\n")
    two.config.chmod(mode)
    what, why, what_to_type = refused(two, "run", "job", "touch", "ran")
    assert what == f"{two.config} is not trusted" and f"{who} can write to it" in why
    assert what_to_type == f"type: chmod go-w {two.config}"


def test_config_file_in_a_directory_writable_for_others_is_refused(two):
    two.config.write_text(f"url = file:{two.path('config')}\n")
    two.config.parent.chmod(0o777)
    what, why, what_to_type = refused(two, "run", "job", "touch", "ran")
    assert what == f"{two.config} is not trusted" and "everybody can put another file in its place" in why
    assert what_to_type == f"type: chmod go-w {two.config.parent}"
    two.config.parent.chmod(0o1777)
    assert two.run("job", "true").returncode == 0


def test_a_link_of_another_user_is_not_followed(two):
    if os.getuid() != 0:
        pytest.skip("needs root, to give a link away")
    two.path("mine").write_text(f"url = file:{two.path('config')}\n")
    two.config.unlink(missing_ok=True)
    two.config.symlink_to(two.path("mine"))
    assert two.run("job", "true").returncode == 0
    os.chown(two.config, 65534, 65534, follow_symlinks=False)
    assert "it is a symbolic link of user 65534" in refused(two, "run", "job", "touch", "ran")[1]


# The config file.


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        ("wiat = 5s\n", 'CONFIG:1: there is no key "wiat"', "did you mean wait?"),
        ("# one\n\nfrob = 1\n", 'CONFIG:3: there is no key "frob"', "an unknown key would set nothing"),
        ("wait = 5s\nwait = 6s\n", "CONFIG:2: wait is set twice", None),
        ("wait 5s\n", "CONFIG:1: the line has no '='", None),
        ("wait = 5\n", 'CONFIG:1: wait: "5" is not a time', None),
        ("lease = 1ms\n", "CONFIG:1: lease: 1ms is out of range", None),
        ("max-hold = 0s\n", "CONFIG:1: max-hold: 0s is out of range", None),
        ("kill-after =\n", 'CONFIG:1: kill-after: "" is not a time', None),
        ("url =\n", "the URL in CONFIG:1 is empty", None),
    ],
)
def test_a_config_file_that_is_wrong_is_an_error_with_its_line(two, text, what, why):
    two.config.write_text(text)
    lines = refused(two, "run", "job", "touch", "ran")
    assert lines[0] == what.replace("CONFIG", str(two.config))
    assert why is None or lines[1] == why


def test_config_file_sets_the_remaining_settings(two):
    two.env["BOWLINE_URL"] = f"file:{two.locks}"
    two.config.write_text("\n# comment\n  wait=50ms  \r\nlease = 10s\nmax-hold\t=\t1h\nkill-after = 1s\n")
    done = two.run("job", "sh", "-c", "echo $BOWLINE_DEADLINE_MS")
    assert 3000000 < int(done.stdout) <= 3600000
    two.hold()
    assert two.run("job", "true").returncode == 124
    two.config.write_text("wait = forever\n")
    assert two.run("-w", "50ms", "job", "true").returncode == 124
    two.config.write_text("wait = 0s\n")
    assert two.run("job", "true").returncode == 124


def test_url_comes_before_the_config_file(two):
    two.env["BOWLINE_URL"] = f"file:{two.locks}?wait=50ms"
    two.config.write_text("wait = forever\n")
    two.hold()
    assert two.run("job", "true").returncode == 124


def test_the_first_config_file_is_that_of_xdg(two):
    xdg = two.path("xdg")
    xdg.mkdir()
    (xdg / "bowline.conf").write_text(f"url = file:{two.path('option')}\n")
    two.config.write_text(f"url = file:{two.path('config')}\n")
    two.env["XDG_CONFIG_HOME"] = str(xdg)
    assert two.run("job", "true").returncode == 0
    assert locks_in(two.path("option")) and not locks_in(two.path("config"))
    # A relative path would depend on the current directory.
    two.env["XDG_CONFIG_HOME"] = "xdg"
    assert two.run("job", "true").returncode == 0
    assert locks_in(two.path("config"))


def test_unreadable_config_file_is_an_error(two):
    two.config.mkdir()
    assert refused(two, "run", "job", "touch", "ran")[1] == "Is a directory"


# Secrets.


@pytest.mark.parametrize(
    "url",
    [
        "redis://user:{}@127.0.0.1:1", "redis://:{}@127.0.0.1:1", "redis://u:{}/x@127.0.0.1:1",
        "redis://u:a@{}@127.0.0.1:1",
        "unix://u:{}@/x", "redis://127.0.0.1:1?password={}", "redis://127.0.0.1:1/0?wait=1s&password={}",
    ],
)
def test_a_password_on_the_command_line_is_refused(place, url):
    lines = refused(place, "run", "--url", url.format(CANARY), "job", "touch", "ran")
    assert lines[0] == "--url contains a password" and "--url-file" in lines[2]
    assert CANARY not in "".join(lines)


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("reddis://h", "there is no engine reddis: did you mean redis://?"),
        ("rediss+sentinal://h/s", "there is no engine rediss+sentinal: did you mean rediss+sentinel://?"),
        ("fil:", "there is no engine fil: did you mean file:?"),
        ("REDIS://h", "in the URL, the scheme is written in small letters: redis://"),
        ("redis://h?leese=3s", 'redis: has no option "leese": did you mean lease=?'),
        ("redis://h?frob=3s", 'redis: has no option "frob": man 7 bowline lists those that there are'),
        ("redlock://a,b,c?drfit=1s", 'redlock: has no option "drfit": did you mean drift=?'),
        ("redis://h?key=lock:%s",
         "in the URL, an option is badly percent-encoded: a '%' itself is written %25, as in key=lock:%25s"),
        ("redis://h?key=lock",
         "in the URL, key=: a key template has one %s, where the name goes (in a URL, each % is written %25: key=lock:%25s)"),
    ],
)
def test_wrong_option_of_a_url_has_a_suggestion(place, typed, why):
    assert refused(place, "caps", typed)[1] == why


def test_help_explains_itself(place):
    general = place.bowline("help").stdout
    for words in (["help", "help"], ["help", "--help"], ["help", "-h"], ["--help"]):
        assert place.bowline(*words).stdout == general != "", words


def test_the_examples_of_the_help_work_without_a_configuration(place):
    """The commands that only answer a question."""
    del place.env["BOWLINE_URL"]
    for command in ("acl", "caps"):
        text = place.bowline(command, "--help").stdout.split("usage:")[0]
        examples = [line.split("  ")[0] for line in text.splitlines() if line.startswith("bowline ")]
        assert len(examples) >= 3
        for example in examples:
            done = place.bowline(*shlex.split(example)[1:])
            assert done.returncode == 0 and done.stderr == "", (example, done.stderr)


# A part of the help of each command; `help run` and `help hold` are longer than `--help`.
COMMANDS = {
    "run": "BOWLINE_FENCE", "who": "--json", "ls": "--json", "watch": "--until", "top": "", "break": "next renewal",
    "fence": "check", "lab": "try", "caps": "--url-file", "acl": "--feature", "doctor": "--strict", "version": "",
    "hold": "--ticket", "release": "",
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_each_way_to_ask_for_help_is_the_help_of_the_command(place, command):
    said = [place.bowline(*words) for words in (("help", command), (command, "--help"), (command, "-h"))]
    assert {(done.returncode, done.stderr) for done in said} == {(0, "")}
    assert said[1].stdout == said[2].stdout and said[0].stdout.startswith(said[1].stdout)
    assert command in ("run", "hold") or said[0].stdout == said[1].stdout
    assert COMMANDS[command] in said[0].stdout
    for done in said:
        lines = done.stdout.splitlines()
        for title, below in zip(lines, lines[1:] + [""]):
            assert not title.endswith(":") or below.strip(), title  # no section is empty


def test_json_of_all_commands_has_one_format(place):
    place.env["BOWLINE_FENCE"] = "7"
    said = [
        place.bowline("caps", "--json"),
        place.bowline("caps", "--json", "redis://127.0.0.1:1"),
        place.bowline("acl", "--json", "redis://127.0.0.1:1"),
        place.bowline("doctor", "--json"),
        place.bowline("doctor", "--json", "redis://127.0.0.1:1"),
        place.bowline("break", "--json", "job"),
        place.bowline("who", "--json", "job"),
        place.bowline("watch", "--json", "--until", "free", "job"),
        place.run("job", os.environ["BOWLINE"], "ls", "--json"),
        place.run("--status-fd", "1", "job", "true"),
    ]

    def leaves(value):
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        return [value] if inside is None else [leaf for each in inside for leaf in leaves(each)]

    for done in said:
        for line in done.stdout.splitlines():
            value = json.loads(line)
            assert next(iter(value.items())) == ("bowline", 1), line
            assert json.dumps(value, separators=(",", ":"), ensure_ascii=False) == line
            assert all(leaf is not None and leaf != "" for leaf in leaves(value)), line


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("redis://:{}@127.0.0.1:1", "redis://127.0.0.1:1"),
        ("redis://u:{}@127.0.0.1:1", "redis://u@127.0.0.1:1"),
        ("redis://:{}@x@127.0.0.1:1/2?wait=0s", "redis://127.0.0.1:1/2?wait=0s"),
        ("redis://u:{}@x@127.0.0.1:1", "redis://u@127.0.0.1:1"),
    ],
)
def test_the_command_gets_the_url_without_its_password(place, url, bare):
    done = place.run("--url", f"file:{place.locks}", "job", "sh", "-c", 'echo "$BOWLINE_URL"',
                     env=dict(place.env, BOWLINE_URL=url.format(CANARY)))
    assert done.stdout == bare + "\n"


SECRET_URL = f"redis://u:{CANARY}@127.0.0.1:1"


# Words in which URL is SECRET_URL, and ODD a URL with a password that looks like a query.
WRONG_PLACES = {
    "": ["URL", "--URL", "--ulr=URL"],
    "run": [
        "URL true", "ODD true", "-v --status-fd 1 URL true", "https://user:CANARY@example.org/repo true", "job URL",
        "-n job ./URL", "--url-file URL job true", "-w URL job true", "-E URL job true", "--on-lost URL job true",
        "--status-fd URL job true", "--URL job true", "--quiet=URL job true", "--ulr=URL x true", "--no-wait=URL x true",
    ],
    "break": ["URL", "--yes --json URL", "--url-file URL job", "--URL job", "--ulr=URL x", "--yes=URL x"],
    "who": ["URL"], "watch": ["--until URL job"], "ls": ["URL"], "top": ["URL"], "help": ["URL"],
    "fence": ["check URL 7", "check f URL", "show URL", "run f URL", "URL", "--ulr=URL"],
    "caps": ["ODD", "URL", "redis://127.0.0.1 URL", "--ulr=URL"],
    "acl": ["--feature URL redis://127.0.0.1", "URL", "--json=URL"],
    "doctor": ["URL", "--url-file URL", "--ulr=URL"],
    "lab": ["URL", "try URL", "replay URL"],
}


@pytest.mark.parametrize("line", [f"{command} {words}" for command, lines in WRONG_PLACES.items() for words in lines])
def test_a_password_in_the_wrong_place_is_never_shown(place, line):
    odd = "redis://u:a?CANARY@127.0.0.1:1"
    words = line.replace("URL", SECRET_URL).replace("ODD", odd).replace("CANARY", CANARY).split()
    done = place.bowline(*words, env=dict(place.env, BOWLINE_FENCE="7"))
    assert done.returncode not in (0, 1) and CANARY not in done.stdout + done.stderr, done
    assert not list(place.locks.iterdir())


def test_url_in_place_of_the_name_has_a_hint(place):
    for command in ("run", "who", "break"):
        what, why, what_to_type = refused(place, command, SECRET_URL, *(["true"] if command == "run" else []))
        assert what == "a URL is in the place of the name of the lock" and "password" in why
        assert what_to_type.endswith(f"type: bowline {command} --url-file FILE NAME ...")
    for url in ("redis://db.example", "rediss://h", "redis+sentinel://h/s", "unix:///run/x", "redlock://a,b,c"):
        _, why, what_to_type = refused(place, "run", url, "true")
        assert why == "NAME says which lock, --url where it is"
        assert what_to_type == f"type: bowline run --url {url} NAME ..."
    for name in ("https://example.org/page", "redis:x", "file:x", "redisx://h", "a://b:c"):
        assert place.run(name, "true").returncode == 0, name


def test_a_password_in_the_environment_is_written_as_stars(place):
    place.env["BOWLINE_NAME"] = SECRET_URL
    done = place.bowline("fence", "check", "f")
    assert "redis://u:***@127.0.0.1:1" in done.stderr and CANARY not in done.stderr


@pytest.mark.parametrize(
    "url", ["redis://user@127.0.0.1:1", "redis://127.0.0.1:1/?key=a:b@c", "redis://user:@127.0.0.1:1"]
)
def test_a_url_without_a_password_is_not_taken_for_one(place, url):
    assert place.run("--url", url, "-n", "job", "true").stderr.splitlines()[0] != "bowline: --url contains a password"


def test_a_config_file_with_a_password_must_be_private(two):
    two.config.write_text(f"wait = 1s\nurl = redis://u:{CANARY}@127.0.0.1:1\n")
    for mode in (0o644, 0o640, 0o604):
        two.config.chmod(mode)
        what, why, what_to_type = refused(two, "run", "-n", "job", "touch", "ran")
        assert what == f"{two.config} is not private" and "password" in why
        assert what_to_type == f"type: chmod 600 {two.config}"


@pytest.mark.parametrize("text", ["{}\n", "url : {}\n", "wait = {}\n", "{} = 1\n", "url = {} {}\n"])
def test_a_config_file_that_is_wrong_is_not_quoted_where_a_password_may_be(two, text):
    url = f"redis://u:{CANARY}@127.0.0.1:1"
    two.config.write_text(text.format(url, url))
    two.config.chmod(0o600)
    assert CANARY not in "".join(refused(two, "run", "-n", "job", "touch", "ran"))


def test_a_private_config_file_may_have_a_password(two):
    two.config.write_text(f"url = redis://u:{CANARY}@127.0.0.1:1\n")
    two.config.chmod(0o600)
    lines = refused(two, "run", "-n", "job", "touch", "ran")
    assert "Connection refused" in lines[1] and str(two.config) in lines[2]
    assert CANARY not in "".join(lines)


@pytest.mark.parametrize("way", ["--url-file", "BOWLINE_URL"])
@pytest.mark.parametrize("password", [CANARY, "wrong-" + CANARY])
def test_a_password_is_used_and_never_seen(place, start_redis, way, password):
    server = start_redis("--requirepass", CANARY)
    server.auth = ["-a", CANARY, "--no-auth-warning"]
    url = f"unix://:{password}@{server.socket}"
    words = []
    if way == "BOWLINE_URL":
        place.env["BOWLINE_URL"] = url
    else:
        place.script("url", url + "\n", mode=0o600)
        words = ["--url-file", "url"]
    # All data that is visible from outside while the command runs, except the environment of bowline.
    look = "cat /proc/[0-9]*/cmdline; cat /proc/$$/environ; env; echo"
    done = place.run("-v", "--status-fd", "1", "-w", "200ms", *words, "job", "sh", "-c", look, text=False)
    if password == CANARY:
        assert done.returncode == 0
        assert b"BOWLINE_NAME=job" in done.stdout
    else:
        assert done.returncode == 125
        assert json.loads(done.stdout.splitlines()[-1])["event"] == "failed"
    # The command line of the server has it, because of this test.
    seen = done.stdout.replace(b"requirepass\0" + CANARY.encode(), b"") + done.stderr
    seen = re.sub(rb"redis-cli\0[^\0]*\0[^\0]*\0-a\0[^\0]*", b"", seen)
    assert CANARY.encode() not in seen


@pytest.mark.parametrize(
    "url",
    [
        f"redis://u:{CANARY}@", f"redis://u:{CANARY}@h:x", f"redis://u:{CANARY}%zz@h", f"redis://u:{CANARY}@h?frob=1",
        f"nosuch://u:{CANARY}@h", f"redis://u:{CANARY}@127.0.0.1:1", f"redis://{CANARY}@127.0.0.1:1:1", f"{CANARY}",
        f"redis://u:{CANARY}@[::1", f"file://u:{CANARY}@h/x", f"redis://u:a?{CANARY}@127.0.0.1:1",
        "redis://u:" + CANARY * 200 + "@h",
    ],
)
def test_a_broken_url_with_a_password_is_not_quoted(place, url):
    place.env["BOWLINE_URL"] = url
    done = place.run("-v", "-n", "--status-fd", "1", "job", "touch", "ran")
    assert done.returncode == 125
    assert CANARY not in done.stdout + done.stderr


def test_inner_run_without_the_password_is_refused(place, start_redis):
    server = start_redis("--requirepass", CANARY)
    place.env["BOWLINE_URL"] = f"unix://:{CANARY}@{server.socket}"
    done = place.run("outer", os.environ["BOWLINE"], "run", "-w", "200ms", "inner", "touch", "ran")
    assert done.returncode == 125
    assert not place.path("ran").exists()
