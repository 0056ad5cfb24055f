"""The port of the URL is not that of a Redis server, or there is no server: the message of `bowline run`, and that it does not
wait for ever.

The peers are threads of the test. Each sends its first bytes on a connection; a silent one never does.
"""

import socket

import pytest

from doctor_bill import free_port

OTHERS = {
    "http": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    "ssh": b"SSH-2.0-OpenSSH_9.2p1\r\n",
    "smtp": b"220 mail.example ESMTP\r\n",
    "garbage": bytes(range(128, 160)),
}


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


# ---- no server ----------------------------------------------------------------------------------------

# The URL, and the reason. SILENT and CLOSING are ports of the test, PORT is free.
UNREACHABLE = {
    "refused": ("redis://127.0.0.1:PORT", "Connection refused"),
    "unknown host": ("redis://no-such-host.invalid", 'the host "no-such-host.invalid" is not known'),
    "no socket": ("unix://ROOT/none.sock", "No such file or directory"),
    "TLS to a clear port": ("rediss://127.0.0.1:SILENT?timeout=200ms", "is this a port for TLS?"),
    "clear to a TLS port": ("redis://127.0.0.1:CLOSING", "if it speaks TLS, write rediss://"),
    "sentinels": ("redis+sentinel://127.0.0.1:1,127.0.0.1:PORT/service", "Connection refused"),
    "cluster": ("redis+cluster://127.0.0.1:1,127.0.0.1:PORT", "Connection refused"),
    "majority": ("redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:PORT", "Connection refused"),
    "wrong password": ("redis://:wrong@127.0.0.1:SECRET", "WRONGPASS"),
}


@pytest.fixture(params=UNREACHABLE)
def unreachable(request, place, start_peer, start_redis):
    """The name of the case, and the reason; its URL is in the environment, because it may have a password."""
    url, why = UNREACHABLE[request.param]
    ports = {"PORT": free_port, "SILENT": lambda: start_peer(None).port, "CLOSING": lambda: start_peer(b"", True).port,
             "SECRET": lambda: place_secret(start_redis)}
    for word, port in ports.items():
        if word in url:
            url = url.replace(word, str(port()))
    place.env["BOWLINE_URL"] = url.replace("ROOT", str(place.root))
    return request.param, why


def place_secret(start_redis):
    port = free_port()
    start_redis("--port", str(port), "--requirepass", "secret")
    return port


def test_server_that_cannot_be_reached_is_125_at_once(place, unreachable):
    """Or at the end of the wait, or never. The runs are side by side: each waits for about a second."""
    case, why = unreachable
    options = {"plain": [], "forever": ["-w", "forever"], "limit": ["-w", "1s"], "awaits": ["--wait-for-server"]}
    logs = {name: open(place.path(name), "w", encoding="utf-8") for name in options}
    runs = {name: place.start(*words, name, "touch", "ran", stderr=logs[name]) for name, words in options.items()}
    if case != "wrong password":
        place.wait_for_text(place.path("awaits"), "waiting for awaits: ")
        assert runs["awaits"].poll() is None
        runs.pop("awaits").terminate()
    for name, run in runs.items():
        assert run.wait(60) == 125
        what, said, hint = place.text_of(place.path(name)).splitlines()[-3:]
        assert (what, why in said) == (f"bowline: {name} was not acquired", True)
        assert "check the URL, from BOWLINE_URL" in hint
        assert ("--wait-for-server" in hint) == (name != "limit" and case != "wrong password")
    assert not place.path("ran").exists()
    for log in logs.values():
        log.close()


@pytest.mark.parametrize("by", ["option", "file"])
def test_job_that_starts_before_its_server_acquires(place, start_redis, by):
    port = free_port()
    place.env["BOWLINE_URL"] = f"redis://127.0.0.1:{port}"
    place.env["XDG_CONFIG_HOME"] = str(place.root)
    if by == "file":
        place.script("bowline.conf", "wait-for-server = yes\n", 0o600)
    words = ["--wait-for-server"] if by == "option" else []
    with open(place.path("log"), "w", encoding="utf-8") as log:
        run = place.start(*words, "job", "true", stderr=log)
        place.wait_for_text(place.path("log"), "Connection refused")
    start_redis("--port", str(port))
    assert place.finish(run) == 0


def test_server_that_goes_away_is_awaited(place, start_redis):
    """A waiter that was told once that the lock is held keeps waiting: it dials a port without a server again."""
    port = free_port()
    first = start_redis("--port", str(port))
    place.env["BOWLINE_URL"] = f"redis://127.0.0.1:{port}?protocol=token"
    first.cli("set", "bowline:{job}", "someone-else")
    run = place.start("job", "true")
    place.wait_for("an attempt", lambda: " cmd=set " in first.cli("client", "list", "type", "normal").replace("cmd=client", ""))
    first.stop()
    for _ in range(2):  # the second attempt follows one that failed
        with socket.create_server(("127.0.0.1", port)) as listener:
            listener.settimeout(20)
            listener.accept()[0].close()
    start_redis("--port", str(port))
    assert place.finish(run) == 0


def test_wait_for_server_needs_a_wait(place):
    for option in ("-n", "--skip"):
        run = place.run(option, "--wait-for-server", "job", "true")
        assert (run.returncode, run.stderr.splitlines()[0]) == (125, "bowline: --wait-for-server needs a wait")
    place.env["XDG_CONFIG_HOME"] = str(place.root)
    place.script("bowline.conf", "wait-for-server = often\n", 0o600)
    assert '"often" is not yes or no' in place.run("job", "true").stderr
