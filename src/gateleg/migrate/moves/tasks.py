"""The work of passes on a page: copy, compare or delete its items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.migrate.errors import Inconvertible
from gateleg.migrate.moves.comparison import agree, examine
from gateleg.migrate.moves.copies import EpochEnded, copy_items
from gateleg.migrate.moves.digests import digest
from gateleg.migrate.moves.directions import Direction
from gateleg.migrate.moves.item_errors import note_error, reason_of
from gateleg.migrate.moves.items import TransactionRefused, fence_check, key_of, place_of, read_item, remove, write_together
from gateleg.migrate.moves.kept_values import values_to_keep
from gateleg.migrate.moves.passes import PageResult, TablePass, write_units
from gateleg.migrate.moves.phases import Phase
from gateleg.store.operations.batches import batch_get_flow
from gateleg.store.operations.write_operation import Put

if TYPE_CHECKING:
    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.migrate.moves.phase_views import StageView
    from gateleg.model import Item
    from gateleg.store.flow import Flow
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Setup

_COPYING = frozenset({Phase.BACKFILL, Phase.VERIFY})
_COMPARING = frozenset({Phase.BACKFILL, Phase.VERIFY, Phase.DUAL_READ, Phase.CUT_OVER, Phase.CLOSING})
#: below DynamoDB's limit of 100 entries per transaction
_ENTRIES = 90


def backfill(move: KeyMove, stage: MoveStage) -> TablePass:
    """Copies all old items to the new side."""
    return TablePass("backfill", Direction(move, "old"), stage, _COPYING, _copy)


def restore(move: KeyMove, stage: MoveStage) -> TablePass:
    """Copies all new items to the old side, when rolling back from clean-up."""
    return TablePass("restore", Direction(move, "new"), stage, frozenset({Phase.CLOSING}), _copy)


def remove_old(move: KeyMove, stage: MoveStage) -> TablePass:
    """Deletes the old items, once only the new ones are written."""
    return TablePass("remove-old", Direction(move, "old"), stage, frozenset({Phase.CLEAN_UP}), _remove)


def remove_new(move: KeyMove, stage: MoveStage) -> TablePass:
    """Deletes the copies, when rolling back to the beginning."""
    return TablePass("remove-new", Direction(move, "new"), stage, frozenset({Phase.OFF}), _remove)


def compare_old(move: KeyMove, stage: MoveStage, sample: float = 1.0) -> TablePass:
    """Compares old items with their copies."""
    return TablePass("verify-old", Direction(move, "old"), stage, _COMPARING, _Comparison(sample), add_sums)


def compare_new(move: KeyMove, stage: MoveStage, sample: float = 1.0) -> TablePass:
    """Searches for new items without an old item."""
    return TablePass("verify-new", Direction(move, "new"), stage, _COMPARING, _Comparison(sample), add_sums)


def _copy(one: TablePass, items: list[Item], view: StageView, setup: Setup) -> Flow[PageResult]:
    done = PageResult(seen=len(items))
    for item, verdict in (yield from copy_items(one.direction, items, view, setup)):
        if isinstance(verdict, Inconvertible):
            done.failed += 1
            yield from note_error(one.direction, one.stage, item, reason_of(verdict), verdict.message, setup)
        elif verdict == "copied":
            done.written += 1
            done.units += write_units(item)
    return done


def _remove(one: TablePass, items: list[Item], view: StageView, setup: Setup) -> Flow[PageResult]:
    """Delete items with their markers and counters, unless the phase has changed: in transactions, or one by one if they change."""
    done, spec = PageResult(seen=len(items), written=len(items)), one.direction.source
    size = max(1, _ENTRIES // (2 + len(spec.uniques) + len(spec.counters)))
    for start in range(0, len(items), size):
        group = items[start : start + size]
        if (yield from _removed(one, group, view, setup)):
            continue
        for item in group:
            current: Item | None = item
            while current is not None and not (yield from _removed(one, [current], view, setup)):
                current = yield from read_item(spec, key_of(spec, current), setup)
    done.units = sum(map(write_units, items))
    return done


def _removed(one: TablePass, items: list[Item], view: StageView, setup: Setup) -> Flow[bool]:
    """Delete items in one transaction, and keep their own attributes; False if one of them has changed since it was read."""
    now, spec = setup.now(), one.direction.source
    operations: list[WriteOperation[Any]] = []
    for item in items:
        operations += [(yield from remove(spec, item, setup))]
        kept = values_to_keep(one.direction, one.stage, item)
        operations += [] if kept is None else [Put(kept, returning="none")]
    operations.append(fence_check(view, setup))
    seen = {place_of(spec, item, setup): item for item in items}
    try:
        yield from write_together(operations, [operation.write(now) for operation in operations], seen, now, setup)
    except TransactionRefused as refusal:
        if refusal.error.reasons[-1] is not None:
            raise EpochEnded from refusal
        if len(items) == 1 and not refusal.stale:
            raise refusal.error from refusal
        return False
    return True


class _Comparison:
    """Compares the items of a page, or a sample of them, with the other side."""

    def __init__(self, sample: float) -> None:
        self._sample = sample

    def __call__(self, one: TablePass, items: list[Item], view: StageView, setup: Setup) -> Flow[PageResult]:
        direction, done = one.direction, PageResult(seen=len(items))
        forward = direction if direction.source_side == "old" else direction.reverse
        pairs: list[tuple[Item, Item]] = []
        digests: list[int] = []
        for item in items:
            try:
                other = yield from direction.expected(item, setup)
            except Inconvertible as error:
                done.failed += 1
                yield from note_error(direction, one.stage, item, reason_of(error), error.message, setup)
                continue
            if other is None:
                continue
            new = other if direction.source_side == "old" else item
            digests.append(digest(new, forward.own))
            if self._sample >= 1 or setup.random.random() < self._sample:
                pairs.append((item, other))
        done.sums = {"count": len(digests), "sum": f"{sum(digests) % 2**128:032x}", "compared": len(pairs)}
        keys = [(direction.target.table, direction.key_of(other)) for _, other in pairs]
        found = yield from batch_get_flow(keys, setup, True, f"{direction.target.name} verify")
        for (item, other), stored in zip(pairs, found, strict=True):
            if not (yield from agree(direction, item, other, stored, setup)):
                problem = yield from examine(direction, item, setup)
                if problem is not None:
                    done.failed += 1
                    yield from note_error(direction, one.stage, item, problem[0], problem[1], setup)
        return done


def add_sums(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Add two checksums of a verification; the order does not matter."""
    total = (int(one.get("sum", "0"), 16) + int(other.get("sum", "0"), 16)) % 2**128
    return {
        "count": int(one.get("count", 0)) + int(other.get("count", 0)),
        "compared": int(one.get("compared", 0)) + int(other.get("compared", 0)),
        "sum": f"{total:032x}",
    }
