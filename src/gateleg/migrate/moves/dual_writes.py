"""Dual writes: a write to either side and the resulting copy, in one transaction.

Each attempt reads the item and its copy, computes both as they will be, and writes them on the condition that neither has changed, and
that the stage is still in the epoch that this process knows. If another writer was first, it starts again with the current items.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from gateleg.migrate.errors import Inconvertible, MoveClosed, MoveContended, MoveIncomplete
from gateleg.migrate.moves.directions import Direction, text_of
from gateleg.migrate.moves.items import (
    TransactionRefused,
    as_read,
    copy_over,
    decoded,
    fence_check,
    place_of,
    read_item,
    remove,
    write_together,
)
from gateleg.migrate.moves.kept_values import read_kept
from gateleg.migrate.moves.phases import Phase
from gateleg.migrate.moves.update_results import updated
from gateleg.model import spec_of
from gateleg.model.expressions import all_of
from gateleg.net import span
from gateleg.store import ConditionFailed, StoreError, TransactionCanceled
from gateleg.store.error_translation import explain_refusal
from gateleg.store.flow import Pause
from gateleg.store.operations.older_items import migrate_to_current_key
from gateleg.store.operations.write_operation import ConditionCheck, Delete, Patch, Put, reread

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.migrate.moves.phase_views import StageView
    from gateleg.migrate.moves.registry import MoveRegistry
    from gateleg.model import Item
    from gateleg.model.planning import Write
    from gateleg.store.flow import Flow
    from gateleg.store.operations.operation import ItemKey
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Setup

#: attempts for a write that conflicts with others
_MAX_ATTEMPTS = 60
_MAX_PAUSE_SECONDS = 0.25


@dataclass
class _Planned:
    """One operation of the caller, as carried out."""

    operation: WriteOperation[Any]
    write: Write[Any]
    before: Item | None = None
    after: Item | None = None


@dataclass
class _Attempt:
    """The parts of one transaction."""

    now: datetime
    operations: list[WriteOperation[Any]] = field(default_factory=list)
    writes: list[Write[Any]] = field(default_factory=list)
    #: the caller's operation that each belongs to
    owners: list[int] = field(default_factory=list)
    seen: dict[ItemKey, Item | None] = field(default_factory=dict)
    stages: dict[tuple[str, str], StageView] = field(default_factory=dict)

    def add(self, operation: WriteOperation[Any], owner: int, write: Write[Any] | None = None) -> Write[Any]:
        planned = operation.write(self.now) if write is None else write
        self.operations.append(operation)
        self.writes.append(planned)
        self.owners.append(owner)
        return planned


def write_moved(
    moving: MoveRegistry, operations: Sequence[WriteOperation[Any]], setup: Setup, *, token: str | None = None, alone: bool = False
) -> Flow[list[Any]]:
    """Carry out writes, each with its copy, all in one transaction. Returns the results of the single verbs.

    `alone` is a write whose error is its own; else `TransactionCanceled` has the error of each operation.
    """
    yield from moving.views.current(setup)
    begun = moving.views.begin()
    try:
        return (yield from _tried(moving, operations, setup, token, alone))
    finally:
        moving.views.end(begun)


def _tried(
    moving: MoveRegistry, operations: Sequence[WriteOperation[Any]], setup: Setup, token: str | None, alone: bool
) -> Flow[list[Any]]:
    for number in range(_MAX_ATTEMPTS):
        attempt = _Attempt(setup.now())
        planner, planned = _CopyPlanner(moving, attempt, setup), list[_Planned]()
        for owner, operation in enumerate(operations):
            planned.append((yield from planner.plan(operation, owner)))
        if not attempt.stages and alone:
            return [(yield from operations[0].flow(setup))]
        checks = [fence_check(view, setup) for view in attempt.stages.values()]
        for check in checks:
            attempt.add(check, -1)
        try:
            given = token if number == 0 else None
            yield from write_together(attempt.operations, attempt.writes, attempt.seen, attempt.now, setup, given)
            break
        except TransactionRefused as refusal:
            if not refusal.stale and not _fenced(refusal, len(checks)):
                raise _error(refusal.error, planned, attempt.owners, alone) from refusal.error.__cause__
            if _fenced(refusal, len(checks)):
                yield from moving.catch_up(list(attempt.stages.values()), setup)
        except TransactionCanceled as canceled:
            raise _error(canceled, planned, attempt.owners, alone) from canceled
        yield Pause(setup.random.random() * span(number + 1, 0.002, _MAX_PAUSE_SECONDS))
    else:
        raise MoveContended(f"{operations[0].pattern} was tried {_MAX_ATTEMPTS} times, and others changed its items each time.")
    results: list[Any] = []
    for one in planned:
        result = yield from _result(one, setup)
        results.append(result)
    return results


def _fenced(refusal: TransactionRefused, checks: int) -> bool:
    """Whether a fence refused the transaction; its checks are at the end."""
    return checks > 0 and any(reason is not None for reason in refusal.error.reasons[-checks:])


class _CopyPlanner:
    """Plans one operation of the caller, with its copies."""

    def __init__(self, moving: MoveRegistry, attempt: _Attempt, setup: Setup) -> None:
        self._moving = moving
        self._attempt = attempt
        self._setup = setup

    def plan(self, operation: WriteOperation[Any], owner: int) -> Flow[_Planned]:
        directions = self._moving.directions(operation.entity)
        if not directions:
            return _Planned(operation, self._attempt.add(operation, owner))
        spec, setup = spec_of(operation.entity), self._setup
        if spec.key.legacy:
            yield from migrate_to_current_key(operation.ref, setup)
        before = yield from read_item(spec, operation.ref.key, setup)
        active: list[tuple[Direction, StageView]] = []
        for direction in directions:
            view = yield from self._view(direction, operation, before)
            if view is not None:
                active.append((direction, view))
        if active and directions[0].source_side == "new" and not active[0][1].phase.complete:
            before = yield from self._bring(active[0][0], operation, before)
        if not active or isinstance(operation, ConditionCheck):
            return _Planned(operation, self._attempt.add(operation, owner), before, before)
        return (yield from self._mirrored(operation, owner, before, active))

    def _view(self, direction: Direction, operation: WriteOperation[Any], before: Item | None) -> Flow[StageView | None]:
        """The stage of an operation, if it writes to both sides."""
        moving, setup, move = self._moving, self._setup, direction.move
        if direction.source_side == "old":
            view = moving.view(move, text_of(operation.ref.key[spec_of(move.old).table.hash]))
            moving.views.note_old(move, setup)
            if not view.phase.takes_old:
                raise MoveClosed(f"{move.old.__name__} has moved to {move.new.__name__}.")
            return view if view.phase.writes_both else None
        view = yield from moving.new_view(direction, operation.ref, before, _instance(operation), setup)
        if view.phase is Phase.OFF:
            raise MoveIncomplete(f"The move {move.name} has not begun: {move.new.__name__} cannot be written yet.")
        return view if view.phase.writes_both else None

    def _bring(self, direction: Direction, operation: WriteOperation[Any], before: Item | None) -> Flow[Item | None]:
        """Copy the old item of a new one that is about to be written, if that was not done yet."""
        old = yield from self._moving.old_item(direction, operation.ref, before, _instance(operation), self._setup)
        if old is None:
            return before
        yield from self._moving.copy(direction.reverse, old, self._setup)
        return (yield from read_item(direction.source, operation.ref.key, self._setup))

    def _mirrored(
        self, operation: WriteOperation[Any], owner: int, before: Item | None, active: list[tuple[Direction, StageView]]
    ) -> Flow[_Planned]:
        spec, attempt = spec_of(operation.entity), self._attempt
        guarded: Any = replace(operation, condition=all_of(operation.condition, as_read(spec, before)))  # type: ignore[type-var]
        write = attempt.add(guarded, owner)
        attempt.seen[place_of(spec, operation.ref.key, self._setup)] = before
        after = _after(write, before)
        for direction, view in active:
            attempt.stages[view.move, view.stage] = view
            yield from self._mirror(direction, view, owner, before, after)
        return _Planned(operation, write, before, after)

    def _mirror(self, direction: Direction, view: StageView, owner: int, before: Item | None, after: Item | None) -> Flow[None]:
        """Add the write of the copy."""
        setup, target = self._setup, direction.target
        previous = yield from self._attempted(direction, before)
        wanted: Item | None = None
        try:
            wanted = yield from direction.expected(after, setup)
            if wanted is not None and after is not None:
                yield from direction.check_loss(after, wanted, setup)
        except Inconvertible:
            # While old items are authoritative, a move must not fail a client's write: delete the copy; the backfill reports the item.
            if view.phase.complete or direction.source_side == "new":
                raise
            wanted = None
        places = {place_of(target, item, setup): direction.key_of(item) for item in (previous, wanted) if item is not None}
        kept = None if wanted is None else place_of(target, wanted, setup)
        for place, key in places.items():
            existing = yield from read_item(target, key, setup)
            self._attempt.seen[place] = existing
            if place == kept:
                yield from self._moving.check_collision(direction, after, existing, setup)
                assert wanted is not None
                assert after is not None
                own = existing
                if existing is None:
                    (own,) = yield from read_kept(direction, [(after, wanted)], setup)
                self._attempt.add((yield from copy_over(target, direction.beside_own(wanted, own), existing, setup)), owner)
            elif existing is not None:
                self._attempt.add((yield from remove(target, existing, setup)), owner)

    def _attempted(self, direction: Direction, item: Item | None) -> Flow[Item | None]:
        try:
            return (yield from direction.expected(item, self._setup))
        except Inconvertible:
            return None


def _instance(operation: WriteOperation[Any]) -> BaseModel | None:
    """The instance of an operation, if it has one."""
    if isinstance(operation, Put):
        return operation.instance  # type: ignore[no-any-return]
    target = getattr(operation, "target", None)
    return target if isinstance(target, BaseModel) else None


def _after(write: Write[Any], before: Item | None) -> Item | None:
    """The item after a write."""
    if write.kind == "Put":
        item: Item = write.parameters["Item"]
        return item
    return None if write.kind == "Delete" else updated(before, write.parameters)


def _result(planned: _Planned, setup: Setup) -> Flow[Any]:
    """The result of the single verb."""
    operation, spec = planned.operation, spec_of(planned.operation.entity)
    returning = getattr(operation, "returning", "none")
    if isinstance(operation, ConditionCheck) or returning == "none":
        return None
    if returning == "old":
        return None if planned.before is None else (yield from decoded(spec, planned.before, setup))
    if isinstance(operation, Delete):
        return None
    if spec.counted and planned.write.kind == "Update":
        return (yield from reread(operation, setup))
    if isinstance(operation, Put) and planned.write.kind == "Put":
        return planned.write.instance
    if planned.after is None:
        # An item outside of any move, written together with others.
        return (yield from reread(operation, setup))
    if isinstance(operation, Patch) and returning == "changed":
        before = planned.before or {}
        changed = {name: value for name, value in planned.after.items() if before.get(name) != value}
        return spec.decode_partial(changed)
    return (yield from decoded(spec, planned.after, setup))


def _error(canceled: TransactionCanceled, planned: list[_Planned], owners: list[int], alone: bool) -> StoreError:
    """The error for the caller: that of the single verb, or one with the reasons of the caller's operations."""
    reasons: list[StoreError | None] = [None] * len(planned)
    for owner, reason in zip(owners, canceled.reasons, strict=True):
        if owner >= 0 and reason is not None and reasons[owner] is None:
            reasons[owner] = _own_reason(planned[owner], reason)
    if alone:
        return reasons[0] or canceled
    texts = "; ".join(
        f"{number + 1} ({planned[number].operation.pattern}): {reason.message}" for number, reason in enumerate(reasons) if reason
    )
    return TransactionCanceled(f"The transaction was refused. {texts or canceled.message}", reasons=reasons)


def _own_reason(planned: _Planned, reason: StoreError) -> StoreError:
    """The reason without the condition that dual writes add, which held."""
    if type(reason) is ConditionFailed and getattr(planned.operation, "condition", None) is None:
        return explain_refusal(planned.operation.expectation(), planned.before)
    return reason
