"""`bowline doctor` with a cluster: the nodes of the URL, those that they name, and then all of them together.

The tests share one cluster; each test repairs what it breaks, except the last ones.
"""

import pytest

from cluster_nodes import cluster_nodes
from doctor_bill import free_port, look
from own_redis import need_redis, wait_for

MUST = "connect authentication version role state clock eviction persistence rights".split()
REPLICA = 3


@pytest.fixture(scope="module")
def nodes():
    need_redis()
    with cluster_nodes() as started:
        yield started


def url_of(*nodes, options="", user=""):
    return f"redis+cluster://{user}" + ",".join(node.where for node in nodes) + options


def of_all(bill):
    """The findings of the cluster as a whole."""
    return {f["check"]: f for f in bill.findings if f["server"] == 0}


def of_node(bill, node):
    """The findings of one node, by its name in the report."""
    server = bill.all["servers"].index(f"redis://{node.where}")
    return {f["check"]: f for f in bill.findings if f["server"] == server}


def look_as_ann(place, url):
    secret = place.script("doctor.url", url + "\n", mode=0o600)
    done = place.bowline("doctor", "--json", "--url-file", str(secret))
    assert "hunter2" not in done.stdout + done.stderr
    return type(look(place, "thread:"))(done)


def test_a_node_of_the_url_leads_to_all_of_them(place, nodes):
    bill = look(place, url_of(nodes[0]))
    assert bill.all["protocol"] == "queue"
    assert bill.all["servers"][:2] == [url_of(nodes[0]), f"redis://{nodes[0].where}"]
    assert set(bill.all["servers"][2:]) == {f"redis://{n.where}" for n in nodes[1:]}
    assert {check: f["grade"] for check, f in of_all(bill).items()} == {
        "slots": "ok",
        "failover": "ok",
        "coverage": "note",
        "clocks": "ok",
    }
    assert of_all(bill)["slots"]["what"] == "all of 16384 slots are served; primaries: 3, replicas: 1"
    for node in nodes[:3]:
        found = of_node(bill, node)
        assert set(MUST) <= set(found)
        assert {check for check, f in found.items() if f["grade"] != "ok"} == {"role"}, found
    assert "asynchronous" in of_node(bill, nodes[0])["role"]["why"]
    assert "no node serves its slots" in of_node(bill, nodes[1])["role"]["why"]
    replica = of_node(bill, nodes[REPLICA])
    assert {f["grade"] for f in replica.values()} == {"ok"} and "eviction" not in replica
    assert replica["role"]["what"] == f"a replica of 127.0.0.1:{nodes[0].port}"
    assert bill.code == 0
    text = place.bowline("doctor", url_of(nodes[0])).stdout
    assert [text.count(f"\n{name}, protocol") for name in bill.all["servers"][1:]] == [1] * 4


def test_one_reachable_node_of_the_url_is_enough(place, nodes):
    bill = look(place, f"redis+cluster://127.0.0.1:{free_port()},{nodes[1].where}")
    gone = [f for f in bill.findings if f["server"] == 1]
    assert [(f["check"], f["grade"]) for f in gone] == [("connect", "warning")]
    assert bill.code == 0
    bill = look(place, f"redis+cluster://127.0.0.1:{free_port()}")
    assert (bill.code, of_all(bill)["slots"]["grade"]) == (1, "failure")


def test_announced_name_that_cannot_be_resolved(place, nodes):
    for node in nodes:
        node.cli("config", "set", "cluster-preferred-endpoint-type", "hostname")
        node.cli("config", "set", "cluster-announce-hostname", f"n{node.port}.invalid" if node is nodes[1] else "localhost")
    wait_for("the name", lambda: nodes[0].cli("cluster", "slots").count("localhost") == 3)
    wait_for("the name", lambda: ".invalid" in nodes[0].cli("cluster", "slots"))
    bill = look(place, url_of(nodes[0]))
    bad = [f for f in bill.findings if f["grade"] == "failure"]
    assert [f["check"] for f in bad] == ["resolve"]
    assert f"n{nodes[1].port}.invalid" in bad[0]["what"]
    assert "the cluster announces this address" in bad[0]["why"]
    assert "cluster-announce-hostname" in bad[0]["type"]
    assert bill.code == 1
    nodes[1].cli("config", "set", "cluster-announce-hostname", "")
    wait_for("no name", lambda: "?" in nodes[0].cli("cluster", "slots").split())
    slots = of_all(look(place, url_of(nodes[0])))["slots"]
    assert (slots["grade"], "does not announce" in slots["what"]) == ("failure", True)
    for node in nodes:
        node.cli("config", "set", "cluster-announce-hostname", "")
        node.cli("config", "set", "cluster-preferred-endpoint-type", "ip")


def test_a_user_with_too_few_rights_at_one_node(place, nodes):
    rule = place.bowline("acl", "--user", "ann", "--feature", "doctor,status", url_of(nodes[0])).stdout.split("\n")[0]
    words = rule.replace(">PASSWORD", ">hunter2").replace("'", "").split()
    for node in nodes:
        assert node.cli(*words) == "OK"
    url = url_of(nodes[0], user="ann:hunter2@")
    bill = look_as_ann(place, url)
    assert {of_node(bill, n)["rights"]["grade"] for n in nodes} <= {"ok", "note"}
    assert [f["what"] for f in bill.findings if f["grade"] in ("failure", "unknown")] == []
    nodes[2].cli("acl", "setuser", "ann", "-asking", "-ssubscribe")
    nodes[REPLICA].cli("acl", "setuser", "ann", "-zadd")
    bill = look_as_ann(place, url)
    assert of_node(bill, nodes[2])["rights"]["grade"] == "failure"
    assert "+asking" in of_node(bill, nodes[2])["rights"]["what"]
    assert "+ssubscribe" in of_node(bill, nodes[2])["rights"]["what"]
    assert of_node(bill, nodes[REPLICA])["rights"]["grade"] == "warning"
    assert bill.code == 1
    nodes[2].cli("acl", "setuser", "ann", "resetpass", ">other")
    bill = look_as_ann(place, url)
    assert of_node(bill, nodes[2])["authentication"]["grade"] == "failure"
    for node in nodes:
        node.cli("acl", "deluser", "ann")


def test_what_a_failover_means_for_a_lease(place, nodes):
    finding = of_all(look(place, url_of(nodes[0], options="?lease=4s")))["failover"]
    assert finding["grade"] == "warning"
    assert "a failover takes 3000ms" in finding["why"] and "2666ms left" in finding["why"]
    assert finding["type"].startswith("?lease=5500ms")
    assert of_all(look(place, url_of(nodes[0], options="?lease=5500ms")))["failover"]["grade"] == "ok"
    for node in nodes:
        node.cli("config", "set", "cluster-require-full-coverage", "no")
    assert "coverage" not in of_all(look(place, url_of(nodes[0])))
    for node in nodes:
        node.cli("config", "set", "cluster-require-full-coverage", "yes")


def test_urls_of_another_kind_are_refused(place, nodes, start_redis):
    alone = start_redis("--port", str(port := free_port()))
    bill = look(place, f"redis+cluster://127.0.0.1:{port}")
    assert bill.of("mode")["type"] == f"redis://127.0.0.1:{port}"
    assert (bill.code, alone.cli("dbsize")) == (1, "0")
    bill = look(place, f"redis://{nodes[1].where}")
    assert bill.of("mode")["type"] == f"redis+cluster://{nodes[1].where}"


# ---- lasting damage ------------------------------------------------------------------------------


def test_missing_replica_is_a_warning(place, nodes):
    nodes[REPLICA].stop()
    bill = look(place, url_of(nodes[0], nodes[REPLICA]))
    gone = of_node(bill, nodes[REPLICA])
    assert (gone["connect"]["grade"], bill.code) == ("warning", 0)


def test_slots_without_an_owner(place, nodes):
    assert nodes[2].cli("cluster", "delslots", "16383") == "OK"
    wait_for("the end", lambda: "cluster_state:fail" in nodes[2].cli("cluster", "info"))
    bill = look(place, url_of(nodes[2]))
    assert of_all(bill)["slots"]["what"] == "1 of 16384 slots have no node"
    assert of_node(bill, nodes[2])["state"]["grade"] == "failure"
    assert bill.code == 1
