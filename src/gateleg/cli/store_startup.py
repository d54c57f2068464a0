"""Waits for a store that is unavailable when a command starts: a worker or a host may be started before its database."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from gateleg.net.backoff import span

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from gateleg.web.settings import Settings

T = TypeVar("T")
_log = logging.getLogger("gateleg.cli")
#: The first and the longest pause between attempts, in seconds.
_RETRY_PAUSES = (0.5, 15.0)
#: Seconds between log lines about an unavailable store.
_LOG_INTERVAL_SECONDS = 60.0


@asynccontextmanager
async def open_when_available(
    make: Callable[[], AbstractAsyncContextManager[T]], settings: Settings, stop: asyncio.Event
) -> AsyncIterator[T | None]:
    """Open `make` on the store of the settings once it can be reached. None if `stop` was set first."""
    async with AsyncExitStack() as stack:
        opening = asyncio.create_task(_entered(stack, make, settings))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({opening, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            if not opening.done():
                opening.cancel()
                await asyncio.wait({opening})
        yield None if opening.cancelled() else opening.result()


async def _entered(stack: AsyncExitStack, make: Callable[[], AbstractAsyncContextManager[T]], settings: Settings) -> T:
    from gateleg.store import NoAnswer, ServiceFailed, Throttled, TimedOut
    from gateleg.web.settings import format_setting

    began, tries, logged_at = time.monotonic(), 0, float("-inf")
    while True:
        try:
            opened = await stack.enter_async_context(make())
        except (NoAnswer, ServiceFailed, Throttled, TimedOut) as error:
            tries, now = tries + 1, time.monotonic()
            if now >= logged_at + _LOG_INTERVAL_SECONDS:
                logged_at = now
                _log.warning("The store %s is not available: %s Retrying until it is.", format_setting(settings.store), error.message)
            await asyncio.sleep(span(tries, *_RETRY_PAUSES) * (0.5 + random.random() / 2))
        else:
            if tries:
                _log.warning("The store %s is available after %.0f s.", format_setting(settings.store), time.monotonic() - began)
            return opened
