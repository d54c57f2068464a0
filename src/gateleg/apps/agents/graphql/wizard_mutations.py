"""Mutations of wizards: elements, schemas, wizards, groups and filters."""

import strawberry
from strawberry.types.unset import UNSET

from gateleg.apps.agents.catalogue import delete_wizard_schema, save_wizard_schema
from gateleg.apps.agents.catalogue_tables import WizardSchema
from gateleg.apps.agents.graphql.calls import Info
from gateleg.apps.agents.graphql.fields import Deleted, Saved, deleted_type, given, offer, saved_type
from gateleg.apps.agents.graphql.scalars import JSON
from gateleg.apps.agents.graphql.wizard_types import ElementType, WizardGroupFilterType, WizardGroupType, WizardSchemaType, WizardType
from gateleg.apps.agents.graphql.writing import removed, saved
from gateleg.apps.agents.tables import Wizard, WizardElement, WizardGroup, WizardGroupFilter
from gateleg.apps.agents.wizards.choice import delete_wizard_group_filter, save_wizard_group_filter
from gateleg.apps.agents.wizards.forms import delete_element, delete_wizard, save_element, save_wizard
from gateleg.apps.agents.wizards.groups import (
    delete_wizard_from_wizard_group,
    delete_wizard_group,
    save_wizard_group,
    save_wizard_group_with_wizards,
)

InsertUpdateElement = saved_type("InsertUpdateElement", "element", ElementType)
DeleteElement = deleted_type("DeleteElement")
InsertUpdateWizardSchema = saved_type("InsertUpdateWizardSchema", "wizardSchema", WizardSchemaType)
DeleteWizardSchema = deleted_type("DeleteWizardSchema")
InsertUpdateWizard = saved_type("InsertUpdateWizard", "wizard", WizardType)
DeleteWizard = deleted_type("DeleteWizard")
InsertUpdateWizardGroup = saved_type("InsertUpdateWizardGroup", "wizardGroup", WizardGroupType)
DeleteWizardGroup = deleted_type("DeleteWizardGroup")
InsertUpdateWizardGroupFilter = saved_type("InsertUpdateWizardGroupFilter", "wizardGroupFilter", WizardGroupFilterType)
DeleteWizardGroupFilter = deleted_type("DeleteWizardGroupFilter")
InsertUpdateWizardGroupWithWizards = saved_type("InsertUpdateWizardGroupWithWizards", "wizardGroup", WizardGroupType)
DeleteWizardFromWizardGroup = deleted_type("DeleteWizardFromWizardGroup")


@strawberry.type
class WizardMutations:
    """What can be changed of wizards."""

    @offer(InsertUpdateElement)
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
    ) -> Saved:
        """Create an element, or change one."""
        return await saved(info.context, WizardElement, save_element, given(locals()))

    @offer(DeleteElement)
    async def delete_element(self, info: Info, element_uuid: str) -> Deleted:
        """Delete an element, unless a wizard has it."""
        return await removed(info.context, delete_element, element_uuid)

    @offer(InsertUpdateWizardSchema)
    async def insert_update_wizard_schema(
        self,
        info: Info,
        wizard_schema_name: str,
        wizard_schema_type: str,
        attribute_groups: list[JSON | None] | None = UNSET,
        attributes: list[JSON | None] | None = UNSET,
        updated_by: str | None = UNSET,
        wizard_schema_description: str | None = UNSET,
    ) -> Saved:
        """Add a schema of wizards to the catalogue, or change it. Operators and admins write it."""
        return await saved(info.context, WizardSchema, save_wizard_schema, given(locals()))

    @offer(DeleteWizardSchema)
    async def delete_wizard_schema(self, info: Info, wizard_schema_name: str, wizard_schema_type: str) -> Deleted:
        """Delete a schema of wizards, unless a wizard has it."""
        return await removed(info.context, delete_wizard_schema, wizard_schema_type, wizard_schema_name)

    @offer(InsertUpdateWizard)
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
    ) -> Saved:
        """Create a wizard, or change one. Its attributes are checked against its schema."""
        return await saved(info.context, Wizard, save_wizard, given(locals()))

    @offer(DeleteWizard)
    async def delete_wizard(self, info: Info, wizard_uuid: str) -> Deleted:
        """Delete a wizard, unless a group has it."""
        return await removed(info.context, delete_wizard, wizard_uuid)

    @offer(InsertUpdateWizardGroup)
    async def insert_update_wizard_group(
        self,
        info: Info,
        updated_by: str | None = UNSET,
        weight: int | None = UNSET,
        wizard_group_description: str | None = UNSET,
        wizard_group_name: str | None = UNSET,
        wizard_group_uuid: str | None = UNSET,
        wizard_uuids: list[str | None] | None = UNSET,
    ) -> Saved:
        """Create a group of wizards, or change one."""
        return await saved(info.context, WizardGroup, save_wizard_group, given(locals()))

    @offer(DeleteWizardGroup)
    async def delete_wizard_group(self, info: Info, wizard_group_uuid: str) -> Deleted:
        """Delete a group of wizards, unless a filter names it."""
        return await removed(info.context, delete_wizard_group, wizard_group_uuid)

    @offer(InsertUpdateWizardGroupFilter)
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
    ) -> Saved:
        """Create a filter of groups, or change one."""
        return await saved(info.context, WizardGroupFilter, save_wizard_group_filter, given(locals()))

    @offer(DeleteWizardGroupFilter)
    async def delete_wizard_group_filter(self, info: Info, wizard_group_filter_uuid: str) -> Deleted:
        """Delete a filter of groups."""
        return await removed(info.context, delete_wizard_group_filter, wizard_group_filter_uuid)

    @offer(InsertUpdateWizardGroupWithWizards)
    async def insert_update_wizard_group_with_wizards(
        self,
        info: Info,
        wizards: list[JSON | None],
        updated_by: str | None = UNSET,
        weight: int | None = UNSET,
        wizard_group_description: str | None = UNSET,
        wizard_group_name: str | None = UNSET,
        wizard_group_uuid: str | None = UNSET,
    ) -> Saved:
        """Write a group with its wizards and their elements, all or nothing. Wizards that are no longer listed are deleted."""
        return await saved(info.context, WizardGroup, save_wizard_group_with_wizards, given(locals()))

    @offer(DeleteWizardFromWizardGroup)
    async def delete_wizard_from_wizard_group(
        self,
        info: Info,
        wizard_group_uuid: str,
        wizard_uuid: str,
        updated_by: str | None = UNSET,
    ) -> Deleted:
        """Take a wizard out of a group, and delete it."""
        return await removed(info.context, delete_wizard_from_wizard_group, wizard_group_uuid, wizard_uuid)
