"""Both HTTP transports behind one interface, so that each test runs on both."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from gateleg.net import Credentials, Retries, ServiceClock
from gateleg.store.transports.http import AsyncWireTransport, HttpOptions, WireTransport

KEY = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG")


class Caller(Protocol):
    """A transport that is called without `await`, and records the waits between attempts."""

    waits: list[float]

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]: ...

    def close(self) -> None: ...


Make = Callable[..., Caller]


def options_for(url: str, options: HttpOptions | None) -> HttpOptions:
    """Options for tests: fixed credentials, and waits without randomness."""
    given = options or HttpOptions()
    retries = replace(given.retries, random=lambda: 1.0) if isinstance(given.retries, Retries) else given.retries
    return replace(given, endpoint=url, region="us-east-1", credentials=given.credentials or KEY, retries=retries)


class SyncCaller:
    """The transport for threads."""

    def __init__(self, url: str, options: HttpOptions | None = None, clock: ServiceClock | None = None) -> None:
        self.waits: list[float] = []
        self.transport = WireTransport(options_for(url, options), clock=clock, sleep=self.waits.append)
        self.call = self.transport.call
        self.close = self.transport.close


class AsyncCaller:
    """The transport for asyncio, in a separate event loop."""

    def __init__(self, url: str, options: HttpOptions | None = None, clock: ServiceClock | None = None) -> None:
        self.waits: list[float] = []
        self.runner = asyncio.Runner()
        self.transport = AsyncWireTransport(options_for(url, options), clock=clock, sleep=self._wait)

    async def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        return self.runner.run(self.transport.call(operation, request, timeout=timeout))

    def close(self) -> None:
        self.runner.run(self.transport.close())
        self.runner.close()
