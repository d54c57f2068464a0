"""Writing one item: create, put, patch, upsert, delete, and checks for transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from pydantic import BaseModel

from gateleg.model import Action, Condition, Ref
from gateleg.model.expressions.ownership import check_about
from gateleg.model.keys.key_arguments import Presets
from gateleg.store.errors import InvalidOption
from gateleg.store.operations.operation import locate
from gateleg.store.operations.write_kinds import Check, Delete, Patch, Put, invalid_returning

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.store.operations.write_operation import WriteOperation

E = TypeVar("E", bound=BaseModel)

_PUT_RETURNS, _DELETE_RETURNS = ("new", "old", "none"), ("none", "old")


def create(instance: E, /, *, condition: Condition[E] | None = None) -> WriteOperation[E]:
    """Write a new item; `AlreadyExists` when its key is taken. The result is the instance with its version and stamps."""
    _check_condition(condition, type(instance))
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
    """Write a whole item over whatever is there; a versioned one only over what was read, else `LostRace`.

    `replaces` is the stored instance, where unique constraints or counters must know it. The result is the instance with its version and
    stamps; with `returning="old"` it is the one that was replaced.
    """
    if returning not in _PUT_RETURNS:
        raise invalid_returning(returning, _PUT_RETURNS)
    _check_condition(condition, type(instance))
    return Put(instance, False, replaces, condition, check_version, returning)


@overload
def patch(
    target: type[E],
    /,
    *changes: Action[E] | Condition[E],
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
    *changes: Action[E] | Condition[E],
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
    *changes: Action[E] | Condition[E],
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
    *actions: Action[E],
    known: Mapping[str, Any] = ...,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["new", "old"] = ...,
) -> WriteOperation[E]: ...
@overload
def patch(
    target: Ref[E] | E,
    /,
    *actions: Action[E],
    known: Mapping[str, Any] = ...,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["none"],
) -> WriteOperation[None]: ...
@overload
def patch(
    target: Ref[E] | E,
    /,
    *actions: Action[E],
    known: Mapping[str, Any] = ...,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["changed"],
) -> WriteOperation[dict[str, Any]]: ...
def patch(
    target: type[E] | Ref[E] | E,
    /,
    *changes: Action[E] | Condition[E],
    known: Mapping[str, Any] | None = None,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    returning: Literal["new", "old", "none", "changed"] = "new",
    **components: Any,
) -> WriteOperation[Any]:
    """Change attributes of an item that exists: `patch(job, Job.status.to(DONE))`, `patch(Job, Job.tries.add(1), job_id=...)`.

    The item is an instance, a reference, or an entity with the components of its key: by name, or by position beside the actions, as
    `patch(Job, Job.job_id == j, Job.tries.add(1))`. `NotFound` when it does not exist, `IllegalTransition` when its state does not allow
    the move, `LostRace` when a versioned instance is not what is stored, `ConditionFailed` when `condition` does not hold. `known` gives
    attributes that derived keys need besides a reference. The result is the item as it is now, as it was (`returning="old"`), the changed
    attributes (`"changed"`), or None (`"none"`).
    """
    place, actions = _addressed(target, changes, components)
    _check_condition(condition, _entity_of(place))
    return Patch(place, actions, "patch", known or {}, condition, check_version, returning)


@overload
def upsert(
    target: type[E],
    /,
    *changes: Action[E] | Condition[E],
    known: Mapping[str, Any] = ...,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    **components: Any,
) -> WriteOperation[E]: ...
@overload
def upsert(
    target: Ref[E] | E,
    /,
    *actions: Action[E],
    known: Mapping[str, Any] = ...,
    condition: Condition[E] | None = None,
    check_version: bool = True,
) -> WriteOperation[E]: ...
def upsert(
    target: type[E] | Ref[E] | E,
    /,
    *changes: Action[E] | Condition[E],
    known: Mapping[str, Any] | None = None,
    condition: Condition[E] | None = None,
    check_version: bool = True,
    **components: Any,
) -> WriteOperation[E]:
    """Change attributes of an item, or create it with them. It is given as to `patch`. The result is the item as it is now."""
    place, actions = _addressed(target, changes, components)
    _check_condition(condition, _entity_of(place))
    return Patch(place, actions, "upsert", known or {}, condition, check_version)


def _addressed(
    target: type[E] | Ref[E] | E, changes: tuple[Action | Condition, ...], components: dict[str, Any]
) -> tuple[Ref[E] | E, tuple[Action, ...]]:
    """The item that is changed, and the actions: conditions among the changes are components of its key."""
    actions = tuple([change for change in changes if isinstance(change, Action)])
    key: Any = [change for change in changes if not isinstance(change, Action)]
    for change in key:
        if not isinstance(change, Condition | Presets):
            raise InvalidOption(f"A change is an action, and was given as {type(change).__name__}.", fix="Write Book.title.set('Emma').")
    if isinstance(target, type) or key or components:
        return _place(target, key, components), actions
    return target, actions


def _place(target: type[E] | Ref[E] | E, key: Sequence[Condition], components: dict[str, Any]) -> Ref[E] | E:
    """A reference to the item of an entity; a reference or an instance as it is."""
    ref = locate(target, key, components)
    return ref if isinstance(target, type) else target


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
    """Remove an item: `delete(job)`, `delete(Job, job_id=...)`, `delete(Job, Job.job_id == ...)`.

    A versioned instance must be what is stored, else `LostRace`. An item that does not exist is an error only with `must_exist`. With
    `returning="old"` the result is the item that was removed.
    """
    place: Ref[E] | E = _place(target, key, components) if isinstance(target, type) or key or components else target
    if returning not in _DELETE_RETURNS:
        raise invalid_returning(returning, _DELETE_RETURNS)
    _check_condition(condition, _entity_of(place))
    return Delete(place, must_exist, condition, check_version, returning)


def check(target: Ref[E] | E, condition: Condition[E], /) -> WriteOperation[None]:
    """Demand something of an item that a transaction does not write: `check(Project.key(project_id=p), Project.status == "pending")`."""
    check_about(condition, _entity_of(target), "check(...)")
    return Check(target, condition)


def _check_condition(condition: Any, entity: type[Any]) -> None:
    if condition is not None:
        check_about(condition, entity)


def _entity_of(target: Any) -> type[Any]:
    return target.entity if isinstance(target, Ref) else type(target)
