"""A sentinel of the tests' own, which monitors one primary."""

import socket
import subprocess

from doctor_bill import free_port
from own_redis import wait_for


class Sentinel:
    """A sentinel that monitors a primary as mymaster."""

    def __init__(self, root, primary_port, epoch=0):
        self.port = free_port()
        directory = root / f"sentinel-{self.port}"
        directory.mkdir()
        config = directory / "sentinel.conf"
        config.write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {directory}\nsentinel monitor mymaster 127.0.0.1 {primary_port} 1\n"
            f"sentinel config-epoch mymaster {epoch}\n"
        )
        words = ["redis-server", str(config), "--sentinel"]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("the sentinel", self.listens)

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        self.process.kill()
        self.process.wait()
