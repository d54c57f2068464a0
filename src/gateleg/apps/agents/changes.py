"""A unit of work: creates, updates and deletes in one transaction, together with the reference counts that they change.

    changes = Changes()
    changes.create(agent)
    changes.update(before, after)
    await commit(store, changes)

Updates and deletes are conditional on the revision that was read. If another writer was faster, `commit` raises `WriteConflict`;
`retry_on_conflict` then reads and decides again.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from gateleg.apps.agents.errors import AlreadyThere, BusyVersions, StillUsed, TooManyAtOnce, UnknownReference
from gateleg.apps.agents.references import reference_changes, target_of
from gateleg.model import spec_of
from gateleg.model.planning import changed_attributes
from gateleg.net import span
from gateleg.store import ConstraintFailed, IllegalTransition, NotFound, TransactionCanceled, check, create, delete, patch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from gateleg.apps.agents.references import Target
    from gateleg.model import Condition, Entity, UpdateAction
    from gateleg.store import AsyncStore, StoreError, WriteOperation

T = TypeVar("T")
#: DynamoDB's limit on the writes of one transaction.
MAX_TRANSACTION_WRITES = 100
#: Attempts before a conflicting change is given up, and the longest pause between two.
_ATTEMPTS, _MAX_PAUSE_SECONDS = 300, 0.1

Role = Literal["create", "update", "delete", "use", "release", "other"]


class WriteConflict(Exception):
    """Another writer changed an item that this change depends on. Read and decide again."""


@dataclass(frozen=True, slots=True)
class Step:
    """One write of the transaction, and its role in the change."""

    operation: WriteOperation[Any]
    role: Role
    target: Target | None = None
    #: references to a deleted item that the same transaction removes
    released: int = 0


@dataclass(frozen=True, slots=True)
class _Write:
    before: Entity | None
    after: Entity | None
    condition: Condition | None = None


class Changes:
    """Collects the writes of one transaction."""

    def __init__(self) -> None:
        self._writes: dict[Target, _Write] = {}
        self._others: list[WriteOperation[Any]] = []
        self._expected: list[Step] = []

    def create(self, item: Entity) -> None:
        """Write a new item."""
        self._writes[target_of(item)] = _Write(None, item)

    def update(self, before: Entity, after: Entity, condition: Condition | None = None) -> None:
        """Update a stored item, on condition that its revision is unchanged, or that `condition` holds."""
        self._writes[target_of(before)] = _Write(before, after, condition)

    def delete(self, before: Entity) -> None:
        """Delete a stored item, on condition that its revision is unchanged and no other item refers to it."""
        self._writes[target_of(before)] = _Write(before, None)

    def also(self, *operations: WriteOperation[Any]) -> None:
        """Add further operations to the same transaction."""
        self._others += operations

    def expect(self, item: Entity, condition: Condition) -> None:
        """Make the transaction conditional on a stored item; `commit` raises `WriteConflict` if the condition does not hold."""
        self._expected.append(Step(check(item, condition), "update", target_of(item)))

    def __contains__(self, target: Target) -> bool:
        return target in self._writes

    def steps(self) -> list[Step]:
        """List the writes, one per item: a reference count is updated in the same write as the other attributes of its item."""
        moved: Counter[Target] = Counter()
        for write in self._writes.values():
            moved.update(reference_changes(write.before, write.after))
        found = [step for target, write in self._writes.items() for step in _steps_for(target, write, moved[target])]
        counts = [(target, count) for target, count in moved.items() if count and target not in self._writes]
        found += [Step(_reference_count_update(target, count), "use" if count > 0 else "release", target) for target, count in counts]
        return found + self._expected + [Step(operation, "other") for operation in self._others]


def _steps_for(target: Target, write: _Write, moved: int) -> list[Step]:
    count = _count_of(target.entity)
    if write.before is None and write.after is not None:
        item = write.after.model_copy(update={"reference_count": moved}) if count == "reference_count" else write.after
        return [Step(create(item), "create", target)]
    if write.before is not None and write.after is None:
        condition = _unchanged(write.before)
        if count is not None:
            condition = _and(condition, _equals_or_default(getattr(target.entity, count), -moved, 0))
        return [Step(delete(write.before, must_exist=True, condition=condition), "delete", target, -moved)]
    assert write.before is not None and write.after is not None  # noqa: PT018
    actions = changed_attributes(write.before, write.after)
    if moved:
        actions.append(target.entity.reference_count.add(moved))
    if not actions:
        return []
    condition = write.condition if write.condition is not None else _unchanged(write.before)
    operation = patch(write.before, *actions, *_revision_bump(target.entity), condition=condition, returning="none")
    return [Step(operation, "update", target)]


def _count_of(entity: type[Any]) -> str | None:
    """The counter that must be zero before an item of this entity can be deleted."""
    names = spec_of(entity).attributes
    return next((name for name in ("reference_count", "run_count", "item_count") if name in names), None)


def _revision_bump(entity: type[Any]) -> list[UpdateAction]:
    return [entity.revision.add(1)] if "revision" in spec_of(entity).attributes else []


def _unchanged(before: Entity) -> Condition | None:
    entity: Any = type(before)
    return _equals_or_default(entity.revision, before.revision, 1) if "revision" in spec_of(entity).attributes else None  # type: ignore[attr-defined]


def _equals_or_default(attribute: Any, value: int, default: int) -> Condition:
    """Compare an attribute. Items written before the attribute existed count as having its default."""
    condition: Condition = attribute == value
    return condition | attribute.missing() if value == default else condition


def _and(one: Condition | None, other: Condition) -> Condition:
    return other if one is None else one & other


def _reference_count_update(target: Target, count: int) -> WriteOperation[Any]:
    entity = target.entity
    # A new reference does not change the item itself, so updated_at stays.
    still = [entity.updated_at.set(entity.updated_at)] if "updated_at" in spec_of(entity).attributes else []
    return patch(target.ref, entity.reference_count.add(count), *still, returning="none")


async def commit(store: AsyncStore, changes: Changes) -> None:
    """Write everything or nothing. Raises `WriteConflict`, `UnknownReference`, `StillUsed`, `AlreadyThere` and `TooManyAtOnce`."""
    steps = changes.steps()
    if len(steps) > MAX_TRANSACTION_WRITES:
        raise TooManyAtOnce(f"This change needs {len(steps)} writes in one transaction; the limit is {MAX_TRANSACTION_WRITES}.")
    while steps:
        try:
            await store.transact([step.operation for step in steps])
        except TransactionCanceled as canceled:
            steps = _without_failed_releases(steps, canceled.reasons)
        else:
            return


def _without_failed_releases(steps: Sequence[Step], reasons: Sequence[StoreError | None]) -> list[Step]:
    """Drop the releases whose target no longer exists or counts no references; raise for every other failure."""
    kept = []
    for step, reason in zip(steps, reasons, strict=True):
        if reason is None:
            kept.append(step)
        elif step.role != "release" or not isinstance(reason, NotFound | ConstraintFailed):
            raise _to_error(step, reason) from reason
    return kept


def _to_error(step: Step, reason: StoreError) -> Exception:
    if step.target is None:
        return reason
    if step.role == "use" and isinstance(reason, NotFound):
        return UnknownReference(f"There is no {step.target.title}.", details={"missing": step.target.title})
    if step.role == "create" and isinstance(reason, NotFound):
        return UnknownReference(f"The parent of the {step.target.title} does not exist.")
    if isinstance(reason, IllegalTransition):
        return reason
    if step.role == "create":
        return AlreadyThere(f"The {step.target.title} already exists.")
    current = getattr(reason, "current", None)
    count = getattr(current, _count_of(step.target.entity) or "", 0) or 0
    if step.role == "delete" and count > step.released:
        others = count - step.released
        named = _count_of(step.target.entity) == "reference_count"
        what = f"is used by {_counted(others, 'other item')}" if named else f"still has {_counted(others, 'item')}"
        return StillUsed(f"The {step.target.title} {what}.", details={"references": others})
    return WriteConflict() if step.role in ("update", "delete") else reason


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


async def retry_on_conflict(attempt: Callable[[], Awaitable[T]]) -> T:
    """Run `attempt` until it meets no `WriteConflict`, with a random pause between attempts. Raises `BusyVersions`."""
    for number in range(_ATTEMPTS):
        try:
            return await attempt()
        except WriteConflict:
            await asyncio.sleep(random.uniform(0, span(number + 1, 0.001, _MAX_PAUSE_SECONDS)))
    raise BusyVersions(f"Other writers changed the same item during each of {_ATTEMPTS} attempts.")
