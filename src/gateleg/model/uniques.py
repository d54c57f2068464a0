"""Unique constraints: a marker item beside the entity, written in the same transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gateleg.model.errors import BadMark
from gateleg.model.wire import map_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model.spec import Spec
    from gateleg.model.tables import Table
    from gateleg.model.wire import Item

_RANGE = "~unique"


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

    def check(self, spec: Spec[Any]) -> None:
        """Refuse unknown attributes, and tables whose keys cannot hold a marker."""
        unknown = [name for name in self.by if name not in spec.sources]
        if unknown or not self.by:
            raise BadMark(f"{spec.name}.{self.name}: no attribute {', '.join(unknown)}.", fix="Name the entity's attributes.")
        if any(entry.type != "S" for entry in spec.key.fields):
            raise BadMark(f"{spec.name}.{self.name}: the keys of {spec.table.name} are not text.", fix="Markers need text keys.")

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


def markers(spec: Spec[Any], values: Mapping[str, Any]) -> dict[str, Item]:
    """The marker keys that an item with these values holds, by constraint."""
    found = {name: unique.marker_key(spec, values) for name, unique in spec.uniques.items()}
    return {name: key for name, key in found.items() if key is not None}


def is_marker(table: Table, item: Item) -> bool:
    """Whether an item is a marker rather than an entity; readers of whole tables skip it."""
    return str(item.get(table.hash, {}).get("S", "")).startswith(_RANGE + "#")
