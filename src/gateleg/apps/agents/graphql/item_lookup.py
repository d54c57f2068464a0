"""Finds single items by id, if the caller may see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from gateleg.apps.agents.access import if_visible
from gateleg.apps.agents.errors import MissingField
from gateleg.apps.agents.graphql.loaders import VERSIONED

if TYPE_CHECKING:
    from gateleg.apps.agents.graphql.calls import Call
    from gateleg.apps.agents.tables import Thread
    from gateleg.apps.agents.thread_tables import OwnedItem
    from gateleg.model import Entity

E = TypeVar("E", bound="Entity")
O = TypeVar("O", bound="OwnedItem | Thread")  # noqa: E741


async def find_own(call: Call, entity: type[O], **ids: str) -> O | None:
    """An owned item, if the caller may see it."""
    return if_visible(call.context, await call.loaders.find(entity, **ids))


async def find_version(call: Call, entity: type[E], logical_uuid: str | None, version_uuid: str | None) -> E | None:
    """The active version by the logical id, or one version by its own id. Raises `MissingField` if neither is given."""
    if logical_uuid:
        return await call.loaders.find_active(entity, logical_uuid)
    if version_uuid:
        return await call.loaders.find(entity, **{VERSIONED[entity].version_id: version_uuid})
    names = VERSIONED[entity]
    raise MissingField(f"{names.logical_id} or {names.version_id} must be set.", details={"fields": [names.logical_id, names.version_id]})
