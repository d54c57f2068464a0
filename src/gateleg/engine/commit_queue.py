"""The commit queue: writes that arrive at one event loop share commits, because a commit costs more than most writes.

The endpoint answers its requests through a queue, and the store of a worker performs its claims and completions in one. What holds for
both:

- Nothing is acknowledged before its commit is durable.
- The error of a write is its own; the rest of its group is committed.
- The error of a commit is everybody's, even of those that were refused: the data that a condition saw may never have been written.
- Writes are performed and acknowledged in the order of their arrival.
- A queue that can no longer commit says so; nobody waits forever.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Protocol

from gateleg.engine.errors import EngineError

__all__ = ["CommitQueue", "Group", "GroupWriter"]

_log = logging.getLogger(__name__)


class Group(Protocol):
    """Writes that become durable together."""

    def commit(self) -> None:
        """Make the writes durable. Raises an error if that fails."""
        ...

    def roll_back(self) -> None:
        """Undo the writes."""
        ...


class GroupWriter(Protocol):
    """What begins groups: an engine."""

    def begin_group(self) -> Group:
        """Start a transaction that the following writes of this thread join."""
        ...

    def try_begin_group(self) -> Group | None:
        """`begin_group`, or None if another thread or process is writing."""
        ...


#: What performs a write, what is called with its outcome, and whether it is performed alone.
_Entry = tuple[Callable[[], Any], Callable[[Any], None], bool]


class CommitQueue:
    """Performs writes in groups of at most `max_writes`, each of which is one transaction.

    With `linger`, the queue lets one turn of the event loop pass before a commit, and as many seconds while `expects_more` says that
    another write is about to come. Everything runs on the event loop, unless the queue has a `thread`: then waits for writers in other
    processes happen there, and with `commits_in_thread` the commits too, so that the loop goes on with reads.
    """

    def __init__(
        self, engine: GroupWriter, *, max_writes: int, linger: float = 0.0, thread: bool = False, commits_in_thread: bool = False
    ) -> None:
        self._engine = engine
        self._max_writes = max_writes
        self.linger = linger
        #: whether another write will come soon enough to wait for it
        self.expects_more: Callable[[], bool] = lambda: False
        self._waiting: deque[_Entry] = deque()
        self._group: list[_Entry] = []
        #: whether a group is in progress or scheduled
        self._running = False
        self._deadline = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: asyncio.Event | None = None
        #: why nothing can be committed any more
        self._ended: EngineError | None = None
        self._commits_in_thread = commits_in_thread
        self._thread = _Thread(self._finish, self._end) if thread else None

    def submit(self, perform: Callable[[], Any], acknowledge: Callable[[Any], None], *, alone: bool = False) -> None:
        """Queue a write. Call this in the event loop.

        `perform` writes. `acknowledge` is called on the event loop with its result once that is durable, or with an exception. With
        `alone`, which needs a thread, `perform` runs there while no group is open: it may write without a group, and take long.
        """
        if alone and self._thread is None:
            raise TypeError("a write can run alone only in a queue with a thread")
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._move_to(loop)
        self._waiting.append((perform, acknowledge, alone))
        if self._running:
            return
        self._running = True
        if self.linger:
            self._deadline = loop.time() + self.linger
            loop.call_soon(loop.call_soon, self._run_next)
        else:
            loop.call_soon(self._run_next)

    async def drain(self) -> None:
        """Wait until nothing is in progress."""
        if self._running:
            self._idle = self._idle or asyncio.Event()
            await self._idle.wait()

    def close(self) -> None:
        """End the thread after its current work; later writes are refused."""
        self._ended = self._ended or EngineError("InternalServerError", "The commit queue is closed, and nothing was written")
        if self._thread is not None:
            self._thread.close()

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        """Serve another event loop. What waits in one that was closed is never performed, because nobody is left to hear of it."""
        if self._loop is not None and self._loop.is_closed():
            self._waiting.clear()
            self._running = False
        self._loop = loop

    def _run_next(self) -> None:
        """Perform the writes at the head of the queue, and commit them."""
        waiting = self._waiting
        if self._ended is not None:
            self._group = list(waiting)
            waiting.clear()
            self._finish([self._ended] * len(self._group))
            return
        if self.linger and len(waiting) < self._max_writes and self.expects_more():
            loop = asyncio.get_running_loop()
            if loop.time() < self._deadline:
                loop.call_soon(self._run_next)
                return
        group = self._group = [waiting.popleft()]
        if group[0][2]:
            self._in_thread(lambda: _perform(group))
            return
        while waiting and len(group) < self._max_writes and not waiting[0][2]:
            group.append(waiting.popleft())
        self._run_group(group)

    def _run_group(self, group: list[_Entry]) -> None:
        try:
            transaction = self._engine.begin_group() if self._thread is None else self._engine.try_begin_group()
        except Exception as error:
            self._finish([error] * len(group))
            return
        if transaction is None:
            # Another process is writing: wait for it in the thread, and write there too, because a group belongs to its thread.
            self._in_thread(lambda: _wait_and_run(self._engine, group))
            return
        try:
            outcomes = _perform(group, transaction)
            if not self._commits_in_thread:
                outcomes = _commit(transaction, outcomes)
        except BaseException as error:
            # Ctrl-C, for instance, which ends the event loop.
            self._finish([_interrupted(error)] * len(group))
            raise
        if self._commits_in_thread:
            self._in_thread(lambda: _commit(transaction, outcomes))
        else:
            self._finish(outcomes)

    def _in_thread(self, work: Callable[[], list[Any]]) -> None:
        if self._thread is not None:
            self._thread.run(work)

    def _finish(self, outcomes: list[Any]) -> None:
        """Acknowledge a group, then go on with the next one, which the writes that the acknowledgements bring can join."""
        group, self._group = self._group, []
        for (_, acknowledge, _), outcome in zip(group, outcomes, strict=True):
            try:
                acknowledge(outcome)
            except Exception:
                _log.exception("a write could not be acknowledged")
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._run_next)
            return
        self._running = False
        if self._idle is not None:
            self._idle.set()
            self._idle = None

    def _end(self, cause: BaseException) -> None:
        """The thread has died: nothing can be committed any more."""
        self._ended = EngineError("InternalServerError", f"The thread that commits writes has ended ({cause!r}): open the database again")
        self._finish([_interrupted(cause)] * len(self._group))


class _Thread:
    """A thread of a queue. It passes the outcomes of its work to `finish`, on the event loop, and its own end by an error to `end`."""

    def __init__(self, finish: Callable[[list[Any]], None], end: Callable[[BaseException], None]) -> None:
        self._finish = finish
        self._end = end
        self._work: SimpleQueue[tuple[asyncio.AbstractEventLoop, Callable[[], list[Any]]] | None] = SimpleQueue()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="gateleg-commits", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[], list[Any]]) -> None:
        if self._error is None:
            self._work.put((asyncio.get_running_loop(), work))
        else:
            self._end(self._error)

    def close(self) -> None:
        self._work.put(None)
        self._thread.join()

    def _run(self) -> None:
        loop = None
        try:
            while (item := self._work.get()) is not None:
                loop, work = item
                _call_soon(loop, self._finish, work())
        except BaseException as error:
            self._error = error
            _log.critical("the thread that commits writes has ended", exc_info=error)
            if loop is not None:
                _call_soon(loop, self._end, error)


def _call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[[Any], None], argument: object) -> None:
    """Call a function on an event loop, unless it is closed: then nobody is left to hear of it."""
    try:
        loop.call_soon_threadsafe(callback, argument)
    except RuntimeError:
        if not loop.is_closed():
            raise


def _wait_and_run(engine: GroupWriter, group: list[_Entry]) -> list[Any]:
    """Perform and commit a whole group, when other writers have ended."""
    try:
        transaction = engine.begin_group()
    except Exception as error:
        return [error] * len(group)
    return _commit(transaction, _perform(group, transaction))


def _perform(group: list[_Entry], transaction: Group | None = None) -> list[Any]:
    """The result of each write, or its error."""
    outcomes: list[Any] = []
    try:
        for perform, _, _ in group:
            try:
                outcomes.append(perform())
            except Exception as error:
                outcomes.append(error)
    except BaseException:
        if transaction is not None:
            transaction.roll_back()
        raise
    return outcomes


def _commit(transaction: Group, outcomes: list[Any]) -> list[Any]:
    try:
        transaction.commit()
    except Exception as error:
        return [error] * len(outcomes)
    return outcomes


def _interrupted(cause: BaseException) -> EngineError:
    return EngineError(
        "InternalServerError", f"The commit was interrupted ({cause!r}), and may not have been made: read before you try again"
    )
