"""A request as a value, and as bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from gateleg.ai.errors import BadAsk
from gateleg.store.transports.addresses import Address


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait, in seconds."""

    #: until a connection is made, with its TLS handshake
    connect: float = 10.0
    #: for the next bytes of an answer; models think before they speak
    silence: float = 120.0
    #: for a whole call, with all its attempts and pauses
    total: float = 600.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How long one attempt may take, in seconds."""

    connect: float
    silence: float
    #: what is left of the whole call's time
    left: float


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """Something to be sent to a URL."""

    url: str
    body: bytes = b""
    #: not shown, as they hold the key
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    method: str = "POST"

    @property
    def address(self) -> Address:
        """Where the service listens."""
        parts = urlsplit(self.url)
        return Address.parse(f"{parts.scheme}://{parts.netloc}")

    @property
    def path(self) -> str:
        """The path that is asked for."""
        parts = urlsplit(self.url)
        path = Address.parse(f"{parts.scheme}://{parts.netloc}{parts.path}").path
        return f"{path}?{parts.query}" if parts.query else path


def wire_form(request: HttpRequest) -> bytes:
    """The request as it goes over the wire. A header that would break out of its line is refused."""
    headers = {
        "host": request.address.authority,
        "accept-encoding": "identity",
        "content-length": str(len(request.body)),
        **request.headers,
    }
    for name, value in headers.items():
        if not (name + value).isascii() or not (name + value).isprintable():
            raise BadAsk(f"The header {name} cannot be sent: it holds a control character or a letter beyond ASCII.", fix="Check the key.")
    lines = [f"{request.method} {request.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + request.body
