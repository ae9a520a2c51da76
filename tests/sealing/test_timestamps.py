"""RFC 3161 stamps, against an authority of our own: OpenSSL behind a server on this machine."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lacre.errors import ColumnError, InputError, IntegrityError
from lacre.sealing.timestamps import QUERY, REPLY, in_order, post, read_certificates, stamp, verify

pytest.importorskip("rfc3161_client", reason="needs the [timestamp] extra")
if shutil.which("openssl") is None:
    pytest.skip("needs the openssl command", allow_module_level=True)

CONFIG = """\
[tsa]
default_tsa = authority
[authority]
serial = {folder}/serial
crypto_device = builtin
signer_cert = {folder}/tsa.pem
signer_key = {folder}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:1
ordering = yes
tsa_name = yes
ess_cert_id_chain = no
ess_cert_id_alg = sha256
[ext]
extendedKeyUsage = critical,timeStamping
keyUsage = critical,digitalSignature
"""


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root, and an authority under it."""
    folder = tmp_path_factory.mktemp("authority")
    config = folder / "tsa.cnf"
    config.write_text(CONFIG.format(folder=folder))
    (folder / "serial").write_text("01\n")
    new = ("-newkey", "rsa:2048", "-nodes")
    openssl("req", "-x509", *new, "-keyout", f"{folder}/root.key", "-out", f"{folder}/root.pem",
            "-subj", "/CN=Raiz", "-days", "30", "-addext", "basicConstraints=critical,CA:TRUE")  # fmt: skip
    openssl("req", *new, "-keyout", f"{folder}/tsa.key", "-out", f"{folder}/tsa.csr", "-subj", "/CN=Cartorio")
    openssl("x509", "-req", "-in", f"{folder}/tsa.csr", "-CA", f"{folder}/root.pem", "-CAkey", f"{folder}/root.key",
            "-out", f"{folder}/tsa.pem", "-days", "30", "-extfile", str(config), "-extensions", "ext")  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def address(authority: Path) -> Iterator[str]:
    """Where the authority answers; /broken answers with a page, /down with an error."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == QUERY
            if self.path == "/broken":
                reply = b"<html>"
            else:
                (authority / "query.tsq").write_bytes(body)
                openssl("ts", "-reply", "-config", f"{authority}/tsa.cnf", "-queryfile", f"{authority}/query.tsq",
                        "-out", f"{authority}/reply.tsr")  # fmt: skip
                reply = (authority / "reply.tsr").read_bytes()
            self.send_response(500 if self.path == "/down" else 200)
            self.send_header("Content-Type", REPLY)
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_stamp_holds_for_its_bytes_and_no_others(authority: Path, address: str) -> None:
    roots = read_certificates(authority / "root.pem")
    reply = stamp(b"freeze", address + "/", post)
    seen = verify(reply, b"freeze", roots, "freeze.tsr")
    assert abs((datetime.fromisoformat(seen.at) - datetime.now(UTC)).total_seconds()) < 60
    assert "Cart" in seen.authority
    with pytest.raises(IntegrityError, match=r"freeze\.tsr: is no good time stamp of this"):
        verify(reply, b"frozen", roots, "freeze.tsr")
    with pytest.raises(IntegrityError):
        verify(reply, b"freeze", read_certificates(_other_root(authority)), "freeze.tsr")


def test_a_stamp_that_brings_its_whole_chain_in_any_order_holds(authority: Path, address: str) -> None:
    roots = read_certificates(authority / "root.pem")
    config = (authority / "tsa.cnf").read_text()
    with_chain = config.replace("signer_key", f"certs = {authority}/root.pem\nsigner_key", 1)
    try:
        (authority / "tsa.cnf").write_text(with_chain)
        reply = stamp(b"freeze", address + "/", post)
    finally:
        (authority / "tsa.cnf").write_text(config)
    assert "Cart" in verify(reply, b"freeze", roots, "freeze.tsr").authority
    again = in_order(reply)
    assert (sorted(again), in_order(again)) == (sorted(reply), again)
    with pytest.raises(IntegrityError, match="is no good time stamp of this"):
        verify(reply, b"frozen", roots, "freeze.tsr")


@pytest.mark.parametrize("cut", range(0, 60, 3))
def test_an_answer_cut_anywhere_is_left_as_it_is(cut: int, address: str) -> None:
    reply = stamp(b"freeze", address + "/", post)[: cut * 30]
    assert in_order(reply) == reply


def test_openssl_agrees_that_it_holds(authority: Path, address: str) -> None:
    (authority / "message").write_bytes(b"freeze")
    (authority / "checked.tsr").write_bytes(stamp(b"freeze", address + "/", post))
    openssl("ts", "-verify", "-data", f"{authority}/message", "-in", f"{authority}/checked.tsr",
            "-CAfile", f"{authority}/root.pem")  # fmt: skip


def test_a_changed_stamp_does_not_hold(authority: Path, address: str) -> None:
    roots = read_certificates(authority / "root.pem")
    reply = stamp(b"freeze", address + "/", post)
    at = reply.index(b"1.2.3.4") if b"1.2.3.4" in reply else len(reply) - 20
    changed = bytearray(reply)
    changed[at] ^= 1
    with pytest.raises(IntegrityError):
        verify(bytes(changed), b"freeze", roots, "freeze.tsr")
    for piece in (b"", b"nonsense", reply[: len(reply) // 2]):
        with pytest.raises(IntegrityError):
            verify(piece, b"freeze", roots, "freeze.tsr")


@pytest.mark.parametrize(
    ("path", "said"), [("/broken", "did not answer with a time stamp"), ("/down", "status 500")]
)
def test_an_authority_that_fails_is_named(path: str, said: str, address: str) -> None:
    with pytest.raises(ColumnError, match=said):
        stamp(b"freeze", address + path, post)


def test_an_authority_that_is_not_there_is_named() -> None:
    with pytest.raises(ColumnError, match="cannot be reached"):
        stamp(b"freeze", "http://127.0.0.1:9/", post)


def test_a_file_without_certificates_is_named(tmp_path: Path) -> None:
    (tmp_path / "root.pem").write_text("nothing")
    with pytest.raises(InputError, match="holds no certificate"):
        read_certificates(tmp_path / "root.pem")


def _other_root(folder: Path) -> Path:
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{folder}/other.key",
            "-out", f"{folder}/other.pem", "-subj", "/CN=Outra", "-days", "30")  # fmt: skip
    return folder / "other.pem"
