"""The stores that a test of the command runs on: file:, a Redis server, one behind a sentinel, a cluster."""

import contextlib

from cluster_nodes import cluster_nodes
from doctor_bill import free_port
from own_directory import own_directory
from own_redis import Redis, need_redis
from own_sentinel import Sentinel

STORES = ["file", "redis", "sentinel", "cluster"]


class Store:
    def __init__(self, kind, url=None, cli=None):
        self.kind = kind
        self.url = url  # None: of file:, a directory of the test
        self.cli = cli  # None: of file:


@contextlib.contextmanager
def open_store(kind):
    if kind == "file":
        yield Store(kind)
        return
    need_redis()
    with contextlib.ExitStack() as stack:
        if kind == "cluster":
            nodes = stack.enter_context(cluster_nodes())
            yield Store(kind, f"redis+cluster://127.0.0.1:{nodes[0].port}", lambda *words: nodes[0].cli("-c", *words))
            return
        root = stack.enter_context(own_directory("bowline-hold-"))
        port = free_port()
        server = Redis(root, "--port", str(port), "--bind", "127.0.0.1")
        stack.callback(server.stop)
        url = server.url
        if kind == "sentinel":
            sentinel = Sentinel(root, port)
            stack.callback(sentinel.stop)
            url = f"redis+sentinel://127.0.0.1:{sentinel.port}/mymaster"
        yield Store(kind, url, server.cli)
