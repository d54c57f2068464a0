"""A transport to an embedded engine that can share one commit among several writes, for queue workers."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gateleg.engine import EngineError
from gateleg.store.transports import ServiceError
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, EmbeddedTransport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateleg.store.transports import AsyncTransport

__all__ = ["GroupCommitTransport", "with_shared_commits"]


class GroupCommitTransport:
    """An `AsyncEmbeddedTransport` whose writes can share a commit.

    `execute` runs a request in this thread, without awaiting; `prepare_call` prepares one. Inside `one_commit`, writes share a commit.
    """

    def __init__(self, usual: AsyncEmbeddedTransport) -> None:
        self.usual = usual
        self._direct = EmbeddedTransport(usual.engine)
        #: whether this thread holds the write lock: a request in another thread would then wait for it forever
        self._in_commit = False

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Execute a request in this thread."""
        return self._direct.call(operation, request)

    def prepare_call(self, operation: str, request: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        """Prepare a request outside of `one_commit`, and return the function that executes it, which raises all errors."""
        return self._direct.prepare_call(operation, request)

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
        """Execute a request, in this thread inside `one_commit`."""
        if self._in_commit:
            return self.execute(operation, request)
        return await self.usual.call(operation, request, timeout=timeout)

    async def close(self) -> None:
        """Close the usual transport."""
        await self.usual.close()


def with_shared_commits(transport: AsyncTransport) -> GroupCommitTransport | None:
    """The transport with shared commits, if its engine is in this process; None for a remote store."""
    if type(transport) is AsyncEmbeddedTransport:
        return GroupCommitTransport(transport)
    return transport if isinstance(transport, GroupCommitTransport) else None


def _refusal(error: EngineError) -> ServiceError:
    return ServiceError(error.code, error.message, error.extra, error.status)
