"""Stale copies: the key of a new item is no longer the one that its old item converts to.

The parent of the old item has changed, or a program that does not know the move has changed the item itself. A copy is only removed if one
transaction can prove that it is stale: the old item exists, it and its parent are unchanged since they were read, and they convert to
another key. Attributes that only the new side has (`new_only`) are carried over to the copy under that key; if it has them too, the stale
copy stays.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.migrate.errors import Inconvertible
from gateleg.migrate.moves.copies import EpochEnded, check_collision
from gateleg.migrate.moves.directions import Direction
from gateleg.migrate.moves.item_errors import read_errors
from gateleg.migrate.moves.items import (
    TransactionRefused,
    as_read,
    copy_over,
    decoded,
    fence_check,
    key_of,
    place_of,
    read_item,
    remove,
    write_together,
)
from gateleg.migrate.moves.tables import ItemError
from gateleg.model import spec_of
from gateleg.store import StoreError
from gateleg.store.operations.write_operation import ConditionCheck, Delete

if TYPE_CHECKING:
    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.migrate.moves.phase_views import StageView
    from gateleg.model import Item, Spec
    from gateleg.store.flow import Flow
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Setup

#: attempts for a copy whose items others change
_MAX_ATTEMPTS = 5


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
    for _ in range(_MAX_ATTEMPTS):
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
