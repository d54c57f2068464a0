"""Queries of wizards: elements, schemas, wizards, groups and filters."""

from datetime import datetime

import strawberry
from strawberry.types.unset import UNSET

from gateleg.apps.agents.catalogue import list_wizard_schemas
from gateleg.apps.agents.catalogue_tables import WizardSchema
from gateleg.apps.agents.graphql.calls import Info
from gateleg.apps.agents.graphql.fields import resolver_field, stored_arguments
from gateleg.apps.agents.graphql.listings import Listing, list_rows
from gateleg.apps.agents.graphql.wizard_types import (
    ElementListType,
    ElementType,
    WizardGroupFilterListType,
    WizardGroupFilterType,
    WizardGroupListType,
    WizardGroupType,
    WizardListType,
    WizardSchemaListType,
    WizardSchemaType,
    WizardType,
)
from gateleg.apps.agents.tables import Wizard, WizardElement, WizardGroup, WizardGroupFilter
from gateleg.apps.agents.wizards.choice import list_wizard_group_filters
from gateleg.apps.agents.wizards.forms import list_elements, list_wizards
from gateleg.apps.agents.wizards.groups import list_wizard_groups


@strawberry.type
class WizardQueries:
    """What can be asked about wizards."""

    @resolver_field(ElementType | None)
    async def element(self, info: Info, element_uuid: str) -> WizardElement | None:
        """An element; null when there is none."""
        return await info.context.loaders.find(WizardElement, element_uuid=element_uuid)

    @resolver_field(ElementListType)
    async def element_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        data_type: str | None = UNSET,
        attribute_name: str | None = UNSET,
        updated_at_gt: datetime | None = UNSET,
        updated_at_lt: datetime | None = UNSET,
    ) -> Listing[WizardElement]:
        """Elements, latest change first."""
        return await list_rows(info.context, list_elements, stored_arguments(locals()))

    @resolver_field(WizardType | None)
    async def wizard(self, info: Info, wizard_uuid: str) -> Wizard | None:
        """A wizard; null when there is none."""
        return await info.context.loaders.find(Wizard, wizard_uuid=wizard_uuid)

    @resolver_field(WizardListType)
    async def wizard_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        wizard_type: str | None = UNSET,
        wizard_title: str | None = UNSET,
        updated_at_gt: datetime | None = UNSET,
        updated_at_lt: datetime | None = UNSET,
    ) -> Listing[Wizard]:
        """Wizards, latest change first."""
        return await list_rows(info.context, list_wizards, stored_arguments(locals()))

    @resolver_field(WizardSchemaType | None)
    async def wizard_schema(self, info: Info, wizard_schema_type: str, wizard_schema_name: str) -> WizardSchema | None:
        """A schema of wizards; null when there is none."""
        key = {"wizard_schema_type": wizard_schema_type, "wizard_schema_name": wizard_schema_name}
        return await info.context.loaders.find(WizardSchema, **key)

    @resolver_field(WizardSchemaListType)
    async def wizard_schema_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        wizard_schema_type: str | None = UNSET,
        wizard_schema_name: str | None = UNSET,
        updated_at_gt: datetime | None = UNSET,
        updated_at_lt: datetime | None = UNSET,
    ) -> Listing[WizardSchema]:
        """Schemas of wizards, by type and name."""
        return await list_rows(info.context, list_wizard_schemas, stored_arguments(locals()))

    @resolver_field(WizardGroupType | None)
    async def wizard_group(self, info: Info, wizard_group_uuid: str) -> WizardGroup | None:
        """A group of wizards; null when there is none."""
        return await info.context.loaders.find(WizardGroup, wizard_group_uuid=wizard_group_uuid)

    @resolver_field(WizardGroupListType)
    async def wizard_group_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        wizard_group_name: str | None = UNSET,
        updated_at_gt: datetime | None = UNSET,
        updated_at_lt: datetime | None = UNSET,
    ) -> Listing[WizardGroup]:
        """Groups of wizards, latest change first."""
        return await list_rows(info.context, list_wizard_groups, stored_arguments(locals()))

    @resolver_field(WizardGroupFilterType | None)
    async def wizard_group_filter(self, info: Info, wizard_group_filter_uuid: str) -> WizardGroupFilter | None:
        """A filter of groups; null when there is none."""
        return await info.context.loaders.find(WizardGroupFilter, wizard_group_filter_uuid=wizard_group_filter_uuid)

    @resolver_field(WizardGroupFilterListType)
    async def wizard_group_filter_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        wizard_group_filter_name: str | None = UNSET,
        region: str | None = UNSET,
        wizard_group_uuid: str | None = UNSET,
        updated_at_gt: datetime | None = UNSET,
        updated_at_lt: datetime | None = UNSET,
    ) -> Listing[WizardGroupFilter]:
        """Filters of groups, latest change first."""
        return await list_rows(info.context, list_wizard_group_filters, stored_arguments(locals()))
