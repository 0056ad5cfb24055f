"""The steps of docs/reference/catalogue.md from an old lock to `token`: which programs exclude each other in each of them."""

import os
import pathlib
import re

import pytest

from conftest import PROGRAM

PAGE = pathlib.Path(os.environ["BOWLINE_SOURCE"]) / "docs" / "reference" / "catalogue.md"
NAME = "buy_order_lock"
BUSY = 124


def options_of_the_page():
    """The text of the page after the link to the old lock."""
    (options,) = re.findall(r"^OLD='redis://[\d.]+\?(\S+)'$", PAGE.read_text(encoding="utf-8"), re.M)
    return options


def one(url):
    return [PROGRAM, "run", "-q", "-n", "--url", url, NAME, "--"]


def program(redis, kind, old=None):
    """The command line of a program of this kind, without the command that runs under its lock."""
    old = one(f"{redis.url}?{old or options_of_the_page()}")
    new = one(redis.url)
    return {"old": old, "both": old + new, "new": new, "one key": one(f"{redis.url}?key=%25s")}[kind]


def gets_in(place, words):
    done = place.run(*words[2:], "touch", "ran")
    is_in = place.path("ran").exists()
    assert done.returncode == (0 if is_in else BUSY), done.stderr
    place.path("ran").unlink(missing_ok=True)
    return is_in


def does_second_get_in(place, first, second):
    """Whether the second one acquires its locks while the first one holds its own."""
    assert gets_in(place, first) and gets_in(place, second), "alone each of them gets what it asks for"
    return gets_in(place, first + second)


@pytest.mark.parametrize("first, second", [
    ("old", "old"), ("old", "both"), ("both", "old"), ("both", "both"),  # the first step
    ("both", "new"), ("new", "both"), ("new", "new"),  # the second
])
def test_any_two_programs_share_a_lock_in_each_step(place, redis, first, second):
    assert not does_second_get_in(place, program(redis, first), program(redis, second))
    assert redis.keys() == []


@pytest.mark.parametrize("first, second", [("old", "new"), ("new", "old")])
def test_old_and_new_program_overlap_without_the_middle_step(place, redis, first, second):
    assert does_second_get_in(place, program(redis, first), program(redis, second))


@pytest.mark.parametrize("protocol", ["set-nx-ex", "setnx-expire-watch", "setnx-del"])
@pytest.mark.parametrize("first, second", [("old", "one key"), ("one key", "old")])
def test_on_one_key_old_and_new_exclude_each_other(place, redis, protocol, first, second):
    old = f"protocol={protocol}&accept-risk=1&key=%25s&wait=0s"
    assert not does_second_get_in(place, program(redis, first, old), program(redis, second, old))
    assert redis.keys() == []


def test_expired_timestamp_blocks_token_for_ever(place, redis):
    redis.cli("set", NAME, "1595307490")
    assert not gets_in(place, program(redis, "one key"))
    assert redis.cli("get", NAME) == "1595307490"


def test_token_is_not_read_as_a_timestamp(place, redis):
    redis.cli("set", NAME, "0e9977b97f4a7c15f39ccA")
    assert not gets_in(place, one(f"{redis.url}?protocol=setnx-getset&accept-risk=1&key=%25s"))
    assert redis.cli("get", NAME) == "0e9977b97f4a7c15f39ccA"
