"""A transport to an embedded engine whose writes can share commits, for queue workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.engine import CommitQueue, EngineError
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, EmbeddedTransport, service_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.store.transports import AsyncTransport

__all__ = ["GroupCommitTransport", "commit_error", "with_shared_commits"]


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


def with_shared_commits(transport: AsyncTransport) -> GroupCommitTransport | None:
    """The transport with shared commits, if its engine is in this process; None for a remote store."""
    if type(transport) is AsyncEmbeddedTransport:
        return GroupCommitTransport(transport)
    return transport if isinstance(transport, GroupCommitTransport) else None


def commit_error(error: Exception) -> Exception:
    """The `ServiceError` for an engine's error in beginning or committing a group; any other error is returned unchanged."""
    return service_error(error) if isinstance(error, EngineError) else error
