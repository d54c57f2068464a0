"""Lists of versions of agents, prompts and flows: of one thing, of those that share something, or of all by their change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from gateleg.apps.agents.listing import Listing, Paging, among, filtered, list_items, matching, timed, times
from gateleg.apps.agents.tables import Named
from gateleg.apps.agents.versions import versions_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.apps.agents.tenancy import Context
    from gateleg.apps.agents.versions import Versioned
    from gateleg.model import Condition
    from gateleg.store import AsyncStore

__all__ = ["Shared", "Wanted", "list_versions"]

V = TypeVar("V", bound=Named)


@dataclass(frozen=True)
class Wanted:
    """What versions are asked for; None was not."""

    logical_uuid: str | None = None
    #: a part of the name
    name: str | None = None
    statuses: Sequence[str] | None = None
    updated_at_gt: datetime | None = None
    updated_at_lt: datetime | None = None


@dataclass(frozen=True)
class Shared:
    """An attribute that a pattern finds versions by, and the value that was asked for."""

    pattern: str
    attribute: str
    value: str | None


async def list_versions(
    store: AsyncStore,
    context: Context,
    of: Versioned[V],
    paging: Paging,
    wanted: Wanted,
    shared: Shared,
    *,
    conditions: Sequence[Condition] = (),
    newest_first: bool = False,
) -> Listing[V]:
    """A page of versions. The question goes to the narrowest index; what it does not cover becomes a condition."""
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
        # This pattern begins with the latest change, the others with the oldest.
        question = entity.by_update(partition=context.partition).reversed()
        question = timed(question, entity.updated_at, wanted.updated_at_gt, wanted.updated_at_lt)
    return await list_items(store, filtered(question.reversed() if newest_first else question, found), paging)
