"""Keys of items as people write them: in labels, in addresses of pages, and in a search field.

A search field takes the text of a hash attribute (`ARTIST#Nina`), the component that it is built from (`Nina`), or all components of a
key, separated by commas (`Nina, Sinnerman`), as the pages of items name them.

In addresses, requests and commands, a key is a JSON object of the table's key attributes, each in DynamoDB JSON or, since their types are
known, as a plain string or number.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from gateleg.host.errors import Refusal
from gateleg.model import ModelError
from gateleg.ops.plain_json import value_text
from gateleg.ops.values import check_item

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateleg.model import Item, Spec, Table
    from gateleg.model.wire import Value

__all__ = [
    "KeyQuestion",
    "item_address",
    "item_label",
    "key_of",
    "key_questions",
    "key_text",
    "key_values",
    "key_words",
    "read_key",
    "table_address",
    "valid_key",
]


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


class BadItemKey(Refusal):
    """A key does not fit its table."""

    status = 422


def key_of(table: Table, item: Item) -> Item:
    """The key of an item."""
    return {name: item[name] for name in table.attributes}


def key_text(table: Table, item: Item) -> str:
    """The key of an item as in addresses and in the audit log."""
    return json.dumps(key_of(table, item), ensure_ascii=False, separators=(",", ":"))


def key_words(table: Table, item: Item) -> str:
    """The key of an item in words: `pk=BOOK#1, sk=BOOK`."""
    return ", ".join(f"{name}={value_text(item[name])}" for name in table.attributes)


def read_key(table: Table, text: str) -> Item | None:
    """The key in a text; None if it is not valid."""
    try:
        content = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None
    types = table.key_types()
    if not isinstance(content, dict) or set(content) != set(table.attributes):
        return None
    key = {name: _key_value(content[name], types[name]) for name in table.attributes}
    complete = {name: value for name, value in key.items() if value is not None}
    try:
        check_item(complete, table, types)
    except ValueError:
        return None
    return complete


def _key_value(value: Any, kind: str) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return value if list(value) == [kind] and isinstance(value[kind], str) else None
    if isinstance(value, str) and kind in "SB":
        return {kind: value}
    return {"N": str(value)} if kind == "N" and isinstance(value, int | Decimal) and not isinstance(value, bool) else None


def valid_key(table: Table, text: str) -> Item:
    """The key in a text. Raises `BadItemKey`, which says what a key is."""
    key = read_key(table, text)
    if key is None:
        example = json.dumps({name: {kind: "..."} for name, kind in table.key_types().items() if name in table.attributes})
        raise BadItemKey(f"{text[:200]} is not a key of {table.name}.", fix=f"Send a JSON object such as {example}.")
    return key


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
