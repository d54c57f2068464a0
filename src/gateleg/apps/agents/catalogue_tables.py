"""Tables shared by all tenants of a host: models, UI components and wizard schemas."""

from datetime import datetime
from typing import Any

from gateleg.apps.agents.tables import MAX_NAME_LENGTH, TENANT_TABLES, identifier, model_names, own_identifier, version_pointers
from gateleg.apps.agents.thread_tables import THREAD_TABLES
from gateleg.model import GSI, LSI, Attr, Entity, Key, Pattern, Table, field, required, stamp


def catalogue_table(name: str, hash_name: str, sort: str) -> Table:
    """Declare a catalogue table, with an index that lists all entries."""
    across = GSI("catalogue-index", hash="catalogue", range="catalogue_entry")
    return Table(f"aace-{name}", hash=hash_name, range=sort, indexes=[LSI("updated_at-index", range="updated_at"), across])


llms = catalogue_table("llms", "llm_provider", "llm_name")
ui_components = catalogue_table("ui_components", "ui_component_type", "ui_component_uuid")
wizard_schemas = catalogue_table("wizard_schemas", "wizard_schema_type", "wizard_schema_name")
CATALOGUE_TABLES = (llms, ui_components, wizard_schemas)


class CatalogueItem(Entity):
    """Attributes of every catalogue entry."""

    updated_by: Attr[str] = field("", max_length=MAX_NAME_LENGTH)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")
    #: ours: number of items of all tenants that refer to this one
    reference_count: Attr[int] = field(0, ge=0)
    #: ours: incremented by every change and checked as the write condition (optimistic lock)
    revision: Attr[int] = field(1, ge=1)

    everything = Pattern("catalogue-index", title="The whole catalogue, by type and name")
    by_update = Pattern("updated_at-index", title="Entries of a type, latest change first", order="desc")


class Llm(CatalogueItem, table=llms):
    """A model that agents may use, and the handler that talks to it."""

    llm_provider: Attr[str] = identifier()
    llm_name: Attr[str] = identifier()
    #: as in the public engine; `class_name` selects a handler from the registry, nothing is imported by name
    module_name: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    class_name: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    #: a JSON schema for the configuration of agents
    configuration_schema: Attr[dict[str, Any]] = field(factory=dict)

    key = Key("{llm_provider}", "{llm_name}")
    catalogue_key = Key("LLM", "{llm_provider}#{llm_name}", index="catalogue-index")
    of_provider = Pattern(title="The models of a provider")


class UiComponent(CatalogueItem, table=ui_components):
    """A UI component that prompts may use."""

    ui_component_type: Attr[str] = identifier()
    ui_component_uuid: Attr[str] = own_identifier()
    tag_name: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    parameters: Attr[list[dict[str, Any]]] = field(factory=list, max_length=500)
    wait_for: Attr[str | None] = field(None, max_length=MAX_NAME_LENGTH)

    key = Key("{ui_component_type}", "{ui_component_uuid}")
    catalogue_key = Key("UI_COMPONENT", "{ui_component_type}#{ui_component_uuid}", index="catalogue-index")
    of_type = Pattern(title="The components of a type")


class WizardSchema(CatalogueItem, table=wizard_schemas):
    """The attributes of a kind of wizard."""

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
TABLES = (*TENANT_TABLES, version_pointers, model_names, *THREAD_TABLES, *CATALOGUE_TABLES)
