"""Copies of items from one side of a move to the other, which never overwrite a newer item or bring back a deleted one.

A copy is written together with a check that its source still is what was read, and that the copy which it replaces is, too. A copy that is
already right is left alone, so that a backfill can be repeated at no cost but its reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gateleg.migrate.errors import Inconvertible, MoveContended
from gateleg.migrate.moves.items import TransactionRefused, as_read, copy_over, fence_check, key_of, place_of, read_item, write_together
from gateleg.migrate.moves.kept_values import read_kept
from gateleg.store import StoreError, TransactionCanceled, UniqueTaken
from gateleg.store.operations.batches import batch_get_flow
from gateleg.store.operations.write_operation import ConditionCheck

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.migrate.moves.directions import Direction
    from gateleg.migrate.moves.phase_views import StageView
    from gateleg.model import Item
    from gateleg.store.flow import Flow
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Setup

Verdict = Literal["copied", "same", "gone", "left"]
#: attempts for an item that other writers keep changing
_MAX_ATTEMPTS = 20
#: limits of one transaction, below DynamoDB's 100 entries and 4 MB
_MAX_TRANSACTION_ENTRIES = 90
_MAX_TRANSACTION_BYTES = 2_000_000


class EpochEnded(Exception):
    """The stage has left the epoch of a copy; the caller must read the phase again."""


@dataclass
class _PendingCopy:
    """A copy to be written."""

    source: Item
    wanted: Item
    existing: Item | None


def copy_item(direction: Direction, item: Item, view: StageView, setup: Setup) -> Flow[Verdict]:
    """Copy one item, retrying while others change it. Raises `Inconvertible`, `Orphan` and `EpochEnded`."""
    source: Item | None = item
    for _ in range(_MAX_ATTEMPTS):
        if source is None:
            return "gone"
        due = yield from _pending_copy(direction, source, setup)
        if not isinstance(due, _PendingCopy):
            return due
        refusal = yield from _written(direction, [due], view, setup)
        if refusal is None:
            return "copied"
        if isinstance(refusal, TransactionCanceled):
            raise _refused(direction, source, refusal)
        source = yield from read_item(direction.source, key_of(direction.source, source), setup)
    raise MoveContended(f"{direction.shown(item)} was changed by others {_MAX_ATTEMPTS} times in a row.")


def copy_items(
    direction: Direction, items: Sequence[Item], view: StageView, setup: Setup
) -> Flow[list[tuple[Item, Verdict | Inconvertible]]]:
    """Copy the items of one page in transactions; those that others change meanwhile, one by one."""
    results: list[tuple[Item, Verdict | Inconvertible]] = []
    wanted: list[tuple[Item, Item]] = []
    for item in items:
        try:
            target = yield from direction.expected(item, setup)
        except Inconvertible as error:
            results.append((item, error))
            continue
        if target is None:
            results.append((item, "left"))
        else:
            wanted.append((item, target))
    keys = [(direction.target.table, direction.key_of(target)) for _, target in wanted]
    found = yield from batch_get_flow(keys, setup, True, f"{direction.target.name}.move")
    kept = yield from read_kept(direction, wanted, setup)
    due: list[_PendingCopy] = []
    for (item, target), existing, own in zip(wanted, found, kept, strict=True):
        try:
            one = yield from _pending_copy_over(direction, item, target, existing, own, setup)
        except Inconvertible as error:
            results.append((item, error))
            continue
        due.append(one) if isinstance(one, _PendingCopy) else results.append((item, one))
    for group in _groups(direction, due, setup):
        if (yield from _written(direction, group, view, setup)) is None:
            results += [(one.source, "copied") for one in group]
            continue
        for one in group:
            try:
                results.append((one.source, (yield from copy_item(direction, one.source, view, setup))))
            except Inconvertible as error:
                results.append((one.source, error))
    return results


def _pending_copy(direction: Direction, item: Item, setup: Setup) -> Flow[_PendingCopy | Verdict]:
    target = yield from direction.expected(item, setup)
    if target is None:
        return "left"
    existing = yield from read_item(direction.target, direction.key_of(target), setup)
    (kept,) = yield from read_kept(direction, [(item, target)], setup)
    return (yield from _pending_copy_over(direction, item, target, existing, kept, setup))


def _pending_copy_over(
    direction: Direction, item: Item, target: Item, existing: Item | None, kept: Item | None, setup: Setup
) -> Flow[_PendingCopy | Verdict]:
    """Compare an item with its existing copy, if any; `kept` are the own attributes of an earlier copy."""
    yield from check_collision(direction, item, existing, setup)
    wanted = direction.beside_own(target, kept if existing is None else existing)
    yield from direction.check_loss(item, wanted, setup)
    return "same" if direction.same(wanted, existing) else _PendingCopy(item, wanted, existing)


def check_collision(direction: Direction, source: Item | None, existing: Item | None, setup: Setup) -> Flow[None]:
    """Raise `Inconvertible` if another item has a copy under the same key."""
    if source is None or existing is None:
        return
    try:
        back = yield from direction.reverse.convert(existing, setup)
    except Inconvertible:
        return
    if back is None:
        return
    other = direction.source.ref(back).key
    if place_of(direction.source, other, setup) != place_of(direction.source, source, setup):
        raise Inconvertible(
            f"{direction.shown(source)} and {direction.shown(other)} have the same {direction.target.name}.",
            fix="Let convert give them different keys, or delete one of them.",
        )


def _groups(direction: Direction, due: Sequence[_PendingCopy], setup: Setup) -> list[list[_PendingCopy]]:
    """Groups of copies that fit one transaction."""
    companions = len(direction.target.uniques) * 2 + len(direction.target.counters)
    size = max(1, _MAX_TRANSACTION_ENTRIES // (2 + companions))
    groups: list[list[_PendingCopy]] = []
    total = 0
    for one in due:
        weight = len(str(one.wanted))
        if not groups or len(groups[-1]) >= size or total + weight > _MAX_TRANSACTION_BYTES:
            groups.append([])
            total = 0
        groups[-1].append(one)
        total += weight
    return groups


def _written(
    direction: Direction, group: Sequence[_PendingCopy], view: StageView, setup: Setup
) -> Flow[TransactionRefused | TransactionCanceled | None]:
    """Write copies in one transaction; returns why it was refused, if so. Errors that do not concern changed items are raised."""
    now = setup.now()
    operations: list[WriteOperation[Any]] = []
    seen: dict[Any, Item | None] = {}
    for one in group:
        ref = direction.source.ref_of(one.source)
        operations.append(ConditionCheck(ref, as_read(direction.source, one.source)))
        operations.append((yield from copy_over(direction.target, one.wanted, one.existing, setup)))
        seen[place_of(direction.source, one.source, setup)] = one.source
        seen[place_of(direction.target, one.wanted, setup)] = one.existing
    operations.append(fence_check(view, setup))
    writes = [operation.write(now) for operation in operations]
    try:
        yield from write_together(operations, writes, seen, now, setup)
        return None
    except TransactionRefused as refusal:
        if refusal.error.reasons[-1] is not None:
            raise EpochEnded from refusal
        return refusal if refusal.stale else refusal.error
    except TransactionCanceled as canceled:
        return canceled
    except StoreError:
        if len(group) == 1:
            raise
        # Too many or too large: writing them one by one shows which.
        return TransactionCanceled("The copies did not fit into one transaction.", reasons=())


def _refused(direction: Direction, item: Item, canceled: TransactionCanceled) -> Inconvertible:
    why = "; ".join(reason.message for reason in canceled.reasons if reason is not None) or canceled.message
    if any(isinstance(reason, UniqueTaken) for reason in canceled.reasons):
        why += f" If no {direction.target.name} has it, its marker was left behind: `gateleg tables check --fix` deletes it."
    return Inconvertible(f"The copy of {direction.shown(item)} was refused: {why}")
