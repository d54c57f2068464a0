import ssl

from gateleg.net.http import tls_context


def test_servers_are_verified() -> None:
    context = tls_context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
