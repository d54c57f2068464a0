"""Lifespans of applications and surfaces, each entered and exited in a task of its own."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from starlette.types import ASGIApp, Message

__all__ = ["asgi_lifespan", "run_in_own_task"]


@asynccontextmanager
async def run_in_own_task(context: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
    """Enter and exit a context manager in one dedicated task: task groups fail if another task exits them."""
    entered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    exit_requested = asyncio.Event()

    async def run() -> None:
        try:
            async with context as value:
                entered.set_result(value)
                await exit_requested.wait()
        except BaseException as error:
            if entered.done():
                raise
            entered.set_exception(error)

    task = asyncio.create_task(run())
    try:
        value = await entered
    except BaseException:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
    try:
        yield value
    finally:
        exit_requested.set()
        await task


class LifespanFailed(Exception):
    """An ASGI application reported that its startup failed."""


@asynccontextmanager
async def asgi_lifespan(app: ASGIApp) -> AsyncIterator[None]:
    """Run the lifespan of an ASGI application, if it has one. Raises `LifespanFailed` if it does not start."""
    to_app: asyncio.Queue[Message] = asyncio.Queue()
    from_app: asyncio.Queue[Message] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
    running: asyncio.Task[None] = asyncio.create_task(app(scope, to_app.get, from_app.put))  # type: ignore[arg-type]
    to_app.put_nowait({"type": "lifespan.startup"})
    try:
        started = await _next_message(running, from_app)
        if started is not None and started["type"] == "lifespan.startup.failed":
            raise LifespanFailed(started.get("message") or "no reason given")
        # Without a message it has no lifespan: an ASGI application raises on a scope that it does not support.
        yield
        if started is not None:
            to_app.put_nowait({"type": "lifespan.shutdown"})
            await _next_message(running, from_app)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _next_message(running: asyncio.Task[None], from_app: asyncio.Queue[Message]) -> Message | None:
    """The next lifespan message of an application; None if it ends without one."""
    message = asyncio.create_task(from_app.get())
    await asyncio.wait({running, message}, return_when=asyncio.FIRST_COMPLETED)
    if message.done():
        return message.result()
    message.cancel()
    return None
