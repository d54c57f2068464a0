"""Group commit: writes that arrive together, or while a commit is under way, become durable by one commit."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

from gateleg.endpoint.answers import Answer, error_answer
from gateleg.endpoint.backend import Backend, Group, execute, internal_error
from gateleg.endpoint.gate import Call
from gateleg.endpoint.targets import Kind
from gateleg.engine import EngineError

_log = logging.getLogger(__name__)

#: Writes of one group at most, so that readers never wait long for the loop.
_GROUP_LIMIT = 256

Reply = Callable[[Answer], None]
_Outcome = tuple[Call, Reply, Answer]


class Commits:
    """Runs what changes anything: one thing at a time, in the order in which it came.

    Writes of items run on the event loop, and are answered after the commit of their group. With `threaded`, that commit is made by a
    thread, so that reads go on while the disk is at work; otherwise the loop commits itself. Everything else runs in the thread.
    """

    def __init__(self, backend: Backend, loop: asyncio.AbstractEventLoop, *, threaded: bool) -> None:
        self._backend = backend
        self._loop = loop
        self._threaded = threaded
        self._waiting: deque[tuple[Call, Reply]] = deque()
        self._working = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._jobs: SimpleQueue[Callable[[], list[_Outcome]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="gateleg-commits", daemon=True)
        self._thread.start()

    def submit(self, call: Call, reply: Reply) -> None:
        """Take a call; `reply` is called on the loop when what it did is durable, or when it has failed."""
        self._waiting.append((call, reply))
        if not self._working:
            self._working = True
            self._idle.clear()
            self._loop.call_soon(self._run_next)

    async def drain(self) -> None:
        """Wait until nothing is under way."""
        await self._idle.wait()

    def close(self) -> None:
        """End the thread after what it is doing."""
        self._jobs.put(None)
        self._thread.join()

    def _run_next(self) -> None:
        call, reply = self._waiting[0]
        if call.kind is Kind.WRITE:
            self._run_group(self._take_writes())
        else:
            self._waiting.popleft()
            self._jobs.put(lambda: [(call, reply, execute(self._backend, call))])

    def _take_writes(self) -> list[tuple[Call, Reply]]:
        waiting = self._waiting
        batch: list[tuple[Call, Reply]] = []
        while waiting and waiting[0][0].kind is Kind.WRITE and len(batch) < _GROUP_LIMIT:
            batch.append(waiting.popleft())
        return batch

    def _run_group(self, batch: list[tuple[Call, Reply]]) -> None:
        try:
            group = self._backend.try_begin_group()
        except Exception as error:
            self._finish([(call, reply, _failure(call, error)) for call, reply in batch])
            return
        if group is None:
            # Another process is writing. Reads go on while the thread waits for it.
            self._jobs.put(lambda: self._wait_and_run(batch))
            return
        outcomes = [(call, reply, execute(self._backend, call)) for call, reply in batch]
        if self._threaded:
            self._jobs.put(lambda: _commit(group, outcomes))
        else:
            self._finish(_commit(group, outcomes))

    def _wait_and_run(self, batch: list[tuple[Call, Reply]]) -> list[_Outcome]:
        """A whole group, on the thread."""
        try:
            group = self._backend.begin_group()
        except Exception as error:
            return [(call, reply, _failure(call, error)) for call, reply in batch]
        return _commit(group, [(call, reply, execute(self._backend, call)) for call, reply in batch])

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._loop.call_soon_threadsafe(self._finish, job())

    def _finish(self, outcomes: list[_Outcome]) -> None:
        # What comes next is begun after the replies, so that the requests for which they make room can share its commit.
        for _, reply, answer in outcomes:
            reply(answer)
        if self._waiting:
            self._loop.call_soon(self._run_next)
        else:
            self._working = False
            self._idle.set()


def _commit(group: Group, outcomes: list[_Outcome]) -> list[_Outcome]:
    """The outcomes, or the failure of the commit for all of them: also a refused condition may have been judged by writes that are lost."""
    try:
        group.commit()
    except Exception as error:
        return [(call, reply, _failure(call, error)) for call, reply, _ in outcomes]
    return outcomes


def _failure(call: Call, error: Exception) -> Answer:
    if isinstance(error, EngineError):
        return error_answer(error, call.content_type)
    _log.error("%s could not be committed", call.operation, exc_info=error)
    return internal_error(call.content_type)
