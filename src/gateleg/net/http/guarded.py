"""`GuardedClient`: requests to addresses that users supply. Every address is checked before connecting, also after a redirect."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from gateleg.net.errors import AddressRefused, AnswerTooLarge, NotReached, OutgoingTimedOut, TooManyRedirects
from gateleg.net.guard import Guard
from gateleg.net.http.async_pool import AsyncPool
from gateleg.net.http.errors import BadHeader, HttpError, ResponseTimedOut, ResponseTooLarge
from gateleg.net.http.requests import HttpRequest, Timeouts

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from gateleg.net.addresses import Address
    from gateleg.net.guard import IPAddress
    from gateleg.net.http.async_connection import Connection
    from gateleg.net.http.async_pool import AsyncStreamedResponse

__all__ = ["GuardedClient", "GuardedResponse", "GuardedStream"]

#: What goes along to another server when the first one redirects there: nothing that could be a key.
_HARMLESS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
#: What says where a request goes and where it ends: one that brings its own could be read as two, or as another server's.
_FRAMING = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_METHOD = re.compile(r"[A-Z]{1,20}")
#: Seconds that a name may take to be resolved while an address is only checked.
_LOOKUP = 5.0
#: The head of a response counts too.
_HEAD = 64 * 1024


async def resolve(host: str, port: int) -> Sequence[IPAddress]:
    """The numeric addresses of a host, as the system finds them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


@dataclass(frozen=True, slots=True)
class GuardedResponse:
    """A whole response. `url` is where it came from, after all redirections."""

    status: int
    headers: dict[str, str]
    body: bytes
    url: str


class GuardedStream:
    """A response whose body is read piece by piece, within the limits of its client."""

    def __init__(self, response: AsyncStreamedResponse, url: str, limit: int, ends: float) -> None:
        self._response = response
        self._limit = limit
        self._ends = ends
        self.status = response.status
        #: by their names in lower case
        self.headers = response.headers
        #: where it came from, after all redirections
        self.url = url

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        loop = asyncio.get_running_loop()
        try:
            while True:
                with _Explained(self.url):
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
        """Let go of the connection."""
        self._response.close()


@dataclass(frozen=True)
class GuardedClient:
    """Sends requests that the guard allows. Every request has a connection of its own, so that nothing is kept for addresses of others.

    A whole call takes at most `seconds`, with redirections and the body; a body has at most `limit` bytes. `resolve` and `tls` replace the
    system's resolver and its trusted certificates.
    """

    guard: Guard = field(default_factory=Guard)
    seconds: float = 30.0
    limit: int = 10_000_000
    redirects: int = 5
    tls: ssl.SSLContext | None = None
    resolve: Callable[[str, int], Awaitable[Sequence[IPAddress]]] = resolve

    async def fetch(self, request: HttpRequest) -> GuardedResponse:
        """The whole response to a request. Raises `AddressRefused`, or another `OutgoingError`."""
        stream = await self.open(request)
        body = b"".join([piece async for piece in stream])
        return GuardedResponse(stream.status, stream.headers, body, stream.url)

    async def check(self, url: str) -> None:
        """Refuse an address that a request would be refused for, without sending one. A name that cannot be resolved now passes."""
        address = self.guard.check_url(url)
        try:
            async with asyncio.timeout(_LOOKUP):
                found = await self.resolve(address.host, address.port)
        except (OSError, TimeoutError):
            return
        for one in found:
            self.guard.check_address(address, one)

    async def open(self, request: HttpRequest) -> GuardedStream:
        """The response to a request, when its head has come. Iterate over it for its body, or close it."""
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
            raise AddressRefused("The method of the request is not one of HTTP.")
        if framing := sorted(name for name in request.headers if name.lower() in _FRAMING):
            raise AddressRefused(f"The header {framing[0]} is set by the host itself.", fix="Leave it out.")
        address = self.guard.check_url(request.url)
        try:
            data = request.encode()
        except BadHeader as error:
            raise AddressRefused(str(error), fix="Send letters of ASCII in headers.") from None
        pool = AsyncPool(address, tls=self.tls, connect=self._connect, limit=self.limit + _HEAD, keep=0)
        with _Explained(request.url):
            async with asyncio.timeout_at(ends):
                return await pool.open(data, Timeouts(connect=self.seconds, read=self.seconds))

    async def _connect(self, make: Callable[[], Connection], address: Address, tls: ssl.SSLContext | None) -> Connection:
        """Connect to an address that was judged: the name is not looked up a second time, which could lead elsewhere."""
        found = await self.resolve(address.host, address.port)
        for one in found:
            self.guard.check_address(address, one)
        loop = asyncio.get_running_loop()
        failure: OSError = OSError("the name has no address")
        for one in found:
            try:
                # The certificate is that of the name, not of the number.
                _, connection = await loop.create_connection(
                    make, str(one), address.port, ssl=tls, server_hostname=address.host if tls else None
                )
            except OSError as error:
                failure = error
            else:
                return connection
        raise failure


def redirected(request: HttpRequest, status: int, target: str) -> HttpRequest:
    """The request that a redirection asks for: without a body where browsers leave it out, and without keys to another server."""
    url = urljoin(request.url, target)
    if _origin(request.url).startswith("https:") and not url.startswith("https:"):
        raise AddressRefused(f"{_origin(request.url)} redirects to an address without encryption.")
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


class _Explained:
    """Puts words for users to what goes wrong on the way to an address."""

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
