"""Use cases: groups of wizards, and a group with its wizards and their elements, all or nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.access import check_editor
from gateleg.apps.agents.changes import Changes, commit, retry_on_conflict
from gateleg.apps.agents.errors import BadField, NotFoundInPartition
from gateleg.apps.agents.items import author, build, check_object, contents, create_item, delete_item, find_item, get_item, update_item
from gateleg.apps.agents.listing import Listing, Paging, filtered, list_items, matching, timed
from gateleg.apps.agents.references import target_of
from gateleg.apps.agents.tables import Wizard, WizardElement, WizardGroup, new_id
from gateleg.apps.agents.wizards.checks import check_element
from gateleg.apps.agents.wizards.forms import checked_wizard

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncStore


async def find_wizard_group(store: AsyncStore, context: Context, wizard_group_uuid: str) -> WizardGroup | None:
    """A group by its id."""
    return await find_item(store, WizardGroup, {"partition": context.partition, "wizard_group_uuid": wizard_group_uuid})


async def list_wizard_groups(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    wizard_group_name: str | None = None,
    updated_at_gt: datetime | None = None,
    updated_at_lt: datetime | None = None,
) -> Listing[WizardGroup]:
    """Groups, latest change first."""
    question = timed(WizardGroup.by_update(partition=context.partition), WizardGroup.updated_at, updated_at_gt, updated_at_lt)
    return await list_items(store, filtered(question, matching(WizardGroup, {"wizard_group_name": wizard_group_name})), paging)


async def save_wizard_group(store: AsyncStore, context: Context, values: Mapping[str, Any]) -> WizardGroup:
    """Create or update a group (`wizard_group_uuid`). Its wizards must exist."""
    check_editor(context)
    given = {**values, "updated_by": author(context, values)}
    if not values.get("wizard_group_uuid"):
        given.pop("wizard_group_uuid", None)
        return await create_item(store, build(WizardGroup, {**given, "partition": context.partition}))
    return await update_item(store, WizardGroup, _group_ids(context, values["wizard_group_uuid"]), given)


async def delete_wizard_group(store: AsyncStore, context: Context, wizard_group_uuid: str) -> bool:
    """Delete a group that no filter refers to. Its wizards are kept."""
    check_editor(context)
    return await delete_item(store, WizardGroup, _group_ids(context, wizard_group_uuid))


@dataclass
class _Composite:
    """A group with its wizards and their elements, while it is assembled."""

    store: AsyncStore
    context: Context
    author: str
    changes: Changes
    #: the stored items, by id
    wizards: dict[str, Wizard]
    elements: dict[str, WizardElement]

    async def element(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """An entry of a wizard. If the entry contains the element, the element is created or updated."""
        uuid, values = entry.get("element_uuid"), entry.get("element")
        if values is not None:
            given = {**{name: value for name, value in values.items() if value is not None}, "updated_by": self.author}
            uuid = await self._changed_element(uuid, given) if uuid else await self._new_element(given)
        elif uuid not in self.elements:
            raise NotFoundInPartition(f"There is no element {uuid!r}.")
        return {"element_uuid": uuid, "required": bool(entry.get("required", False)), "placeholder": entry.get("placeholder") or ""}

    async def _new_element(self, given: Mapping[str, Any]) -> str:
        element = build(WizardElement, {**given, "partition": self.context.partition, "element_uuid": new_id()})
        await check_element(element)
        self.changes.create(element)
        return element.element_uuid

    async def _changed_element(self, uuid: str, given: Mapping[str, Any]) -> str:
        before = self.elements.get(uuid)
        if before is None:
            raise NotFoundInPartition(f"There is no element {uuid!r}.")
        after = build(WizardElement, {**contents(before), **given, "element_uuid": uuid})
        await check_element(after)
        self.changes.update(before, after)
        return uuid

    async def wizard(self, values: Mapping[str, Any]) -> str:
        """Create or update a wizard of the group, with its elements."""
        uuid = values.get("wizard_uuid")
        given = {name: value for name, value in values.items() if value is not None and name != "wizard_uuid"}
        if "wizard_elements" in given:
            given["wizard_elements"] = [await self.element(entry) for entry in given["wizard_elements"]]
        given["updated_by"] = self.author
        if not uuid:
            made = build(Wizard, {**given, "partition": self.context.partition, "wizard_uuid": new_id()})
            self.changes.create(await checked_wizard(self.store, made))
            return made.wizard_uuid
        before = self.wizards.get(uuid)
        if before is None:
            raise NotFoundInPartition(f"There is no wizard {uuid!r}.")
        after = await checked_wizard(self.store, build(Wizard, {**contents(before), **given, "wizard_uuid": uuid}))
        self.changes.update(before, after)
        self.drop_elements([before], kept=[after])
        return before.wizard_uuid

    def drop_elements(self, before: Sequence[Wizard], kept: Sequence[Wizard] = ()) -> None:
        """Delete elements that only these wizards used and no longer use."""
        named = _named(kept)
        for uuid, count in _named(before).items():
            element = self.elements.get(uuid)
            if element is not None and uuid not in named and element.reference_count <= count and target_of(element) not in self.changes:
                self.changes.delete(element)


def _checked(given: Sequence[Any]) -> list[dict[str, Any]]:
    """The wizards that a client sent. Raises `BadField` for a value that is not an object."""
    for place, one in enumerate(given):
        check_object(one, f"wizards.{place}")
        entries = one.get("wizard_elements") or []
        if not isinstance(entries, list):
            raise BadField("wizard_elements must be a list.", details={"field": f"wizards.{place}.wizard_elements"})
        for entry in entries:
            check_object(entry, f"wizards.{place}.wizard_elements")
            if entry.get("element") is not None:
                check_object(entry["element"], f"wizards.{place}.wizard_elements.element")
    return [dict(one) for one in given]


async def save_wizard_group_with_wizards(store: AsyncStore, context: Context, values: Mapping[str, Any]) -> WizardGroup:
    """Write a group with its wizards and their elements, all or nothing.

    `wizards` has the attributes of each wizard; one with a `wizard_uuid` is updated, the others are created. Each entry of
    `wizard_elements` names an element, or contains it in `element`. Wizards of the group that are no longer listed are deleted unless
    another group uses them, and so are elements that are no longer used. Raises `TooManyAtOnce` if one transaction cannot hold all writes.
    """
    check_editor(context)
    wizards = _checked(values.get("wizards") or ())
    listed = [one["wizard_uuid"] for one in wizards if one.get("wizard_uuid")]
    if len(set(listed)) < len(listed):
        raise BadField("A wizard is listed twice.", details={"field": "wizards"})
    group_uuid = values.get("wizard_group_uuid")
    own = {name: value for name, value in values.items() if name not in ("wizards", "wizard_group_uuid") and value is not None}

    async def attempt() -> WizardGroup:
        before = await get_item(store, WizardGroup, _group_ids(context, group_uuid)) if group_uuid else None
        work = await _opened(store, context, author(context, values), wizards, before)
        uuids = [await work.wizard(one) for one in wizards]
        given = {**own, "wizard_uuids": uuids, "updated_by": work.author}
        if before is None:
            group = build(WizardGroup, {**given, "partition": context.partition})
            work.changes.create(group)
        else:
            group = build(WizardGroup, {**contents(before), **given})
            work.changes.update(before, group)
            _drop_wizards(work, [uuid for uuid in before.wizard_uuids if uuid not in uuids])
        await commit(store, work.changes)
        return await get_item(store, WizardGroup, _group_ids(context, group.wizard_group_uuid))

    return await retry_on_conflict(attempt)


async def delete_wizard_from_wizard_group(store: AsyncStore, context: Context, wizard_group_uuid: str, wizard_uuid: str) -> bool:
    """Remove a wizard from a group, and delete it and its elements if nothing else uses them. False if the wizard is not in the group."""
    check_editor(context)

    async def attempt() -> bool:
        before = await find_item(store, WizardGroup, _group_ids(context, wizard_group_uuid))
        if before is None or wizard_uuid not in before.wizard_uuids:
            return False
        work = await _opened(store, context, author(context, {}), [], before)
        left = [uuid for uuid in before.wizard_uuids if uuid != wizard_uuid]
        work.changes.update(before, before.model_copy(update={"wizard_uuids": left, "updated_by": work.author}))
        _drop_wizards(work, [wizard_uuid])
        await commit(store, work.changes)
        return True

    return await retry_on_conflict(attempt)


def _drop_wizards(work: _Composite, uuids: Sequence[str]) -> None:
    """Delete wizards that are no longer in the group, unless another group uses them."""
    gone = [work.wizards[uuid] for uuid in uuids if uuid in work.wizards and work.wizards[uuid].reference_count <= 1]
    for wizard in gone:
        work.changes.delete(wizard)
    work.drop_elements(gone)


async def _opened(
    store: AsyncStore, context: Context, author: str, wizards: Sequence[Mapping[str, Any]], group: WizardGroup | None
) -> _Composite:
    """The stored wizards and elements of a group, read in two batches."""
    named = [one["wizard_uuid"] for one in wizards if one.get("wizard_uuid")]
    uuids = dict.fromkeys([*named, *(group.wizard_uuids if group is not None else ())])
    refs = [Wizard.key(partition=context.partition, wizard_uuid=uuid) for uuid in uuids]
    found = {one.wizard_uuid: one for one in await store.batch_get(refs, consistent=True) if one is not None}
    asked = [entry.get("element_uuid") for one in wizards for entry in one.get("wizard_elements") or ()]
    wanted = dict.fromkeys([*(uuid for uuid in asked if uuid), *_named(found.values())])
    keys = [WizardElement.key(partition=context.partition, element_uuid=uuid) for uuid in wanted]
    elements = {one.element_uuid: one for one in await store.batch_get(keys, consistent=True) if one is not None}
    return _Composite(store, context, author, Changes(), found, elements)


def _named(wizards: Iterable[Wizard]) -> Counter[str]:
    """The number of these wizards that use each element."""
    return Counter(
        uuid for one in wizards for uuid in {str(entry["element_uuid"]) for entry in one.wizard_elements if entry.get("element_uuid")}
    )


def _group_ids(context: Context, wizard_group_uuid: str) -> dict[str, Any]:
    return {"partition": context.partition, "wizard_group_uuid": wizard_group_uuid}
