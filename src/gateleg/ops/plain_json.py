"""Items as plain JSON, for people and other programs, and back. Numbers keep all their digits.

Plain JSON has neither sets nor binary values: they become lists and base64 text. Converting back restores them at the top level of an item,
given the types of its attributes, but not inside maps and lists.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Item, Table
    from gateleg.model.wire import Value

__all__ = ["plain_text", "value_text"]

_SETS = ("SS", "NS", "BS")


def plain_text(item: Item) -> str:
    """An item as one line of plain JSON."""
    return _map(item)


def _map(content: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{_string(name)}: {_text(value)}" for name, value in content.items()) + "}"


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _text(value: Value) -> str:
    ((tag, content),) = value.items()
    if tag == "N":
        return _number(content)
    if tag == "M":
        return _map(content)
    if tag == "L":
        return f"[{', '.join(map(_text, content))}]"
    if tag in _SETS:
        return f"[{', '.join(_number(entry) if tag == 'NS' else _string(entry) for entry in content)}]"
    if tag == "NULL":
        return "null"
    return json.dumps(content, ensure_ascii=False)


def _number(text: str) -> str:
    """A number in JSON notation: no leading plus or point, and no zeros for a very large exponent."""
    number = Decimal(text)
    return format(number, "f") if -40 < number.adjusted() < 40 else str(number.normalize())


def value_text(value: Value) -> str:
    """A value on one line: a string as it is, any other value as plain JSON."""
    return value["S"].replace("\n", "↵") if "S" in value else _text(value)


def from_plain(text: str, types: Mapping[str, str]) -> Item:
    """Parse a line of plain JSON; `types` are the types of set and binary attributes."""
    content = json.loads(text, parse_float=Decimal, parse_constant=_refuse)
    if not isinstance(content, dict):
        raise ValueError("not an object")
    return {name: _wire(value, types.get(name)) for name, value in content.items() if value is not None or types.get(name) == "NULL"}


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


def _wire(value: Any, tag: str | None = None) -> Value:
    if isinstance(value, list) and tag in _SETS:
        return {tag: [str(entry) for entry in value]}
    if isinstance(value, str):
        return {"B" if tag == "B" else "S": value}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int | Decimal):
        return {"N": str(value)}
    if value is None:
        return {"NULL": True}
    if isinstance(value, list):
        return {"L": [_wire(entry) for entry in value]}
    return {"M": {name: _wire(entry) for name, entry in value.items()}}


def special_types(table: Table) -> dict[str, str]:
    """The types of a table's attributes that plain JSON cannot express (sets and binary)."""
    found = {attribute.wire: attribute.shape.tag for spec in table.specs for attribute in spec.attributes.values()}
    return {name: tag for name, tag in (found | table.key_types()).items() if tag in ("B", *_SETS)}
