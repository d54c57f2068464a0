"""Use cases: the catalogue shared by all tenants. Everybody reads it; host operators without a tenant write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from gateleg.apps.agents.access import check_catalogue_editor
from gateleg.apps.agents.catalogue_tables import CatalogueItem, Llm, UiComponent, WizardSchema
from gateleg.apps.agents.items import author, build, create_item, delete_item, find_item, update_item
from gateleg.apps.agents.listing import Listing, Paging, filtered, list_items, matching, times
from gateleg.apps.agents.wizards.checks import check_schema

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncStore

C = TypeVar("C", bound=CatalogueItem)


async def find_llm(store: AsyncStore, context: Context, llm_provider: str, llm_name: str) -> Llm | None:
    """A model of the catalogue."""
    return await find_item(store, Llm, {"llm_provider": llm_provider, "llm_name": llm_name})


async def list_llms(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    llm_provider: str | None = None,
    module_name: str | None = None,
    class_name: str | None = None,
    updated_at_gt: datetime | None = None,
    updated_at_lt: datetime | None = None,
) -> Listing[Llm]:
    """The models of the catalogue, by provider and name."""
    conditions = matching(Llm, {"module_name": module_name, "class_name": class_name})
    conditions += times(Llm.updated_at, updated_at_gt, updated_at_lt)
    question = Llm.of_provider(llm_provider=llm_provider) if llm_provider else Llm.everything()
    return await list_items(store, filtered(question, conditions), paging, consistent=bool(llm_provider))


async def save_llm(store: AsyncStore, context: Context, values: Mapping[str, Any]) -> Llm:
    """Create or change a model."""
    return await _save(store, context, Llm, ("llm_provider", "llm_name"), values)


async def delete_llm(store: AsyncStore, context: Context, llm_provider: str, llm_name: str) -> bool:
    """Delete a model, unless an agent of any tenant uses it."""
    check_catalogue_editor(context)
    return await delete_item(store, Llm, {"llm_provider": llm_provider, "llm_name": llm_name})


async def find_ui_component(store: AsyncStore, context: Context, ui_component_type: str, ui_component_uuid: str) -> UiComponent | None:
    """A UI component of the catalogue."""
    return await find_item(store, UiComponent, {"ui_component_type": ui_component_type, "ui_component_uuid": ui_component_uuid})


async def list_ui_components(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    ui_component_type: str | None = None,
    tag_name: str | None = None,
    updated_at_gt: datetime | None = None,
    updated_at_lt: datetime | None = None,
) -> Listing[UiComponent]:
    """The UI components of the catalogue, by type."""
    conditions = [*matching(UiComponent, {}, {"tag_name": tag_name}), *times(UiComponent.updated_at, updated_at_gt, updated_at_lt)]
    question = UiComponent.of_type(ui_component_type=ui_component_type) if ui_component_type else UiComponent.everything()
    return await list_items(store, filtered(question, conditions), paging, consistent=bool(ui_component_type))


async def save_ui_component(store: AsyncStore, context: Context, values: Mapping[str, Any]) -> UiComponent:
    """Create a UI component, or change one (`ui_component_uuid`)."""
    check_catalogue_editor(context)
    if not values.get("ui_component_uuid"):
        return await create_item(store, build(UiComponent, {**_given(values), "updated_by": author(context, values)}))
    ids = {name: values.get(name) for name in ("ui_component_type", "ui_component_uuid")}
    return await update_item(store, UiComponent, ids, {**_given(values), "updated_by": author(context, values)})


async def delete_ui_component(store: AsyncStore, context: Context, ui_component_type: str, ui_component_uuid: str) -> bool:
    """Delete a UI component, unless a prompt of any tenant uses it."""
    check_catalogue_editor(context)
    return await delete_item(store, UiComponent, {"ui_component_type": ui_component_type, "ui_component_uuid": ui_component_uuid})


async def find_wizard_schema(store: AsyncStore, context: Context, wizard_schema_type: str, wizard_schema_name: str) -> WizardSchema | None:
    """A wizard schema of the catalogue."""
    return await find_item(store, WizardSchema, {"wizard_schema_type": wizard_schema_type, "wizard_schema_name": wizard_schema_name})


async def list_wizard_schemas(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    wizard_schema_type: str | None = None,
    wizard_schema_name: str | None = None,
    updated_at_gt: datetime | None = None,
    updated_at_lt: datetime | None = None,
) -> Listing[WizardSchema]:
    """The wizard schemas of the catalogue, by type and name."""
    conditions = times(WizardSchema.updated_at, updated_at_gt, updated_at_lt)
    if wizard_schema_type:
        question = WizardSchema.of_type(wizard_schema_type=wizard_schema_type)
        question = question if not wizard_schema_name else question.where(WizardSchema.wizard_schema_name == wizard_schema_name)
    else:
        question = WizardSchema.everything()
        conditions += matching(WizardSchema, {"wizard_schema_name": wizard_schema_name})
    return await list_items(store, filtered(question, conditions), paging, consistent=bool(wizard_schema_type))


async def save_wizard_schema(store: AsyncStore, context: Context, values: Mapping[str, Any]) -> WizardSchema:
    """Create or change a wizard schema."""
    await check_schema(values.get("attributes") or ())
    return await _save(store, context, WizardSchema, ("wizard_schema_type", "wizard_schema_name"), values)


async def delete_wizard_schema(store: AsyncStore, context: Context, wizard_schema_type: str, wizard_schema_name: str) -> bool:
    """Delete a wizard schema, unless a wizard of any tenant uses it."""
    check_catalogue_editor(context)
    return await delete_item(store, WizardSchema, {"wizard_schema_type": wizard_schema_type, "wizard_schema_name": wizard_schema_name})


async def _save(store: AsyncStore, context: Context, entity: type[C], names: tuple[str, str], values: Mapping[str, Any]) -> C:
    """Create or change an entry whose complete key the caller supplies."""
    check_catalogue_editor(context)
    given = {**_given(values), "updated_by": author(context, values)}
    ids = {name: values.get(name) for name in names}
    if await find_item(store, entity, ids) is None:
        return await create_item(store, build(entity, given))
    return await update_item(store, entity, ids, given)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
