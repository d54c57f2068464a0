"""Keys of items as people write them: in labels, in addresses of pages, and in a search field.

A search field takes the text of a hash attribute (`ARTIST#Nina`), the component that it is built from (`Nina`), or all components of a
key, separated by commas (`Nina, Sinnerman`), as the pages of items name them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from gateleg.model import ModelError
from gateleg.ops.plain_json import value_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateleg.model import Item, Spec, Table
    from gateleg.model.wire import Value

__all__ = ["KeyQuestion", "item_address", "item_label", "key_questions", "key_text", "key_values", "read_key", "table_address"]


def item_label(table: Table, spec: Spec[Any] | None, item: Item) -> str:
    """An item in words: its entity and the components of its key."""
    if spec is not None:
        values = key_values(spec, item)
        return f"{spec.name} {', '.join(values.values())}"
    return ", ".join(value_text(item[name]) for name in table.attributes)


def key_values(spec: Spec[Any], item: Item) -> dict[str, str]:
    """The components of an item's key as text, by name; the raw key attributes if they cannot be parsed."""
    found: dict[str, str] = {}
    for name in spec.key.names:
        wire = spec.sources[name].wire
        if wire not in item:
            return {attribute: value_text(item[attribute]) for attribute in spec.table.attributes}
        found[name] = value_text(item[wire])
    return found or {attribute: value_text(item[attribute]) for attribute in spec.table.attributes}


def key_text(table: Table, item: Item) -> str:
    """The key of an item as in the address."""
    return json.dumps({name: item[name] for name in table.attributes}, ensure_ascii=False, separators=(",", ":"))


def read_key(table: Table, text: str) -> Item | None:
    """The key in an address; None if it is not valid."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        return None
    types = table.key_types()
    if not isinstance(found, dict) or set(found) != set(table.attributes):
        return None
    for name, value in found.items():
        if not isinstance(value, dict) or list(value) != [types[name]] or not isinstance(value[types[name]], str):
            return None
    return found


def item_address(table_name: str, key: str, **more: str) -> str:
    """The address of an item's page."""
    return f"{table_address(table_name)}/item?{urlencode({'key': key, **more})}"


def table_address(name: str, query: Mapping[str, str] | None = None) -> str:
    """The address of a table's page."""
    return f"/tables/{name}" + (f"?{urlencode(query)}" if query else "")


@dataclass(frozen=True)
class KeyQuestion:
    """A key that a text may mean: key attributes on the wire, the hash attribute alone or all of them."""

    table: Table
    key: Item

    @property
    def is_whole(self) -> bool:
        """Whether it names one item."""
        return len(self.key) == len(self.table.attributes)


def key_questions(table: Table, text: str) -> list[KeyQuestion]:
    """The keys of a table that a text may mean, each once; those that name one item come first."""
    keys: list[Item] = [*_raw_keys(table, text)]
    for spec in table.specs:
        keys += _built_keys(spec, text)
    found = {json.dumps(key, sort_keys=True): KeyQuestion(table, key) for key in keys}
    return sorted(found.values(), key=lambda question: not question.is_whole)


def _raw_keys(table: Table, text: str) -> Iterator[Item]:
    """The text as the value of the hash attribute."""
    types = table.key_types()
    first = table.attributes[0]
    # Multi-part and binary keys are not typed into a search field.
    if types[first] == "S":
        yield {first: {"S": text}}
    elif types[first] == "N" and text.lstrip("-").isdecimal() and len(text) <= 38:
        yield {first: {"N": text}}


def _built_keys(spec: Spec[Any], text: str) -> Iterator[Item]:
    """The keys of an entity whose components are in the text: all of them, or the only one of the hash attribute."""
    plan = spec.key
    parts = [part.strip() for part in text.split(",")] if len(plan.names) > 1 else [text]
    if len(parts) == len(plan.names) and (values := _read(spec, dict(zip(plan.names, parts, strict=True)))) is not None:
        yield from _fields(spec, values, len(plan.fields))
    names = plan.hash[0].names
    if len(plan.hash) == 1 and len(names) == 1 and (values := _read(spec, {names[0]: text})) is not None:
        yield from _fields(spec, values, 1)


def _read(spec: Spec[Any], texts: Mapping[str, str]) -> dict[str, Any] | None:
    """Components as the entity's values; None if a text cannot be one."""
    try:
        return {name: spec.sources[name].validate(text, spec.name) for name, text in texts.items()}
    except ModelError:
        return None


def _fields(spec: Spec[Any], values: Mapping[str, Any], count: int) -> Iterator[Item]:
    """The first key attributes of an entity, unless the values do not fit its templates."""
    # The items of a partition that is spread over shards are not in one place.
    if spec.key.shards > 1:
        return
    key: dict[str, Value] = {}
    for entry in spec.key.fields[:count]:
        try:
            value = entry.value(values)
        except ModelError:
            return
        if value is None:
            return
        key[entry.attribute] = value
    yield key
