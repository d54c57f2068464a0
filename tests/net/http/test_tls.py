import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from gateleg.net.http import NotConnected, tls_context
from tests.net.http.faulty import service
from tests.net.http.openers import AsyncOpener, Opener, SyncOpener

ASK = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, *names, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    return certificate, key


@pytest.fixture
def server(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def read_all(opener: Opener) -> bytes:
    response, body = opener.open(ASK), b""
    while piece := response.receive():
        body += piece
    return body


@pytest.mark.parametrize("kind", [SyncOpener, AsyncOpener])
def test_encrypted_connection_is_kept(kind: type[SyncOpener | AsyncOpener], certificate: tuple[Path, Path], server: ssl.SSLContext) -> None:
    with service(tls=server) as play:
        opener = kind(play.url, tls=tls_context(certificate[0]))
        for _ in range(3):
            assert read_all(opener) == b"{}"
            assert opener.exchange(ASK).body == b"{}"
        opener.close()
        assert play.connections == 1


@pytest.mark.parametrize("kind", [SyncOpener, AsyncOpener])
def test_untrusted_certificate_is_a_permanent_error(kind: type[SyncOpener | AsyncOpener], server: ssl.SSLContext) -> None:
    with service(tls=server) as play:
        opener = kind(play.url)
        with pytest.raises(NotConnected, match="certificate verify failed") as caught:
            opener.exchange(ASK)
        opener.close()
        assert caught.value.permanent
        assert play.requests == []


def test_servers_are_verified() -> None:
    context = tls_context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
