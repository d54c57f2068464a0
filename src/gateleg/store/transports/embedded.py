"""Transports to an embedded engine, that is, one in this process, and the SQLite file of its data.

`GroupCommitTransport` is for queue workers: their writes can share commits.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateleg.engine import EngineError
from gateleg.private_files import make_folder
from gateleg.store.errors import CannotOpen
from gateleg.store.transports import CLOSED, ServiceError
from gateleg.store.transports.messages import unwritable

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.engine import CommitQueue, Durability, Engine
    from gateleg.store.transports import AsyncTransport

__all__ = ["MEMORY", "AsyncEmbeddedTransport", "GroupCommitTransport", "commit_error", "database_file", "with_shared_commits"]

#: The path of an embedded store in memory.
MEMORY = ":memory:"

#: The database's name in a data folder.
_NAME = "gateleg.db"
_THREADS = 4

#: Reads on the event loop between two turns of other tasks.
_READS_AT_ONCE = 50


class EmbeddedTransport:
    """Calls an engine. `close` closes the engine only if the transport owns it."""

    def __init__(self, engine: Engine, *, owned: bool = False) -> None:
        self.engine = engine
        self._owned = owned

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Execute a request. `timeout` is ignored, because the call does not use a network."""
        try:
            return self.engine.call(operation, request)
        except (EngineError, UnicodeEncodeError) as error:
            raise _refusal(error, operation, request) from None

    def prepare_call(self, operation: str, request: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        """Prepare a request, and return the function that executes it. Other writers wait only for that, and it raises all errors."""
        step = self.engine.prepare_call(operation, request)

        def second_step() -> dict[str, Any]:
            try:
                return step()
            except (EngineError, UnicodeEncodeError) as error:
                raise _refusal(error, operation, request) from None

        return second_step

    def close(self) -> None:
        """Close the engine, if the transport owns it."""
        if self._owned:
            self.engine.close()


class AsyncEmbeddedTransport:
    """Calls an engine without blocking the event loop.

    Reading an item takes about 10 microseconds and is done on the event loop, because switching to a thread and back takes ten times as
    long. Other tasks get a turn now and then, even while one reads a thousand items. All other requests run in a few threads: a write waits
    for the disk, and a page of a query takes milliseconds.
    """

    def __init__(self, engine: Engine, *, owned: bool = False) -> None:
        self.engine = engine
        self._owned = owned
        self._closed = False
        self._reads = 0
        self._threads = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="gateleg-engine")

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Execute a request. `timeout` is ignored, because the call does not use a network."""
        if self._closed:
            raise _closed()
        try:
            if operation == "GetItem":
                self._reads += 1
                if self._reads % _READS_AT_ONCE == 0:
                    await asyncio.sleep(0)
                return self.engine.call(operation, request)
            return await asyncio.get_running_loop().run_in_executor(self._threads, self.engine.call, operation, request)
        except (EngineError, UnicodeEncodeError) as error:
            raise _refusal(error, operation, request) from None

    async def close(self) -> None:
        """Stop the threads, and close the engine if the transport owns it."""
        self._closed = True
        self._threads.shutdown()
        if self._owned:
            self.engine.close()


class GroupCommitTransport:
    """An `AsyncEmbeddedTransport` that also executes requests in the calling thread, without awaiting, as writes of a `CommitQueue` do.

    Inside a group each request succeeds or fails by itself, and reads see the state before the group.
    """

    def __init__(self, usual: AsyncEmbeddedTransport) -> None:
        self.usual = usual
        self._direct = EmbeddedTransport(usual.engine)

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Execute a request in this thread."""
        return self._direct.call(operation, request)

    def prepare_call(self, operation: str, request: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        """Prepare a request before its group begins, and return the function that executes it, which raises all errors."""
        return self._direct.prepare_call(operation, request)

    def commit_queue(self, *, max_writes: int, linger: float) -> CommitQueue:
        """A queue whose writes share commits. It waits and commits on the event loop: a worker has nothing else to do meanwhile."""
        from gateleg.engine import CommitQueue

        return CommitQueue(self.usual.engine, max_writes=max_writes, linger=linger)

    def changes(self) -> int:
        """SQLite's `data_version`: changes whenever another connection, also of another process, commits. Takes a few microseconds."""
        row = self.usual.engine.database.row("PRAGMA data_version")
        return 0 if row is None else int(row[0])

    def commits(self) -> tuple[int, int]:
        """A version of the store that changes with every commit: of this engine, of other connections, and of other processes."""
        return self.changes(), self.usual.engine.database.commits

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Execute a request as the usual transport does."""
        return await self.usual.call(operation, request, timeout=timeout)

    async def close(self) -> None:
        """Close the usual transport."""
        await self.usual.close()


def open_embedded(path: str = MEMORY, durability: Durability = "full") -> EmbeddedTransport:
    """A transport with a new engine, which it owns: in memory, or in a folder or file that is created if necessary."""
    return EmbeddedTransport(open_engine(path, durability), owned=True)


def open_async_embedded(path: str = MEMORY, durability: Durability = "full") -> AsyncEmbeddedTransport:
    """As `open_embedded`, for an `AsyncStore`."""
    return AsyncEmbeddedTransport(open_engine(path, durability), owned=True)


def open_engine(path: str, durability: Durability = "full") -> Engine:
    """Open the engine at a path: `:memory:`, a database file, or a folder that contains one. Raises `CannotOpen`."""
    from gateleg.engine import Engine

    file = database_file(path)
    try:
        if file != MEMORY:
            make_folder(Path(file).parent)
        return Engine(file, durability=durability)
    except OSError as error:
        raise CannotOpen(f"The folder of {file} cannot be created or used: {error.strerror}.") from error
    except EngineError as error:
        raise CannotOpen(f"{error.message}.") from error


def database_file(path: str) -> str:
    """The SQLite file for a path in an address: the path itself if it is `:memory:`, a file or `*.db`; else `gateleg.db` in that folder."""
    if path == MEMORY:
        return path
    place = Path(path)
    if place.is_file() or (place.suffix == ".db" and not place.is_dir()):
        return str(place)
    return str(place / _NAME)


def with_shared_commits(transport: AsyncTransport) -> GroupCommitTransport | None:
    """The transport with shared commits, if its engine is in this process; None for a remote store."""
    if type(transport) is AsyncEmbeddedTransport:
        return GroupCommitTransport(transport)
    return transport if isinstance(transport, GroupCommitTransport) else None


def service_error(error: EngineError) -> ServiceError:
    """The `ServiceError` for an engine's error."""
    from gateleg.engine import CLOSED as ENGINE_CLOSED

    if error.message == ENGINE_CLOSED:
        return _closed()
    return ServiceError(error.code, error.message, error.extra, error.status)


def commit_error(error: Exception) -> Exception:
    """The `ServiceError` for an engine's error in beginning or committing a group; any other error is returned unchanged."""
    return service_error(error) if isinstance(error, EngineError) else error


def _refusal(error: EngineError | UnicodeEncodeError, operation: str, request: dict[str, Any]) -> Exception:
    """The `ServiceError` for an engine's error; an `EncodeError` for text that no service could receive."""
    if isinstance(error, UnicodeEncodeError):
        return unwritable(operation, request) or error
    broken_text = unwritable(operation, request) if error.code == "SerializationException" else None
    return broken_text or service_error(error)


def _closed() -> ServiceError:
    return ServiceError(CLOSED, "the store is closed")
