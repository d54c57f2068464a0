"""The engine in this process, for a program that has little else to do: answers come at once, without a thread between.

The usual asynchronous transport gives writes to threads, so that an event loop that serves many never waits for the disk. A worker of a
queue has nothing to do until it is answered, and handing each small request to a thread and back costs more than the request itself.
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
#: The longest page of a query that is read without a thread.
_SHORT_PAGE = 100


class InlineEmbeddedTransport:
    """Small requests are answered at once, on the event loop; all others go the usual way.

    `answer` is the same without awaiting, for any request, and `ready` in two steps; within `one_commit`, what they write becomes durable
    together.
    """

    def __init__(self, usual: AsyncEmbeddedTransport) -> None:
        self.usual = usual
        self._direct = EmbeddedTransport(usual.engine)
        #: whether this thread holds the write lock, for which a request on another thread would wait forever
        self._in_commit = False

    def answer(self, operation: str, request: dict[str, Any], statement: Hashable = None) -> dict[str, Any]:
        """The engine's answer."""
        return self._direct.call(operation, request) if statement is None else self._direct.ready(operation, request, statement)()

    def ready(self, operation: str, request: dict[str, Any], statement: Hashable = None) -> Callable[[], dict[str, Any]]:
        """`answer` in two steps, so that less is left to do while others may not write. What is wrong is raised by the second."""
        return self._direct.ready(operation, request, statement)

    @contextmanager
    def one_commit(self) -> Iterator[None]:
        """Share one commit among the writes of this thread: nothing that is written inside counts before the end of the block.

        Others cannot write meanwhile. Each request is still carried out or refused by itself, and reads see what was committed before the
        block. Raises `ServiceError` when the commit fails; then nothing was written.
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
        """A number that is another one once another connection has written, be it of another process. It costs a few microseconds."""
        row = self.usual.engine.database.row("PRAGMA data_version")
        return 0 if row is None else int(row[0])

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """The engine's answer."""
        small = operation in _SMALL or (operation == "Query" and request.get("Limit", _SHORT_PAGE + 1) <= _SHORT_PAGE)
        if self._in_commit or (small and not _PLAIN):
            return self.answer(operation, request)
        return await self.usual.call(operation, request, timeout=timeout)

    async def close(self) -> None:
        """Close the usual transport."""
        await self.usual.close()


def _refusal(error: EngineError) -> ServiceError:
    return ServiceError(error.code, error.message, error.extra, error.status)
