"""Lists of versions of agents, prompts and flows: by logical id, by another indexed attribute, or all by time of change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from gateleg.apps.agents.listing import Listing, Paging, among, filtered, list_items, matching, timed, times
from gateleg.apps.agents.tables import ReferencedItem
from gateleg.apps.agents.versions import versions_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.apps.agents.tenancy import Context
    from gateleg.apps.agents.versions import VersionedKind
    from gateleg.model import Condition
    from gateleg.store import AsyncStore

__all__ = ["IndexLookup", "VersionFilter", "list_versions"]

V = TypeVar("V", bound=ReferencedItem)


@dataclass(frozen=True)
class VersionFilter:
    """Filters of a version list; None does not filter."""

    logical_uuid: str | None = None
    #: substring of the name
    name: str | None = None
    statuses: Sequence[str] | None = None
    updated_at_gt: datetime | None = None
    updated_at_lt: datetime | None = None


@dataclass(frozen=True)
class IndexLookup:
    """An access pattern that finds versions by one attribute, and the requested value."""

    pattern: str
    attribute: str
    value: str | None


async def list_versions(
    store: AsyncStore,
    context: Context,
    of: VersionedKind[V],
    paging: Paging,
    wanted: VersionFilter,
    shared: IndexLookup,
    *,
    conditions: Sequence[Condition] = (),
    newest_first: bool = False,
) -> Listing[V]:
    """A page of versions. Queries the most selective index; remaining filters become filter conditions."""
    entity: Any = of.entity
    found = [*conditions, *matching(entity, {}, {of.name: wanted.name}), *among(entity.status, wanted.statuses)]
    late = times(entity.updated_at, wanted.updated_at_gt, wanted.updated_at_lt)
    if wanted.logical_uuid:
        question = versions_of(context, of, wanted.logical_uuid)
        found += [*late, *matching(entity, {shared.attribute: shared.value or None})]
    elif shared.value:
        question = getattr(entity, shared.pattern)(partition=context.partition, **{shared.attribute: shared.value})
        found += late
    else:
        # by_update is descending, the other patterns are ascending.
        question = entity.by_update(partition=context.partition).reversed()
        question = timed(question, entity.updated_at, wanted.updated_at_gt, wanted.updated_at_lt)
    return await list_items(store, filtered(question.reversed() if newest_first else question, found), paging)
