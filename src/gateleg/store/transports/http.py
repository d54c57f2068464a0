"""DynamoDB over HTTP on plain sockets, for threads and for asyncio.

`WireTransport` and `AsyncWireTransport` send and wait. What to send, how to read the response, and whether and when to resend a request is
decided without I/O, in `ProtocolClient` and `CallAttempts`.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.net import (
    Address,
    Chain,
    Credentials,
    CredentialSource,
    Deadline,
    Fixed,
    JsonRequestSigner,
    NoCredentials,
    Retries,
    RetryBudget,
    ServiceClock,
    amazon,
    is_throttled,
    may_pass,
    region_of_chain,
)
from gateleg.net.http import AsyncPool, HttpError, Pool, Response, Timeouts
from gateleg.net.http.async_pool import connect_loop
from gateleg.net.http.pool import connect_socket
from gateleg.store.errors import BadAddress, shown_address
from gateleg.store.transports import FOREIGN, ServiceError, Unreachable, missing_credentials
from gateleg.store.transports.messages import LIMIT, encode, is_idempotent, result

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Iterator

    from gateleg.net.http import AsyncConnection, Socket


#: Operations with another service name in `X-Amz-Target`, which Amazon serves on another host.
STREAMS = frozenset({"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"})
#: Error codes that may mean that the local clock differs too much from that of the service.
SKEWED = frozenset({"InvalidSignatureException", "RequestTimeTooSkewed", "RequestExpired", "SignatureDoesNotMatch"})
EXPIRED = frozenset({"ExpiredTokenException", "ExpiredToken"})


@dataclass(frozen=True)
class HttpOptions:
    """The address of the service, credentials, timeouts and retries.

    Without `endpoint`, the service is Amazon DynamoDB in `region`, by default the region of botocore's configuration. Without
    `credentials`, they are loaded from the places where botocore looks. If there are none, requests to an `endpoint` use placeholders.
    """

    endpoint: str | None = None
    region: str | None = None
    credentials: Credentials | CredentialSource | None = None
    #: a profile of the AWS configuration files
    profile: str | None = None
    #: see `tls_context`
    tls: ssl.SSLContext | None = None
    #: for single attempts; the `timeout` of a call limits the call with its retries
    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: Retries = field(default_factory=Retries)
    #: request compressed responses, which helps only over slow networks
    gzip: bool = False


class WireTransport:
    """Sends requests to Amazon DynamoDB, or to any endpoint that speaks its protocol.

    Threads may share it; each call in progress uses one connection. `connect` replaces the network, for tests.
    """

    def __init__(
        self,
        options: HttpOptions | None = None,
        *,
        connect: Callable[[Address, float, ssl.SSLContext | None], Socket] = connect_socket,
        clock: ServiceClock | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        client = self._client = ProtocolClient(options or HttpOptions(), clock)
        self._timeouts = client.options.timeouts
        self._sleep = sleep
        self._pool, self._streams = (
            Pool(address, tls=client.options.tls, connect=connect, limit=LIMIT) for address in (client.address, client.streams)
        )

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Send a request. `timeout` is in seconds and includes retries."""
        body = encode(operation, request)
        deadline = self._client.deadline(timeout)
        attempts: CallAttempts | None = None
        while True:
            try:
                return self._attempt(operation, body, deadline)
            except (HttpError, ErrorResponse) as failure:
                attempts = attempts or self._client.attempts(operation, request, deadline)
                delay = attempts.after(failure)
            self._sleep(delay)

    def close(self) -> None:
        """Close the idle connections. The others are closed when their calls have ended and the transport is deleted."""
        self._pool.close()
        self._streams.close()

    def _attempt(self, operation: str, body: bytes, deadline: Deadline | None) -> dict[str, Any]:
        client = self._client
        credentials = client.source.current() or client.load_credentials()
        pool = self._streams if operation in STREAMS else self._pool
        return client.read(pool.exchange(client.write(operation, body, credentials), self._timeouts, deadline))


class AsyncWireTransport:
    """Sends requests to Amazon DynamoDB, or to any endpoint that speaks its protocol.

    It sends at most `connections` requests at once; others wait. A cancelled call closes its connection; whether its write was applied is
    unknown. `connect` replaces the network, for tests.
    """

    def __init__(
        self,
        options: HttpOptions | None = None,
        *,
        connections: int = 100,
        connect: Callable[[Callable[[], AsyncConnection], Address, ssl.SSLContext | None], Awaitable[AsyncConnection]] = connect_loop,
        clock: ServiceClock | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        client = self._client = ProtocolClient(options or HttpOptions(), clock)
        self._timeouts = client.options.timeouts
        self._limit = connections
        self._sleep = sleep
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turns = asyncio.Semaphore(connections)
        self._loading: asyncio.Future[Credentials] | None = None
        self._pool, self._streams = (
            AsyncPool(address, tls=client.options.tls, connect=connect, limit=LIMIT, keep=connections)
            for address in (client.address, client.streams)
        )

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Send a request. `timeout` is in seconds and includes retries and the wait for a connection."""
        if timeout is None:
            return await self._call(operation, request, None)
        try:
            async with asyncio.timeout(timeout):
                return await self._call(operation, request, self._client.deadline(timeout))
        except TimeoutError:
            raise Unreachable("The call timed out.") from None

    async def close(self) -> None:
        """Close the idle connections, and wait until they are closed."""
        await self._pool.close()
        await self._streams.close()

    async def _call(self, operation: str, request: dict[str, Any], deadline: Deadline | None) -> dict[str, Any]:
        body = encode(operation, request)
        attempts: CallAttempts | None = None
        while True:
            try:
                return await self._attempt(operation, body)
            except (HttpError, ErrorResponse) as failure:
                attempts = attempts or self._client.attempts(operation, request, deadline)
                delay = attempts.after(failure)
            await self._sleep(delay)

    async def _attempt(self, operation: str, body: bytes) -> dict[str, Any]:
        client = self._client
        if self._loop is not asyncio.get_running_loop():
            self._reset_loop()
        async with self._turns:
            credentials = client.source.current() or await self._load()
            pool = self._streams if operation in STREAMS else self._pool
            response = await pool.exchange(client.write(operation, body, credentials), self._timeouts)
        return client.read(response)

    def _reset_loop(self) -> None:
        """Start again in another event loop, without objects of the previous one."""
        self._loop = asyncio.get_running_loop()
        self._turns = asyncio.Semaphore(self._limit)
        self._loading = None

    async def _load(self) -> Credentials:
        """Load credentials in a thread, because that may send requests; all tasks wait for the same load."""
        if self._loading is None or self._loading.done():
            self._loading = asyncio.ensure_future(asyncio.to_thread(self._client.load_credentials))
        return await asyncio.shield(self._loading)


class ProtocolClient:
    """Writes requests to one service, and reads its responses."""

    def __init__(self, options: HttpOptions, clock: ServiceClock | None = None) -> None:
        region = options.region or region_of_chain(options.profile) or ("us-east-1" if options.endpoint else None)
        if region is None:
            raise BadAddress(
                "No region was passed, and botocore's configuration has none.", fix="Write dynamodb:eu-west-1, or set AWS_REGION."
            )
        self.options = options
        self.clock = clock or ServiceClock()
        self.source = _source(options)
        self.budget = RetryBudget(options.retries)
        self.address = _address(options.endpoint) if options.endpoint else amazon(region)
        self.streams = self.address if options.endpoint else amazon(region, "streams.dynamodb")
        self._signer, self._streams_signer = (
            JsonRequestSigner(address, "dynamodb", region, self.clock, target=target, gzip=options.gzip)
            for address, target in ((self.address, "DynamoDB_20120810"), (self.streams, "DynamoDBStreams_20120810"))
        )

    def load_credentials(self) -> Credentials:
        """Load the credentials, which may block."""
        try:
            return self.source.load()
        except NoCredentials as error:
            raise missing_credentials(error.public_text) from None

    def write(self, operation: str, body: bytes, credentials: Credentials) -> bytes:
        """The bytes of a signed request."""
        signer = self._streams_signer if operation in STREAMS else self._signer
        return signer.head(operation, body, credentials) + body

    def read(self, response: Response) -> dict[str, Any]:
        """The content of a response. Raises `ErrorResponse` for an error, and `BadResponse` for a response that is not DynamoDB's."""
        try:
            return result(response)
        except ServiceError as error:
            if error.code.startswith(FOREIGN):
                error.message = f"{self.address.url} does not speak the DynamoDB protocol: it answered with the status {response.status}."
            date = response.headers.get(b"date")
            raise ErrorResponse(error, date.decode("latin-1") if date is not None else None) from None

    def deadline(self, timeout: float | None) -> Deadline | None:
        """The deadline of a call that begins now."""
        return None if timeout is None else Deadline.after(timeout, self.options.retries.ticks)

    def attempts(self, operation: str, request: dict[str, Any], deadline: Deadline | None) -> CallAttempts:
        """The retry state of a call, created after its first failure."""
        return CallAttempts(operation, request, self.options.retries, self.budget, self.clock, self.source, deadline)


class ErrorResponse(Exception):
    """The service answered an attempt with an error. `date` is the `Date` header of the response."""

    def __init__(self, error: ServiceError, date: str | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.date = date


@dataclass
class CallAttempts:
    """The retry state of one call."""

    operation: str
    request: dict[str, Any]
    policy: Retries
    budget: RetryBudget
    clock: ServiceClock
    source: CredentialSource
    deadline: Deadline | None = None
    attempts: int = field(default=0, init=False)
    _delays: Iterator[float] = field(init=False)
    _corrected: set[str] = field(default_factory=set, init=False)
    #: whether an attempt without a response may have been executed
    _doubtful: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._delays = self.policy.delays(self.deadline)

    def after(self, failure: HttpError | ErrorResponse) -> float:
        """The seconds to wait before the next attempt. If there is none, raises the error for the caller."""
        self.attempts += 1
        if isinstance(failure, ErrorResponse):
            return self._after_refusal(failure.error, failure.date)
        final = Unreachable(failure.message, self.attempts)
        if failure.sent:
            self._doubt(final)
        if failure.permanent:
            raise final from None
        if failure.stale and self.attempts == 1 < self.policy.attempts:
            return 0.0
        return self._delay(final)

    def _after_refusal(self, error: ServiceError, date: str | None) -> float:
        error.attempts = self.attempts
        if self._correct_cause(error, date):
            return 0.0
        if not is_throttled(error.code, error.status):
            if not may_pass(error.status):
                raise self._refused(error) from None
            self._doubt(error)
        return self._delay(error)

    def _doubt(self, final: Exception) -> None:
        """Handle an attempt that may have been executed: raise the error unless the request may be repeated."""
        if not is_idempotent(self.operation, self.request):
            raise final from None
        self._doubtful = True

    def _delay(self, final: Exception) -> float:
        delay = next(self._delays, None) if self.attempts < self.policy.attempts else None
        if delay is None or not self.budget.spend():
            raise final from None
        return delay

    def _correct_cause(self, error: ServiceError, date: str | None) -> bool:
        """Correct the clock or reload the credentials, if that may have caused the error; return whether to retry. Tries each once."""
        if error.code in SKEWED and "clock" not in self._corrected:
            self._corrected.add("clock")
            return self.clock.repair(date)
        if error.code in EXPIRED and "credentials" not in self._corrected:
            self._corrected.add("credentials")
            before = self.source.current()
            self.source.expire()
            return self.source.current() != before
        return False

    def _refused(self, error: ServiceError) -> Exception:
        if self._doubtful and error.code == "ConditionalCheckFailedException":
            return Unreachable(
                "An attempt got no response, and the next one failed its condition, possibly because the first was executed.",
                self.attempts,
            )
        return error


def _address(endpoint: str) -> Address:
    try:
        if "@" in endpoint:
            # A user and a password, even where a slash in the password makes them a part of the path.
            raise ValueError("an endpoint takes no user")
        return Address.parse(endpoint)
    except ValueError:
        fix = "Write http://host:port or https://host, with a port from 1 to 65535."
        raise BadAddress(f"{shown_address(endpoint)!r} is not the address of an endpoint.", fix=fix) from None


def _source(options: HttpOptions) -> CredentialSource:
    if options.credentials is None:
        return Chain(profile=options.profile, local=options.endpoint is not None)
    return Fixed(options.credentials) if isinstance(options.credentials, Credentials) else options.credentials
