"""Unique constraints: a marker item beside the entity, written in the same transaction."""

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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model.codec.wire import Item
    from gateleg.model.spec import Spec
    from gateleg.model.tables import Table

_RANGE = "~unique"
_TEXTUAL = "Name attributes of text, whole numbers, Decimal, times, UUIDs or enumerations."


class Unique:
    """No two items of the entity have the same values in these attributes: `name_once = Unique("repository_id", "name", ignore_case=True)`.

    Each combination is held by a marker item in the same table, in no index, whose key is made of the values. An item with a None among
    them holds no marker. Stores write markers in the transaction that writes the item.
    """

    def __init__(self, *by: str, ignore_case: bool = False) -> None:
        self.by = by
        self.ignore_case = ignore_case
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name it is declared under."""
        self.name = name

    def resolved(self, spec: Spec[Any]) -> Unique:
        """The constraint over plain attributes: a key part stands for its fields. Refuses what no marker can hold."""
        where = f"{spec.name}.{self.name}"
        if not self.by:
            raise BadMark(f"{where} names no attribute.", fix='Name those that must be unique together, as in Unique("email").')
        for name in self.by:
            if name not in spec.sources:
                raise BadMark(f"{where} names {name!r}, which is not an attribute.", fix=did_you_mean(name, spec.sources))
        if any(entry.type != "S" for entry in spec.key.fields):
            raise BadMark(f"{where}: the keys of {spec.table.name} are not text.", fix="Markers need text keys.")
        names = [member for name in self.by for member in spec.fields_of(name)]
        for name in names:
            if not _has_text(spec.sources[name].declared.type):
                raise BadMark(f"{where}: {name} cannot be part of a marker's key.", fix=_TEXTUAL)
        unique = Unique(*dict.fromkeys(names), ignore_case=self.ignore_case)
        unique.name = self.name
        return unique

    def marker_key(self, spec: Spec[Any], values: Mapping[str, Any]) -> Item | None:
        """The key of the marker item, or None when a value is None."""
        parts = [values.get(name) for name in self.by]
        if any(part is None for part in parts):
            return None
        texts = [map_key(part) for part in parts]
        if self.ignore_case:
            texts = [text.casefold() for text in texts]
        text = "#".join([_RANGE, spec.name, self.name, *(quote(text, safe="") for text in texts)])
        key: Item = {spec.table.hash: {"S": text}}
        if spec.table.range is not None:
            key[spec.table.range] = {"S": _RANGE}
        return key


def _has_text(kind: Any) -> bool:
    """Whether every value of a type can be written into a marker's key."""
    if get_origin(kind) is Literal:
        return all(isinstance(value, str | int) and not isinstance(value, bool) for value in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return all(_has_text(type(member.value)) for member in kind)
    return isinstance(kind, type) and issubclass(kind, str | int | UUID | date | Decimal) and kind is not bool


def markers(spec: Spec[Any], values: Mapping[str, Any]) -> dict[str, Item]:
    """The marker keys that an item with these values holds, by constraint."""
    found = {name: unique.marker_key(spec, values) for name, unique in spec.uniques.items()}
    return {name: key for name, key in found.items() if key is not None}


def is_marker(table: Table, item: Item) -> bool:
    """Whether an item is a marker rather than an entity; readers of whole tables skip it."""
    return str(item.get(table.hash, {}).get("S", "")).startswith(_RANGE + "#")
