"""`bowline doctor` and the connection: no server, a wrong server, TLS, and the two mistakes that hang."""

import json
import shutil
import socket
import subprocess

import pytest

from doctor_bill import GOOD, free_port, look
from own_sentinel import Sentinel


# ---- not a server --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"+OK\r\n", b"*-3\r\n", b"$99999999\r\n", b"", b"\x00\xff\x80\x1b[2J\r\n"],
)
def test_server_with_wrong_replies_is_reported(place, start_peer, answer):
    # Only a server that never answers has a short time limit: no answer can be late.
    bill = look(place, start_peer(answer or None).url + ("" if answer else "?timeout=300ms"))
    assert (bill.code, bill.bad()) == (1, ["handshake"])
    assert "\x1b" not in json.dumps(bill.all)


@pytest.mark.parametrize("reply", [b"+OK\r\n", b":1\r\n"])
def test_server_without_transactions_gets_no_write_command(place, start_peer, reply):
    """It answers HELLO like a server, and every other command with the same reply."""
    hello = b"%3\r\n+server\r\n+redis\r\n+version\r\n+7.0.0\r\n+proto\r\n:3\r\n"
    peer = start_peer(hello + reply * 200)
    bill = look(place, peer.url)
    said = b"".join(connection.recv(65536) for connection in peer.open).upper()
    assert bill.of("rights")["grade"] == "unknown"
    for command in (b"SET\r\n", b"DEL\r\n", b"INCR\r\n", b"EVAL\r\n", b"ZADD\r\n", b"PUBLISH"):
        assert command not in said


def test_impossible_time_of_day_is_ignored(place, start_peer):
    hello = b"%3\r\n+server\r\n+redis\r\n+version\r\n+7.0.0\r\n+proto\r\n:3\r\n"
    for seconds in (b"9223372036854775807", b"-9223372036854775807", b"nine"):
        peer = start_peer(hello + b"*2\r\n+%s\r\n+1\r\n" % seconds * 200)
        assert look(place, peer.url).of("clock")["grade"] == "unknown"


def test_port_without_a_server_is_reported(place):
    bill = look(place, f"redis://127.0.0.1:{free_port()}")
    assert (bill.code, bill.bad()) == (1, ["connect"])
    assert look(place, "redis://host.invalid").bad() == ["resolve"]
    assert look(place, f"unix://{place.root}/nothing").bad() == ["connect"]
    assert look(place, "redis://host?lesae=1s").bad() == ["url"]


# ---- TLS -------------------------------------------------------------------------------------------------


def run(words, directory):
    subprocess.run(words, cwd=directory, check=True, capture_output=True)


def make_cert(directory, name, issuer=None, days="30", hosts="IP:127.0.0.1,DNS:localhost", authority=False):
    key, request, pem = f"{name}.key", f"{name}.csr", f"{name}.pem"
    run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key], directory)
    run(["openssl", "req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request], directory)
    kind = "TRUE" if authority else "FALSE"
    (directory / f"{name}.ext").write_text(f"basicConstraints=critical,CA:{kind}\nsubjectAltName={hosts}\n")
    signer = ["-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key", "-CAcreateserial"] if issuer else ["-signkey", key]
    dates = ["-days", days]
    if days.startswith("-") and "not_after" in subprocess.run(["openssl", "x509", "-help"], capture_output=True,
                                                              text=True, check=False).stderr:
        dates = ["-not_before", "20200101000000Z", "-not_after", "20200102000000Z"]
    run(["openssl", "x509", "-req", "-in", request, *signer, *dates, "-extfile", f"{name}.ext", "-out", pem], directory)


@pytest.fixture
def tls(place, start_redis):
    """Start a server with a TLS port and a plaintext port."""
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl")
    directory = place.path("certs")
    directory.mkdir()
    make_cert(directory, "ca", authority=True)

    def start(*options, days="30", hosts="IP:127.0.0.1,DNS:localhost"):
        make_cert(directory, "host", "ca", days, hosts)
        port, tls_port = free_port(), free_port()
        files = [word for name in ("cert", "key") for word in (f"--tls-{name}-file",
                 str(directory / ("host.pem" if name == "cert" else "host.key")))]
        try:
            server = start_redis(*GOOD, *options, "--port", str(port), "--tls-port", str(tls_port), "--bind", "127.0.0.1",
                                 *files, "--tls-ca-cert-file", str(directory / "ca.pem"), "--tls-auth-clients", "no")
        except BaseException:
            pytest.skip("this redis-server knows no TLS")
        server.port, server.tls_port, server.ca = port, tls_port, directory / "ca.pem"
        return server

    return start


def test_tls_finding_has_the_end_of_the_certificate(place, tls):
    server = tls()
    bill = look(place, f"rediss://127.0.0.1:{server.tls_port}?ca={server.ca}")
    assert (bill.code, bill.of("tls")["grade"], bill.bad()) == (0, "ok", [])
    assert "ends on 20" in bill.of("tls")["what"]


def test_a_certificate_that_ends_soon(place, tls):
    server = tls(days="3")
    finding = look(place, f"rediss://localhost:{server.tls_port}?ca={server.ca}").of("tls")
    assert (finding["grade"], "not renewed" in finding["why"]) == ("warning", True)


def test_a_certificate_that_has_ended(place, tls):
    server = tls(days="-1")
    bill = look(place, f"rediss://127.0.0.1:{server.tls_port}?ca={server.ca}")
    assert (bill.code, bill.bad()) == (1, ["tls"])
    assert "expired" in bill.of("tls")["what"]


def test_certificate_of_another_host(place, tls):
    server = tls(hosts="DNS:other.test")
    bill = look(place, f"rediss://127.0.0.1:{server.tls_port}?ca={server.ca}")
    assert (bill.code, bill.bad()) == (1, ["tls"])
    assert "other.test" in bill.of("tls")["what"]


def test_node_announced_by_a_name_that_is_not_in_its_certificate(place, tls):
    server = tls("--cluster-enabled", "yes", "--cluster-port", str(free_port()), "--tls-cluster", "yes",
                 "--cluster-announce-ip", "127.0.0.1", hosts="DNS:localhost")
    assert server.cli("cluster", "addslotsrange", "0", "16383") == "OK"
    bill = look(place, f"rediss+cluster://localhost:{server.tls_port}?ca={server.ca}")
    assert bill.all["servers"][1:] == [f"rediss://{host}:{server.tls_port}" for host in ("localhost", "127.0.0.1")]
    assert [(f["server"], f["grade"]) for f in bill.findings if f["check"] == "tls"] == [(1, "ok"), (2, "failure")]
    assert bill.code == 1


def look_until(place, url, begin):
    """The bill with this TLS failure: a server that is given 300 ms may be late, but not twenty times."""
    for _ in range(20):
        bill = look(place, url)
        if any(f["check"] == "tls" and f["what"].startswith(begin) for f in bill.findings):
            break
    return bill


def test_silent_mistakes_of_tls_are_named(place, tls):
    server = tls()
    said = "TLS to a plaintext port: "
    bill = look_until(place, f"rediss://127.0.0.1:{server.port}?ca={server.ca}&timeout=300ms", said)
    assert bill.code == 1
    assert bill.of("tls", "failure")["what"].startswith(said)
    said = "plaintext to a TLS port: "
    bill = look_until(place, f"redis://127.0.0.1:{server.tls_port}?timeout=300ms", said)
    assert bill.code == 1
    assert bill.of("tls", "failure")["what"].startswith(said)
    assert "rediss://" in bill.of("tls", "failure")["type"]


# ---- sentinels -----------------------------------------------------------------------------------------------


@pytest.fixture
def watched(place, start_redis):
    """A primary, its port, and a sentinel that monitors it."""
    port = free_port()
    server = start_redis(*GOOD, "--port", str(port), "--bind", "127.0.0.1")
    sentinel = Sentinel(place.root, port)
    yield server, port, sentinel
    sentinel.stop()


def test_a_service_is_its_sentinels_and_its_primary(place, watched):
    _, port, sentinel = watched
    bill = look(place, f"redis+sentinel://127.0.0.1:{sentinel.port}/mymaster")
    assert bill.all["servers"] == [f"sentinel 127.0.0.1:{sentinel.port}", f"redis://127.0.0.1:{port}"]
    assert (bill.code, bill.bad()) == (0, [])
    assert bill.of("sentinel")["what"] == f"the primary of mymaster is 127.0.0.1:{port}, epoch 0"
    assert [f["server"] for f in bill.findings if f["check"] in ("sentinel", "rights")] == [0, 1]


def test_primary_of_the_newest_epoch_is_checked(place, start_redis):
    """The first sentinel is cut off from the second, which has carried out a failover."""
    ports = [free_port(), free_port()]
    for port in ports:
        start_redis(*GOOD, "--port", str(port), "--bind", "127.0.0.1")
    sentinels = [Sentinel(place.root, port, epoch) for port, epoch in zip(ports, (3, 7))]
    for order in (sentinels, sentinels[::-1]):
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in order)
        bill = look(place, f"redis+sentinel://{hosts}/mymaster")
        assert (bill.code, bill.bad()) == (0, ["sentinel"])
        assert bill.all["servers"][-1] == f"redis://127.0.0.1:{ports[1]}"
        relation = "older epoch 3" if order is sentinels else "newer epoch 7"
        assert f"with the {relation}: " in bill.of("sentinel", "warning")["why"]
    for sentinel in sentinels:
        sentinel.stop()


def test_user_without_the_rights_at_a_sentinel(place, watched):
    _, _, sentinel = watched
    with socket.create_connection(("127.0.0.1", sentinel.port)) as line:
        line.sendall(b"ACL SETUSER default -sentinel|master\r\n")
        assert line.recv(16) == b"+OK\r\n"
    bill = look(place, f"redis+sentinel://127.0.0.1:{sentinel.port}/mymaster")
    assert (bill.code, bill.bad()) == (1, ["sentinel"])
    assert "+subscribe +sentinel|master +sentinel|get-master-addr-by-name" in bill.of("sentinel")["type"]


def test_unreachable_sentinel_is_no_failure_while_another_replies(place, watched):
    _, port, sentinel = watched
    gone = free_port()
    bill = look(place, f"redis+sentinel://127.0.0.1:{gone},127.0.0.1:{sentinel.port}/mymaster")
    assert (bill.code, bill.bad()) == (0, ["connect"])
    assert bill.of("connect", "warning")["server"] == 0
    assert bill.all["servers"][-1] == f"redis://127.0.0.1:{port}"
    bill = look(place, f"redis+sentinel://127.0.0.1:{gone}/mymaster")
    assert (bill.code, bill.bad()) == (1, ["connect"])


def test_as_many_sentinels_as_a_url_has(place, watched):
    """Each sentinel is a server with its own findings."""
    _, port, sentinel = watched
    hosts = ",".join([f"127.0.0.1:{sentinel.port}"] * 16)
    bill = look(place, f"redis+sentinel://{hosts}/mymaster")
    assert (bill.code, bill.bad(), len(bill.all["servers"])) == (0, [], 17)
    assert {f["server"] for f in bill.findings if f["check"] == "rights"} == {16}


def test_server_used_as_a_sentinel(place, watched):
    _, port, _ = watched
    bill = look(place, f"redis+sentinel://127.0.0.1:{port}/mymaster")
    assert (bill.code, bill.bad()) == (1, ["sentinel"])
    assert bill.of("sentinel")["what"].startswith("this is not a sentinel: ")
    assert f"redis://127.0.0.1:{port}" in bill.of("sentinel")["type"]


def test_a_sentinel_with_a_password(place, watched):
    _, port, sentinel = watched
    with socket.create_connection(("127.0.0.1", sentinel.port)) as line:
        line.sendall(b"ACL SETUSER default resetpass >c0rrect\r\n")
        assert line.recv(16) == b"+OK\r\n"
    bill = look(place, f"redis+sentinel://127.0.0.1:{sentinel.port}/mymaster")
    assert (bill.code, bill.bad()) == (1, ["authentication"])
    assert "NOAUTH" in bill.of("authentication")["what"]
    assert "sentinel-password-file=" in bill.of("authentication")["type"]


def test_service_without_a_sentinel(place, watched):
    bill = look(place, f"redis+sentinel://127.0.0.1:{watched[2].port}/mimaster")
    assert (bill.code, bill.bad()) == (1, ["sentinel"])
    assert "does not monitor mimaster" in bill.of("sentinel")["what"]
    assert bill.of("sentinel")["type"] == f"redis-cli -h 127.0.0.1 -p {watched[2].port} SENTINEL MASTERS"


def test_sentinel_used_as_a_server(place, watched):
    bill = look(place, f"redis://127.0.0.1:{watched[2].port}")
    assert bill.code == 1
    assert "sentinel" in bill.of("mode", "failure")["what"]
