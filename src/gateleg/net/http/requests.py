"""A request as a value, and as bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from gateleg.net.addresses import Address
from gateleg.net.http.errors import BadHeader

#: What a path may hold as it is (RFC 3986); some services have colons in theirs, and do not take them encoded.
_PATH = "/-_.~%:@!$&'()*+,;="


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait, in seconds. A whole call is bounded by its deadline."""

    #: until a connection is made, with its TLS handshake
    connect: float = 5.0
    #: for the next bytes of a response
    read: float = 10.0
    #: until a connection without work is given up; services close them too, and a request that meets that is lost
    idle: float = 20.0


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """Something to be sent to a URL."""

    url: str
    body: bytes = b""
    #: not shown, as they may hold a key
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    method: str = "POST"

    @property
    def address(self) -> Address:
        """Where the service listens."""
        parts = urlsplit(self.url)
        return Address.parse(f"{parts.scheme}://{parts.netloc}")

    @property
    def target(self) -> str:
        """The path and the query that are asked for."""
        parts = urlsplit(self.url)
        path = quote(parts.path, safe=_PATH) or "/"
        return f"{path}?{parts.query}" if parts.query else path

    def encode(self) -> bytes:
        """The request as it goes over the wire. A header that would break out of its line is refused with `BadHeader`."""
        headers = {
            "host": self.address.authority,
            "accept-encoding": "identity",
            "content-length": str(len(self.body)),
            **self.headers,
        }
        for name, value in headers.items():
            if not (name + value).isascii() or not (name + value).isprintable():
                raise BadHeader(f"The header {name} cannot be sent: it holds a control character or a letter beyond ASCII.")
        lines = [f"{self.method} {self.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + self.body
