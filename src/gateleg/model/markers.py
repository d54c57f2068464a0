"""Marker items: one for each combination of values that a unique constraint reserves, written in the same transaction as the entity."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin
from urllib.parse import quote
from uuid import UUID

from gateleg.model.codec.wire import map_key
from gateleg.model.errors import BadMark
from gateleg.model.suggestions import did_you_mean
from gateleg.model.uniques import MARKER, Unique

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model.codec.wire import Item
    from gateleg.model.layout import EntityLayout

__all__ = ["markers"]

_TEXTUAL = "Use attributes of text, whole numbers, Decimal, times, UUIDs or enumerations."


def resolve_unique(layout: EntityLayout[Any], declared: Unique) -> Unique:
    """The constraint with key parts replaced by their fields. Raises `BadMark` for attributes that a marker's key cannot contain."""
    where = f"{layout.name}.{declared.name}"
    if not declared.by:
        raise BadMark(f"{where} has no attributes.", fix='List those that must be unique together, as in Unique("email").')
    for name in declared.by:
        if name not in layout.sources:
            raise BadMark(f"{where} names {name!r}, which is not an attribute.", fix=did_you_mean(name, layout.sources))
    if any(entry.type != "S" for entry in layout.key.fields):
        raise BadMark(f"{where}: the keys of {layout.table.name} are not text.", fix="Use a table with text keys, which markers need.")
    names = [member for name in declared.by for member in layout.fields_of(name)]
    for name in names:
        if not _has_text(layout.sources[name].declared.type):
            raise BadMark(f"{where}: {name} cannot be part of a marker's key.", fix=_TEXTUAL)
    unique = Unique(*dict.fromkeys(names), ignore_case=declared.ignore_case)
    unique.name = declared.name
    return unique


def marker_key(layout: EntityLayout[Any], unique: Unique, values: Mapping[str, Any]) -> Item | None:
    """The key of the marker item, or None if a value is None: None is never unique."""
    parts = [values.get(name) for name in unique.by]
    if any(part is None for part in parts):
        return None
    texts = [map_key(part) for part in parts]
    if unique.ignore_case:
        texts = [text.casefold() for text in texts]
    text = "#".join([MARKER, layout.name, unique.name, *(quote(text, safe="") for text in texts)])
    key: Item = {layout.table.hash: {"S": text}}
    if layout.table.range is not None:
        key[layout.table.range] = {"S": MARKER}
    return key


def _has_text(kind: Any) -> bool:
    """Whether a marker's key can contain every value of a type."""
    if get_origin(kind) is Literal:
        return all(isinstance(value, str | int) and not isinstance(value, bool) for value in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return all(_has_text(type(member.value)) for member in kind)
    return isinstance(kind, type) and issubclass(kind, str | int | UUID | date | Decimal) and kind is not bool


def markers(layout: EntityLayout[Any], values: Mapping[str, Any]) -> dict[str, Item]:
    """The keys of the markers of an item with these values, by constraint."""
    found = {name: marker_key(layout, unique, values) for name, unique in layout.uniques.items()}
    return {name: key for name, key in found.items() if key is not None}
