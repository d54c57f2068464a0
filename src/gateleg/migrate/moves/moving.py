"""`Moving`: rewrites a store's operations on entities whose items are being moved."""

from __future__ import annotations

from typing import Any

from gateleg.migrate.moves.registry import MoveRegistry
from gateleg.migrate.moves.rewrites import Moved, MovedStream
from gateleg.store.operations.operation import Stream
from gateleg.store.operations.scans import Scan


class Moving(MoveRegistry):
    """The moves of a process: `store.moving(Moving([orders_move]))` is a store whose verbs work in every phase of the moves.

    Create one per process and share it between its stores, because it caches the phases. `compare` is the fraction of reads by key that
    compare both items in the phases dual-read and cut-over; a difference is recorded and logged, and blocks the next phase.
    """

    def rewrite(self, operation: Any) -> Any:
        """The operation to run instead; the same one if it is not affected by a move."""
        if isinstance(operation, Scan | Moved | MovedStream):
            return operation
        if not any(self.directions(entity) for entity, _, _ in operation.partitions()):
            return operation
        return MovedStream(operation, self) if isinstance(operation, Stream) else Moved(operation, self)
