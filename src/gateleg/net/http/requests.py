"""HTTP requests as values, and their encoding."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from gateleg.net.addresses import Address
from gateleg.net.http.errors import BadHeader

#: The characters that paths may contain unencoded (RFC 3986). Some services have colons in paths and do not accept them encoded.
_PATH = "/-_.~%:@!$&'()*+,;="


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds. A deadline limits a whole call."""

    #: for opening a connection, including the TLS handshake
    connect: float = 5.0
    #: for the next bytes of a response
    read: float = 10.0
    #: how long an idle connection is reused; services close idle connections too, and a request may be lost then
    idle: float = 20.0


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request to a URL."""

    url: str
    body: bytes = b""
    #: not in the `repr`, because they may contain a key
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    method: str = "POST"

    @property
    def address(self) -> Address:
        """The address of the server."""
        parts = urlsplit(self.url)
        return Address.parse(f"{parts.scheme}://{parts.netloc}")

    @property
    def target(self) -> str:
        """The path and query of the request line."""
        parts = urlsplit(self.url)
        path = quote(parts.path, safe=_PATH) or "/"
        return f"{path}?{parts.query}" if parts.query else path

    def encode(self) -> bytes:
        """The bytes of the request. Raises `BadHeader` for a header with control or non-ASCII characters."""
        headers = {
            "host": self.address.authority,
            "accept-encoding": "identity",
            "content-length": str(len(self.body)),
            **self.headers,
        }
        for name, value in headers.items():
            if not (name + value).isascii() or not (name + value).isprintable():
                raise BadHeader(f"The header {name} cannot be sent: it contains a control character or a non-ASCII character.")
        lines = [f"{self.method} {self.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + self.body
