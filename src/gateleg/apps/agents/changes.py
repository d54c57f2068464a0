"""Changes that belong together: what is created, updated and deleted, with the counts of references that move, in one transaction.

    changes = Changes()
    changes.create(agent)
    changes.update(before, after)
    await commit(store, changes)

An update and a delete are conditional on what was read; when another writer was faster, `Raced` is raised, and `settle` decides anew.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from gateleg.apps.agents.errors import AlreadyThere, BusyVersions, StillUsed, TooManyAtOnce, UnknownReference
from gateleg.apps.agents.references import moves, target_of
from gateleg.model import spec_of
from gateleg.model.planning import changed_attributes
from gateleg.store import ConstraintFailed, IllegalTransition, NotFound, TransactionCanceled, check, create, delete, patch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from gateleg.apps.agents.references import Target
    from gateleg.model import Action, Condition, Entity
    from gateleg.store import AsyncStore, StoreError, WriteOperation

T = TypeVar("T")
#: What one transaction of DynamoDB writes.
MOST_WRITES = 100
#: How often a change is decided anew, and the longest pause in seconds before it is.
_ATTEMPTS, _LONGEST_PAUSE = 300, 0.1

Role = Literal["create", "update", "delete", "use", "release", "other"]


class Raced(Exception):
    """Another writer changed what a decision was based on. Decide again."""


@dataclass(frozen=True, slots=True)
class Step:
    """One write of a transaction, and what it is to the change."""

    operation: WriteOperation[Any]
    role: Role
    target: Target | None = None
    #: how many references a deleted item may have: those that go with it
    released: int = 0


@dataclass(frozen=True, slots=True)
class _Write:
    before: Entity | None
    after: Entity | None
    condition: Condition | None = None


class Changes:
    """Writes of one transaction."""

    def __init__(self) -> None:
        self._writes: dict[Target, _Write] = {}
        self._others: list[WriteOperation[Any]] = []
        self._expected: list[Step] = []

    def create(self, item: Entity) -> None:
        """Write a new item."""
        self._writes[target_of(item)] = _Write(None, item)

    def update(self, before: Entity, after: Entity, condition: Condition | None = None) -> None:
        """Bring a stored item from one state to another, if it is still as it was read, or as a condition says."""
        self._writes[target_of(before)] = _Write(before, after, condition)

    def delete(self, before: Entity) -> None:
        """Delete a stored item, if it is still as it was read and nothing names it."""
        self._writes[target_of(before)] = _Write(before, None)

    def also(self, *operations: WriteOperation[Any]) -> None:
        """Write something else in the same transaction."""
        self._others += operations

    def expect(self, item: Entity, condition: Condition) -> None:
        """Write nothing unless a condition holds for a stored item: otherwise another writer was faster (`Raced`)."""
        self._expected.append(Step(check(item, condition), "update", target_of(item)))

    def __contains__(self, target: Target) -> bool:
        return target in self._writes

    def steps(self) -> list[Step]:
        """The writes, each item once: moves of a count become part of the write of the item that counts."""
        moved: Counter[Target] = Counter()
        for write in self._writes.values():
            moved.update(moves(write.before, write.after))
        found = [step for target, write in self._writes.items() for step in _written(target, write, moved[target])]
        counts = [(target, count) for target, count in moved.items() if count and target not in self._writes]
        found += [Step(_moved(target, count), "use" if count > 0 else "release", target) for target, count in counts]
        return found + self._expected + [Step(operation, "other") for operation in self._others]


def _written(target: Target, write: _Write, moved: int) -> list[Step]:
    count = _count_of(target.entity)
    if write.before is None and write.after is not None:
        item = write.after.model_copy(update={"reference_count": moved}) if count == "reference_count" else write.after
        return [Step(create(item), "create", target)]
    if write.before is not None and write.after is None:
        condition = _unchanged(write.before)
        if count is not None:
            condition = _joined(condition, _is(getattr(target.entity, count), -moved, 0))
        return [Step(delete(write.before, must_exist=True, condition=condition), "delete", target, -moved)]
    assert write.before is not None and write.after is not None  # noqa: PT018
    actions = changed_attributes(write.before, write.after)
    if moved:
        actions.append(target.entity.reference_count.add(moved))
    if not actions:
        return []
    condition = write.condition if write.condition is not None else _unchanged(write.before)
    operation = patch(write.before, *actions, *_raised(target.entity), condition=condition, returning="none")
    return [Step(operation, "update", target)]


def _count_of(entity: type[Any]) -> str | None:
    """The attribute that counts what must be gone before an item is deleted."""
    names = spec_of(entity).attributes
    return next((name for name in ("reference_count", "run_count", "item_count") if name in names), None)


def _raised(entity: type[Any]) -> list[Action]:
    return [entity.revision.add(1)] if "revision" in spec_of(entity).attributes else []


def _unchanged(before: Entity) -> Condition | None:
    entity: Any = type(before)
    return _is(entity.revision, before.revision, 1) if "revision" in spec_of(entity).attributes else None  # type: ignore[attr-defined]


def _is(attribute: Any, value: int, default: int) -> Condition:
    """An attribute has a value. Items that were written before it existed have its default."""
    condition: Condition = attribute == value
    return condition | attribute.missing() if value == default else condition


def _joined(one: Condition | None, other: Condition) -> Condition:
    return other if one is None else one & other


def _moved(target: Target, count: int) -> WriteOperation[Any]:
    entity = target.entity
    # The item itself does not change by being named: its time stays.
    still = [entity.updated_at.set(entity.updated_at)] if "updated_at" in spec_of(entity).attributes else []
    return patch(target.ref, entity.reference_count.add(count), *still, returning="none")


async def commit(store: AsyncStore, changes: Changes) -> None:
    """Write all of it or nothing. Raises `Raced`, `UnknownReference`, `StillUsed`, `AlreadyThere` and `TooManyAtOnce`."""
    steps = changes.steps()
    if len(steps) > MOST_WRITES:
        raise TooManyAtOnce(f"This takes {len(steps)} writes in one transaction, which has room for {MOST_WRITES}.")
    while steps:
        try:
            await store.transact([step.operation for step in steps])
        except TransactionCanceled as canceled:
            steps = _possible(steps, canceled.reasons)
        else:
            return


def _possible(steps: Sequence[Step], reasons: Sequence[StoreError | None]) -> list[Step]:
    """The steps without releases of what is gone or counts nothing; raises for every other reason."""
    kept = []
    for step, reason in zip(steps, reasons, strict=True):
        if reason is None:
            kept.append(step)
        elif step.role != "release" or not isinstance(reason, NotFound | ConstraintFailed):
            raise _explained(step, reason) from reason
    return kept


def _explained(step: Step, reason: StoreError) -> Exception:
    if step.target is None:
        return reason
    if step.role == "use" and isinstance(reason, NotFound):
        return UnknownReference(f"There is no {step.target.title}.", details={"missing": step.target.title})
    if step.role == "create" and isinstance(reason, NotFound):
        return UnknownReference(f"What the {step.target.title} belongs to does not exist.")
    if isinstance(reason, IllegalTransition):
        return reason
    if step.role == "create":
        return AlreadyThere(f"There is a {step.target.title} already.")
    current = getattr(reason, "current", None)
    count = getattr(current, _count_of(step.target.entity) or "", 0) or 0
    if step.role == "delete" and count > step.released:
        others = count - step.released
        named = _count_of(step.target.entity) == "reference_count"
        what = f"is used by {_counted(others, 'other item')}" if named else f"still has {_counted(others, 'item')}"
        return StillUsed(f"The {step.target.title} {what}.", details={"references": others})
    return Raced() if step.role in ("update", "delete") else reason


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


async def settle(attempt: Callable[[], Awaitable[T]]) -> T:
    """Decide and write; decide again when another writer was faster."""
    for number in range(_ATTEMPTS):
        try:
            return await attempt()
        except Raced:
            await asyncio.sleep(random.uniform(0, min(0.001 * 2 ** min(number, 10), _LONGEST_PAUSE)))
    raise BusyVersions(f"{_ATTEMPTS} attempts to change this met another writer.")
