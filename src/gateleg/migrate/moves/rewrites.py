"""Operations on entities whose items are being moved, as carried out in the current phase.

Retry the items of a stage that could not be moved or that differ from their copies.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gateleg.errors import GatelegError
from gateleg.migrate.errors import Inconvertible, MoveClosed, MoveIncomplete
from gateleg.migrate.moves import steps
from gateleg.migrate.moves.control import check_not_paused, view_of
from gateleg.migrate.moves.copies import examine, note_error, reason_of, repeat_errors
from gateleg.migrate.moves.declaration import PHASES, Phase
from gateleg.migrate.moves.directions import Direction, text_of
from gateleg.migrate.moves.dual_writes import write_moved
from gateleg.model import Ref, spec_of
from gateleg.model.planning import changed_attributes
from gateleg.store import LostRace, NotFound
from gateleg.store.flow import Pause, StreamedItems
from gateleg.store.operations.batches import BatchGet, BatchWrite, Transact, TransactGet, batch_get_flow
from gateleg.store.operations.operation import Operation, Stream, locate
from gateleg.store.operations.pages import Collect, ReadPage
from gateleg.store.operations.queries import Count, QueryStream, Reading
from gateleg.store.operations.reads import Find, Items, Pick, shown_item
from gateleg.store.operations.scans import DeleteAll
from gateleg.store.operations.write_operation import Delete, Patch, Put, WriteOperation
from gateleg.store.operations.writes import Retrying, Save
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel

    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.migrate.moves.registry import MoveRegistry
    from gateleg.migrate.moves.steps import MoveOptions
    from gateleg.model import Item, Query
    from gateleg.model.keys import KeyPlan
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["repeat_failed"]

_log = logging.getLogger("gateleg.migrate")

#: HTTP statuses from here on are not the caller's fault
_SERVER = 500
_READ_BOTH = frozenset({Phase.DUAL_READ, Phase.CUT_OVER})


@dataclass(frozen=True, slots=True)
class Moved(Operation[Any]):
    """An operation on items that are being moved."""

    operation: Operation[Any]
    moving: MoveRegistry

    def flow(self, setup: Setup) -> Flow[Any]:
        """Run the operation according to the phases, which are read first if necessary."""
        yield from self.moving.views.current(setup)
        started, failed = setup.ticks(), True
        try:
            result = yield from _Carrier(self.moving, setup).carry_out(self.operation)
            failed = False
            return result
        except GatelegError as error:
            # A failed condition, or a closed entity, says nothing about the move.
            failed = error.status >= _SERVER and not isinstance(error, MoveIncomplete)
            raise
        finally:
            self.moving.views.note_request(setup.ticks() - started, failed=failed)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """Those of the operation."""
        return self.operation.partitions()


@dataclass(frozen=True, slots=True)
class MovedStream(Stream[Any]):
    """A query of items that are being moved."""

    operation: Stream[Any]
    moving: MoveRegistry

    def flow(self, setup: Setup) -> Flow[None]:
        """Run the query, or the query of the old entity that answers it."""
        yield from self.moving.views.current(setup)
        yield from _Carrier(self.moving, setup).stream(self.operation)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """Those of the operation."""
        return self.operation.partitions()


class _Carrier:
    """Carries out operations of every kind."""

    def __init__(self, moving: MoveRegistry, setup: Setup) -> None:
        self._moving = moving
        self._setup = setup

    def carry_out(self, operation: Operation[Any]) -> Flow[Any]:
        if isinstance(operation, WriteOperation):
            (result,) = yield from write_moved(self._moving, [operation], self._setup, alone=True)
            return result
        if isinstance(operation, Transact):
            return (yield from self._transact(operation))
        if isinstance(operation, BatchWrite):
            return (yield from self._batch_write(operation))
        if isinstance(operation, Retrying):
            return (yield from self._retrying(operation))
        if isinstance(operation, Save):
            actions = tuple(changed_attributes(operation.before, operation.changed))
            return (yield from self.carry_out(Patch(operation.before, actions))) if actions else operation.before
        if isinstance(operation, Find | Pick):
            return (yield from self._find(operation))
        if isinstance(operation, BatchGet | TransactGet):
            return (yield from self._find_all(operation))
        if isinstance(operation, DeleteAll):
            return (yield from self._delete_all(operation))
        return (yield from self._ask(operation))

    def _transact(self, operation: Transact) -> Flow[list[Any]]:
        if not operation.operations:
            return []
        results = yield from write_moved(self._moving, operation.operations, self._setup, token=operation.token)
        return [result if isinstance(one, Put) else None for one, result in zip(operation.operations, results, strict=True)]

    def _batch_write(self, operation: BatchWrite) -> Flow[int]:
        """Write items that are being moved one by one, each with its copy, and the others in batches."""
        moved = [one for one in operation.operations if self._moving.directions(one.entity)]
        rest = tuple(one for one in operation.operations if one not in moved)
        total = 0
        # A batch is validated before anything is written.
        BatchWrite(operation.operations).flow(self._setup).close()
        for one in moved:
            yield from self.carry_out(one)
            total += 1
        return total + ((yield from BatchWrite(rest).flow(self._setup)) if rest else 0)

    def _retrying(self, operation: Retrying[Any]) -> Flow[Any]:
        ref = locate(operation.target)
        current = None if isinstance(operation.target, Ref) else operation.target
        delays = self._setup.delays()
        while True:
            if current is None:
                current = yield from self.carry_out(Find(ref, True, required=True))
            actions = tuple(operation.decide(current))
            if not actions:
                return current
            try:
                return (yield from self.carry_out(Patch(current, actions)))
            except LostRace as lost:
                delay = next(delays, None)
                if delay is None:
                    raise
                current = lost.current
            yield Pause(delay)

    def _find(self, operation: Find[Any] | Pick) -> Flow[Any]:
        direction = yield from self._via_old(operation.ref)
        if direction is None:
            yield from self._compare(operation.ref)
            return (yield from operation.flow(self._setup))
        found = yield from self._converted(direction, operation.ref)
        if isinstance(operation, Find):
            if found is None and operation.required:
                raise NotFound(f"There is no {operation.ref}.")
            return found
        if found is None:
            raise NotFound(f"There is no {operation.ref}.")
        wanted = [attr.name.split(".")[0].split("[")[0] for attr in operation.project]
        return {name: getattr(found, name) for name in dict.fromkeys(wanted)}

    def _compare(self, ref: Ref[Any]) -> Flow[None]:
        """Compare both items for a sample of reads, and record those that differ."""
        if self._setup.random.random() >= self._moving.compare:
            return
        for direction in self._moving.directions(ref.entity):
            if any(view.phase not in _READ_BOTH for view in self._moving.stages(direction.move)):
                continue
            try:
                problem = yield from examine(direction, ref.key, self._setup)
            except Inconvertible as error:
                # A failed comparison does not affect the read itself.
                problem = reason_of(error), error.message
            if problem is not None:
                _log.error("%s and its copy differ: %s", ref, problem[1])
                # Recorded regardless of the stage: none continues while the list has entries.
                yield from note_error(direction, direction.move.stages[-1], ref.key, *problem, self._setup)

    def _find_all(self, operation: BatchGet | TransactGet) -> Flow[Any]:
        results: dict[int, Any] = {}
        direct: list[int] = []
        for number, ref in enumerate(operation.refs):
            direction = yield from self._via_old(ref)
            if direction is None:
                direct.append(number)
            else:
                results[number] = yield from self._converted(direction, ref)
        if not results:
            return (yield from operation.flow(self._setup))
        found = yield from replace(operation, refs=tuple(operation.refs[number] for number in direct)).flow(self._setup)
        results |= dict(zip(direct, found, strict=True))
        items = Items([results[number] for number in range(len(operation.refs))])
        items.unreadable = getattr(found, "unreadable", ())
        return items

    def _via_old(self, ref: Ref[Any]) -> Flow[Direction | None]:
        """The move through which a new item must be read, because it may not be copied yet; None if it can be read directly."""
        for direction in self._moving.directions(ref.entity):
            move = direction.move
            if direction.source_side == "old":
                view = self._moving.view(move, text_of(ref.key[spec_of(move.old).table.hash]))
                self._moving.views.note_old(move, self._setup)
                _check_open(direction, view.phase)
            elif not all(view.phase.complete for view in self._moving.stages(move)):
                view = yield from self._moving.new_view(direction, ref, None, None, self._setup)
                if not view.phase.complete:
                    return direction
        return None

    def _converted(self, direction: Direction, ref: Ref[Any]) -> Flow[Any]:
        """A new item converted from its old one, which is authoritative until all are copied."""
        old = yield from self._moving.old_item(direction, ref, None, None, self._setup)
        if old is None or shown_item(old, direction.move.old, self._setup) is None:
            return None
        (converted,) = (yield from self._all_converted(direction, [old])) or [None]
        return converted if converted is not None and spec_of(ref.entity).ref(converted).key == ref.key else None

    def _all_converted(self, direction: Direction, items: list[Item]) -> Flow[list[Any]]:
        """Old items converted to new ones, with the attributes that only existing copies have."""
        forward, new = direction.reverse, direction.source
        wires: list[Item] = []
        for item in items:
            wire = yield from forward.expected(item, self._setup)
            wires += [wire] if wire is not None else []
        copies: list[Item | None] = [None] * len(wires)
        if forward.own:
            keys = [(new.table, forward.key_of(wire)) for wire in wires]
            copies = yield from batch_get_flow(keys, self._setup, True, f"{new.name}.move")
        return [new.decode(forward.beside_own(wire, copy)) for wire, copy in zip(wires, copies, strict=True)]

    def _delete_all(self, operation: DeleteAll) -> Flow[int]:
        """Read and delete page by page, each item with its copy."""
        total = 0
        setup = replace(self._setup, expired=True)
        while True:
            page = yield from _Carrier(self._moving, setup).carry_out(ReadPage(Reading(operation.query, hydrate=_partial(operation)), 100))
            for instance in page.items:
                try:
                    yield from self.carry_out(Delete(instance, check_version=False))
                    total += 1
                except NotFound:
                    continue
            if page.next is None:
                return total

    def _ask(self, operation: Operation[Any]) -> Flow[Any]:
        """A page, a count or a collection."""
        if isinstance(operation, ReadPage):
            translated = self._translated(operation.reading.query)
            if translated is None:
                return (yield from operation.flow(self._setup))
            direction, query = translated
            page = yield from replace(operation, reading=Reading(query, operation.reading.consistent)).flow(self._setup)
            return replace(page, items=(yield from self._results(direction, page.items)))
        if isinstance(operation, Count):
            translated = self._translated(operation.query)
            return (yield from (operation if translated is None else replace(operation, query=translated[1])).flow(self._setup))
        if isinstance(operation, Collect):
            for entity, _, _ in operation.partitions():
                self._check_readable(entity)
        return (yield from operation.flow(self._setup))

    def stream(self, operation: Stream[Any]) -> Flow[None]:
        """The results of a query."""
        translated = self._translated(operation.reading.query) if isinstance(operation, QueryStream) else None
        if translated is None:
            yield from operation.flow(self._setup)
            return
        assert isinstance(operation, QueryStream)
        direction, query = translated
        inner = replace(operation, reading=Reading(query, operation.reading.consistent)).flow(self._setup)
        try:
            step = next(inner)
            while True:
                try:
                    response = (
                        yield StreamedItems((yield from self._results(direction, list(step.items))))
                        if isinstance(step, StreamedItems)
                        else step
                    )
                except (ServiceError, Unreachable) as error:
                    step = inner.throw(error)
                else:
                    step = inner.send(response)
        except StopIteration:
            return

    def _results(self, direction: Direction, found: list[Any]) -> Flow[list[Any]]:
        old = spec_of(direction.move.old)
        return (yield from self._all_converted(direction, [old.encode(instance) for instance in found]))

    def _translated(self, query: Query[Any]) -> tuple[Direction, Query[Any]] | None:
        """The query of the old entity that responses one of the new entity; None if it can run directly."""
        direction = self._check_readable(query.entity, query.pattern)
        if direction is None:
            return None
        response = direction.move.patterns[query.pattern.split(".")[-1]](query)
        return direction, response if response.descending == query.descending else response.reversed()

    def _check_readable(self, entity: type[BaseModel], pattern: str = "") -> Direction | None:
        """Refuse what cannot be answered; returns the move whose old entity must answer while copies are missing."""
        for direction in self._moving.directions(entity):
            move = direction.move
            phases = [view.phase for view in self._moving.stages(move)]
            if direction.source_side == "old":
                self._moving.views.note_old(move, self._setup)
                for phase in phases:
                    _check_open(direction, phase)
                continue
            if all(phase.complete for phase in phases):
                continue
            if pattern.split(".")[-1] in move.patterns:
                return direction
            least = min(phases, key=PHASES.index)
            raise MoveIncomplete(
                f"{pattern or entity.__name__} cannot be answered while {move.name} is in the phase {least}.",
                fix=f"Query {move.old.__name__} until the phase is dual-read, or declare in `patterns` how it answers.",
            )
        return None


def _check_open(direction: Direction, phase: Phase) -> None:
    if not phase.takes_old:
        raise MoveClosed(f"{direction.move.old.__name__} has moved to {direction.move.new.__name__}.")


def _partial(operation: DeleteAll) -> bool:
    return operation.query.plan.index.project != "all"


def repeat_failed(move: KeyMove, stage: MoveStage, setup: Setup, options: MoveOptions) -> Flow[int]:
    """Copy old items with missing or wrong copies again, while they are authoritative, then compare; returns how many are still wrong."""
    state = yield from check_not_paused(move, stage, setup)
    left = 0
    if state.phase in (Phase.BACKFILL, Phase.VERIFY):
        left = yield from repeat_errors(move, stage, view_of(state), setup)
    if Phase.VERIFY.order <= state.phase.order < Phase.CLEAN_UP.order:
        left = (yield from steps.verify(move, stage, setup, options)).wrong
    return left
