"""Group commit: writes that arrive together, or while a commit is under way, become durable by one commit."""

import asyncio
import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue

from gateleg.endpoint.answers import Answer, error_answer
from gateleg.endpoint.backend import Backend, Group, execute, internal_error
from gateleg.endpoint.gate import Call
from gateleg.engine.errors import EngineError

_log = logging.getLogger(__name__)

#: Writes of one group at most, so that readers never wait long for the loop.
_GROUP_LIMIT = 256

Reply = Callable[[Answer], None]
_Outcome = tuple[Call, Reply, Answer]


class Commits:
    """Runs writes on the event loop and answers them after their commit.

    `threaded` commits in a thread of its own, so that reads go on while the disk is at work; otherwise the loop commits itself.
    """

    def __init__(self, backend: Backend, loop: asyncio.AbstractEventLoop, *, threaded: bool) -> None:
        self._backend = backend
        self._loop = loop
        self._waiting: list[tuple[Call, Reply]] = []
        self._scheduled = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._queue: SimpleQueue[tuple[Group, list[_Outcome]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        if threaded:
            self._thread = threading.Thread(target=self._commit_forever, name="gateleg-commits", daemon=True)
            self._thread.start()

    def submit(self, call: Call, reply: Reply) -> None:
        """Take a write; `reply` is called on the loop when it is durable or has failed."""
        self._waiting.append((call, reply))
        if not self._scheduled:
            self._scheduled = True
            self._idle.clear()
            self._loop.call_soon(self._run_group)

    async def drain(self) -> None:
        """Wait until no write is under way."""
        await self._idle.wait()

    def close(self) -> None:
        """End the thread after what it is doing."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _run_group(self) -> None:
        batch, self._waiting = self._waiting[:_GROUP_LIMIT], self._waiting[_GROUP_LIMIT:]
        try:
            group = self._backend.begin_group()
        except Exception as error:
            self._finish([(call, reply, _failure(call, error)) for call, reply in batch])
            return
        outcomes = [(call, reply, execute(self._backend, call)) for call, reply in batch]
        if group is None:
            self._finish(outcomes)
        elif self._thread is not None:
            self._queue.put((group, outcomes))
        else:
            self._finish(_commit(group, outcomes))

    def _commit_forever(self) -> None:
        while (job := self._queue.get()) is not None:
            outcomes = _commit(*job)
            self._loop.call_soon_threadsafe(self._finish, outcomes)

    def _finish(self, outcomes: list[_Outcome]) -> None:
        # The next group is scheduled after the replies, so that requests which those make room for can join it.
        for _, reply, answer in outcomes:
            reply(answer)
        if self._waiting:
            self._loop.call_soon(self._run_group)
        else:
            self._scheduled = False
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
