"""What all tenants of a host share: models, UI components and schemas of wizards. Everybody reads it, operators write it."""

from datetime import datetime
from typing import Any

from gateleg.apps.agents.tables import NAME, TENANT_TABLES, identifier, own_identifier, version_pointers
from gateleg.apps.agents.thread_tables import THREAD_TABLES
from gateleg.model import GSI, LSI, Attr, Entity, Key, Pattern, Table, field, required, stamp


def catalogue_table(name: str, hash_name: str, sort: str) -> Table:
    """A table of the catalogue, with an index that lists all of it."""
    across = GSI("catalogue-index", hash="catalogue", range="catalogue_entry")
    return Table(f"aace-{name}", hash=hash_name, range=sort, indexes=[LSI("updated_at-index", range="updated_at"), across])


llms = catalogue_table("llms", "llm_provider", "llm_name")
ui_components = catalogue_table("ui_components", "ui_component_type", "ui_component_uuid")
wizard_schemas = catalogue_table("wizard_schemas", "wizard_schema_type", "wizard_schema_name")
CATALOGUE_TABLES = (llms, ui_components, wizard_schemas)


class CatalogueItem(Entity):
    """What every entry of the catalogue has."""

    updated_by: Attr[str] = field("", max_length=NAME)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")
    #: ours: how many things of all tenants name it
    reference_count: Attr[int] = field(0, ge=0)
    #: ours: raised by every change, which is conditional on it
    revision: Attr[int] = field(1, ge=1)

    everything = Pattern("catalogue-index", title="The whole catalogue, by type and name")
    by_update = Pattern("updated_at-index", title="Entries of a type, latest change first", order="desc")


class Llm(CatalogueItem, table=llms):
    """A model that agents may use, and the handler that talks to it."""

    llm_provider: Attr[str] = identifier()
    llm_name: Attr[str] = identifier()
    #: as the public engine has it; a handler is chosen by `class_name` from a list of permitted ones, and never imported from here
    module_name: Attr[str] = required(min_length=1, max_length=NAME)
    class_name: Attr[str] = required(min_length=1, max_length=NAME)
    #: a JSON schema for the configuration of agents
    configuration_schema: Attr[dict[str, Any]] = field(factory=dict)

    key = Key("{llm_provider}", "{llm_name}")
    catalogue_key = Key("LLM", "{llm_provider}#{llm_name}", index="catalogue-index")
    of_provider = Pattern(title="The models of a provider")


class UiComponent(CatalogueItem, table=ui_components):
    """A component that prompts may let a user interface show."""

    ui_component_type: Attr[str] = identifier()
    ui_component_uuid: Attr[str] = own_identifier()
    tag_name: Attr[str] = required(min_length=1, max_length=NAME)
    parameters: Attr[list[dict[str, Any]]] = field(factory=list, max_length=500)
    wait_for: Attr[str | None] = field(None, max_length=NAME)

    key = Key("{ui_component_type}", "{ui_component_uuid}")
    catalogue_key = Key("UI_COMPONENT", "{ui_component_type}#{ui_component_uuid}", index="catalogue-index")
    of_type = Pattern(title="The components of a type")


class WizardSchema(CatalogueItem, table=wizard_schemas):
    """Which attributes wizards of a kind have."""

    wizard_schema_type: Attr[str] = identifier()
    wizard_schema_name: Attr[str] = identifier()
    wizard_schema_description: Attr[str | None] = field(None, max_length=5_000)
    #: maps with name, attribute_type, required, options, pattern, col, label and group_name
    attributes: Attr[list[dict[str, Any]]] = field(factory=list, max_length=500)
    #: maps with name and label
    attribute_groups: Attr[list[dict[str, Any]]] = field(factory=list, max_length=500)

    key = Key("{wizard_schema_type}", "{wizard_schema_name}")
    catalogue_key = Key("WIZARD_SCHEMA", "{wizard_schema_type}#{wizard_schema_name}", index="catalogue-index")
    of_type = Pattern(title="The schemas of a type")


#: All tables of the application.
TABLES = (*TENANT_TABLES, version_pointers, *THREAD_TABLES, *CATALOGUE_TABLES)
