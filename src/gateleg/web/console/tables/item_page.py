"""`/tables/{name}/item` and `/tables/{name}/new`: one item, as fields or as DynamoDB JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from nicegui import ui

from gateleg.host.actions.items import ItemToDelete, delete_item
from gateleg.host.item_keys import item_address, item_label, key_text, read_key, table_address
from gateleg.host.items import etag_of, read_item, why_not_change, why_not_read
from gateleg.model import DecodeError
from gateleg.store.sizes import item_size
from gateleg.web.console.actions import act
from gateleg.web.console.dialogs import button
from gateleg.web.console.failures import ErrorText, empty, trouble
from gateleg.web.console.forms import open_after_save
from gateleg.web.console.frame import Crumb, frame
from gateleg.web.console.markup import card, size_text, tag
from gateleg.web.console.objects.contents import content_address, kind_of_key, object_address
from gateleg.web.console.tables.editors import DocumentEditor, FieldsEditor, NewDocument, NewFields
from gateleg.web.console.tables.grids import item_name
from gateleg.web.console.tables.sheets import new_sheet, object_keys, stored_sheet
from gateleg.web.console.tables.snippets import StoreLocation, as_item_python, key_of
from gateleg.web.console.tables.table_page import CRUMBS, find_table, show_table_not_found

if TYPE_CHECKING:
    from gateleg.model import Item, Spec, Table
    from gateleg.web.console.frame import View
    from gateleg.web.console.tables.sheets import Sheet


def _crumbs(name: str) -> list[Crumb]:
    return [*CRUMBS, Crumb(name, table_address(name)), Crumb("Items", table_address(name, {"tab": "items"}))]


async def item(name: str, key: str = "", form: str = "") -> None:
    """The page of one item."""
    with frame(title="Item", section="tables", crumbs=_crumbs(name), titled=False) as view:
        found = await find_table(view.host, name)
        if found is None:
            tag("h1", name)
            show_table_not_found(name)
            return
        forbidden = why_not_read(view.principal, name)
        if forbidden:
            tag("h1", name)
            empty("table", "Not allowed", forbidden)
            return
        wanted = read_key(found.stored, key)
        stored = None if wanted is None else await read_item(view.host.store, found.stored, wanted)
        if stored is None:
            tag("h1", "Item not found")
            sentence = "It may have been deleted, or the address may be incomplete."
            empty("search", "Item not found", sentence, button="Items", href=table_address(name, {"tab": "items"}))
            return
        _show(view, found.stored, stored, form)


def _show(view: View, table: Table, stored: Item, form: str) -> None:
    spec = table.spec_for(stored)
    instance, unreadable = _read(spec, stored)
    changeable = not why_not_change(view.principal, table.name)
    _head(view, table, spec, stored, changeable)
    if unreadable:
        trouble(ErrorText(unreadable, "View and edit it as DynamoDB JSON."))
    as_fields = spec is not None and instance is not None and form != "json"
    key = key_text(table, stored)
    with tag("nav", classes="tabs", aria_label="Forms of the item"):
        if instance is not None:
            tag("a", "Fields", href=item_address(table.name, key), aria_current="page" if as_fields else None)
        tag("a", "DynamoDB JSON", href=item_address(table.name, key, form="json"), aria_current=None if as_fields else "page")
    with tag("div", classes="aside"):
        if spec is not None and instance is not None and as_fields:
            sheet = stored_sheet(spec, instance, stored)
            FieldsEditor(view, spec, sheet, stored, instance, changeable=changeable)
            with tag("div", classes="stack gap-2"):
                _read_only_parts(view, spec, sheet, instance, stored)
        else:
            DocumentEditor(view, table, stored, changeable=changeable)


def _read(spec: Spec[Any] | None, stored: Item) -> tuple[Any, str]:
    """The instance of an item, or why its entity cannot decode it."""
    if spec is None:
        return None, ""
    try:
        return spec.decode(stored), ""
    except DecodeError as error:
        return None, error.message


def _head(view: View, table: Table, spec: Spec[Any] | None, stored: Item, changeable: bool) -> None:
    key = key_text(table, stored)
    label = item_label(table, spec, stored)

    async def delete() -> None:
        loss = f"{label} of {table.name} will be deleted, with {len(stored)} attributes. Only a backup can restore it."
        if await act(view, delete_item, ItemToDelete(table=table.name, key=key, etag=etag_of(table, stored)), loss=loss):
            open_after_save(table_address(table.name, {"tab": "items"}))

    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            with tag("div", classes="line gap-2"):
                tag("h1", item_name(table, spec, stored), title=label)
                tag("span", spec.name if spec else "Unknown entity", "plain-chip")
            doc = spec.doc if spec else "No entity of this table has a key of this form."
            tag("p", f"{doc} {size_text(item_size(stored))}, {len(stored)} attributes.", "meta")
        with tag("div", classes="deeds"):
            button("Reload", ui.navigate.reload, icon="refresh", look="small")
            if changeable:
                with tag("a", classes="deed small", href=f"{table_address(table.name)}/new?{_copy_query(spec, key)}"):
                    ui.icon("content_copy")
                    tag("span", "Duplicate")
                button("Delete", delete, icon="delete", look="small danger")


def _copy_query(spec: Spec[Any] | None, key: str) -> str:
    return urlencode({"entity": spec.name if spec else "", "like": key})


def _read_only_parts(view: View, spec: Spec[Any], sheet: Sheet, instance: Any, stored: Item) -> None:
    """Read-only parts: derived attributes, undeclared ones, referenced objects, and code to read the item."""
    keys = object_keys(spec, instance)
    if keys:
        with card(label="Objects"):
            tag("h3", "Objects")
            with tag("ul", classes="stack gap-1"):
                for key in keys:
                    with tag("li"):
                        tag("a", key, "link mono", href=object_address(key))
                        if kind_of_key(key) == "image":
                            # Without a text, it takes no room if the object does not exist.
                            tag("img", classes="object-picture", src=content_address(key), alt="", loading="lazy")
    if sheet.derived:
        with card(label="Derived attributes"):
            tag("h3", "Set by the model")
            tag("p", "Computed from the fields with every write.", "meta")
            with tag("dl", classes="facts tall"):
                for entry in sheet.derived:
                    tag("dt", entry.name, "mono", title=entry.form)
                    tag("dd", entry.text, "mono")
    if sheet.unknown:
        with card(label="Not declared"):
            tag("h3", "Not declared")
            tag("p", f"{spec.name} does not declare these attributes. They are kept as they are.", "meta")
            with tag("dl", classes="facts tall"):
                for name, text in sheet.unknown.items():
                    tag("dt", name, "mono")
                    tag("dd", text, "mono")
    text = as_item_python(spec, key_of(instance), location=StoreLocation.of(view.host.settings))
    with tag("details", classes="card fold"):
        with tag("summary"):
            tag("span", "As Python", "strong")
        tag("pre", text, "code wrap")
        tag("button", "Copy", "deed small", type="button", data_copy=text)


async def new_item(name: str, entity: str = "", like: str = "") -> None:
    """The page of a new item."""
    with frame(title="New item", section="tables", crumbs=_crumbs(name), titled=False) as view:
        found = await find_table(view.host, name)
        if found is None:
            tag("h1", name)
            show_table_not_found(name)
            return
        table = found.stored
        forbidden = why_not_read(view.principal, name) or why_not_change(view.principal, name)
        if forbidden:
            tag("h1", "New item")
            empty("table", "Not allowed", forbidden)
            return
        spec = next((spec for spec in table.specs if spec.name == entity), None)
        key = read_key(table, like)
        source = None if key is None else await read_item(view.host.store, table, key)
        instance, _ = _read(spec, source) if source is not None else (None, "")
        with tag("div", classes="head"), tag("div", classes="titles"):
            tag("h1", f"{'Copy of a' if source else 'New'} {spec.name if spec else 'item'}")
            tag("p", spec.doc if spec else f"An item of {name}, as DynamoDB JSON.", "meta")
        if spec is not None:
            NewFields(view, spec, new_sheet(spec, instance))
        else:
            NewDocument(view, table, source)
