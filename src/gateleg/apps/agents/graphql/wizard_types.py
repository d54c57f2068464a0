"""Types of wizards: schemas, elements, wizards, groups and filters."""

import asyncio
from typing import Any

import strawberry

from gateleg.apps.agents.catalogue_tables import WizardSchema
from gateleg.apps.agents.graphql.agent_types import TenantType, TimesType
from gateleg.apps.agents.graphql.calls import Info
from gateleg.apps.agents.graphql.fields import resolver_field
from gateleg.apps.agents.graphql.listings import PageType
from gateleg.apps.agents.graphql.loaders import Loaders
from gateleg.apps.agents.graphql.scalars import JSON
from gateleg.apps.agents.tables import Wizard, WizardElement, WizardGroup, WizardGroupFilter

#: Attributes of ours, which clients do not see.
_OURS = {"partition", "reference_count"}


@strawberry.type(name="ElementType", description="A question of a wizard.")
class ElementType(TenantType, TimesType):
    """An element."""

    element_uuid: str
    data_type: str
    element_title: str
    priority: int
    attribute_name: str
    attribute_type: str
    option_values: list[JSON]
    conditions: list[JSON]
    pattern: str | None


@strawberry.type(name="WizardSchemaType", description="Which attributes wizards of a kind have.")
class WizardSchemaType(TimesType):
    """A schema of wizards."""

    wizard_schema_type: str
    wizard_schema_name: str
    wizard_schema_description: str | None
    attributes: list[JSON]
    attribute_groups: list[JSON]


@strawberry.type(name="WizardType", description="A form: attributes of its schema, and elements in their order.")
class WizardType(TenantType, TimesType):
    """A wizard."""

    wizard_uuid: str
    wizard_title: str
    wizard_description: str | None
    wizard_type: str
    wizard_schema_type: str
    wizard_schema_name: str
    wizard_attributes: list[JSON]
    priority: int

    @resolver_field(list[JSON])
    def wizard_element_refs(root: strawberry.Parent[Wizard]) -> list[dict[str, Any]]:
        """Which elements it has, as they are stored: their ids, whether they are required, and their placeholders."""
        return root.wizard_elements

    @resolver_field(WizardSchemaType | None)
    async def wizard_schema(root: strawberry.Parent[Wizard], info: Info) -> WizardSchema | None:
        """Its schema."""
        return await _schema_of(info.context.loaders, root)

    @resolver_field(list[JSON])
    async def wizard_elements(root: strawberry.Parent[Wizard], info: Info) -> list[dict[str, Any]]:
        """Its elements, each with whether it is required and with its placeholder; those that no longer exist are left out."""
        return await _elements_of(info.context.loaders, root)


@strawberry.type(name="WizardGroupType", description="Wizards that are shown together.")
class WizardGroupType(TenantType, TimesType):
    """A group of wizards."""

    wizard_group_uuid: str
    wizard_group_name: str
    wizard_group_description: str | None
    wizard_uuids: list[str]

    @resolver_field(float)
    def weight(root: strawberry.Parent[WizardGroup]) -> float:
        """Groups with more weight come first."""
        return float(root.weight)

    @resolver_field(list[JSON])
    async def wizards(root: strawberry.Parent[WizardGroup], info: Info) -> list[dict[str, Any]]:
        """Its wizards with their schemas and elements."""
        loaders = info.context.loaders
        items = await loaders.find_all(Wizard, "wizard_uuid", root.wizard_uuids)
        return await asyncio.gather(*(_whole(loaders, item) for item in items))

    @resolver_field(list[WizardType])
    async def wizard_items(root: strawberry.Parent[WizardGroup], info: Info) -> list[Wizard]:
        """Its wizards."""
        return await info.context.loaders.find_all(Wizard, "wizard_uuid", root.wizard_uuids)


@strawberry.type(name="WizardGroupFilterType", description="To whom a group of wizards is shown: a region and criteria.")
class WizardGroupFilterType(TenantType, TimesType):
    """A filter of groups."""

    wizard_group_filter_uuid: str
    wizard_group_filter_name: str
    wizard_group_filter_description: str | None
    region: str
    criteria: JSON | None
    wizard_group_uuid: str | None

    @resolver_field(float)
    def weight(root: strawberry.Parent[WizardGroupFilter]) -> float:
        """Filters with more weight come first."""
        return float(root.weight)

    @resolver_field(WizardGroupType | None)
    async def wizard_group(root: strawberry.Parent[WizardGroupFilter], info: Info) -> WizardGroup | None:
        """The group that is shown."""
        return await info.context.loaders.find(WizardGroup, wizard_group_uuid=root.wizard_group_uuid)


async def _schema_of(loaders: Loaders, wizard: Wizard) -> WizardSchema | None:
    names = {"wizard_schema_type": wizard.wizard_schema_type, "wizard_schema_name": wizard.wizard_schema_name}
    return await loaders.find(WizardSchema, **names)


async def _elements_of(loaders: Loaders, wizard: Wizard) -> list[dict[str, Any]]:
    refs = [one for one in wizard.wizard_elements if one.get("element_uuid")]
    found = await loaders.find_all(WizardElement, "element_uuid", [one["element_uuid"] for one in refs])
    known = {one.element_uuid: one.model_dump(exclude=_OURS) for one in found}
    return [
        {"element": known[one["element_uuid"]], "required": one.get("required", False), "placeholder": one.get("placeholder")}
        for one in refs
        if one["element_uuid"] in known
    ]


async def _whole(loaders: Loaders, wizard: Wizard) -> dict[str, Any]:
    """A wizard as JSON, with its schema and its elements."""
    schema, elements = await asyncio.gather(_schema_of(loaders, wizard), _elements_of(loaders, wizard))
    shown = None if schema is None else schema.model_dump(exclude=_OURS)
    return wizard.model_dump(exclude=_OURS) | {"wizard_schema": shown, "wizard_elements": elements}


@strawberry.type(name="ElementListType")
class ElementListType(PageType):
    """A page of elements."""

    element_list: list[ElementType]


@strawberry.type(name="WizardSchemaListType")
class WizardSchemaListType(PageType):
    """A page of schemas."""

    wizard_schema_list: list[WizardSchemaType]


@strawberry.type(name="WizardListType")
class WizardListType(PageType):
    """A page of wizards."""

    wizard_list: list[WizardType]


@strawberry.type(name="WizardGroupListType")
class WizardGroupListType(PageType):
    """A page of groups."""

    wizard_group_list: list[WizardGroupType]


@strawberry.type(name="WizardGroupFilterListType")
class WizardGroupFilterListType(PageType):
    """A page of filters."""

    wizard_group_filter_list: list[WizardGroupFilterType]
