"""`GuardedClient`: an HTTP client for addresses that users supply. It checks every address before connecting, also after a redirect."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from gateleg.net.errors import (
    AddressRefused,
    AnswerTooLarge,
    BadHeader,
    HttpError,
    NotReached,
    OutgoingTimedOut,
    ResponseTimedOut,
    ResponseTooLarge,
    TooManyRedirects,
)
from gateleg.net.guard import Guard
from gateleg.net.http.async_pool import AsyncPool
from gateleg.net.http.pool import Timeouts

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from gateleg.net.guard import Address, IPAddress
    from gateleg.net.http.async_pool import AsyncConnection, AsyncStreamedResponse
    from gateleg.net.http.messages import HttpRequest

__all__ = ["GuardedClient", "GuardedResponse", "GuardedStream"]

#: The headers that are also sent to another server after a redirect: none that could contain a key.
_HARMLESS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
#: Headers that define the receiver and the end of a request. Callers must not set them, to prevent request smuggling.
_FRAMING = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_METHOD = re.compile(r"[A-Z]{1,20}")
#: The maximum seconds for resolving a name in `check`.
_LOOKUP_SECONDS = 5.0
#: Bytes for the head of a response, in addition to the limit of the body.
_HEAD = 64 * 1024


async def resolve(host: str, port: int) -> Sequence[IPAddress]:
    """The numeric addresses of a host, from the system's resolver."""
    entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in entries))


@dataclass(frozen=True, slots=True)
class GuardedResponse:
    """A complete response. `url` is its address after redirects."""

    status: int
    headers: dict[str, str]
    body: bytes
    url: str


class GuardedStream:
    """A response whose body is read in pieces, by iterating over it, within the limits of the client."""

    def __init__(self, response: AsyncStreamedResponse, url: str, limit: int, ends: float) -> None:
        self._response = response
        self._limit = limit
        self._ends = ends
        self.status = response.status
        #: by lower-case name
        self.headers = response.headers
        #: its address after redirects
        self.url = url

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        loop = asyncio.get_running_loop()
        try:
            while True:
                with _TranslatedErrors(self.url):
                    async with asyncio.timeout_at(self._ends):
                        piece = await self._response.receive(max(0.001, self._ends - loop.time()))
                if not piece:
                    return
                received += len(piece)
                if received > self._limit:
                    raise AnswerTooLarge(f"The answer of {_origin(self.url)} has more than {self._limit:,} bytes.")
                yield piece
        finally:
            self.close()

    def close(self) -> None:
        self._response.close()


@dataclass(frozen=True)
class GuardedClient:
    """Sends requests to addresses that the guard allows. Every request uses a new connection.

    A call takes at most `seconds`, including redirects and reading the body; a body has at most `limit` bytes. `resolve` and `tls` replace
    the system's resolver and its trusted certificates.
    """

    guard: Guard = field(default_factory=Guard)
    seconds: float = 30.0
    limit: int = 10_000_000
    redirects: int = 5
    tls: ssl.SSLContext | None = None
    resolve: Callable[[str, int], Awaitable[Sequence[IPAddress]]] = resolve

    async def fetch(self, request: HttpRequest) -> GuardedResponse:
        """Send a request and return the whole response. Raises `AddressRefused` or another `OutgoingError`."""
        stream = await self.open(request)
        body = b"".join([piece async for piece in stream])
        return GuardedResponse(stream.status, stream.headers, body, stream.url)

    async def check(self, url: str) -> None:
        """Raise `AddressRefused` for an address that is not allowed, without sending a request. A name that cannot be resolved passes."""
        address = self.guard.check_url(url)
        try:
            async with asyncio.timeout(_LOOKUP_SECONDS):
                await self._resolve_checked(address)
        except (OSError, TimeoutError):
            return

    async def open(self, request: HttpRequest) -> GuardedStream:
        """Send a request and return the response once its head was received. Iterate over it for the body, or close it."""
        ends = asyncio.get_running_loop().time() + self.seconds
        for _ in range(self.redirects + 1):
            response = await self._send(request, ends)
            target = response.headers.get("location")
            if response.status not in _REDIRECTS or target is None or not self.redirects:
                return GuardedStream(response, request.url, self.limit, ends)
            response.close()
            request = redirected(request, response.status, target)
        raise TooManyRedirects(f"{_origin(request.url)} has redirected more than {self.redirects} times.")

    async def _send(self, request: HttpRequest, ends: float) -> AsyncStreamedResponse:
        if not _METHOD.fullmatch(request.method):
            raise AddressRefused("The method of the request is not an HTTP method.")
        if framing := sorted(name for name in request.headers if name.lower() in _FRAMING):
            raise AddressRefused(f"The header {framing[0]} is set by the host.", fix="Remove the header.")
        address = self.guard.check_url(request.url)
        try:
            data = request.encode()
        except BadHeader as error:
            raise AddressRefused(str(error), fix="Use ASCII characters only in headers.") from None
        pool = AsyncPool(address, tls=self.tls, connect=self._connect, limit=self.limit + _HEAD, keep=0)
        with _TranslatedErrors(request.url):
            async with asyncio.timeout_at(ends):
                return await pool.open(data, Timeouts(connect=self.seconds, read=self.seconds))

    async def _connect(self, make: Callable[[], AsyncConnection], address: Address, tls: ssl.SSLContext | None) -> AsyncConnection:
        """Connect to a checked address. The name is not resolved again, which could give another address."""
        loop = asyncio.get_running_loop()
        failure: OSError = OSError("the name has no address")
        for numeric in await self._resolve_checked(address):
            try:
                # The certificate is for the name, not for the numeric address.
                _, connection = await loop.create_connection(
                    make, str(numeric), address.port, ssl=tls, server_hostname=address.host if tls else None
                )
            except OSError as error:
                failure = error
            else:
                return connection
        raise failure

    async def _resolve_checked(self, address: Address) -> Sequence[IPAddress]:
        """The numeric addresses of a host, which are all allowed."""
        resolved = await self.resolve(address.host, address.port)
        for numeric in resolved:
            self.guard.check_address(address, numeric)
        return resolved


def redirected(request: HttpRequest, status: int, target: str) -> HttpRequest:
    """The request to send after a redirect: without the body where browsers omit it, and without credentials to another server."""
    url = urljoin(request.url, target)
    if _origin(request.url).startswith("https:") and not url.startswith("https:"):
        raise AddressRefused(f"{_origin(request.url)} redirects to an address without TLS.")
    turned = status == 303 or (status in (301, 302) and request.method == "POST")
    foreign = _origin(url) != _origin(request.url)
    headers = {name: value for name, value in request.headers.items() if not foreign or name.lower() in _HARMLESS}
    if turned and request.method != "HEAD":
        headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
        return replace(request, url=url, method="GET", body=b"", headers=headers)
    return replace(request, url=url, headers=headers)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


class _TranslatedErrors:
    """Context manager that translates errors of a request into `OutgoingError`s for users."""

    def __init__(self, url: str) -> None:
        self._place = _origin(url)

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TimeoutError | ResponseTimedOut):
            raise OutgoingTimedOut(f"{self._place} did not answer in time.") from error
        if isinstance(error, ResponseTooLarge):
            raise AnswerTooLarge(f"The answer of {self._place} is larger than allowed.") from error
        if isinstance(error, HttpError | OSError):
            raise NotReached(f"{self._place} cannot be reached, or did not answer in HTTP.") from error
