"""Writing one item: create, put, patch, upsert, delete, and checks for transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from pydantic import BaseModel

from gateleg.store.operation import locate
from gateleg.store.writes import Check, Delete, Patch, Put

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Action, Condition, Ref
    from gateleg.store.write_operation import WriteOperation

E = TypeVar("E", bound=BaseModel)


def create(instance: E, /, *, condition: Condition | None = None) -> WriteOperation[E]:
    """Write a new item; `AlreadyExists` when its key is taken. The result is the instance with its version and stamps."""
    return Put(instance, create=True, condition=condition)


@overload
def put(
    instance: E, /, *, replaces: E | None = None, condition: Condition | None = None, check_version: bool = True
) -> WriteOperation[E]: ...
@overload
def put(
    instance: E, /, *, replaces: E | None = None, condition: Condition | None = None, check_version: bool = True, returning: Literal["old"]
) -> WriteOperation[E | None]: ...
@overload
def put(
    instance: E, /, *, replaces: E | None = None, condition: Condition | None = None, check_version: bool = True, returning: Literal["none"]
) -> WriteOperation[None]: ...
def put(
    instance: E,
    /,
    *,
    replaces: E | None = None,
    condition: Condition | None = None,
    check_version: bool = True,
    returning: Literal["new", "old", "none"] = "new",
) -> WriteOperation[Any]:
    """Write a whole item over whatever is there; a versioned one only over what was read, else `LostRace`.

    `replaces` is the stored instance, where unique constraints or counters must know it. The result is the instance with its version and
    stamps; with `returning="old"` it is the one that was replaced.
    """
    return Put(instance, replaces=replaces, condition=condition, check_version=check_version, returning=returning)


@overload
def patch(
    target: Ref[E] | E, /, *actions: Action, known: Mapping[str, Any] = ..., condition: Condition | None = None, check_version: bool = True
) -> WriteOperation[E]: ...
@overload
def patch(
    target: Ref[E] | E,
    /,
    *actions: Action,
    known: Mapping[str, Any] = ...,
    condition: Condition | None = None,
    check_version: bool = True,
    returning: Literal["new", "old"],
) -> WriteOperation[E]: ...
@overload
def patch(
    target: Ref[E] | E,
    /,
    *actions: Action,
    known: Mapping[str, Any] = ...,
    condition: Condition | None = None,
    check_version: bool = True,
    returning: Literal["none"],
) -> WriteOperation[None]: ...
@overload
def patch(
    target: Ref[E] | E,
    /,
    *actions: Action,
    known: Mapping[str, Any] = ...,
    condition: Condition | None = None,
    check_version: bool = True,
    returning: Literal["changed"],
) -> WriteOperation[dict[str, Any]]: ...
def patch(
    target: Ref[E] | E,
    /,
    *actions: Action,
    known: Mapping[str, Any] | None = None,
    condition: Condition | None = None,
    check_version: bool = True,
    returning: Literal["new", "old", "none", "changed"] = "new",
) -> WriteOperation[Any]:
    """Change attributes of an item that exists: `patch(job, Job.status.to(DONE), Job.tries.add(1))`.

    `NotFound` when it does not exist, `IllegalTransition` when its state does not allow the move, `LostRace` when a versioned instance is
    not what is stored. `known` gives attributes that derived keys need besides a reference. The result is the item as it is now, as it
    was (`returning="old"`), the changed attributes (`"changed"`), or None (`"none"`).
    """
    return Patch(target, actions, "patch", known or {}, condition, check_version, returning)


def upsert(
    target: Ref[E] | E,
    /,
    *actions: Action,
    known: Mapping[str, Any] | None = None,
    condition: Condition | None = None,
    check_version: bool = True,
) -> WriteOperation[E]:
    """Change attributes of an item, or create it with them. The result is the item as it is now."""
    return Patch(target, actions, "upsert", known or {}, condition, check_version)


@overload
def delete(
    target: type[E] | Ref[E] | E,
    /,
    *,
    must_exist: bool = False,
    condition: Condition | None = None,
    check_version: bool = True,
    returning: Literal["old"],
    **components: Any,
) -> WriteOperation[E | None]: ...
@overload
def delete(
    target: type[E] | Ref[E] | E,
    /,
    *,
    must_exist: bool = False,
    condition: Condition | None = None,
    check_version: bool = True,
    returning: Literal["none"] = "none",
    **components: Any,
) -> WriteOperation[None]: ...
def delete(
    target: type[E] | Ref[E] | E,
    /,
    *,
    must_exist: bool = False,
    condition: Condition | None = None,
    check_version: bool = True,
    returning: Literal["none", "old"] = "none",
    **components: Any,
) -> WriteOperation[Any]:
    """Remove an item: `delete(job)`, `delete(Job, job_id=...)`. A versioned instance must be what is stored, else `LostRace`.

    Removing what is not there is no error unless `must_exist`. With `returning="old"` the result is the item that was removed.
    """
    place: Ref[E] | E = locate(target, components) if isinstance(target, type) else target
    return Delete(place, must_exist, condition, check_version, returning)


def check(target: Ref[Any] | BaseModel, condition: Condition, /) -> WriteOperation[None]:
    """Demand something of an item that a transaction does not write: `check(Project.key(project_id=p), Project.status == "pending")`."""
    return Check(target, condition)
