"""Both clients behind one interface, so that each test runs on both."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from gateleg.net import Address, Deadline
from gateleg.net.http import AsyncPool, AsyncStreamedResponse, Pool, Response, StreamedResponse, Timeouts

T = TypeVar("T")
PATIENT = Timeouts(connect=10, read=10)


class Stream(Protocol):
    """A response that is read without `await`."""

    status: int
    headers: dict[str, str]

    def receive(self, timeout: float = 10) -> bytes: ...

    def close(self) -> None: ...


class Opener(Protocol):
    """A pool that is used without `await`."""

    def exchange(self, data: bytes, timeouts: Timeouts = PATIENT, deadline: Deadline | None = None) -> Response: ...

    def open(self, data: bytes, timeouts: Timeouts = PATIENT, deadline: Deadline | None = None) -> Stream: ...

    def close(self) -> None: ...


class SyncOpener:
    """The pool for threads."""

    def __init__(self, url: str, **options: Any) -> None:
        self.pool = Pool(Address.parse(url), **options)
        self.close = self.pool.close

    def exchange(self, data: bytes, timeouts: Timeouts = PATIENT, deadline: Deadline | None = None) -> Response:
        return self.pool.exchange(data, timeouts, deadline)

    def open(self, data: bytes, timeouts: Timeouts = PATIENT, deadline: Deadline | None = None) -> Stream:
        return SyncStream(self.pool.open(data, timeouts, deadline))


class SyncStream:
    """A response of the pool for threads."""

    def __init__(self, response: StreamedResponse) -> None:
        self._response = response
        self.status, self.headers = response.status, response.headers
        self.close = response.close

    def receive(self, timeout: float = 10) -> bytes:
        return self._response.receive(timeout)


class AsyncOpener:
    """The pool for asyncio, in a separate event loop."""

    def __init__(self, url: str, **options: Any) -> None:
        self.runner = asyncio.Runner()
        self.pool = AsyncPool(Address.parse(url), **options)

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(call)

    def exchange(self, data: bytes, timeouts: Timeouts = PATIENT, deadline: Deadline | None = None) -> Response:
        return self.run(self.pool.exchange(data, timeouts, deadline))

    def open(self, data: bytes, timeouts: Timeouts = PATIENT, deadline: Deadline | None = None) -> Stream:
        return AsyncStream(self, self.run(self.pool.open(data, timeouts, deadline)))

    def close(self) -> None:
        self.run(self.pool.close())
        self.runner.close()


class AsyncStream:
    """A response of the pool for asyncio."""

    def __init__(self, opener: AsyncOpener, response: AsyncStreamedResponse) -> None:
        self._opener = opener
        self._response = response
        self.status, self.headers = response.status, response.headers

    def receive(self, timeout: float = 10) -> bytes:
        return self._opener.run(self._response.receive(timeout))

    def close(self) -> None:
        self._opener.run(self._close())

    async def _close(self) -> None:
        self._response.close()
