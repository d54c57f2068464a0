"""The engine in this process, with several writes in one commit: what a worker of the queue needs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gateleg.engine import EngineError
from gateleg.store.transports import ServiceError
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, EmbeddedTransport

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

__all__ = ["GroupCommitTransport"]


class GroupCommitTransport:
    """An `AsyncEmbeddedTransport` whose writes can share a commit.

    `answer` carries out a request on this thread, without awaiting, and `ready` does so in two steps. What is written within `one_commit`
    becomes durable together.
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
        """SQLite's data_version: changes whenever another connection commits, of any process. Costs a few microseconds."""
        row = self.usual.engine.database.row("PRAGMA data_version")
        return 0 if row is None else int(row[0])

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """The engine's answer."""
        if self._in_commit:
            return self.answer(operation, request)
        return await self.usual.call(operation, request, timeout=timeout)

    async def close(self) -> None:
        """Close the usual transport."""
        await self.usual.close()


def _refusal(error: EngineError) -> ServiceError:
    return ServiceError(error.code, error.message, error.extra, error.status)
