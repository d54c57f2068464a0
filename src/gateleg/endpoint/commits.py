"""Group commit: writes that arrive together, or during a commit, become durable with one commit."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

from gateleg.endpoint.backend import Backend, Group, execute, internal_error
from gateleg.endpoint.dispatcher import EngineCall
from gateleg.endpoint.responses import OutgoingResponse, error_response
from gateleg.endpoint.targets import Kind
from gateleg.engine import EngineError

_log = logging.getLogger(__name__)

#: The maximum number of writes in a group, so that reads never wait long for the event loop.
_MAX_GROUP_WRITES = 256

Respond = Callable[[OutgoingResponse], None]
_Outcome = tuple[EngineCall, Respond, OutgoingResponse]


class Commits:
    """Runs all operations that may change data, one at a time, in order of arrival.

    Writes of items run on the event loop and are answered after the commit of their group. With `threaded`, a thread commits, so that reads
    continue while the disk is busy; otherwise the loop commits. All other operations run in the thread.
    """

    def __init__(self, backend: Backend, loop: asyncio.AbstractEventLoop, *, threaded: bool) -> None:
        self._backend = backend
        self._loop = loop
        self._threaded = threaded
        self._waiting: deque[tuple[EngineCall, Respond]] = deque()
        self._running = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._jobs: SimpleQueue[Callable[[], list[_Outcome]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run_jobs, name="gateleg-commits", daemon=True)
        self._thread.start()

    def submit(self, call: EngineCall, respond: Respond) -> None:
        """Queue a call; `respond` is called on the event loop when its effect is durable or it has failed."""
        self._waiting.append((call, respond))
        if not self._running:
            self._running = True
            self._idle.clear()
            self._loop.call_soon(self._run_next)

    async def drain(self) -> None:
        """Wait until no operation is in progress."""
        await self._idle.wait()

    def close(self) -> None:
        """Stop the thread after its current job."""
        self._jobs.put(None)
        self._thread.join()

    def _run_next(self) -> None:
        call, respond = self._waiting[0]
        if call.kind is Kind.WRITE:
            self._run_group(self._take_writes())
        else:
            self._waiting.popleft()
            self._jobs.put(lambda: [(call, respond, execute(self._backend, call))])

    def _take_writes(self) -> list[tuple[EngineCall, Respond]]:
        waiting = self._waiting
        batch: list[tuple[EngineCall, Respond]] = []
        while waiting and waiting[0][0].kind is Kind.WRITE and len(batch) < _MAX_GROUP_WRITES:
            batch.append(waiting.popleft())
        return batch

    def _run_group(self, batch: list[tuple[EngineCall, Respond]]) -> None:
        try:
            group = self._backend.try_begin_group()
        except Exception as error:
            self._finish([(call, respond, _failure(call, error)) for call, respond in batch])
            return
        if group is None:
            # Another process is writing: wait in the thread, so that reads continue.
            self._jobs.put(lambda: self._run_group_in_thread(batch))
            return
        outcomes = [(call, respond, execute(self._backend, call)) for call, respond in batch]
        if self._threaded:
            self._jobs.put(lambda: _commit(group, outcomes))
        else:
            self._finish(_commit(group, outcomes))

    def _run_group_in_thread(self, batch: list[tuple[EngineCall, Respond]]) -> list[_Outcome]:
        """Run a whole group of writes in the thread."""
        try:
            group = self._backend.begin_group()
        except Exception as error:
            return [(call, respond, _failure(call, error)) for call, respond in batch]
        return _commit(group, [(call, respond, execute(self._backend, call)) for call, respond in batch])

    def _run_jobs(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._loop.call_soon_threadsafe(self._finish, job())

    def _finish(self, outcomes: list[_Outcome]) -> None:
        # Replies come first, so that the requests they make room for can join the next commit.
        for _, respond, response in outcomes:
            respond(response)
        if self._waiting:
            self._loop.call_soon(self._run_next)
        else:
            self._running = False
            self._idle.set()


def _commit(group: Group, outcomes: list[_Outcome]) -> list[_Outcome]:
    """Commit a group and return the outcomes; if the commit fails, all fail, because even failed conditions may depend on lost writes."""
    try:
        group.commit()
    except Exception as error:
        return [(call, respond, _failure(call, error)) for call, respond, _ in outcomes]
    return outcomes


def _failure(call: EngineCall, error: Exception) -> OutgoingResponse:
    if isinstance(error, EngineError):
        return error_response(error, call.content_type)
    _log.error("could not commit %s", call.operation, exc_info=error)
    return internal_error(call.content_type)
