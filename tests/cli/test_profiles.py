"""`bowline run` with locks of other programs: refusals, warnings, and what the other programs see."""

import re

import pytest

WARNING = "bowline: warning: profile jedis-lock-1 is not safe: "


def with_options(redis, options):
    return f"{redis.url}?{options}"


def test_profile_locks_its_key_without_output(place, redis):
    command = ["redis-cli", "-s", str(redis.socket), "get", "lock4j:job"]
    done = place.run("--url", with_options(redis, "profile=lock4j"), "job", *command)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"[0-9a-f]{12}4[0-9a-f]{19}\n", done.stdout)
    assert redis.keys() == []


def test_run_waits_for_foreign_holders(place, redis):
    redis.cli("set", "lock4j:job", "0123456789ab4def0123456789abcdef")
    done = place.run("-n", "--url", with_options(redis, "profile=lock4j"), "job", "touch", "ran")
    assert done.returncode == 124
    assert not place.path("ran").exists()
    assert redis.cli("get", "lock4j:job") == "0123456789ab4def0123456789abcdef"


@pytest.mark.parametrize("options", ["protocol=setnx-del", "profile=jedis-lock-1", "profile=shedlock"])
def test_profile_with_a_fault_is_refused_in_three_lines(place, redis, options):
    done = place.run("--url", with_options(redis, options), "job", "touch", "ran")
    assert done.returncode == 125
    what, why, where = done.stderr.splitlines()
    assert what == "bowline: the locks cannot be opened"
    assert re.fullmatch(f"bowline: {options.replace('=', ' ')} is not safe: .*; "
                        "to use it all the same, add accept-risk=1", why)
    assert where == "bowline: check the URL, from --url"
    assert not place.path("ran").exists()
    assert redis.keys() == []


def test_an_accepted_risk_is_one_line_on_standard_error(place, redis):
    url = with_options(redis, "profile=jedis-lock-1&accept-risk=1")
    done = place.run("--url", url, "job", "echo", "ran")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith(WARNING)


def test_accepted_risk_is_printed_once_by_waiters_and_quiet_runs(place, redis):
    redis.cli("set", "job", "99999999999999")
    url = with_options(redis, "profile=jedis-lock-1&accept-risk=1")
    done = place.run("-n", "--url", url, "job", "true")
    assert done.returncode == 124
    assert [line for line in done.stderr.splitlines() if "not safe" in line] == done.stderr.splitlines()[:1]
    done = place.run("-q", "-n", "--url", url, "job", "true")
    assert done.stderr.splitlines() == [line for line in done.stderr.splitlines() if line.startswith(WARNING)]


def test_accepting_a_missing_risk_prints_nothing(place, redis):
    done = place.run("--url", with_options(redis, "profile=redis-py&accept-risk=1"), "job", "true")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "options, why",
    [
        ("protocol=tokne", 'there is no protocol "tokne": did you mean token?'),
        ("profile=redispy", 'there is no profile "redispy": did you mean redis-py?'),
        ("profile=nobody", 'there is no profile "nobody" in this build: man 7 bowline lists them'),
        ("profile=spring", "profile spring: its keys begin with your registry key: key=WORD:%s"),
        (
            "profile=redis-py&protocol=set-nx-ex",
            "in the URL, protocol=set-nx-ex contradicts profile=redis-py, which is token: leave protocol= out",
        ),
        ("protocol=setnx-del&accept-risk=true", "in the URL, accept-risk= can only be 1"),
    ],
)
def test_errors_of_the_url_are_reported(place, redis, options, why):
    done = place.run("--url", with_options(redis, options), "job", "touch", "ran")
    assert done.returncode == 125
    assert done.stderr.splitlines()[1] == f"bowline: {why}"
    assert not place.path("ran").exists()


@pytest.mark.parametrize("option", ["profile=redis-py", "protocol=token", "accept-risk=1"])
def test_local_stores_have_no_such_options(place, option):
    done = place.run("--url", f"file:{place.locks}?{option}", "job", "touch", "ran")
    assert done.returncode == 125
    assert done.stderr.splitlines()[1].startswith(f'bowline: file: has no option "{option.split("=")[0]}"')


def test_lock_without_renewal_ends_with_a_reason(place, redis):
    url = with_options(redis, "profile=jedis-lock-1&accept-risk=1&lease=500ms")
    done = place.run("--url", url, "job", "sleep", "1000")
    assert done.returncode == 123
    assert done.stderr.splitlines()[1] == "bowline: job was lost, sleep was stopped"


@pytest.mark.parametrize(
    "profile, value, unit",
    [("jedis-lock-1", "1", "ms"), ("jedis-lock-1", "1795420000", "ms"), ("redis-py-2.9", "1.0", "s")],
)
def test_implausible_timestamp_is_not_changed_and_shown(place, redis, profile, value, unit):
    redis.cli("set", "job", value, "ex", "30")
    done = place.run("-n", "--url", with_options(redis, f"profile={profile}&accept-risk=1"), "job", "touch", "ran")
    assert done.returncode == 124
    assert f"{value} is not a plausible time in {unit}" in done.stderr
    assert not place.path("ran").exists()
    assert redis.cli("get", "job") == value


JEDIS = "profile=java-jedislock&accept-risk=1"
HELD = "4000000000000"


def test_run_waits_as_long_as_the_profile_does(place, redis):
    """And with a profile without a default wait, or with -w, as long as given."""
    redis.cli("set", "job", HELD)
    done = place.run("-v", "--url", with_options(redis, JEDIS), "job", "touch", "ran")
    assert done.returncode == 124
    assert "bowline: waits at most 300ms, the default of profile java-jedislock; -w changes it" in done.stderr.splitlines()
    assert not place.path("ran").exists()
    for words in ["-n"], ["-w", "20ms"]:
        done = place.run("-v", *words, "--url", with_options(redis, JEDIS), "job", "true")
        assert (done.returncode, "waits" in done.stderr) == (124, False)
    done = place.run("-v", "--url", with_options(redis, JEDIS + "&wait=20ms"), "job", "true")
    assert (done.returncode, "waits" in done.stderr) == (124, False)


def test_run_tries_as_often_as_retry_says(place, redis):
    redis.cli("set", "lock_job", HELD)
    url = with_options(redis, "profile=php-pidlock&accept-risk=1&retry=4&pause=1ms")
    done = place.run("-v", "--url", url, "job", "touch", "ran")
    assert done.returncode == 124
    assert "bowline: makes 5 attempts, as retry= says; -w sets a time limit instead" in done.stderr.splitlines()
    assert not place.path("ran").exists()


def test_retry_is_refused_for_own_protocols(place, redis):
    done = place.run("--url", with_options(redis, "retry=4"), "job", "touch", "ran")
    assert done.returncode == 125
    assert done.stderr.splitlines()[1].startswith("bowline: in the URL, retry=: only the locks of articles")


def test_expired_timestamp_is_kept_while_the_key_has_an_expiry(place, redis):
    url = with_options(redis, "profile=jedis-lock-1&accept-risk=1")
    redis.cli("set", "job", "1400000000000", "ex", "1000")
    done = place.run("-n", "--url", url, "job", "touch", "ran")
    assert done.returncode == 124
    assert re.search("its time has passed, but the key expires in (1000|9[0-9]{2})s", done.stderr)
    assert not place.path("ran").exists()
    redis.cli("persist", "job")
    assert place.run("-n", "--url", url, "job", "touch", "ran").returncode == 0
    assert place.path("ran").exists()
