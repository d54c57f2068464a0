"""Nested fields are read through loaders: what all rows of a list need of one table is one batch. One set for each operation.

Items of a tenant are read from a store that is bound to the partition of the request, so that no id can lead out of it.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, TypeVar

from gateleg.apps.agents.catalogue_tables import CatalogueItem
from gateleg.apps.agents.tables import IDENTIFIER, LONGEST_IDENTIFIER, Agent, FlowSnippet, PromptTemplate, VersionPointer
from gateleg.apps.agents.versions import AGENTS, FLOWS, PROMPTS, Versioned
from gateleg.model import Entity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncLoader, AsyncStore

E = TypeVar("E", bound=Entity)
_IDENTIFIER = re.compile(IDENTIFIER)
#: What has versions.
VERSIONED: Mapping[type[Any], Versioned[Any]] = {Agent: AGENTS, PromptTemplate: PROMPTS, FlowSnippet: FLOWS}


class Loaders:
    """Single items by key, each read once."""

    def __init__(self, store: AsyncStore, context: Context) -> None:
        self._store = store
        self._own = store.scope(context.partition)
        self._made: dict[type[Any], AsyncLoader[Any]] = {}

    async def find(self, entity: type[E], **key: str | None) -> E | None:
        """An item; None when there is none, or when a part of its key is not an identifier."""
        if not all(value and len(value) <= LONGEST_IDENTIFIER and _IDENTIFIER.fullmatch(value) for value in key.values()):
            return None
        found: E | None = await self._loader(entity).load(**key)
        return found

    async def find_all(self, entity: type[E], name: str, ids: Iterable[str]) -> list[E]:
        """Those items of a tenant that exist, in the order of their ids. `name` is the attribute of the id."""
        found = await asyncio.gather(*(self.find(entity, **{name: one}) for one in ids))
        return [one for one in found if one is not None]

    async def find_active(self, entity: type[E], logical_uuid: str | None) -> E | None:
        """The active version of an agent, a prompt or a flow."""
        of = VERSIONED[entity]
        pointer = await self.find(VersionPointer, kind=of.kind, logical_uuid=logical_uuid)
        return None if pointer is None else await self.find(entity, **{of.version_id: pointer.active_version_uuid})

    def clear(self) -> None:
        """Forget what was read, because something was written."""
        for loader in self._made.values():
            loader.clear()

    def _loader(self, entity: type[E]) -> AsyncLoader[E]:
        if entity not in self._made:
            store = self._store if issubclass(entity, CatalogueItem) else self._own
            self._made[entity] = store.loader(entity, consistent=True)
        return self._made[entity]
