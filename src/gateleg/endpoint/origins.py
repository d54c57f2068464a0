"""Check which web pages may use an endpoint, and by which host names.

A browser sends requests on behalf of any page, also to this machine; only the `Origin` and `Host` headers identify the page. If signatures
are not verified, both must be local or explicitly allowed. The host is checked because a page can make its own name resolve to this machine
(DNS rebinding), and is then not cross-origin. If signatures are verified, a page without credentials has no access, so any origin is
accepted, as with DynamoDB.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

import orjson

from gateleg.endpoint.errors import BadOrigin
from gateleg.endpoint.requests import IncomingRequest
from gateleg.endpoint.responses import AMZ_JSON, OutgoingResponse
from gateleg.engine import EngineError
from gateleg.net import is_loopback

_EXPOSED_HEADERS = b"x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date"


class Origins:
    """Checks the `Origin` and `Host` headers of requests.

    `allowed` are additional origins such as `https://example.com`; their hosts are accepted as host names of the endpoint. With `signed`,
    every request must have a valid signature; then any host is accepted, and any origin too unless some are `allowed` explicitly.
    """

    def __init__(self, allowed: Iterable[str] = (), *, signed: bool = False) -> None:
        origins = [_normalize(origin) for origin in allowed]
        self._allowed = frozenset(origins)
        self._hosts = frozenset(_host_of(origin.partition(b"://")[2]) for origin in origins)
        self._any_origin = signed and not origins
        self._any_host = signed

    def refusal(self, request: IncomingRequest) -> OutgoingResponse | None:
        """The response to a request with a disallowed origin or host; None if both are allowed."""
        headers = request.headers
        origin = headers.get(b"origin")
        if origin is not None and not self._any_origin and not self._allows_origin(origin):
            return _refused(f"The origin {origin.decode('latin-1')} is not allowed to use this endpoint. Allow it with --allow-origin.")
        host = headers.get(b"host")
        if host is not None and not self._any_host and not self._allows_host(_host_of(host)):
            return _refused(
                f"The host name {host.decode('latin-1')} is not allowed. Use the endpoint's loopback address, allow it with "
                "--allow-origin, or require signed requests with --credentials."
            )
        return None

    def headers(self, request: IncomingRequest) -> bytes:
        """The CORS headers for an allowed origin; for a preflight request, all requested headers and methods are granted."""
        origin = request.headers.get(b"origin")
        if origin is None or not (self._any_origin or self._allows_origin(origin)):
            return b""
        granted = b"*" if self._any_origin else origin + b"\r\nVary: Origin"
        lines = b"Access-Control-Allow-Origin: " + granted + b"\r\nAccess-Control-Expose-Headers: " + _EXPOSED_HEADERS + b"\r\n"
        return lines + _preflight(request) if request.method == b"OPTIONS" else lines

    def _allows_origin(self, origin: bytes) -> bool:
        scheme, separator, host = origin.lower().partition(b"://")
        if not separator:
            return False
        return origin.lower() in self._allowed or (scheme in (b"http", b"https") and is_loopback(_host_of(host)))

    def _allows_host(self, host: str) -> bool:
        return is_loopback(host) or host in self._hosts


def _preflight(request: IncomingRequest) -> bytes:
    lines = b""
    for asked, granted in (
        (b"access-control-request-headers", b"Access-Control-Allow-Headers: "),
        (b"access-control-request-method", b"Access-Control-Allow-Methods: "),
    ):
        if asked in request.headers:
            lines += granted + request.headers[asked] + b"\r\n"
    return lines + b"Access-Control-Max-Age: 172800\r\n"


def _normalize(origin: str) -> bytes:
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        raise BadOrigin(f"{origin!r} is not an origin.") from None
    if not parts.scheme or not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None:
        raise BadOrigin(f"{origin!r} is not an origin.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    if not host.isascii():
        raise BadOrigin(f"{origin!r} is not an origin.", fix="Write its host as browsers send it, in ASCII (xn--...).")
    return f"{parts.scheme}://{host}{'' if port in (None, usual) else f':{port}'}".lower().encode()


def _host_of(address: bytes) -> str:
    """The host of `host:port`, in lower case and without the brackets of an IPv6 address."""
    text = address.decode("latin-1").strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    name, colon, port = text.rpartition(":")
    return name if colon and port.isdigit() else text


def _refused(message: str) -> OutgoingResponse:
    return OutgoingResponse(403, orjson.dumps(EngineError("AccessDeniedException", message).body()), AMZ_JSON)
