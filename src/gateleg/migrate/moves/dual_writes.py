"""Dual writes: a write to either side and the resulting copy, in one transaction.

Each attempt reads the item and its copy, computes both as they will be, and writes them on the condition that neither has changed, and
that the stage is still in the epoch that this process knows. If another writer was first, it starts again with the current items.

Keeps attributes that only one side of a move has (`old_only`, `new_only`) while that side's items are deleted, to restore them later.

Clean-up deletes old items, and a rollback from it restores them. A rollback to the beginning deletes copies, and the next backfill restores
them.

Metrics of clients while items are moved, which their processes report with their leases every few seconds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from gateleg.migrate.errors import Inconvertible, MoveClosed, MoveContended, MoveIncomplete
from gateleg.migrate.moves.control import read_processes
from gateleg.migrate.moves.declaration import Phase
from gateleg.migrate.moves.directions import Direction, text_of
from gateleg.migrate.moves.items import (
    TransactionRefused,
    as_read,
    copy_over,
    decoded,
    fence_check,
    key_digest,
    key_of,
    place_of,
    read_item,
    remove,
    write_together,
)
from gateleg.migrate.moves.tables import KEPT_SHARDS, KeptValues, migrations_table
from gateleg.migrate.moves.update_results import updated
from gateleg.model import spec_of
from gateleg.model.expressions import all_of
from gateleg.net import span
from gateleg.store import ConditionFailed, StoreError, TransactionCanceled
from gateleg.store.error_translation import explain_refusal
from gateleg.store.flow import Pause, Request
from gateleg.store.operations.batches import batch_get_flow, batch_write_flow
from gateleg.store.operations.older_items import migrate_to_current_key
from gateleg.store.operations.operation import item_key
from gateleg.store.operations.write_operation import ConditionCheck, Delete, Patch, Put, reread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gateleg.migrate.moves.control import StageView
    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.migrate.moves.directions import Side
    from gateleg.migrate.moves.registry import MoveRegistry
    from gateleg.model import Item, Ref, Spec
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


def values_to_keep(direction: Direction, stage: MoveStage, item: Item) -> KeptValues | None:
    """The attributes to keep of a source that is deleted; None if it has only attributes of the other side."""
    names = _named(direction.move, direction.source_side)
    own = {name: value for name, value in item.items() if name in names}
    if not own:
        return None
    place = _place(direction.move, stage, direction.source_side, direction.source, item)
    return KeptValues(**place, values=json.dumps(own, sort_keys=True))


def read_kept(direction: Direction, pairs: Sequence[tuple[Item, Item]], setup: Setup) -> Flow[list[Item | None]]:
    """The kept attributes of the targets of some pairs, in order."""
    move, side = direction.move, direction.target_side
    if not _named(move, side):
        return [None] * len(pairs)
    keys = []
    for source, target in pairs:
        stage = move.stage_of(direction.partition(source, target))
        ref: Ref[Any] = KeptValues.key(**_place(move, stage, side, direction.target, target))
        keys.append((migrations_table, ref.key))
    found = yield from batch_get_flow(keys, setup, True, "kept values")
    return [None if item is None else json.loads(spec_of(KeptValues).decode(item).values) for item in found]


def forget_kept(move: KeyMove, stage: MoveStage, side: Side, setup: Setup) -> Flow[None]:
    """Delete the kept attributes of a side, once its items are restored."""
    if not _named(move, side):
        return
    name = setup.name_of(migrations_table)
    for shard in range(KEPT_SHARDS):
        query = KeptValues.of_shard(move=move.state_key, stage=stage.name, side=side, shard=shard)
        (payload,) = query.requests(table_name=name, consistent=True)
        while True:
            response = yield Request("Query", payload, "kept values")
            keys = [{part: item[part] for part in migrations_table.attributes} for item in response["Items"]]
            if keys:
                entries: dict[Any, Any] = {item_key(name, key): {"DeleteRequest": {"Key": key}} for key in keys}
                yield from batch_write_flow(entries, setup, "kept values")
            if "LastEvaluatedKey" not in response:
                break
            payload = payload | {"ExclusiveStartKey": response["LastEvaluatedKey"]}


def _place(move: KeyMove, stage: MoveStage, side: Side, spec: Spec[Any], item: Item) -> dict[str, Any]:
    digest = key_digest(key_of(spec, item))
    return {"move": move.state_key, "stage": stage.name, "side": side, "shard": int(digest[:4], 16) % KEPT_SHARDS, "digest": digest}


def _named(move: KeyMove, side: Side) -> frozenset[str]:
    return move.old_only if side == "old" else move.new_only


#: interval for reading the reports of processes
POLL_SECONDS = 1.0


@dataclass(frozen=True)
class ClientMetrics:
    """Reads and writes of items that are being moved: their number, how many failed, and their total duration in seconds."""

    requests: int = 0
    failures: int = 0
    seconds: float = 0.0

    def __add__(self, other: ClientMetrics) -> ClientMetrics:
        return ClientMetrics(self.requests + other.requests, self.failures + other.failures, self.seconds + other.seconds)

    def __sub__(self, other: ClientMetrics) -> ClientMetrics:
        return ClientMetrics(self.requests - other.requests, self.failures - other.failures, self.seconds - other.seconds)

    @property
    def average(self) -> float:
        """Average duration of a request in seconds."""
        return self.seconds / self.requests if self.requests else 0.0


def read_client_metrics(move: KeyMove, setup: Setup) -> Flow[dict[str, ClientMetrics]]:
    """The metrics of each process that knows a move, since its start."""
    processes = yield from read_processes(setup)
    return {one.process: ClientMetrics(one.requests, one.failures, one.seconds) for one in processes if move.state_key in one.moves}


def since(before: Mapping[str, ClientMetrics], now: Mapping[str, ClientMetrics]) -> ClientMetrics:
    """The sum over all processes between two reports."""
    return sum((figures - before.get(process, ClientMetrics()) for process, figures in now.items()), ClientMetrics())


class ClientLatency:
    """The average duration of client requests, updated at most once a second."""

    def __init__(self, move: KeyMove, setup: Setup) -> None:
        self._move = move
        self._setup = setup
        self._looked: float | None = None
        self._before: dict[str, ClientMetrics] = {}
        self._average = 0.0

    def current(self) -> Flow[float]:
        """The average between the last two reports; 0 without requests."""
        now = self._setup.ticks()
        if self._looked is not None and now - self._looked < POLL_SECONDS:
            return self._average
        found = yield from read_client_metrics(self._move, self._setup)
        done = since(self._before, found) if self._looked is not None else ClientMetrics()
        # Processes report every few seconds: until the next report, the last average stands.
        if done.requests or self._looked is None or not found:
            self._average = done.average
        self._looked, self._before = now, found
        return self._average
