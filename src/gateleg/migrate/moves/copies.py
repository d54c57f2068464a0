"""Copies of items from one side of a move to the other, which never overwrite a newer item or bring back a deleted one.

A copy is written together with a check that its source still is what was read, and that the copy which it replaces is, too. A copy that is
already right is left alone, so that a backfill can be repeated at no cost but its reads.

Stale copies: the key of a new item is no longer the one that its old item converts to.

The parent of the old item has changed, or a program that does not know the move has changed the item itself. A copy is only removed if one
transaction can prove that it is stale: the old item exists, it and its parent are unchanged since they were read, and they convert to
another key. Attributes that only the new side has (`new_only`) are carried over to the copy under that key; if it has them too, the stale
copy stays.

Comparison of the two items of a pair, with concurrent writers.

Items that could not be moved: recorded by key, listed, and retried.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gateleg.migrate.errors import Inconvertible, MoveContended, Orphan
from gateleg.migrate.moves.control import stored_key
from gateleg.migrate.moves.directions import Direction
from gateleg.migrate.moves.dual_writes import read_kept
from gateleg.migrate.moves.items import (
    TransactionRefused,
    as_read,
    copy_over,
    decoded,
    fence_check,
    in_present_schema,
    key_digest,
    key_of,
    place_of,
    read_item,
    remove,
    write_together,
)
from gateleg.migrate.moves.tables import ItemError, migrations_table
from gateleg.model import spec_of
from gateleg.store import StoreError, TransactionCanceled, UniqueTaken
from gateleg.store.flow import Request
from gateleg.store.operations.batches import batch_get_flow
from gateleg.store.operations.write_operation import ConditionCheck, Delete, Put
from gateleg.store.setup import retry_conflicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.migrate.moves.control import StageView
    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.model import Item, Spec
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


#: attempts for a copy whose items others change
_MAX_REMOVALS = 5


@dataclass(frozen=True)
class _StalenessProof:
    """The proof that a copy is stale: the items read, and the copy that its old item converts to."""

    #: the old item and its parent, each with its entity
    read: list[tuple[Spec[Any], Item]]
    #: None if the move ignores the old item
    wanted: Item | None
    existing: Item | None


def remove_stale_copies(move: KeyMove, stage: MoveStage, view: StageView, setup: Setup) -> Flow[int]:
    """Delete the copies that a verification has reported as stale and that still are; returns how many were deleted."""
    removed = 0
    for error in (yield from read_errors(move, stage, setup)):
        if error.reason == "stale" and (yield from remove_stale_copy(Direction(move, "new"), json.loads(error.item_key), view, setup)):
            removed += 1
            yield from Delete(spec_of(ItemError).ref(error)).flow(setup)
    return removed


def remove_stale_copy(direction: Direction, key: Item, view: StageView, setup: Setup) -> Flow[bool]:
    """Delete one copy by its key, and write the one that its old item converts to; False if it is not provably stale.

    Raises `EpochEnded` when the phase has changed.
    """
    for _ in range(_MAX_REMOVALS):
        copy = yield from read_item(direction.source, key, setup)
        proof = None if copy is None else (yield from _proof(direction, copy, setup))
        if copy is None or proof is None:
            return False
        try:
            yield from _replace(direction, copy, proof, view, setup)
            return True
        except TransactionRefused as refusal:
            if refusal.error.reasons[-1] is not None:
                raise EpochEnded from refusal
            if not refusal.stale:
                return False
        except StoreError:
            # For example, a unique value that both copies have: the copy stays, and stays reported.
            return False
    return False


def _proof(direction: Direction, copy: Item, setup: Setup) -> Flow[_StalenessProof | None]:
    forward = direction.reverse
    try:
        back = yield from direction.expected(copy, setup)
        old = None if back is None else (yield from read_item(direction.target, direction.key_of(back), setup))
        found = None if old is None else (yield from _parent(direction, old, setup))
        if old is None or found is None:
            return None
        parent, read = found
        wanted = yield from forward.expected(old, setup, parent)
        existing = None if wanted is None else (yield from read_item(direction.source, forward.key_of(wanted), setup))
        yield from check_collision(forward, old, existing, setup)
    except Inconvertible:
        return None
    own = {name: value for name, value in copy.items() if name in direction.move.new_only}
    if wanted is None:
        return None if own else _StalenessProof(read, None, None)
    other = existing or {}
    right = forward.key_of(wanted) == key_of(direction.source, copy)
    if right or any(other.get(name, value) != value for name, value in own.items()):
        return None
    return _StalenessProof(read, forward.beside_own(wanted, {**own, **other}), existing)


def _parent(direction: Direction, old: Item, setup: Setup) -> Flow[tuple[Any, list[tuple[Spec[Any], Item]]] | None]:
    """The parent that a move looks up, and what was read for it; None if it is not under its current key."""
    if direction.move.lookup is None:
        return None, [(direction.target, old)]
    ref = direction.move.lookup((yield from decoded(direction.target, old, setup)))
    spec = spec_of(ref.entity)
    found = yield from read_item(spec, ref.key, setup)
    if found is None:
        return None
    return (yield from decoded(spec, found, setup)), [(direction.target, old), (spec, found)]


def _replace(direction: Direction, copy: Item, proof: _StalenessProof, view: StageView, setup: Setup) -> Flow[None]:
    """One transaction: everything read is unchanged, the copy is deleted, and the right one is written."""
    operations: list[WriteOperation[Any]] = [ConditionCheck(spec.ref_of(item), as_read(spec, item)) for spec, item in proof.read]
    seen: dict[Any, Item | None] = {place_of(spec, item, setup): item for spec, item in proof.read}
    spec = direction.source
    operations.append((yield from remove(spec, copy, setup)))
    seen[place_of(spec, copy, setup)] = copy
    if proof.wanted is not None and proof.wanted != proof.existing:
        operations.append((yield from copy_over(spec, proof.wanted, proof.existing, setup)))
        seen[place_of(spec, proof.wanted, setup)] = proof.existing
    operations.append(fence_check(view, setup))
    now = setup.now()
    yield from write_together(operations, [operation.write(now) for operation in operations], seen, now, setup)


#: how often to read a differing pair again, because it may have been in the middle of a write
_LOOKS = 3


def examine(direction: Direction, item: Item, setup: Setup) -> Flow[tuple[str, str] | None]:
    """Read a pair again in one transaction; None if they agree now, or if the item is gone."""
    problem: tuple[str, str] | None = None
    key = key_of(direction.source, item)
    for _ in range(_LOOKS):
        current = yield from read_item(direction.source, key, setup)
        if current is None:
            return None
        other = yield from direction.expected(current, setup)
        if other is None:
            return None
        current, stored = yield from _both(direction, key, direction.key_of(other), setup)
        if current is None:
            return None
        other = yield from direction.expected(current, setup)
        if other is None or (yield from agree(direction, current, other, stored, setup)):
            return None
        problem = yield from _problem(direction, current, other, stored, setup)
    return problem


def agree(direction: Direction, item: Item, other: Item, stored: Item | None, setup: Setup) -> Flow[bool]:
    """Whether two items match: the new one must follow from the old one."""
    if stored is not None:
        stored = yield from in_present_schema(direction.target, stored, setup)
    if direction.source_side == "old":
        return direction.same(other, stored)
    if stored is None or _differing(direction, other, stored):
        return False
    # An item refers to its old one from every key that it was ever copied to; only one of them is current.
    return not (yield from _is_stale(direction, item, stored, setup))


def _is_stale(direction: Direction, item: Item, old: Item, setup: Setup) -> Flow[bool]:
    """Whether the old item of a copy converts to another key, or to nothing."""
    try:
        copy = yield from direction.reverse.expected(old, setup)
    except Inconvertible:
        # The old item is reported instead.
        return False
    return copy is None or direction.reverse.key_of(copy) != key_of(direction.source, item)


def _differing(direction: Direction, other: Item, stored: Item) -> list[str]:
    return [name for name in direction.differences(other, stored) if name not in direction.reverse.own]


def _problem(direction: Direction, item: Item, other: Item, stored: Item | None, setup: Setup) -> Flow[tuple[str, str]]:
    side = direction.target.name
    if stored is None:
        if direction.source_side == "old":
            return "missing", f"There is no {side} for it."
        return "surplus", f"There is no {side} that it was copied from."
    if direction.source_side == "new" and (yield from _is_stale(direction, item, stored, setup)):
        return "stale", f"Its {side} has another {direction.source.name} by now."
    stored = yield from in_present_schema(direction.target, stored, setup)
    return "differs", f"Its {side} has other values of {', '.join(direction.differences(other, stored))}."


def _both(direction: Direction, key: Item, other: Item, setup: Setup) -> Flow[tuple[Item | None, Item | None]]:
    """Both items of a pair, read in one transaction."""
    gets = [
        {"Get": {"TableName": setup.name_of(direction.source.table), "Key": key}},
        {"Get": {"TableName": setup.name_of(direction.target.table), "Key": other}},
    ]
    response = yield from retry_conflicts(Request("TransactGetItems", {"TransactItems": gets}, "verify"), setup)
    one, two = (response.get("Item") or None for response in response["Responses"])
    return one, two


def note_error(direction: Direction, stage: MoveStage, item: Item, reason: str, why: str, setup: Setup) -> Flow[None]:
    """Record an item that could not be moved, with the reason."""
    key = key_of(direction.source, item)
    error = ItemError(
        move=(yield from stored_key(direction.move, stage, setup)),
        stage=stage.name,
        side=direction.source_side,
        digest=key_digest(key),
        item_key=json.dumps(key, sort_keys=True),
        reason=reason,
        why=why,
        at=setup.now(),
    )
    yield from Put(error, returning="none").flow(setup)


def reason_of(error: Inconvertible) -> str:
    """The reason code of an error."""
    return "orphan" if isinstance(error, Orphan) else "inconvertible"


def read_errors(move: KeyMove, stage: MoveStage, setup: Setup, *, limit: int | None = None) -> Flow[list[ItemError]]:
    """The items of a stage that could not be moved."""
    key = yield from stored_key(move, stage, setup)
    (payload,) = ItemError.of_stage(move=key, stage=stage.name).requests(table_name=setup.name_of(migrations_table), consistent=True)
    found: list[ItemError] = []
    while True:
        response = yield Request("Query", payload if limit is None else payload | {"Limit": limit}, "item errors")
        found += [spec_of(ItemError).decode(item) for item in response["Items"]]
        if "LastEvaluatedKey" not in response or (limit is not None and len(found) >= limit):
            return found[:limit]
        payload = payload | {"ExclusiveStartKey": response["LastEvaluatedKey"]}


def forget_errors(move: KeyMove, stage: MoveStage, setup: Setup) -> Flow[None]:
    """Delete the records before a new pass."""
    for error in (yield from read_errors(move, stage, setup)):
        yield from Delete(spec_of(ItemError).ref(error)).flow(setup)


def repeat_errors(move: KeyMove, stage: MoveStage, view: StageView, setup: Setup) -> Flow[int]:
    """Retry the items that could not be copied; returns how many are left."""
    left = 0
    for error in (yield from read_errors(move, stage, setup)):
        direction = Direction(move, error.side)
        key: dict[str, Any] = json.loads(error.item_key)
        item = yield from read_item(direction.source, key, setup)
        try:
            if item is not None and error.side == "old":
                yield from copy_item(direction, item, view, setup)
        except Inconvertible as again:
            yield from note_error(direction, stage, key, reason_of(again), again.message, setup)
            left += 1
            continue
        yield from Delete(spec_of(ItemError).ref(error)).flow(setup)
    return left
