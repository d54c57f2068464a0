"""The moves of a process: which entities are being moved, in which phase, and how to find the other side of an item.

`Moving`: rewrites a store's operations on entities whose items are being moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.migrate.errors import BadMove, MoveIncomplete
from gateleg.migrate.moves import copies
from gateleg.migrate.moves.control import LEASE, REFRESH, PhaseViews, StageView, raise_fence
from gateleg.migrate.moves.copies import EpochEnded
from gateleg.migrate.moves.directions import Direction, text_of
from gateleg.migrate.moves.items import read_item
from gateleg.migrate.moves.rewrites import Moved, MovedStream
from gateleg.migrate.moves.tables import FENCES
from gateleg.model import spec_of
from gateleg.store.operations.operation import Stream
from gateleg.store.operations.scans import Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

    from gateleg.migrate.moves.declaration import KeyMove
    from gateleg.model import Item, Ref
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup


class MoveRegistry:
    """The moves that a process knows, and their phases as far as known."""

    def __init__(
        self,
        moves: Sequence[KeyMove],
        *,
        refresh: float = REFRESH,
        lease: float = LEASE,
        process: str | None = None,
        compare: float = 0.01,
    ) -> None:
        self.moves = tuple(moves)
        #: the share of reads by key that compare both items while both are read
        self.compare = compare
        self.views = PhaseViews(moves, refresh=refresh, lease=lease, process=process)
        self._directions: dict[type[BaseModel], list[Direction]] = {}
        for move in moves:
            self._directions.setdefault(move.old, []).append(Direction(move, "old"))
            self._directions.setdefault(move.new, []).append(Direction(move, "new"))
        for entity, directions in self._directions.items():
            sides = [direction.source_side for direction in directions]
            if sides.count("new") > 1 or len(set(sides)) > 1:
                names = ", ".join(direction.move.name for direction in directions)
                raise BadMove(f"{entity.__name__} is in several moves: {names}.", fix="Finish one before the next begins.")
            if spec_of(entity).key.writes_legacy:
                raise BadMove(
                    f"{entity.__name__} is being moved, and writes its legacy key.",
                    fix='Finish the change of its key before the move begins, and remove writes="legacy".',
                )

    def directions(self, entity: type[BaseModel]) -> list[Direction]:
        """The directions of the moves of an entity's items."""
        return self._directions.get(entity, [])

    def view(self, move: KeyMove, partition: str) -> StageView:
        """The stage of a partition of the old table, as known."""
        return self.views.of(move, move.stage_of(partition))

    def stages(self, move: KeyMove) -> list[StageView]:
        """All stages of a move, as known."""
        return [self.views.of(move, stage) for stage in move.stages]

    def old_ref(
        self, direction: Direction, ref: Ref[Any], item: Item | None, instance: BaseModel | None, setup: Setup
    ) -> Flow[Ref[Any] | None]:
        """The old item of a new one; None if it cannot be determined."""
        move, old = direction.move, spec_of(direction.move.old)
        if item is not None:
            back = yield from direction.convert(item, setup)
            assert back is not None
            return old.ref(back)
        if instance is not None:
            return old.ref(move.revert(instance))
        if move.old_key is not None:
            return old.locate(move.old_key(ref.values))
        return None

    def new_view(self, direction: Direction, ref: Ref[Any], item: Item | None, instance: BaseModel | None, setup: Setup) -> Flow[StageView]:
        """The stage of a new item."""
        views = self.stages(direction.move)
        if len({view.phase for view in views}) == 1 and len(views) == 1:
            return views[0]
        place = yield from self.old_ref(direction, ref, item, instance, setup)
        if place is not None:
            return self.view(direction.move, text_of(place.key[spec_of(direction.move.old).table.hash]))
        raise _unknown(direction)

    def old_item(
        self, direction: Direction, ref: Ref[Any], item: Item | None, instance: BaseModel | None, setup: Setup
    ) -> Flow[Item | None]:
        """The stored old item of a new one."""
        place = yield from self.old_ref(direction, ref, item, instance, setup)
        if place is None:
            raise _unknown(direction)
        return (yield from read_item(spec_of(direction.move.old), place.key, setup))

    def copy(self, direction: Direction, item: Item, setup: Setup) -> Flow[None]:
        """Copy one old item now, because its new one is about to be written."""
        while True:
            view = self.view(direction.move, text_of(item[spec_of(direction.move.old).table.hash]))
            try:
                yield from copies.copy_item(direction, item, view, setup)
                return
            except EpochEnded:
                yield from self.catch_up([view], setup)

    def check_collision(self, direction: Direction, source: Item | None, existing: Item | None, setup: Setup) -> Flow[None]:
        """Refuse a write whose copy would overwrite the copy of another item."""
        yield from copies.check_collision(direction, source, existing, setup)

    def catch_up(self, known: Sequence[StageView], setup: Setup) -> Flow[None]:
        """Read the phases again after a fence refused a write, and raise fences that an interrupted change of phase has left behind."""
        yield from self.views.current(setup, anew=True)
        for one in known:
            view = next(
                (view for move in self.moves for view in self.stages(move) if (view.move, view.stage) == (one.move, one.stage)), one
            )
            for number in range(FENCES):
                yield from raise_fence(view, number, setup)


def _unknown(direction: Direction) -> MoveIncomplete:
    move = direction.move
    return MoveIncomplete(
        f"Nothing says which {move.old.__name__} a {move.new.__name__} belongs to that was not copied yet.",
        fix=f"Declare old_key of the move {move.name}, or use {move.old.__name__} until it is in the phase dual-read.",
    )


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
