"""What passes do with a page: copy it, compare it, or remove it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.migrate.errors import Inconvertible
from gateleg.migrate.moves.comparing import agree, examine
from gateleg.migrate.moves.copies import EpochOver, copy_items
from gateleg.migrate.moves.digests import digest
from gateleg.migrate.moves.directions import Direction
from gateleg.migrate.moves.item_errors import note_error, reason_of
from gateleg.migrate.moves.items import Refusal, fence_check, key_of, place_of, read_item, remove, write_together
from gateleg.migrate.moves.kept_values import values_to_keep
from gateleg.migrate.moves.passes import PageDone, Pass, write_units
from gateleg.migrate.moves.phases import Phase
from gateleg.store.operations.batches import batch_get_flow
from gateleg.store.operations.write_kinds import Put

if TYPE_CHECKING:
    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.migrate.moves.phase_views import StageView
    from gateleg.model import Item
    from gateleg.store.flow import Flow
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Setup

_COPYING = frozenset({Phase.BACKFILL, Phase.VERIFY})
_COMPARING = frozenset({Phase.BACKFILL, Phase.VERIFY, Phase.DUAL_READ, Phase.CUT_OVER, Phase.CLOSING})
#: entries of one transaction, below DynamoDB's limit of 100
_ENTRIES = 90


def backfill(move: KeyMove, stage: MoveStage) -> Pass:
    """Copies all old items to the new side."""
    return Pass("backfill", Direction(move, "old"), stage, _COPYING, _copy)


def restore(move: KeyMove, stage: MoveStage) -> Pass:
    """Copies all new items to the old side, on the way back from the clean-up."""
    return Pass("restore", Direction(move, "new"), stage, frozenset({Phase.CLOSING}), _copy)


def remove_old(move: KeyMove, stage: MoveStage) -> Pass:
    """Removes the old items, once only the new ones are written."""
    return Pass("remove-old", Direction(move, "old"), stage, frozenset({Phase.CLEAN_UP}), _remove)


def remove_new(move: KeyMove, stage: MoveStage) -> Pass:
    """Removes the copies, on the way back to the beginning."""
    return Pass("remove-new", Direction(move, "new"), stage, frozenset({Phase.OFF}), _remove)


def compare_old(move: KeyMove, stage: MoveStage, sample: float = 1.0) -> Pass:
    """Compares old items with their copies."""
    return Pass("verify-old", Direction(move, "old"), stage, _COMPARING, _Comparison(sample), add_sums)


def compare_new(move: KeyMove, stage: MoveStage, sample: float = 1.0) -> Pass:
    """Looks for new items that no old item stands for."""
    return Pass("verify-new", Direction(move, "new"), stage, _COMPARING, _Comparison(sample), add_sums)


def _copy(one: Pass, items: list[Item], view: StageView, setup: Setup) -> Flow[PageDone]:
    done = PageDone(seen=len(items))
    for item, verdict in (yield from copy_items(one.direction, items, view, setup)):
        if isinstance(verdict, Inconvertible):
            done.failed += 1
            yield from note_error(one.direction, one.stage, item, reason_of(verdict), verdict.message, setup)
        elif verdict == "copied":
            done.written += 1
            done.units += write_units(item)
    return done


def _remove(one: Pass, items: list[Item], view: StageView, setup: Setup) -> Flow[PageDone]:
    """Delete items with their markers and counters, unless the phase has changed: many in a transaction, and one by one what changes."""
    done, spec = PageDone(seen=len(items), written=len(items)), one.direction.source
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


def _removed(one: Pass, items: list[Item], view: StageView, setup: Setup) -> Flow[bool]:
    """Delete items in one transaction, and keep what only they know; False when one of them is not what was read."""
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
    except Refusal as refusal:
        if refusal.error.reasons[-1] is not None:
            raise EpochOver from refusal
        if len(items) == 1 and not refusal.stale:
            raise refusal.error from refusal
        return False
    return True


class _Comparison:
    """Compares items of a page with the other side: all of them, or a sample."""

    def __init__(self, sample: float) -> None:
        self._sample = sample

    def __call__(self, one: Pass, items: list[Item], view: StageView, setup: Setup) -> Flow[PageDone]:
        direction, done = one.direction, PageDone(seen=len(items))
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
    """Two sums of a verification together: they do not depend on the order."""
    total = (int(one.get("sum", "0"), 16) + int(other.get("sum", "0"), 16)) % 2**128
    return {
        "count": int(one.get("count", 0)) + int(other.get("count", 0)),
        "compared": int(one.get("compared", 0)) + int(other.get("compared", 0)),
        "sum": f"{total:032x}",
    }
