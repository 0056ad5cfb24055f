"""The port of the URL is not that of a Redis server: the message of `bowline run`, and that it does not wait for ever.

The peers are threads of the test. Each sends its first bytes on a connection; a silent one never does.
"""

import socket
import threading

import pytest

OTHERS = {
    "http": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    "ssh": b"SSH-2.0-OpenSSH_9.2p1\r\n",
    "smtp": b"220 mail.example ESMTP\r\n",
    "garbage": bytes(range(128, 160)),
}


class Peer:
    """Listens at a free port; answers every connection with `says` (None: never), then closes it if it `closes`."""

    def __init__(self, says, closes):
        self.says = says
        self.closes = closes
        self.open = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(connection)
            if self.says is not None:
                connection.recv(1)  # an unexpected reply could be read as another protocol
                connection.sendall(self.says)
            if self.closes:
                connection.close()

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        for connection in self.open:
            connection.close()


@pytest.fixture
def start_peer():
    peers = []

    def start(says, closes=False):
        peers.append(Peer(says, closes))
        return peers[-1]

    yield start
    for peer in peers:
        peer.stop()


@pytest.mark.parametrize("option", [[], ["-n"], ["-w", "1d"]], ids=["plain", "no-wait", "wait"])
@pytest.mark.parametrize("other", OTHERS)
def test_run_at_a_port_of_another_protocol_fails_at_once(place, start_peer, other, option):
    peer = start_peer(OTHERS[other])
    run = place.run("--url", peer.url, *option, "job", "touch", "ran")
    assert run.returncode == 125
    assert "job was not acquired" in run.stderr
    assert "what answers there is not a Redis server" in run.stderr
    assert "check the URL, from" in run.stderr
    assert not place.path("ran").exists()


def test_run_at_a_silent_port_does_not_suggest_tls(place, start_peer):
    peer = start_peer(None)
    run = place.run("--url", f"{peer.url}?timeout=100ms", "-n", "job", "true")
    assert run.returncode == 125
    assert "no answer within 100 ms" in run.stderr
    assert "TLS" not in run.stderr


def test_run_ends_after_its_wait(place, start_peer):
    """And not after the time of a reply: the test would not wait for that."""
    peer = start_peer(None)
    run = place.run("--url", f"{peer.url}?lease=10h&timeout=1h", "-w", "100ms", "job", "true")
    assert run.returncode == 125
    assert "no answer before the end of the wait" in run.stderr
    assert len(peer.open) == 1


def test_run_at_a_port_that_closes_suggests_tls(place, start_peer):
    peer = start_peer(b"", closes=True)
    run = place.run("--url", peer.url, "-n", "job", "true")
    assert run.returncode == 125
    assert "if it speaks TLS, write rediss://" in run.stderr
