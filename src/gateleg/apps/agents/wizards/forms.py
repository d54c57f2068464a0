"""Use cases: elements and wizards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.access import check_editor
from gateleg.apps.agents.catalogue_tables import WizardSchema
from gateleg.apps.agents.errors import BadField, BadWizard, UnknownReference
from gateleg.apps.agents.items import author, build, create_item, delete_item, find_item, get_item, update_item
from gateleg.apps.agents.listing import Listing, Paging, filtered, list_items, matching, timed, times
from gateleg.apps.agents.tables import Wizard, WizardElement
from gateleg.apps.agents.wizards.checks import answer_problems, check_element, check_wizard

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncStore


async def find_element(store: AsyncStore, context: Context, element_uuid: str) -> WizardElement | None:
    """An element by its id."""
    return await find_item(store, WizardElement, {"partition": context.partition, "element_uuid": element_uuid})


async def list_elements(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    data_type: str | None = None,
    attribute_name: str | None = None,
    updated_at_gt: datetime | None = None,
    updated_at_lt: datetime | None = None,
) -> Listing[WizardElement]:
    """Elements, latest change first."""
    conditions = matching(WizardElement, {"attribute_name": attribute_name})
    if data_type:
        question = WizardElement.of_data_type(partition=context.partition, data_type=data_type).reversed()
        conditions += times(WizardElement.updated_at, updated_at_gt, updated_at_lt)
    else:
        question = timed(WizardElement.by_update(partition=context.partition), WizardElement.updated_at, updated_at_gt, updated_at_lt)
    return await list_items(store, filtered(question, conditions), paging)


async def save_element(store: AsyncStore, context: Context, values: Mapping[str, Any]) -> WizardElement:
    """Create or update an element (`element_uuid`)."""
    check_editor(context)
    given = {**values, "updated_by": author(context, values)}
    if not values.get("element_uuid"):
        given.pop("element_uuid", None)
        return await create_item(store, await checked_element(build(WizardElement, {**given, "partition": context.partition})))
    ids = {"partition": context.partition, "element_uuid": values["element_uuid"]}
    return await update_item(store, WizardElement, ids, given, checked_element)


async def checked_element(element: WizardElement) -> WizardElement:
    """The element, if its pattern and conditions are valid."""
    await check_element(element)
    return element


async def delete_element(store: AsyncStore, context: Context, element_uuid: str) -> bool:
    """Delete an element that no wizard uses."""
    check_editor(context)
    return await delete_item(store, WizardElement, {"partition": context.partition, "element_uuid": element_uuid})


async def find_wizard(store: AsyncStore, context: Context, wizard_uuid: str) -> Wizard | None:
    """A wizard by its id."""
    return await find_item(store, Wizard, {"partition": context.partition, "wizard_uuid": wizard_uuid})


async def list_wizards(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    wizard_type: str | None = None,
    wizard_title: str | None = None,
    updated_at_gt: datetime | None = None,
    updated_at_lt: datetime | None = None,
) -> Listing[Wizard]:
    """Wizards, latest change first."""
    question = timed(Wizard.by_update(partition=context.partition), Wizard.updated_at, updated_at_gt, updated_at_lt)
    conditions = matching(Wizard, {"wizard_type": wizard_type, "wizard_title": wizard_title})
    return await list_items(store, filtered(question, conditions), paging)


async def save_wizard(store: AsyncStore, context: Context, values: Mapping[str, Any]) -> Wizard:
    """Create or update a wizard (`wizard_uuid`), which must match its schema."""
    check_editor(context)
    given = {**values, "updated_by": author(context, values)}

    async def complete(wizard: Wizard) -> Wizard:
        return await checked_wizard(store, wizard)

    if not values.get("wizard_uuid"):
        given.pop("wizard_uuid", None)
        return await create_item(store, await complete(build(Wizard, {**given, "partition": context.partition})))
    ids = {"partition": context.partition, "wizard_uuid": values["wizard_uuid"]}
    return await update_item(store, Wizard, ids, given, complete)


async def checked_wizard(store: AsyncStore, wizard: Wizard) -> Wizard:
    """The wizard, if it matches its schema. Raises `UnknownReference` and `BadWizard`."""
    ids = {"wizard_schema_type": wizard.wizard_schema_type, "wizard_schema_name": wizard.wizard_schema_name}
    schema = await find_item(store, WizardSchema, ids)
    if schema is None:
        raise UnknownReference(f"There is no wizard schema {wizard.wizard_schema_type!r} {wizard.wizard_schema_name!r}.")
    await check_wizard(wizard, schema)
    elements = [one.get("element_uuid") for one in wizard.wizard_elements]
    if not all(isinstance(one, str) and one for one in elements) or len(set(elements)) < len(elements):
        raise BadField("Every element of a wizard needs an element_uuid, and must be listed once.", details={"field": "wizard_elements"})
    return wizard


async def delete_wizard(store: AsyncStore, context: Context, wizard_uuid: str) -> bool:
    """Delete a wizard that no group uses."""
    check_editor(context)
    return await delete_item(store, Wizard, {"partition": context.partition, "wizard_uuid": wizard_uuid})


async def check_answers(store: AsyncStore, context: Context, wizard_uuid: str, answers: Mapping[str, Any]) -> None:
    """Refuse invalid answers to a wizard. Raises `BadWizard`, which lists all problems."""
    wizard = await get_item(store, Wizard, {"partition": context.partition, "wizard_uuid": wizard_uuid})
    refs = [WizardElement.key(partition=context.partition, element_uuid=one["element_uuid"]) for one in wizard.wizard_elements]
    elements = {one.element_uuid: one for one in await store.batch_get(refs, consistent=True) if one is not None}
    problems = await answer_problems(wizard, elements, answers)
    if problems:
        listed = "; ".join(f"{name} {problem}" for name, problem in problems.items())
        raise BadWizard(f"The answers are not valid: {listed}.", details={"answers": problems})
