"""The verbs that write: create, put, patch, upsert and delete, and checks for transactions.

Also those that read first: `retrying` reads, decides and writes until no other writer is faster, and `save` writes the differences between
two versions of an instance. `release_unique` deletes the markers that an item left behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from pydantic import BaseModel

from gateleg.model import Condition, Ref, UpdateAction, spec_of
from gateleg.model.expressions.evaluation import check_about
from gateleg.model.keys import KeyPlan, Presets
from gateleg.model.planning import changed_attributes, plan_release
from gateleg.store.errors import InvalidOption, LostRace
from gateleg.store.flow import Pause, Request
from gateleg.store.operations.operation import Operation, locate
from gateleg.store.operations.reads import get
from gateleg.store.operations.write_operation import ConditionCheck, Delete, Patch, Put, invalid_returning
from gateleg.store.setup import retry_conflicts
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gateleg.model.keys import KeyPlan
    from gateleg.store.flow import Flow
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Setup

__all__ = ["Retrying", "Save"]

E = TypeVar("E", bound=BaseModel)
_PUT_RETURNS, _DELETE_RETURNS = ("new", "old", "none"), ("none", "old")


def create(instance: E, /, *, condition: Condition[E] | None = None) -> WriteOperation[E]:
    """Write a new item. Returns the stored instance, with its version and stamps.

    Raises `AlreadyExists` if an item with its key exists, and `UniqueTaken` if another item has the values of a unique constraint.
    """
    if condition is not None:
        check_about(condition, type(instance))
    return Put(instance, True, None, condition)


@overload
def put(
    instance: E, /, *, replaces: E | None = None, condition: Condition[E] | None = None, check_version: bool = True
) -> WriteOperation[E]: ...
@overload
def put(
    instance: E,
    /,
    *,
    replaces: E | None = None,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["old"],
) -> WriteOperation[E | None]: ...
@overload
def put(
    instance: E,
    /,
    *,
    replaces: E | None = None,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["none"],
) -> WriteOperation[None]: ...
def put(
    instance: E,
    /,
    *,
    replaces: E | None = None,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["new", "old", "none"] = "new",
) -> WriteOperation[Any]:
    """Write a whole item, replacing any item with its key. Returns the stored instance, with its version and stamps.

    If the entity has a version, the stored item must have the version of `instance`, which is 0 for a new item; otherwise `LostRace` or
    `AlreadyExists` is raised. `check_version=False` skips that check. `replaces` is the stored instance that is replaced: entities with
    unique constraints or counters need it. `condition` is a further condition on the stored item. With `returning="old"`, the result is the
    replaced instance or None; with `returning="none"`, it is None.
    """
    if returning not in _PUT_RETURNS:
        raise invalid_returning(returning, _PUT_RETURNS)
    if condition is not None:
        check_about(condition, type(instance))
    return Put(instance, False, replaces, condition, check_version, returning)


@overload
def patch(
    target: type[E],
    /,
    *changes: UpdateAction[E] | Condition[E],
    known: Mapping[str, Any] = ...,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["new", "old"] = ...,
    **components: Any,
) -> WriteOperation[E]: ...
@overload
def patch(
    target: type[E],
    /,
    *changes: UpdateAction[E] | Condition[E],
    known: Mapping[str, Any] = ...,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["none"],
    **components: Any,
) -> WriteOperation[None]: ...
@overload
def patch(
    target: type[E],
    /,
    *changes: UpdateAction[E] | Condition[E],
    known: Mapping[str, Any] = ...,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["changed"],
    **components: Any,
) -> WriteOperation[dict[str, Any]]: ...
@overload
def patch(
    target: Ref[E] | E,
    /,
    *actions: UpdateAction[E],
    known: Mapping[str, Any] = ...,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["new", "old"] = ...,
) -> WriteOperation[E]: ...
@overload
def patch(
    target: Ref[E] | E,
    /,
    *actions: UpdateAction[E],
    known: Mapping[str, Any] = ...,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["none"],
) -> WriteOperation[None]: ...
@overload
def patch(
    target: Ref[E] | E,
    /,
    *actions: UpdateAction[E],
    known: Mapping[str, Any] = ...,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["changed"],
) -> WriteOperation[dict[str, Any]]: ...
def patch(
    target: type[E] | Ref[E] | E,
    /,
    *changes: UpdateAction[E] | Condition[E],
    known: Mapping[str, Any] | None = None,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["new", "old", "none", "changed"] = "new",
    **components: Any,
) -> WriteOperation[Any]:
    """Change attributes of an existing item: `patch(job, Job.status.to(DONE))` or `patch(Job, Job.tries.add(1), job_id=...)`.

    The target is an instance, a reference, or an entity with key components: by name, or by position beside the actions, as in
    `patch(Job, Job.job_id == j, Job.tries.add(1))`. Returns the stored item. `returning` selects the item before the change ("old"), the
    changed attributes as a dictionary ("changed"), or None ("none") instead.

    `known` are values of the item that derived index keys need if the target is not an instance; the patch is then conditional on them.
    The version of an instance is checked unless `check_version=False`.

    Raises `NotFound` if the item does not exist, `LostRace` if it changed since the instance was read, `IllegalTransition` if its state
    does not allow a transition, `ConstraintFailed` if a bound would be broken, and `ConditionFailed` if `condition` is false.
    """
    place, actions = _addressed(target, changes, components)
    if condition is not None:
        check_about(condition, _entity_of(place))
    return Patch(place, actions, "patch", known or {}, condition, check_version, returning)


@overload
def upsert(
    target: type[E],
    /,
    *changes: UpdateAction[E] | Condition[E],
    known: Mapping[str, Any] = ...,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    **components: Any,
) -> WriteOperation[E]: ...
@overload
def upsert(
    target: Ref[E] | E,
    /,
    *actions: UpdateAction[E],
    known: Mapping[str, Any] = ...,
    condition: Condition[E] | None = None,
    check_version: bool = True,
) -> WriteOperation[E]: ...
def upsert(
    target: type[E] | Ref[E] | E,
    /,
    *changes: UpdateAction[E] | Condition[E],
    known: Mapping[str, Any] | None = None,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    **components: Any,
) -> WriteOperation[E]:
    """Change attributes of an item, or create the item with them. Arguments are those of `patch`. Returns the stored item.

    Raises `MissingComponent` if required attributes of a new item are missing, and `DerivedKeyUnknown` for entities with unique constraints
    or counters, which need `create` or `patch`.
    """
    place, actions = _addressed(target, changes, components)
    if condition is not None:
        check_about(condition, _entity_of(place))
    return Patch(place, actions, "upsert", known or {}, condition, check_version)


@overload
def delete(
    target: type[E],
    /,
    *key: Condition[E],
    must_exist: bool = False,
    condition: Condition[E] | None = None,
    returning: Literal["old"],
    **components: Any,
) -> WriteOperation[E | None]: ...
@overload
def delete(
    target: type[E],
    /,
    *key: Condition[E],
    must_exist: bool = False,
    condition: Condition[E] | None = None,
    returning: Literal["none"] = "none",
    **components: Any,
) -> WriteOperation[None]: ...
@overload
def delete(
    target: Ref[E] | E,
    /,
    *,
    must_exist: bool = False,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["old"],
) -> WriteOperation[E | None]: ...
@overload
def delete(
    target: Ref[E] | E,
    /,
    *,
    must_exist: bool = False,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["none"] = "none",
) -> WriteOperation[None]: ...
def delete(
    target: type[E] | Ref[E] | E,
    /,
    *key: Condition[E],
    must_exist: bool = False,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["none", "old"] = "none",
    **components: Any,
) -> WriteOperation[Any]:
    """Delete an item: `delete(job)`, `delete(Job, job_id=...)` or `delete(Job, Job.job_id == ...)`.

    For an instance with a version, the stored item must have the same version, otherwise `LostRace` is raised; `check_version=False` skips
    that check. An item that does not exist raises `NotFound` only with `must_exist`. `condition` is a condition on the stored item. Returns
    None, or with `returning="old"` the deleted item. Entities with unique constraints or counters need an instance.
    """
    place: Ref[E] | E = _place(target, key, components) if isinstance(target, type) or key or components else target
    if returning not in _DELETE_RETURNS:
        raise invalid_returning(returning, _DELETE_RETURNS)
    if condition is not None:
        check_about(condition, _entity_of(place))
    return Delete(place, must_exist, condition, check_version, returning)


def check(target: Ref[E] | E, condition: Condition[E], /) -> WriteOperation[None]:
    """A condition of a transaction on an item that it does not write: `check(Project.key(project_id=p), Project.status == "pending")`."""
    check_about(condition, _entity_of(target), "check(...)")
    return ConditionCheck(target, condition)


def _addressed(
    target: type[E] | Ref[E] | E, changes: tuple[UpdateAction | Condition, ...], components: dict[str, Any]
) -> tuple[Ref[E] | E, tuple[UpdateAction, ...]]:
    """The target and the actions of a patch; conditions among the changes are key components."""
    actions: list[UpdateAction] = []
    key: list[Any] = []
    for change in changes:
        if isinstance(change, UpdateAction):
            actions.append(change)
        elif isinstance(change, Condition | Presets):
            key.append(change)
        else:
            raise InvalidOption(
                f"A change must be an action, not {type(change).__name__}.", fix="Write it as Book.title.set('Emma'), for example."
            )
    if isinstance(target, type) or key or components:
        return _place(target, key, components), tuple(actions)
    return target, tuple(actions)


def _place(target: type[E] | Ref[E] | E, key: Sequence[Condition], components: dict[str, Any]) -> Ref[E] | E:
    """For an entity, a reference from key components; a reference or instance is returned unchanged."""
    ref = locate(target, key, components)
    return ref if isinstance(target, type) else target


def _entity_of(target: Any) -> type[Any]:
    return target.entity if isinstance(target, Ref) else type(target)


def retrying(
    target: type[E] | Ref[E] | E, decide: Callable[[E], Iterable[UpdateAction[E]]], /, *key: Condition[E], **components: Any
) -> Operation[E]:
    """Change an item depending on its current state: `retrying(Job, lambda job: [Job.priority.set(job.priority + 1)], job_id=j)`.

    `decide` is called with the stored instance and returns update actions, or none to leave the item unchanged. If another writer is
    faster, `decide` is called again with the new instance. Returns the stored instance. Raises `LostRace` after too many attempts.
    """
    if not callable(decide):
        raise InvalidOption("retrying takes a function that decides, and was given an action.", fix="Write lambda job: [Job.tries.add(1)].")
    place: Ref[E] | E = locate(target, key, components) if isinstance(target, type) or key or components else target
    return Retrying(place if isinstance(target, type) else target, decide)


def save(changed: E, /, *, before: E) -> Operation[E]:
    """Write only the attributes that differ from `before`, the instance that was read. Returns the stored instance.

    Raises `LostRace` if the item's version changed since `before` was read.
    """
    if type(changed) is not type(before):
        raise InvalidOption(
            f"save was given a {type(changed).__name__}, and before= is a {type(before).__name__}.",
            fix="Give the instance as it was read as before=, and a changed copy of it.",
        )
    return Save(changed, before)


@dataclass(frozen=True, slots=True)
class Retrying(Operation[E], Generic[E]):
    """Change an item depending on its current state."""

    target: Ref[E] | E
    decide: Callable[[E], Iterable[UpdateAction[E]]]

    def flow(self, setup: Setup) -> Flow[E]:
        """Read, decide, patch; after a lost race, decide again on the stored item that the error contains."""
        ref = locate(self.target)
        current: E | None = None if isinstance(self.target, Ref) else self.target
        delays = setup.delays()
        while True:
            if current is None:
                current = yield from get(ref, consistent=True).flow(setup)
            actions = _decided(self.decide(current))
            if not actions:
                return current
            try:
                result: E = yield from Patch(current, actions).flow(setup)
                return result
            except LostRace as lost:
                delay = next(delays, None)
                if delay is None:
                    raise
                current = lost.current
            yield Pause(delay)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        ref = locate(self.target)
        yield ref.entity, spec_of(ref.entity).key, ref.values


def _decided(actions: Any) -> tuple[UpdateAction[Any], ...]:
    """The actions of a decision, which is a list of them."""
    if isinstance(actions, UpdateAction) or not isinstance(actions, Iterable):
        result = "None" if actions is None else "a single action" if isinstance(actions, UpdateAction) else repr(actions)
        raise InvalidOption(
            f"The function given to retrying returned {result}.", fix="Return a list of actions; an empty one changes nothing."
        )
    return tuple(actions)


@dataclass(frozen=True, slots=True)
class Save(Operation[E], Generic[E]):
    """Write the differences between two versions of an instance."""

    changed: E
    before: E

    def flow(self, setup: Setup) -> Flow[E]:
        """A patch of the changed attributes; no request if none changed."""
        actions = tuple(changed_attributes(self.before, self.changed))
        if not actions:
            return self.before
        result: E = yield from Patch(self.before, actions).flow(setup)
        return result

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        for instance in (self.before, self.changed):
            ref = locate(instance)
            yield ref.entity, spec_of(ref.entity).key, ref.values


def release_unique(instance: BaseModel, /) -> Operation[int]:
    """Release the unique values of an item that was deleted without its markers, such as by TTL. Returns the number of released values.

    Releases nothing if an item with the same key exists, and no value that another item has taken meanwhile. Safe to repeat.
    """
    return ReleaseMarkers(instance)


@dataclass(frozen=True, slots=True)
class ReleaseMarkers(Operation[int]):
    """Release the unique values of an item that was deleted."""

    instance: BaseModel

    def flow(self, setup: Setup) -> Flow[int]:
        """One transaction for each marker, on condition that the item does not exist and the marker still belongs to it."""
        released = 0
        for check, release in plan_release(self.instance):
            items = [{str(write.kind): write.request(setup.name_of(write.table))} for write in (check, release)]
            payload = {"TransactItems": items, "ClientRequestToken": setup.token()}
            try:
                yield from retry_conflicts(Request("TransactWriteItems", payload, f"{check.entity.__name__}.release"), setup)
                released += 1
            except ServiceError as error:
                codes = {reason.get("Code") for reason in error.extra.get("CancellationReasons", ())}
                if error.code != "TransactionCanceledException" or not codes <= {"None", "ConditionalCheckFailed"}:
                    raise
        return released

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        spec = spec_of(type(self.instance))
        yield spec.entity, spec.key, spec.ref(self.instance).values
