"""Find, create, update and delete items without versions, in the caller's partition or in the shared catalogue.

Permissions are checked by the callers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from gateleg.apps.agents.changes import Changes, commit, retry_on_conflict
from gateleg.apps.agents.errors import BadField, MissingField, NotFoundInPartition
from gateleg.apps.agents.references import TITLES, target_of
from gateleg.apps.agents.tables import is_identifier
from gateleg.model import Entity

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncStore

I = TypeVar("I", bound=Entity)  # noqa: E741
M = TypeVar("M", bound=BaseModel)
#: Attributes that an update never changes.
_KEPT = frozenset({"partition", "created_at", "updated_at", "reference_count", "revision", "owner_id"})


def contents(item: BaseModel) -> dict[str, Any]:
    """All values of an item by attribute."""
    return {name: getattr(item, name) for name in type(item).model_fields}


def build(entity: type[M], values: Mapping[str, Any]) -> M:
    """Build an item. Raises `MissingField` or `BadField`, which name the missing or invalid attributes."""
    unknown = [name for name in values if name not in entity.model_fields]
    if unknown:
        raise BadField(f"{entity.__name__} has no {', '.join(unknown)}.", details={"fields": unknown})
    try:
        return entity(**values)
    except ValidationError as error:
        raise refused(error) from None


def refused(error: ValidationError) -> MissingField | BadField:
    """Convert a pydantic error to one of ours, without the rejected values."""
    missing = [".".join(map(str, one["loc"])) for one in error.errors() if one["type"] == "missing"]
    if missing:
        return MissingField(f"{', '.join(missing)} must be set.", details={"fields": missing})
    wrong = {".".join(map(str, one["loc"])): one["msg"] for one in error.errors()}
    return BadField("; ".join(f"{name}: {problem}" for name, problem in wrong.items()) + ".", details={"fields": wrong})


def author(context: Context, values: Mapping[str, Any]) -> str:
    """The `updated_by` of the request, or else the caller's name."""
    return str(values.get("updated_by") or context.principal.name)


async def find_item(store: AsyncStore, entity: type[I], ids: Mapping[str, Any]) -> I | None:
    """Read an item by its ids, consistently; None if there is none."""
    if not all(is_identifier(value) for name, value in ids.items() if name != "partition"):
        return None
    return await store.find(entity, consistent=True, **ids)


async def get_item(store: AsyncStore, entity: type[I], ids: Mapping[str, Any]) -> I:
    """Read an item by its ids, consistently. Raises `NotFoundInPartition`."""
    found = await find_item(store, entity, ids)
    if found is None:
        names = " ".join(repr(value) for name, value in ids.items() if name != "partition")
        raise NotFoundInPartition(f"There is no {TITLES.get(entity, entity.__name__)} {names}.")
    return found


async def create_item(store: AsyncStore, item: I) -> I:
    """Create an item, and count the references that it makes."""
    changes = Changes()
    changes.create(item)
    await commit(store, changes)
    return await get_item(store, type(item), dict(target_of(item).components))


async def update_item(
    store: AsyncStore,
    entity: type[I],
    ids: Mapping[str, Any],
    values: Mapping[str, Any],
    complete: Callable[[I], Awaitable[I]] | None = None,
    beside: Callable[[Changes, I], Awaitable[None]] | None = None,
) -> I:
    """Change some attributes of an item; the others stay. Raises `NotFoundInPartition`.

    `beside` adds what changes in the same transaction, given the item as it was.
    """
    wanted = {name: value for name, value in values.items() if name not in _KEPT and name not in ids}

    async def attempt() -> I:
        before = await get_item(store, entity, ids)
        after = build(entity, {**contents(before), **wanted})
        after = after if complete is None else await complete(after)
        changes = Changes()
        changes.update(before, after)
        if beside is not None:
            await beside(changes, before)
        await commit(store, changes)
        return await get_item(store, entity, ids)

    return await retry_on_conflict(attempt)


async def delete_item(
    store: AsyncStore, entity: type[I], ids: Mapping[str, Any], beside: Callable[[Changes, I], Awaitable[None]] | None = None
) -> bool:
    """Delete an item that no other item refers to; False if there is none. Raises `StillUsed`."""

    async def attempt() -> bool:
        before = await find_item(store, entity, ids)
        if before is None:
            return False
        changes = Changes()
        changes.delete(before)
        if beside is not None:
            await beside(changes, before)
        await commit(store, changes)
        return True

    return await retry_on_conflict(attempt)


def check_object(given: object, field: str) -> None:
    """Raise `BadField` for JSON that is not an object."""
    if not isinstance(given, dict):
        raise BadField(f"{field} must be an object.", details={"field": field})
