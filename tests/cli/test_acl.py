"""`bowline acl`: the rule that it prints. tests/live/test_redis_rights.c shows that each rule is sufficient and minimal,
with the same table.
"""

import json
import os
import pathlib
import re
import shlex

import pytest

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
HOST = "redis://host.invalid"


def acl(place, *words):
    done = place.bowline("acl", "--json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def rule(place, *words):
    """The items of the printed rule."""
    done = place.bowline("acl", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return shlex.split(done.stdout.splitlines()[0])


def features(place):
    text = place.bowline("acl", "-h").stdout.partition("\nfeatures:\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in text.splitlines()]


def test_the_rule_is_a_command_that_the_server_takes(place, redis):
    for feature in features(place):
        key = ["--key", "seats:*"] if feature == "update" else []
        words = rule(place, "--feature", feature, *key, redis.url)
        assert words[:5] == ["ACL", "SETUSER", "bowline", "reset", "on"]
        assert redis.cli(*words) == "OK", feature


def test_the_user_may_lock_with_it_and_nothing_else(place, redis):
    redis.cli(*rule(place, "--user", "ann", redis.url))
    secret = place.script("url", redis.url.replace("unix://", "unix://ann:PASSWORD@") + "\n", mode=0o600)
    assert place.run("--url-file", str(secret), "job", "true").returncode == 0
    redis.auth = ["--user", "ann", "--pass", "PASSWORD"]
    assert "NOPERM" in redis.cli("get", "elsewhere")
    assert "NOPERM" in redis.cli("flushall")
    assert "NOPERM" in redis.cli("info")


def test_optional_rights_are_listed(place):
    lines = place.bowline("acl", HOST).stdout.splitlines()
    assert lines[1].startswith("# also useful: +info ")
    assert lines[2] == "# also useful: +mget: several renewals go in one command"
    assert lines[3].startswith("# for a server before 7.0: ACL SETUSER bowline ")
    assert " +subscribe +publish " in lines[3]
    assert len(place.bowline("acl", f"{HOST}?protocol=token").stdout.splitlines()) == 3
    assert len(place.bowline("acl", f"{HOST}?protocol=set-nx-ex&accept-risk=1").stdout.splitlines()) == 2  # they go one by one


def test_rule_for_replicas_allows_WAIT(place):
    assert "wait" not in acl(place, HOST)["commands"]
    for options in ("sync=1", "protocol=token&sync=2"):
        assert "wait" in acl(place, f"{HOST}?{options}")["commands"]


def test_rule_for_kept_locks_allows_tracking(place):
    plain, sticky = (set(acl(place, f"{HOST}{options}")["commands"]) for options in ("", "?sticky=1s"))
    assert sticky - plain == {"client|tracking", "client|caching"}


def test_rule_for_a_cluster_has_a_fence_key_in_each_slot(place):
    cluster = HOST.replace("redis:", "redis+cluster:")
    assert set(acl(place, cluster)["commands"]) - set(acl(place, HOST)["commands"]) == {"asking"}
    of_one, of_many = (acl(place, url + "?key=a%25sb")["keys"] for url in (HOST, cluster))
    assert of_many == [key.replace("bowline:f", "bowline:f:*") for key in of_one]
    lines = place.bowline("acl", cluster).stdout.splitlines()
    assert lines[2].startswith("# also useful: +cluster|slots: ")
    assert "mget" not in "".join(lines)  # keys of two slots cannot be asked for together
    assert len(lines) == 3  # it is of no use to have one for a server before 7.0
    looks = acl(place, "--feature", "doctor", cluster)["commands"]
    assert {"cluster|slots", "cluster|info"} <= set(looks)


def test_rule_is_for_the_lock_of_the_url(place):
    assert acl(place, HOST)["features"] == ["queue"]
    assert acl(place, f"{HOST}?protocol=token")["features"] == ["token"]
    assert acl(place, f"{HOST}?profile=redis-mutex&accept-risk=1")["features"] == ["stamp"]
    assert acl(place, "--feature", "token", HOST)["features"] == ["token"]
    assert acl(place, "--feature", "status", f"{HOST}?protocol=token")["features"] == ["token", "status"]
    assert acl(place, "--feature", "status,token", HOST)["features"] == ["token", "status"]
    assert acl(place, "--feature", "update", "--key", "a*", HOST)["features"] == ["update"]
    place.env["BOWLINE_URL"] = f"{HOST}?protocol=token"
    assert acl(place)["features"] == ["token"]


def test_keys_are_those_of_the_url(place):
    assert acl(place, HOST)["keys"] == ["bowline:*"]
    assert acl(place, HOST)["channels"] == ["bowline:i:*"]
    assert acl(place, f"{HOST}?key=a%25sb")["keys"] == [
        "a*b",
        "a*b:bwl.?",
        "{a*b}:bwl.?",
        "bowline:f",
        "bowline:who:*",
    ]
    assert acl(place, f"{HOST}?protocol=token&key=%5Bx%5D*%25s")["keys"] == ["\\[x\\]\\**"]
    assert acl(place, f"{HOST}?profile=python-redis-lock")["keys"] == ["lock:*", "lock-signal:*"]
    assert acl(place, f"{HOST}?profile=spring&key=shop:%25s")["channels"] == ["shop-channel:shop:*"]
    assert acl(place, f"{HOST}?profile=spring-6&key=shop:%25s")["channels"] == ["shop-channel", "shop-channel:shop:*"]
    fenced = acl(place, f"{HOST}?profile=redisson-fenced&key=a:%25s")
    assert fenced["keys"] == ["a:*", "redisson_lock_token:*"]
    assert fenced["channels"] == ["redisson_lock__channel:*"]
    assert "incr" in fenced["commands"]
    plain = acl(place, f"{HOST}?profile=redisson")
    assert plain["features"] == ["redisson"]
    assert {"incr", "get", "spublish"}.isdisjoint(plain["commands"])
    sharded = acl(place, f"{HOST}?profile=redisson".replace("redis:", "redis+cluster:"))
    assert "spublish" in sharded["commands"]
    assert "spublish" not in sharded["commands_before_7"]
    assert "select" in acl(place, f"{HOST}/3?protocol=token")["commands"]
    assert rule(place, "--feature", "update", "--key", 'my "seats" *', HOST)[7] == '~my "seats" *'


def test_rule_has_the_name_of_the_user(place):
    secret = place.script("url", "redis://ann:swordfish@host.invalid\n", mode=0o600)
    done = place.bowline("acl", "--url-file", str(secret))
    assert done.stdout.startswith("ACL SETUSER ann reset on >PASSWORD ")
    assert "swordfish" not in done.stdout + done.stderr
    assert rule(place, "--user", "bob", HOST)[2] == "bob"


@pytest.mark.parametrize(
    "words, why",
    [
        (["--feature", "tokn", HOST], 'there is no feature "tokn"'),
        (["--feature", "token,queue", HOST], "only one lock per rule"),
        (["--feature", "update", HOST], "--key 'seats:*'"),
        (["--feature", "", HOST], 'there is no feature ""'),
        (["--feature", "update", "--key", "", HOST], "--key 'seats:*'"),
        (["--feature", "update", "--key", "k" * 2000, HOST], "too long"),
        (["--key", "seats:*", HOST], "--feature update"),
        (["--feature", "update", "--key", "k", HOST.replace(":", "+cluster:", 1)], "redis+cluster: cannot update keys"),
        (["--feature", "update", "--key", "k", "redlock://a,b,c"], "redlock: cannot update keys"),
        (["--user", "", HOST], "give the name of a Redis user"),
        (["redis://" + "u" * 200 + "@host.invalid?password-file=PASSWORD"], "user name of the URL is too long"),
        (["file:"], "has no server with users"),
        (["redis://"], "takes a host"),
    ],
)
def test_stores_without_users_have_no_rule(place, words, why):
    secret = place.script("password", "c0rrect\n", mode=0o600)
    done = place.bowline("acl", *[word.replace("PASSWORD", str(secret)) for word in words])
    assert (done.returncode, done.stdout) == (125, "")
    assert why in done.stderr


def test_rule_of_a_service_names_the_rights_at_the_sentinels(place):
    url = "redis+sentinel://host.invalid/mymaster"
    items = "&+switch-master +subscribe +sentinel|master +sentinel|get-master-addr-by-name"
    rule_line = f"# for sentinel-user= at each sentinel: ACL SETUSER USER reset on >PASSWORD resetchannels {items}"
    assert place.bowline("acl", url).stdout.splitlines()[-1] == rule_line
    assert acl(place, url)["at_sentinels"] == items.split()
    assert acl(place, HOST)["at_sentinels"] == []
    manual = (SOURCE / "docs/man/bowline.7.scd").read_text(encoding="utf-8")
    assert f" needs {items}." in manual


def test_the_manual_has_the_same_rights(place):
    manual = (SOURCE / "docs/man/bowline.7.scd").read_text(encoding="utf-8")
    section = manual.partition("\n# PERMISSIONS\n")[2].partition("\n# ")[0]
    for name in ("token", "queue", "redisson", "symfony"):
        said = re.search(rf"^\*protocol={name}\*\n((?:\t.*\n)+)", section, re.M).group(1).partition(";")[0]
        known = acl(place, "--feature", name, HOST)
        items = [f"~{key}" for key in known["keys"]] + [f"&{channel}" for channel in known["channels"]]
        items += [f"+{command}" for command in known["commands"]]
        assert sorted(said.replace("\\", "").split()) == sorted(items)


def test_the_completions_know_the_features(place):
    text = (SOURCE / "cli/settings/commands.h").read_text(encoding="utf-8")
    defined = re.search(r"#define ACL_FEATURES((?:.*\\\n)+.*)", text).group(1)
    assert "".join(re.findall(r'"(.*?)"', defined)).split("|") == features(place)
