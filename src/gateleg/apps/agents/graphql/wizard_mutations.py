"""Mutations of wizards: elements, schemas, wizards, groups and filters."""

import strawberry
from strawberry.types.unset import UNSET

from gateleg.apps.agents.catalogue import delete_wizard_schema, save_wizard_schema
from gateleg.apps.agents.catalogue_tables import WizardSchema
from gateleg.apps.agents.graphql.calls import Info
from gateleg.apps.agents.graphql.fields import (
    DeletePayload,
    SavePayload,
    delete_payload_type,
    resolver_field,
    save_payload_type,
    stored_arguments,
)
from gateleg.apps.agents.graphql.item_mutations import delete_by_ids, save_item
from gateleg.apps.agents.graphql.scalars import JSON
from gateleg.apps.agents.graphql.wizard_types import ElementType, WizardGroupFilterType, WizardGroupType, WizardSchemaType, WizardType
from gateleg.apps.agents.tables import Wizard, WizardElement, WizardGroup, WizardGroupFilter
from gateleg.apps.agents.wizards.choice import delete_wizard_group_filter, save_wizard_group_filter
from gateleg.apps.agents.wizards.forms import delete_element, delete_wizard, save_element, save_wizard
from gateleg.apps.agents.wizards.groups import (
    delete_wizard_from_wizard_group,
    delete_wizard_group,
    save_wizard_group,
    save_wizard_group_with_wizards,
)

InsertUpdateElement = save_payload_type("InsertUpdateElement", "element", ElementType)
DeleteElement = delete_payload_type("DeleteElement")
InsertUpdateWizardSchema = save_payload_type("InsertUpdateWizardSchema", "wizardSchema", WizardSchemaType)
DeleteWizardSchema = delete_payload_type("DeleteWizardSchema")
InsertUpdateWizard = save_payload_type("InsertUpdateWizard", "wizard", WizardType)
DeleteWizard = delete_payload_type("DeleteWizard")
InsertUpdateWizardGroup = save_payload_type("InsertUpdateWizardGroup", "wizardGroup", WizardGroupType)
DeleteWizardGroup = delete_payload_type("DeleteWizardGroup")
InsertUpdateWizardGroupFilter = save_payload_type("InsertUpdateWizardGroupFilter", "wizardGroupFilter", WizardGroupFilterType)
DeleteWizardGroupFilter = delete_payload_type("DeleteWizardGroupFilter")
InsertUpdateWizardGroupWithWizards = save_payload_type("InsertUpdateWizardGroupWithWizards", "wizardGroup", WizardGroupType)
DeleteWizardFromWizardGroup = delete_payload_type("DeleteWizardFromWizardGroup")


@strawberry.type
class WizardMutations:
    """What can be changed of wizards."""

    @resolver_field(InsertUpdateElement)
    async def insert_update_element(
        self,
        info: Info,
        attribute_name: str | None = UNSET,
        attribute_type: str | None = UNSET,
        conditions: list[JSON | None] | None = UNSET,
        data_type: str | None = UNSET,
        element_title: str | None = UNSET,
        element_uuid: str | None = UNSET,
        option_values: list[JSON | None] | None = UNSET,
        pattern: str | None = UNSET,
        priority: int | None = UNSET,
        updated_by: str | None = UNSET,
    ) -> SavePayload:
        """Create an element, or change one."""
        return await save_item(info.context, WizardElement, save_element, stored_arguments(locals()))

    @resolver_field(DeleteElement)
    async def delete_element(self, info: Info, element_uuid: str) -> DeletePayload:
        """Delete an element, unless a wizard has it."""
        return await delete_by_ids(info.context, delete_element, element_uuid)

    @resolver_field(InsertUpdateWizardSchema)
    async def insert_update_wizard_schema(
        self,
        info: Info,
        wizard_schema_name: str,
        wizard_schema_type: str,
        attribute_groups: list[JSON | None] | None = UNSET,
        attributes: list[JSON | None] | None = UNSET,
        updated_by: str | None = UNSET,
        wizard_schema_description: str | None = UNSET,
    ) -> SavePayload:
        """Add a schema of wizards to the catalogue, or change it. Operators and admins write it."""
        return await save_item(info.context, WizardSchema, save_wizard_schema, stored_arguments(locals()))

    @resolver_field(DeleteWizardSchema)
    async def delete_wizard_schema(self, info: Info, wizard_schema_name: str, wizard_schema_type: str) -> DeletePayload:
        """Delete a schema of wizards, unless a wizard has it."""
        return await delete_by_ids(info.context, delete_wizard_schema, wizard_schema_type, wizard_schema_name)

    @resolver_field(InsertUpdateWizard)
    async def insert_update_wizard(
        self,
        info: Info,
        priority: int | None = UNSET,
        updated_by: str | None = UNSET,
        wizard_attributes: list[JSON | None] | None = UNSET,
        wizard_description: str | None = UNSET,
        wizard_elements: list[JSON | None] | None = UNSET,
        wizard_schema_name: str | None = UNSET,
        wizard_schema_type: str | None = UNSET,
        wizard_title: str | None = UNSET,
        wizard_type: str | None = UNSET,
        wizard_uuid: str | None = UNSET,
    ) -> SavePayload:
        """Create a wizard, or change one. Its attributes are checked against its schema."""
        return await save_item(info.context, Wizard, save_wizard, stored_arguments(locals()))

    @resolver_field(DeleteWizard)
    async def delete_wizard(self, info: Info, wizard_uuid: str) -> DeletePayload:
        """Delete a wizard, unless a group has it."""
        return await delete_by_ids(info.context, delete_wizard, wizard_uuid)

    @resolver_field(InsertUpdateWizardGroup)
    async def insert_update_wizard_group(
        self,
        info: Info,
        updated_by: str | None = UNSET,
        weight: int | None = UNSET,
        wizard_group_description: str | None = UNSET,
        wizard_group_name: str | None = UNSET,
        wizard_group_uuid: str | None = UNSET,
        wizard_uuids: list[str | None] | None = UNSET,
    ) -> SavePayload:
        """Create a group of wizards, or change one."""
        return await save_item(info.context, WizardGroup, save_wizard_group, stored_arguments(locals()))

    @resolver_field(DeleteWizardGroup)
    async def delete_wizard_group(self, info: Info, wizard_group_uuid: str) -> DeletePayload:
        """Delete a group of wizards, unless a filter names it."""
        return await delete_by_ids(info.context, delete_wizard_group, wizard_group_uuid)

    @resolver_field(InsertUpdateWizardGroupFilter)
    async def insert_update_wizard_group_filter(
        self,
        info: Info,
        criteria: JSON | None = UNSET,
        region: str | None = UNSET,
        updated_by: str | None = UNSET,
        weight: int | None = UNSET,
        wizard_group_filter_description: str | None = UNSET,
        wizard_group_filter_name: str | None = UNSET,
        wizard_group_filter_uuid: str | None = UNSET,
        wizard_group_uuid: str | None = UNSET,
    ) -> SavePayload:
        """Create a filter of groups, or change one."""
        return await save_item(info.context, WizardGroupFilter, save_wizard_group_filter, stored_arguments(locals()))

    @resolver_field(DeleteWizardGroupFilter)
    async def delete_wizard_group_filter(self, info: Info, wizard_group_filter_uuid: str) -> DeletePayload:
        """Delete a filter of groups."""
        return await delete_by_ids(info.context, delete_wizard_group_filter, wizard_group_filter_uuid)

    @resolver_field(InsertUpdateWizardGroupWithWizards)
    async def insert_update_wizard_group_with_wizards(
        self,
        info: Info,
        wizards: list[JSON | None],
        updated_by: str | None = UNSET,
        weight: int | None = UNSET,
        wizard_group_description: str | None = UNSET,
        wizard_group_name: str | None = UNSET,
        wizard_group_uuid: str | None = UNSET,
    ) -> SavePayload:
        """Write a group with its wizards and their elements, all or nothing. Wizards that are no longer listed are deleted."""
        return await save_item(info.context, WizardGroup, save_wizard_group_with_wizards, stored_arguments(locals()))

    @resolver_field(DeleteWizardFromWizardGroup)
    async def delete_wizard_from_wizard_group(
        self,
        info: Info,
        wizard_group_uuid: str,
        wizard_uuid: str,
        updated_by: str | None = UNSET,
    ) -> DeletePayload:
        """Take a wizard out of a group, and delete it."""
        return await delete_by_ids(info.context, delete_wizard_from_wizard_group, wizard_group_uuid, wizard_uuid)
