"""A transport that runs small requests to an embedded engine on the event loop, without a thread.

The normal async transport runs writes in threads, so that an event loop with many clients never waits for the disk. But a queue worker has
nothing else to do while it waits, and switching to a thread and back for a small request takes longer than the request itself.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gateleg.engine import EngineError
from gateleg.plain import is_plain
from gateleg.store.transports import ServiceError
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, EmbeddedTransport

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

__all__ = ["InlineEmbeddedTransport"]

_PLAIN = is_plain("inline")
_SMALL = frozenset({"GetItem", "PutItem", "UpdateItem", "DeleteItem"})
#: The largest page of a query that is read without a thread.
_SHORT_PAGE = 100


class InlineEmbeddedTransport:
    """Runs small requests on the event loop, and all others through the `usual` transport.

    `answer` runs any request synchronously, and `ready` prepares one. Inside `one_commit`, their writes share one commit.
    """

    def __init__(self, usual: AsyncEmbeddedTransport) -> None:
        self.usual = usual
        self._direct = EmbeddedTransport(usual.engine)
        #: whether this thread holds the write lock: a request in another thread would then wait for it forever
        self._in_commit = False

    def answer(self, operation: str, request: dict[str, Any], statement: Hashable = None) -> dict[str, Any]:
        """Execute a request in this thread."""
        return self._direct.call(operation, request) if statement is None else self._direct.ready(operation, request, statement)()

    def ready(self, operation: str, request: dict[str, Any], statement: Hashable = None) -> Callable[[], dict[str, Any]]:
        """Prepare a request outside of `one_commit`, and return the function that executes it, which raises all errors."""
        return self._direct.ready(operation, request, statement)

    @contextmanager
    def one_commit(self) -> Iterator[None]:
        """Commit all writes of this thread at the end of the block.

        Other threads and processes cannot write meanwhile. Each request still succeeds or fails by itself, and reads see the state before
        the block. Raises `ServiceError` if the commit fails; nothing was written then.
        """
        try:
            group = self.usual.engine.begin_group()
        except EngineError as error:
            raise _refusal(error) from None
        self._in_commit = True
        try:
            yield
        except BaseException:
            group.roll_back()
            raise
        finally:
            self._in_commit = False
        try:
            group.commit()
        except EngineError as error:
            raise _refusal(error) from None

    def changes(self) -> int:
        """SQLite's `data_version`: changes whenever another connection, also of another process, commits. Takes a few microseconds."""
        row = self.usual.engine.database.row("PRAGMA data_version")
        return 0 if row is None else int(row[0])

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Execute a request, on the event loop if it is small."""
        small = operation in _SMALL or (operation == "Query" and request.get("Limit", _SHORT_PAGE + 1) <= _SHORT_PAGE)
        if self._in_commit or (small and not _PLAIN):
            return self.answer(operation, request)
        return await self.usual.call(operation, request, timeout=timeout)

    async def close(self) -> None:
        """Close the usual transport."""
        await self.usual.close()


def _refusal(error: EngineError) -> ServiceError:
    return ServiceError(error.code, error.message, error.extra, error.status)
