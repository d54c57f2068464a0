"""Loaders for nested fields: items that the rows of a list refer to are read in one batch per table. One set per operation.

Items of a tenant are read from a store that is scoped to the partition of the request, so that no id can lead out of it.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, TypeVar

from gateleg.apps.agents.catalogue_tables import CatalogueItem
from gateleg.apps.agents.tables import IDENTIFIER, MAX_IDENTIFIER_LENGTH, Agent, FlowSnippet, PromptTemplate, VersionPointer
from gateleg.apps.agents.versions import AGENTS, FLOWS, PROMPTS, VersionedKind
from gateleg.model import Entity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncLoader, AsyncStore

E = TypeVar("E", bound=Entity)
_IDENTIFIER = re.compile(IDENTIFIER)
#: The kinds of versioned items.
VERSIONED: Mapping[type[Any], VersionedKind[Any]] = {Agent: AGENTS, PromptTemplate: PROMPTS, FlowSnippet: FLOWS}


class Loaders:
    """Single items by key, each read once."""

    def __init__(self, store: AsyncStore, context: Context) -> None:
        self._store = store
        self._own = store.scope(context.partition)
        self._made: dict[type[Any], AsyncLoader[Any]] = {}
        self._found: dict[tuple[Any, ...], asyncio.Future[Any]] = {}

    async def find(self, entity: type[E], **key: str | None) -> E | None:
        """An item; None if it does not exist, or a part of its key is not a valid identifier."""
        place = (entity, *key.values())
        earlier: asyncio.Future[E | None] | None = self._found.get(place)
        if earlier is not None:
            # Shielded: a cancelled row must not cancel the read for the others.
            return await asyncio.shield(earlier)
        self._found[place] = asyncio.get_running_loop().create_future()
        return await self._read(self._found[place], entity, key)

    async def _read(self, found: asyncio.Future[E | None], entity: type[E], key: Mapping[str, str | None]) -> E | None:
        """Read an item, and resolve the future of concurrent requests for it."""
        try:
            known = all(value and len(value) <= MAX_IDENTIFIER_LENGTH and _IDENTIFIER.fullmatch(value) for value in key.values())
            item = await self._loader(entity).load(**key) if known else None
        except BaseException as error:
            if isinstance(error, Exception):
                found.set_exception(error)
                # It is raised here; mark it as retrieved, because nobody else may be waiting.
                found.exception()
            else:
                found.cancel()
            raise
        found.set_result(item)
        return item

    async def find_all(self, entity: type[E], name: str, ids: Iterable[str]) -> list[E]:
        """The existing items of a tenant by ids, in the given order. `name` is the id attribute."""
        listed = list(ids)
        if len(listed) == 1:
            found = [await self.find(entity, **{name: listed[0]})]
        else:
            found = await asyncio.gather(*(self.find(entity, **{name: one}) for one in listed))
        return [one for one in found if one is not None]

    async def find_active(self, entity: type[E], logical_uuid: str | None) -> E | None:
        """The active version of an agent, a prompt or a flow."""
        of = VERSIONED[entity]
        pointer = await self.find(VersionPointer, kind=of.kind, logical_uuid=logical_uuid)
        return None if pointer is None else await self.find(entity, **{of.version_id: pointer.active_version_uuid})

    def clear(self) -> None:
        """Clear the cache after a write."""
        self._found.clear()
        for loader in self._made.values():
            loader.clear()

    def _loader(self, entity: type[E]) -> AsyncLoader[E]:
        if entity not in self._made:
            store = self._store if issubclass(entity, CatalogueItem) else self._own
            self._made[entity] = store.loader(entity, consistent=True)
        return self._made[entity]
