import pytest

from gateleg.net.http import BadHeader, HttpRequest


def test_request_is_written_with_its_headers_and_its_length() -> None:
    request = HttpRequest("http://host:8000/a b?q=1", b"body", {"x": "y"})
    assert request.encode() == (
        b"POST /a%20b?q=1 HTTP/1.1\r\nhost: host:8000\r\naccept-encoding: identity\r\ncontent-length: 4\r\nx: y\r\n\r\nbody"
    )


@pytest.mark.parametrize("key", ["a\r\nx-evil: 1", "a\nb", "a\x00", "ключ"])
def test_key_that_would_break_out_of_its_header_is_refused(key: str) -> None:
    with pytest.raises(BadHeader, match="authorization cannot be sent"):
        HttpRequest("http://host/x", b"", {"authorization": f"Bearer {key}"}).encode()


def test_request_does_not_show_its_headers() -> None:
    assert "secret" not in repr(HttpRequest("http://host/x", b"", {"authorization": "Bearer secret"}))
