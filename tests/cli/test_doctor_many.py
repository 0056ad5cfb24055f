"""`bowline doctor` with redlock://: it checks each server, and then whether they are independent."""

import os
import struct

import pytest

from doctor_bill import GOOD, free_port, look

SHIM = os.environ.get("BOWLINE_CLOCK_SHIM", "")
HOUR_US = 3600 * 1000000


@pytest.fixture
def start_at(start_redis):
    """A server with a port, which these tests need."""

    def start(*options):
        server = start_redis(*GOOD, "--port", str(port := free_port()), *options)
        server.where = f"127.0.0.1:{port}"
        return server

    return start


def url_of(servers, options="restart-wait=off"):
    return "redlock://" + ",".join(server.where for server in servers) + "?" + options


def of_all(bill):
    """The findings of all servers together."""
    return {f["check"]: f for f in bill.findings if f["server"] == 0}


def test_three_good_servers(place, start_at):
    servers = [start_at() for _ in range(3)]
    before = [server.cli("debug", "digest") for server in servers]
    bill = look(place, url_of(servers))
    assert bill.all["protocol"] == "redlock"
    assert bill.all["servers"] == [url_of(servers).partition("?")[0]] + [f"redis://{s.where}" for s in servers]
    assert {check: f["grade"] for check, f in of_all(bill).items()} == {
        "independence": "ok",
        "machines": "warning",  # they are, here
        "clocks": "ok",
        "majority": "ok",
    }
    assert "3 of 3 servers are at 127.0.0.1" in of_all(bill)["machines"]["what"]
    assert "tolerates the loss of 1" in of_all(bill)["majority"]["what"]
    for server in (1, 2, 3):
        mine = {f["check"]: f["grade"] for f in bill.findings if f["server"] == server}
        assert set("connect authentication version role clock eviction persistence rights".split()) <= set(mine)
        assert set(mine.values()) == {"ok"}, mine
    assert [server.cli("debug", "digest") for server in servers] == before
    text = place.bowline("doctor", url_of(servers)).stdout
    assert [text.index(name) for name in bill.all["servers"]] == sorted(
        text.index(name) for name in bill.all["servers"]
    )


def test_servers_that_were_started_a_moment_ago_have_no_vote_yet(place, start_at):
    bill = look(place, url_of([start_at() for _ in range(3)], "lease=1h"))
    young = [f for f in bill.findings if f["check"] == "restart"]
    assert [(f["server"], f["grade"]) for f in young] == [(1, "warning"), (2, "warning"), (3, "warning")]
    assert "until it has run for a lease" in young[0]["why"]


def test_one_dead_server_is_a_warning_and_two_are_a_failure(place, start_at):
    servers = [start_at() for _ in range(3)]
    servers[1].stop()
    bill = look(place, url_of(servers))
    assert (bill.code, of_all(bill)["majority"]["grade"]) == (0, "warning")
    assert of_all(bill)["majority"]["what"] == "1 of 3 servers has no vote"
    assert "tolerate the loss of 0 more" in of_all(bill)["majority"]["why"]
    assert [(f["server"], f["grade"]) for f in bill.findings if "refused" in f["what"]] == [(2, "warning")]
    servers[2].stop()
    bill = look(place, url_of(servers))
    assert (bill.code, of_all(bill)["majority"]["grade"]) == (1, "failure")
    assert "a lock needs 2 of them" in of_all(bill)["majority"]["why"]


def test_one_server_under_two_names(place, start_at):
    servers = [start_at(), start_at()]
    twice = url_of(servers).replace("?", "," + servers[0].where.replace("127.0.0.1", "localhost") + "?")
    bill = look(place, twice)
    assert "are the same server" in of_all(bill)["independence"]["what"]
    assert of_all(bill)["majority"]["what"] == "1 of 3 servers has no vote"


def test_replicas_of_one_server(place, start_at):
    first = start_at()
    host, port = first.where.split(":")
    others = [start_at("--replicaof", host, port, "--repl-diskless-sync-delay", "0") for _ in range(2)]
    while any("master_link_status:up" not in server.cli("info", "replication") for server in others):
        pass
    bill = look(place, url_of([first, *others]))
    said = [f for f in bill.findings if f["check"] == "independence"]
    assert len(said) == 2 and all("have the same data" in f["what"] for f in said)
    assert of_all(bill)["majority"]["grade"] == "failure"


def test_nodes_of_a_cluster(place, start_at):
    cluster = ["--appendonly", "no", "--cluster-enabled", "yes", "--cluster-port"]
    nodes = [start_at(*cluster, str(free_port())) for _ in range(2)]
    bill = look(place, url_of([*nodes, start_at()]))
    assert "are nodes of one cluster" in of_all(bill)["independence"]["what"]
    assert (bill.code, of_all(bill)["majority"]["what"]) == (1, "2 of 3 servers have no vote")


@pytest.mark.skipif(not SHIM or os.environ.get("BOWLINE_SANITIZE", "none") != "none", reason="no clock shim")
def test_a_clock_that_is_ahead_of_the_others(place, start_at, monkeypatch):
    setting = place.path("clock")
    setting.write_bytes(struct.pack("qqqq", HOUR_US, 0, 0, 0))
    servers = [start_at(), start_at()]
    monkeypatch.setenv("LD_PRELOAD", SHIM)
    monkeypatch.setenv("BOWLINE_CLOCK_FILE", str(setting))
    servers.append(start_at())
    monkeypatch.delenv("LD_PRELOAD")
    finding = of_all(look(place, url_of(servers)))["clocks"]
    assert finding["grade"] == "warning"
    assert finding["what"].startswith(f"the clock of {servers[2].where} is 3")
    assert "ahead of the clock of 127.0.0.1:" in finding["what"]


def test_short_drift_is_a_risk(place):
    nobody = [f"127.0.0.1:{free_port()}" for _ in range(3)]
    bill = look(place, "redlock://" + ",".join(nobody) + "?drift=1ms")
    assert bill.of("url")["grade"] == "warning"
    assert "is short of 1%" in bill.of("url")["what"]
    assert (bill.code, of_all(bill)["majority"]["what"]) == (1, "3 of 3 servers have no vote")


def test_rights_of_token_are_checked_at_each_server(place):
    several = place.bowline("acl", "redlock://a,b,c").stdout
    assert several == place.bowline("acl", "redis://a?protocol=token").stdout
