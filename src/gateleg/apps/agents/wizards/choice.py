"""Use cases: filters of wizard groups, and the choice of groups by region, criteria and weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.access import check_editor
from gateleg.apps.agents.items import author, build, create_item, delete_item, find_item, update_item
from gateleg.apps.agents.listing import Listing, Paging, filtered, list_items, matching, timed
from gateleg.apps.agents.tables import WizardGroup, WizardGroupFilter
from gateleg.apps.agents.wizards.criteria import check_criteria, is_fulfilled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncStore

#: The region of filters that apply everywhere.
EVERYWHERE = "*"


@dataclass(frozen=True, slots=True)
class ChosenGroup:
    """A chosen group, and the filter that chose it."""

    group: WizardGroup
    by: WizardGroupFilter


async def find_wizard_group_filter(store: AsyncStore, context: Context, wizard_group_filter_uuid: str) -> WizardGroupFilter | None:
    """A filter by its id."""
    return await find_item(store, WizardGroupFilter, _ids(context, wizard_group_filter_uuid))


async def list_wizard_group_filters(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    wizard_group_filter_name: str | None = None,
    region: str | None = None,
    wizard_group_uuid: str | None = None,
    updated_at_gt: datetime | None = None,
    updated_at_lt: datetime | None = None,
) -> Listing[WizardGroupFilter]:
    """Filters, latest change first."""
    entity = WizardGroupFilter
    question = timed(entity.by_update(partition=context.partition), entity.updated_at, updated_at_gt, updated_at_lt)
    wanted = {"wizard_group_filter_name": wizard_group_filter_name, "region": region, "wizard_group_uuid": wizard_group_uuid}
    return await list_items(store, filtered(question, matching(entity, wanted)), paging)


async def save_wizard_group_filter(store: AsyncStore, context: Context, values: Mapping[str, Any]) -> WizardGroupFilter:
    """Create or update a filter (`wizard_group_filter_uuid`). Its group must exist, and its criteria must be valid."""
    check_editor(context)
    given = {**values, "updated_by": author(context, values)}
    if not values.get("wizard_group_filter_uuid"):
        given.pop("wizard_group_filter_uuid", None)
        return await create_item(store, await _checked(build(WizardGroupFilter, {**given, "partition": context.partition})))
    return await update_item(store, WizardGroupFilter, _ids(context, values["wizard_group_filter_uuid"]), given, _checked)


async def delete_wizard_group_filter(store: AsyncStore, context: Context, wizard_group_filter_uuid: str) -> bool:
    """Delete a filter."""
    check_editor(context)
    return await delete_item(store, WizardGroupFilter, _ids(context, wizard_group_filter_uuid))


async def choose_wizard_groups(
    store: AsyncStore, context: Context, region: str, facts: Mapping[str, Any], limit: int = 10
) -> list[ChosenGroup]:
    """The groups for a region and the known facts of a user, best first; each group once."""
    filters = [one async for one in store.query(WizardGroupFilter.in_partition, partition=context.partition, consistent=True)]
    fitting = fitting_filters(filters, region, facts)
    uuids = list(dict.fromkeys(one.wizard_group_uuid for one in fitting if one.wizard_group_uuid is not None))
    refs = [WizardGroup.key(partition=context.partition, wizard_group_uuid=uuid) for uuid in uuids]
    groups = {one.wizard_group_uuid: one for one in await store.batch_get(refs, consistent=True) if one is not None}
    return ranked(fitting, groups)[:limit]


def fitting_filters(filters: Iterable[WizardGroupFilter], region: str, facts: Mapping[str, Any]) -> list[WizardGroupFilter]:
    """The filters of a region, and those for all regions, whose criteria the facts satisfy."""
    regions = {region.strip().casefold(), EVERYWHERE}
    found = [one for one in filters if one.region.strip().casefold() in regions]
    return [one for one in found if all(is_fulfilled(criterion, facts.get(name)) for name, criterion in one.criteria.items())]


def ranked(fitting: Sequence[WizardGroupFilter], groups: Mapping[str, WizardGroup]) -> list[ChosenGroup]:
    """Groups in the order of: weight of the filter, weight of the group, number of criteria, name. Each group counts with its best
    filter."""
    pairs = [ChosenGroup(group, one) for one in fitting if (group := groups.get(one.wizard_group_uuid or "")) is not None]
    pairs.sort(key=lambda one: (-one.by.weight, -one.group.weight, -len(one.by.criteria), one.group.wizard_group_name))
    best: dict[str, ChosenGroup] = {}
    for one in pairs:
        best.setdefault(one.group.wizard_group_uuid, one)
    return list(best.values())


async def _checked(one: WizardGroupFilter) -> WizardGroupFilter:
    check_criteria(one.criteria)
    return one


def _ids(context: Context, wizard_group_filter_uuid: str) -> dict[str, Any]:
    return {"partition": context.partition, "wizard_group_filter_uuid": wizard_group_filter_uuid}
