"""`Moving`: how a store treats operations on entities whose items are being moved."""

from __future__ import annotations

from typing import Any

from gateleg.migrate.moves.registry import MoveRegistry
from gateleg.migrate.moves.rewrites import Moved, MovedStream
from gateleg.store.operations.operation import Stream
from gateleg.store.operations.scans import Scan


class Moving(MoveRegistry):
    """The moves that a process knows of: `store.moving(Moving([orders_move]))` is a store whose verbs work in every phase of them.

    Make one for each process and share it between its stores: it keeps what is known of the phases. `compare` is the share of reads by key
    that look at both items in the phases dual-read and cut-over; a pair that differs is noted, logged, and keeps the move from going on.
    """

    def rewrite(self, operation: Any) -> Any:
        """The operation to carry out instead; the same one if it concerns no move."""
        if isinstance(operation, Scan | Moved | MovedStream):
            return operation
        if not any(self.directions(entity) for entity, _, _ in operation.partitions()):
            return operation
        return MovedStream(operation, self) if isinstance(operation, Stream) else Moved(operation, self)
