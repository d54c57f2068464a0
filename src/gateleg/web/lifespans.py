"""Lifespans: what runs from before the first request to after the last one, each in a task of its own."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from starlette.types import ASGIApp, Message


@asynccontextmanager
async def held(context: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
    """A context that is entered and left by one task, whichever tasks enter and leave this one: task groups must be."""
    entered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    leave = asyncio.Event()

    async def hold() -> None:
        try:
            async with context as value:
                entered.set_result(value)
                await leave.wait()
        except BaseException as error:
            if entered.done():
                raise
            entered.set_exception(error)

    task = asyncio.create_task(hold())
    try:
        value = await entered
    except BaseException:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
    try:
        yield value
    finally:
        leave.set()
        await task


class LifespanFailed(Exception):
    """An ASGI application has refused to start."""


@asynccontextmanager
async def asgi_lifespan(app: ASGIApp) -> AsyncIterator[None]:
    """Run the lifespan of an ASGI application, if it has one. Raises `LifespanFailed` if it does not start."""
    asked: asyncio.Queue[Message] = asyncio.Queue()
    answers: asyncio.Queue[Message] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
    running: asyncio.Task[None] = asyncio.create_task(app(scope, asked.get, answers.put))  # type: ignore[arg-type]
    asked.put_nowait({"type": "lifespan.startup"})
    try:
        started = await _answer(running, answers)
        if started is not None and started["type"] == "lifespan.startup.failed":
            raise LifespanFailed(started.get("message") or "it gives no reason")
        # Without an answer it has no lifespan: raising at the scope is how an application says so.
        yield
        if started is not None:
            asked.put_nowait({"type": "lifespan.shutdown"})
            await _answer(running, answers)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _answer(running: asyncio.Task[None], answers: asyncio.Queue[Message]) -> Message | None:
    """The next answer of an application; None when it ends without one."""
    answered = asyncio.create_task(answers.get())
    await asyncio.wait({running, answered}, return_when=asyncio.FIRST_COMPLETED)
    if answered.done():
        return answered.result()
    answered.cancel()
    return None
