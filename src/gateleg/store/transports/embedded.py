"""Transports to an embedded engine, that is, one in this process, and the SQLite file of its data."""

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

    from gateleg.engine import Durability, Engine

__all__ = ["MEMORY", "AsyncEmbeddedTransport", "database_file"]


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


def _refusal(error: EngineError | UnicodeEncodeError, operation: str, request: dict[str, Any]) -> Exception:
    """The `ServiceError` for an engine's error; an `EncodeError` for text that no service could receive."""
    if isinstance(error, UnicodeEncodeError):
        return unwritable(operation, request) or error
    broken_text = unwritable(operation, request) if error.code == "SerializationException" else None
    return broken_text or service_error(error)


def service_error(error: EngineError) -> ServiceError:
    """The `ServiceError` for an engine's error."""
    from gateleg.engine import CLOSED as ENGINE_CLOSED

    if error.message == ENGINE_CLOSED:
        return _closed()
    return ServiceError(error.code, error.message, error.extra, error.status)


def _closed() -> ServiceError:
    return ServiceError(CLOSED, "the store is closed")
