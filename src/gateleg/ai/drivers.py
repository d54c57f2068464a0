"""The drivers of flows: one that blocks, and one that awaits. They perform the same steps, so the logic of models is written once."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from gateleg.ai.error_translation import LIMIT, translated_errors
from gateleg.ai.errors import InvalidModelRequest, ModelTimedOut
from gateleg.ai.steps import EmitPiece, Offload, Open, Receive, StoreOperation, Subscribe
from gateleg.net.http import AsyncClient, Client
from gateleg.store.flow import Pause

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
    from types import TracebackType

    from gateleg.ai.replies import Delta
    from gateleg.ai.setup import ModelSetup
    from gateleg.ai.steps import Flow, Step
    from gateleg.store import AsyncStore
    from gateleg.store.operations import Operation

R = TypeVar("R")
#: Threads for work that computes or blocks; the event loop's own threads are left to others. They are started on demand.
_THREADS = 32
#: Items of a subscription that wait to be received.
_WAITING = 64


class OperationRunner(Protocol):
    """Runs operations of a store: a `Store`, or one that delegates to an event loop."""

    def run(self, operation: Operation[R], /) -> R:
        """Run an operation."""
        ...


class Driver:
    """Runs flows, blocking. Any number of threads may share one."""

    def __init__(self, setup: ModelSetup, store: OperationRunner | None, sleep: Callable[[float], None] = time.sleep) -> None:
        check_recordable(setup, store)
        self._setup = setup
        self._store = store
        self._sleep = sleep
        self._client = Client(LIMIT)
        self._loop = _LoopThread()
        #: called before each flow: it refuses calls in a thread where they would wait for themselves
        self._check: Callable[[], None] = _nothing

    def run(self, flow: Flow[R]) -> R:
        """Run a flow to its result."""
        self._check()
        try:
            step = next(flow)
            while True:
                step = self._advance(flow, step)
        except StopIteration as end:
            result: R = end.value
            return result
        finally:
            flow.close()
            self._settle_left()

    def iterate(self, flow: Flow[Any]) -> Generator[Delta, None, None]:
        """Run a flow and yield its pieces."""
        self._check()
        try:
            step = next(flow)
            while True:
                if isinstance(step, EmitPiece):
                    yield step.delta
                    step = flow.send(None)
                else:
                    step = self._advance(flow, step)
        except StopIteration:
            return
        finally:
            flow.close()
            self._settle_left()

    def _advance(self, flow: Flow[Any], step: Step) -> Step:
        try:
            result = self._perform(step)
        except Exception as error:
            return flow.throw(error)
        return flow.send(result)

    def _perform(self, step: Step) -> Any:
        match step:
            case Open(request, timeouts, until):
                with translated_errors():
                    return self._client.open(request, timeouts, until)
            case Receive(source, seconds):
                with translated_errors():
                    return source.receive(seconds)
            case Subscribe(make):
                return self._loop.subscribe(make)
            case Offload(call):
                return call()
            case StoreOperation(operation):
                assert self._store is not None
                return self._store.run(operation)
            case Pause(seconds):
                return self._sleep(seconds)
            case EmitPiece():
                return None

    def _settle_left(self) -> None:
        """Record the calls that were cancelled."""
        spending = self._setup.spending
        if spending is not None and spending.left:
            self.run(spending.settle_left())

    def close(self) -> None:
        """Close connections and threads. The store stays open."""
        self._client.close()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncDriver:
    """Runs flows, awaited. Endpoints are awaited on the event loop; work that computes or blocks runs in threads of its own."""

    def __init__(self, setup: ModelSetup, store: AsyncStore | None, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        check_recordable(setup, store)
        self._setup = setup
        self._store = store
        self._sleep = sleep
        self._client = AsyncClient(LIMIT)
        self._threads = _Threads()

    async def run(self, flow: Flow[R]) -> R:
        """Run a flow to its result."""
        try:
            step = next(flow)
            while True:
                answer, error = await self._attempt(step)
                step = flow.send(answer) if error is None else flow.throw(error)
        except StopIteration as end:
            result: R = end.value
            return result
        finally:
            flow.close()
            await self._settle_left()

    async def iterate(self, flow: Flow[Any]) -> AsyncGenerator[Delta, None]:
        """Run a flow and yield its pieces."""
        try:
            step = next(flow)
            while True:
                if isinstance(step, EmitPiece):
                    yield step.delta
                    step = flow.send(None)
                else:
                    result, error = await self._attempt(step)
                    step = flow.send(result) if error is None else flow.throw(error)
        except StopIteration:
            return
        finally:
            flow.close()
            await self._settle_left()

    async def _attempt(self, step: Step) -> tuple[Any, Exception | None]:
        """The result of a step, or its error. The caller passes it to the flow, which must not end inside a coroutine."""
        try:
            return await self._perform(step), None
        except Exception as error:
            return None, error

    async def _perform(self, step: Step) -> Any:
        match step:
            case Open(request, timeouts, until):
                with translated_errors():
                    return await self._client.open(request, timeouts, until)
            case Receive(source, seconds):
                with translated_errors():
                    return await source.receive(seconds)
            case Subscribe(make):
                return _Subscription(make())
            case Offload(call):
                return await asyncio.get_running_loop().run_in_executor(self._threads.executor(), call)
            case StoreOperation(operation):
                assert self._store is not None
                return await self._store.run(operation)
            case Pause(seconds):
                return await self._sleep(seconds)
            case EmitPiece():
                return None

    async def _settle_left(self) -> None:
        """Record the calls that were cancelled."""
        spending = self._setup.spending
        if spending is not None and spending.left:
            await self.run(spending.settle_left())

    async def close(self) -> None:
        """Close connections and threads. The store stays open."""
        await self._client.close()
        self._threads.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


def check_recordable(setup: ModelSetup, store: object) -> None:
    """Refuse an account without a store to record its usage in."""
    if setup.spending is not None and store is None:
        raise InvalidModelRequest("Recording usage needs a store.", fix="Pass one with the account: Models(store=..., account=...).")


class LoopStore:
    """A store for threads, whose operations run on an event loop."""

    def __init__(self, store: AsyncStore, loop: asyncio.AbstractEventLoop) -> None:
        self._store = store
        self._loop = loop

    def run(self, operation: Operation[R]) -> R:
        """Run an operation and wait for its result."""
        return asyncio.run_coroutine_threadsafe(self._awaited(operation), self._loop).result()

    async def _awaited(self, operation: Operation[R]) -> R:
        return await self._store.run(operation)


def check_thread(loop: asyncio.AbstractEventLoop) -> None:
    """Refuse calls on the event loop itself: they would deadlock."""
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        return
    if running is loop:
        raise InvalidModelRequest(
            "Models for threads were called on the event loop.", fix="Call them in a thread: await asyncio.to_thread(...)."
        )


class _Threads:
    """Threads for blocking work, started at first use and shared by the models of several accounts."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def executor(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="gateleg-ai")
        return self._pool

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


class _Subscription:
    """An asynchronous iterator, which runs in one task of its own, because some libraries must end in the task in which they began."""

    def __init__(self, items: AsyncGenerator[Any, None]) -> None:
        self._queue: asyncio.Queue[tuple[Any, BaseException | None]] = asyncio.Queue(_WAITING)
        self._task = asyncio.ensure_future(self._pump(items))

    async def receive(self, seconds: float) -> Any:
        """The next item; None at the end."""
        try:
            async with asyncio.timeout(seconds):
                item, error = await self._queue.get()
        except TimeoutError:
            raise ModelTimedOut("The model did not answer in time.") from None
        if error is not None:
            raise error
        return item

    def close(self) -> None:
        """End the task, which closes the iterator."""
        self._task.cancel()

    async def _pump(self, items: AsyncGenerator[Any, None]) -> None:
        try:
            async for item in items:
                await self._queue.put((item, None))
        except Exception as error:
            await self._queue.put((None, error))
        else:
            await self._queue.put((None, None))
        finally:
            await items.aclose()


class _LoopThread:
    """An event loop in a thread of its own, for subscriptions of blocking callers. It is started at first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = os.getpid()

    def subscribe(self, make: Callable[[], AsyncGenerator[Any, None]]) -> _RemoteSubscription:
        """A subscription on the loop."""
        loop = self._running()

        async def begin() -> _Subscription:
            return _Subscription(make())

        return _RemoteSubscription(asyncio.run_coroutine_threadsafe(begin(), loop).result(), loop)

    def close(self) -> None:
        """End what runs on the loop, and the loop."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            # A forked process has the loop of its parent, but not the thread that runs it.
            if self._loop is None or self._process != os.getpid():
                self._process = os.getpid()
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_run_loop, args=(self._loop,), name="gateleg-ai-loop", daemon=True).start()
            return self._loop


class _RemoteSubscription:
    """A subscription on the loop of another thread."""

    def __init__(self, subscription: _Subscription, loop: asyncio.AbstractEventLoop) -> None:
        self._subscription = subscription
        self._loop = loop

    def receive(self, seconds: float) -> Any:
        """The next item; None at the end."""
        return asyncio.run_coroutine_threadsafe(self._subscription.receive(seconds), self._loop).result()

    def close(self) -> None:
        """End the task of the subscription."""
        # The loop may have been closed, which has ended the task.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._subscription.close)


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _nothing() -> None:
    """The check of models that may be called in any thread."""
