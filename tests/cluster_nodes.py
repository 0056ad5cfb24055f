"""A Redis Cluster of the tests' own: three primaries and a replica of the first one, on free ports of the loopback."""

import contextlib
import socket
import subprocess

from doctor_bill import free_port
from own_directory import own_directory
from own_redis import LIMIT, wait_for

SLOTS = 16384
OPTIONS = ["--save", "", "--bind", "127.0.0.1", "--cluster-enabled", "yes", "--cluster-node-timeout", "60000"]
OPTIONS += ["--repl-diskless-sync-delay", "0", "--appendonly", "yes", "--appendfsync", "always"]
# On a machine that stands still a primary is taken for dead, and its replica must not become another one.
OPTIONS += ["--cluster-replica-no-failover", "yes"]


class Node:
    def __init__(self, root):
        self.port, self.bus = free_port(), free_port()
        self.where = f"127.0.0.1:{self.port}"
        root.mkdir()
        words = ["redis-server", "--port", str(self.port), "--cluster-port", str(self.bus), "--dir", str(root)]
        self.process = subprocess.Popen([*words, *OPTIONS], stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        wait_for("a node", self.listens)

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def cli(self, *words):
        command = ["redis-cli", "-p", str(self.port), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True).stdout.strip()

    def stop(self):
        self.process.kill()
        self.process.wait(LIMIT)


@contextlib.contextmanager
def cluster_nodes():
    """The four of them, once each knows all the others and serves."""
    with own_directory("bowline-cluster-") as root:
        nodes = []
        try:
            for i in range(4):
                nodes.append(Node(root / f"node-{i}"))
            for i, node in enumerate(nodes[:3]):
                assert node.cli("cluster", "set-config-epoch", str(i + 1)) == "OK"
                ends = [str(i * SLOTS // 3), str((i + 1) * SLOTS // 3 - 1)]
                assert node.cli("cluster", "addslotsrange", *ends) == "OK"
            for node in nodes:
                for other in nodes:
                    if node is not other:
                        node.cli("cluster", "meet", "127.0.0.1", str(other.port), str(other.bus))
            first = nodes[0].cli("cluster", "myid")
            wait_for("a replica", lambda: nodes[3].cli("cluster", "replicate", first) == "OK")
            wait_for("its data", lambda: "master_link_status:up" in nodes[3].cli("info", "replication"))
            wait_for("the cluster", lambda: all(is_whole(node, nodes) for node in nodes))
            for node in nodes:  # short only now: a node forgets a meet that takes longer
                assert node.cli("config", "set", "cluster-node-timeout", "1000") == "OK"
            yield nodes
        finally:
            for node in nodes:
                node.stop()


def is_whole(node, nodes):
    """It serves, and names all of them."""
    named = node.cli("cluster", "slots")
    return "cluster_state:ok" in node.cli("cluster", "info") and all(str(n.port) in named for n in nodes)
