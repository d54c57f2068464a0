"""Items as rows and columns: which columns, in which order, and the content of cells."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gateleg.host.item_keys import item_label, key_text, key_values
from gateleg.host.items import hidden_names
from gateleg.ops.plain_json import value_text
from gateleg.web.console.markup import shortened, truncate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.model import Item, Spec, Table
    from gateleg.model.wire import Value

#: Attributes that name an item, best first.
_NAMES = ("title", "name", "display_name", "label", "subject", "filename", "email")
#: Longer cells are truncated; the whole value is on the item's page.
_LONGEST = 80
_SUMMARY = 160


@dataclass(frozen=True)
class ItemCell:
    """The content of a cell."""

    text: str
    #: its style: text, number, time, state, code for keys and ids, dim for absent values
    look: str = "text"
    #: the whole value, if the text is truncated
    title: str = ""


@dataclass(frozen=True)
class ItemRow:
    """An item in a grid."""

    entity: str
    cells: tuple[ItemCell, ...]
    #: its key, as in the address
    key: str
    #: the accessible name
    label: str


@dataclass(frozen=True)
class ItemGrid:
    """Rows under their columns."""

    columns: tuple[str, ...]
    rows: tuple[ItemRow, ...]


def grid_of(table: Table, items: Sequence[Item], spec: Spec[Any] | None = None) -> ItemGrid:
    """Items of one entity with a column for each attribute; mixed items with their key and the rest in one column."""
    owners = [spec or table.spec_for(item) for item in items]
    single = owners[0] if owners and all(owner is owners[0] for owner in owners) else None
    mixed = bool(table.specs) and single is None
    if mixed:
        columns: tuple[str, ...] = ("Entity", *table.attributes, "Other attributes")
        rows = [_mixed_row(table, owner, item) for owner, item in zip(owners, items, strict=True)]
        return ItemGrid(columns, tuple(rows))
    names = column_names(table, single, items)
    shown = tuple(_title(single, name) for name in names)
    return ItemGrid(shown, tuple(_row(table, single, item, names) for item in items))


def column_names(table: Table, spec: Spec[Any] | None, items: Sequence[Item]) -> list[str]:
    """The wire names of the columns: the item's name, its key, its declared attributes, then others.

    Derived keys and hidden attributes are omitted.
    """
    present = dict.fromkeys(name for item in items for name in item)
    if spec is None:
        return [*table.attributes, *(name for name in present if name not in table.attributes)]
    name = name_attribute(spec)
    first = [*([name] if name else []), *(spec.sources[name].wire for name in spec.key.names)]
    declared = [attribute.wire for attribute in spec.attributes.values()]
    left_out = spec.derived_names | hidden_names(spec)
    order = dict.fromkeys((*first, *declared, *present))
    return [name for name in order if name in present and (name in first or name not in left_out)]


def name_attribute(spec: Spec[Any]) -> str | None:
    """The wire name of the attribute that names an item, if the entity has one."""
    attributes = {name: spec.attributes[name] for name in (*_NAMES, f"{spec.name.lower()}_name") if name in spec.attributes}
    return next((one.wire for one in attributes.values() if one.declared.type is str and not one.info.exclude), None)


def item_name(table: Table, spec: Spec[Any] | None, item: Item) -> str:
    """The name of an item, or else its entity and key with shortened ids."""
    wire = name_attribute(spec) if spec is not None else None
    if wire is not None and item.get(wire, {}).get("S", "").strip():
        return truncate(value_text(item[wire]), _LONGEST)
    if spec is None:
        return truncate(item_label(table, spec, item), _LONGEST)
    return truncate(f"{spec.name} {', '.join(shortened(text, 40) for text in key_values(spec, item).values())}", _LONGEST)


def _title(spec: Spec[Any] | None, wire: str) -> str:
    """The heading of a column: the Python name, which forms and arguments use too."""
    if spec is None:
        return wire
    return next((attribute.name for attribute in spec.attributes.values() if attribute.wire == wire), wire)


def _row(table: Table, spec: Spec[Any] | None, item: Item, names: Sequence[str]) -> ItemRow:
    states = {attribute.wire for attribute in spec.attributes.values() if attribute.state} if spec else set()
    cells = tuple(cell_of(item.get(name), code=name in table.attributes, state=name in states) for name in names)
    return ItemRow(spec.name if spec else "", cells, key_text(table, item), item_label(table, spec, item))


def _mixed_row(table: Table, spec: Spec[Any] | None, item: Item) -> ItemRow:
    hidden = hidden_names(spec) if spec else frozenset[str]()
    derived = spec.derived_names if spec else frozenset[str]()
    parts = [spec.sources[name].wire for name in spec.key.names] if spec else []
    rest = {name: value for name, value in item.items() if name not in (*table.attributes, *derived, *hidden, *parts)}
    keys = [cell_of(item.get(name), code=True) for name in table.attributes]
    texts = [f"{name}: {value_text(value)}" for name, value in rest.items()]
    cells = (
        ItemCell(spec.name if spec else "Unknown", "text" if spec else "dim"),
        *keys,
        ItemCell(truncate(" · ".join(texts), _SUMMARY), "dim"),
    )
    return ItemRow(spec.name if spec else "", cells, key_text(table, item), item_label(table, spec, item))


def key_words(table: Table, item: Item) -> str:
    """The key of an item for screen readers: `pk=BOOK#1, sk=BOOK`."""
    return ", ".join(f"{name}={value_text(item[name])}" for name in table.attributes)


def cell_of(value: Value | None, *, code: bool = False, state: bool = False) -> ItemCell:
    """A value as a cell."""
    if value is None:
        return ItemCell("", "dim")
    ((tag, content),) = value.items()
    text = value_text(value)
    if tag == "NULL":
        return ItemCell("null", "dim")
    if tag == "B":
        return ItemCell(f"{_binary_size(content)} of binary", "dim")
    if state and tag == "S":
        return ItemCell(truncate(text, _LONGEST), "state")
    if not code and moment_of(text) is not None:
        return ItemCell(text, "time")
    look = "code" if code or tag in ("M", "L", "SS", "NS", "BS") or _is_id(text) else "number" if tag == "N" else "text"
    cut = truncate(text, _LONGEST)
    return ItemCell(cut, look, text[:1000] if cut != text else "")


def moment_of(text: str) -> datetime | None:
    """The time in a text, if it has the model's format."""
    if not (text.endswith("Z") and text[10:11] == "T"):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _binary_size(base64: str) -> str:
    size = len(base64) * 3 // 4 - base64[-2:].count("=")
    return f"{size:,} {'byte' if size == 1 else 'bytes'}"


def _is_id(text: str) -> bool:
    return len(text) == 36 and text.count("-") == 4
