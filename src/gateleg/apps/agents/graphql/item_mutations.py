"""Mutations: call a use case with the client's arguments."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.errors import MissingField, StillUsed
from gateleg.apps.agents.flow_moves import flow_job
from gateleg.apps.agents.graphql.fields import DeletePayload, SavePayload
from gateleg.apps.agents.graphql.loaders import VERSIONED
from gateleg.apps.agents.tables import VersionPointer, new_id

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.apps.agents.graphql.calls import Call, Info
    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncStore

_GONE = "There is no item with this id."


async def save_item(call: Call, entity: type[Any], save: Callable[..., Awaitable[Any]], given: dict[str, Any]) -> SavePayload:
    """Create or update an item."""
    call.loaders.clear()
    return SavePayload(await save(call.store, call.context, with_cleared_defaults(entity, given)))


async def record_item(call: Call, save: Callable[..., Awaitable[Any]], given: dict[str, Any]) -> SavePayload:
    """Record an item of a conversation; null arguments leave attributes unchanged."""
    call.loaders.clear()
    return SavePayload(await save(call.store, call.context, given))


async def save_version(call: Call, entity: type[Any], save: Callable[..., Awaitable[Any]], given: dict[str, Any]) -> SavePayload:
    """Write a version; with `duplicate`, a copy of the given version or of the active one."""
    call.loaders.clear()
    copied = bool(given.pop("duplicate", None))
    values = with_cleared_defaults(entity, given)
    if copied:
        values |= {VERSIONED[entity].version_id: await _version_to_copy(call, entity, values)}
    return SavePayload(await save(call.store, call.context, values, copied=copied))


async def delete_by_ids(call: Call, delete: Callable[..., Awaitable[bool]], *ids: str) -> DeletePayload:
    """Delete an item. An item that others refer to is kept, and the response says why."""
    call.loaders.clear()
    try:
        found = await delete(call.store, call.context, *ids)
    except StillUsed as error:
        return DeletePayload(False, error.message)
    return DeletePayload(found, None if found else _GONE)


def with_secrets(info: Info, function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A use case that stores secrets separately, bound to the application's secrets."""

    async def call(store: AsyncStore, context: Context, *values: Any, **options: Any) -> Any:
        return await function(store, info.context.resources.secrets, context, *values, **options)

    return call


def with_resources(info: Info, function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A use case of `save_checks`, bound to the application's resources."""

    async def call(store: AsyncStore, context: Context, *values: Any, **options: Any) -> Any:
        return await function(info.context.resources, context, *values, **options)

    return call


def with_move_job(info: Info, function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A use case that moves agents to a flow, bound to the job that moves many."""
    return partial(function, job=flow_job(info.context.resources, info.context.context))


def with_cleared_defaults(entity: type[Any], given: dict[str, Any]) -> dict[str, Any]:
    """A client's arguments, with defaults for cleared ones: an attribute that cannot be null becomes empty."""
    found = {}
    for name, value in given.items():
        field = entity.model_fields.get(name)
        if value is not None or field is None:
            found[name] = value
        elif field.is_required() or field.default_factory is new_id:
            # A null id counts as absent. Other required attributes stay null, and the use case refuses them by name.
            found |= {} if name.endswith("_uuid") else {name: None}
        else:
            found[name] = field.get_default(call_default_factory=True)
    return found


async def _version_to_copy(call: Call, entity: type[Any], values: dict[str, Any]) -> str:
    of = VERSIONED[entity]
    version, logical = values.get(of.version_id), values.get(of.logical_id)
    if version:
        return str(version)
    pointer = await call.loaders.find(VersionPointer, kind=of.kind, logical_uuid=logical)
    if pointer is None:
        raise MissingField(f"Set {of.version_id} or {of.logical_id} to the item to copy.", details={"fields": [of.version_id]})
    return pointer.active_version_uuid
