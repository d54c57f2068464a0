"""What an entity declares about several items at once: unique attributes, and counters in a parent item.

For each combination of values that a `Unique` reserves, there is a marker item, written in the same transaction as the entity. A `Counter`
counts the items of its entity in an attribute of another entity, in the same transactions.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin
from urllib.parse import quote
from uuid import UUID

from gateleg.model.errors import BadMark
from gateleg.model.keys import read_when, spec_of
from gateleg.model.types import did_you_mean
from gateleg.model.wire import map_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.model.attr import Attr
    from gateleg.model.keys import Ref
    from gateleg.model.spec import Spec
    from gateleg.model.tables import Table
    from gateleg.model.wire import Item

__all__ = ["RECOUNT", "Counter", "Unique", "is_marker", "marker_key", "markers"]
#: The first part of the keys of marker items.
MARKER = "~unique"
#: An attribute that a recount sets on the parent item, and that every change of a counter removes. A recount writes its result only if the
#: attribute is still there, so it never overwrites a change that happened while it was counting.
RECOUNT = "~recount"


class Unique:
    """Declare that no two items of the entity have the same values in these attributes.

    `name_once = Unique("repository_id", "name", ignore_case=True)`. A write that violates it raises `UniqueTaken`. An item with None in one
    of the attributes is exempt.

    For each combination, the store writes a marker item into the same table, in the transaction that writes the item. The marker's key
    contains the values; markers are in no index.
    """

    def __init__(self, *by: str, ignore_case: bool = False) -> None:
        for name in by:
            if not isinstance(name, str):
                raise BadMark(
                    f"Unique({name!r}) does not name an attribute.", fix='Name attributes one after another: Unique("tenant", "email").'
                )
        self.by = by
        self.ignore_case = ignore_case
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember the name of the class attribute."""
        self.name = name


class Counter:
    """Count this entity's items in an attribute of another entity, the parent.

    Declare it in the class of the counted items: `done = Counter(Project.completed_scenes, when={"status": ["completed"]})`.

    The parent's key is built from the child's attributes of the same names. `when` counts only items whose attributes have one of the
    values. The attribute starts at 0 and changes in the same transactions as the children; puts and updates of the parent do not touch it.
    An upper bound of the attribute (`le=`, `lt=`) limits the number of children.
    """

    def __init__(self, attribute: Attr[int], *, when: Mapping[str, Iterable[Any]] | None = None) -> None:
        self.attribute = attribute
        self.when = read_when(when)
        #: the components of the parent's key; set when the counted entity's spec is built
        self.parent_names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The child's attributes that determine whether it is counted, and in which parent."""
        return (*self.parent_names, *self.when)

    def counts(self, values: Mapping[str, Any] | None) -> bool:
        """Whether an item with these values is counted."""
        for name, allowed in self.when.items():
            if values is None or values.get(name) not in allowed:
                return False
        return values is not None

    def parent(self, values: Mapping[str, Any]) -> Ref[Any]:
        """The reference to the parent item, which holds the counter."""
        return spec_of(self.attribute.owner).locate({name: values[name] for name in self.parent_names})


def is_marker(table: Table, item: Item) -> bool:
    """Whether an item is the marker of a unique constraint, which readers of whole tables skip."""
    return str(item.get(table.hash, {}).get("S", "")).startswith(MARKER + "#")


def markers(spec: Spec[Any], values: Mapping[str, Any]) -> dict[str, Item]:
    """The keys of the markers of an item with these values, by constraint."""
    keys = {name: marker_key(spec, unique, values) for name, unique in spec.uniques.items()}
    return {name: key for name, key in keys.items() if key is not None}


def marker_key(spec: Spec[Any], unique: Unique, values: Mapping[str, Any]) -> Item | None:
    """The key of the marker item, or None if a value is None: None is never unique."""
    parts = [values.get(name) for name in unique.by]
    if any(part is None for part in parts):
        return None
    texts = [map_key(part) for part in parts]
    if unique.ignore_case:
        texts = [text.casefold() for text in texts]
    text = "#".join([MARKER, spec.name, unique.name, *(quote(text, safe="") for text in texts)])
    key: Item = {spec.table.hash: {"S": text}}
    if spec.table.range is not None:
        key[spec.table.range] = {"S": MARKER}
    return key


def resolve_unique(spec: Spec[Any], declared: Unique) -> Unique:
    """The constraint with key parts replaced by their fields. Raises `BadMark` for attributes that a marker's key cannot contain."""
    where = f"{spec.name}.{declared.name}"
    if not declared.by:
        raise BadMark(f"{where} has no attributes.", fix='List those that must be unique together, as in Unique("email").')
    for name in declared.by:
        if name not in spec.sources:
            raise BadMark(f"{where} names {name!r}, which is not an attribute.", fix=did_you_mean(name, spec.sources))
    if any(entry.type != "S" for entry in spec.key.fields):
        raise BadMark(f"{where}: the keys of {spec.table.name} are not text.", fix="Use a table with text keys, which markers need.")
    names = [member for name in declared.by for member in spec.fields_of(name)]
    for name in names:
        if not _has_text(spec.sources[name].declared.type):
            raise BadMark(f"{where}: {name} cannot be part of a marker's key.", fix=_TEXTUAL)
    unique = Unique(*dict.fromkeys(names), ignore_case=declared.ignore_case)
    unique.name = declared.name
    return unique


_TEXTUAL = "Use attributes of text, whole numbers, Decimal, times, UUIDs or enumerations."


def _has_text(kind: Any) -> bool:
    """Whether a marker's key can contain every value of a type."""
    if get_origin(kind) is Literal:
        return all(isinstance(value, str | int) and not isinstance(value, bool) for value in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return all(_has_text(type(member.value)) for member in kind)
    return isinstance(kind, type) and issubclass(kind, str | int | UUID | date | Decimal) and kind is not bool
