"""Items as DynamoDB JSON: to read, and to edit what fields cannot show."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.model import DecodeError
from gateleg.ops.plain_json import value_text
from gateleg.ops.transfer import BadLine, LineReader
from gateleg.web.console.tables.grids import hidden_names
from gateleg.web.console.tables.wire_equality import canonical, same

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from gateleg.model import Item, Spec, Table


#: The maximum length of a line of JSON.
_LINE = 96


@dataclass(frozen=True)
class ParsedDocument:
    """The parsed DynamoDB JSON: an item and its instance, or the problems."""

    item: Item = field(default_factory=dict)
    #: None for an item of an unknown entity
    instance: Any = None
    spec: Spec[Any] | None = None
    problem: str = ""


def document_of(item: Item, spec: Spec[Any] | None = None) -> str:
    """An item as text, without hidden attributes."""
    hidden = hidden_names(spec) if spec is not None else frozenset[str]()
    return format_json({name: value for name, value in item.items() if name not in hidden})


def format_json(value: Any, indent: str = "") -> str:
    """Compact indented JSON: values that fit on a line are on one."""
    line = json.dumps(value, ensure_ascii=False)
    inner = indent + "  "
    if not isinstance(value, dict | list) or not value or (indent and len(indent) + len(line) <= _LINE):
        return line
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(name, ensure_ascii=False)}: {format_json(entry, inner)}" for name, entry in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(f"{inner}{format_json(entry, inner)}" for entry in value) + f"\n{indent}]"


def read_document(table: Table, text: str, before: Item | None = None) -> ParsedDocument:
    """Parse an item. With `before`, it must be the same item, with unchanged derived attributes and legal state transitions."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        return ParsedDocument(problem=f"Not valid JSON: {error.msg} (line {error.lineno}, column {error.colno}).")
    if not isinstance(content, dict):
        return ParsedDocument(problem="An item must be a JSON object: { ... }.")
    old = table.spec_for(before) if before is not None else None
    if before is not None and old is not None:
        content = {name: before[name] for name in hidden_names(old) if name in before} | content
    line = json.dumps({"Item": content}).encode()
    try:
        item = LineReader(table, plain=False).item(line)
    except BadLine as error:
        return ParsedDocument(problem=f"This is not a valid item of {table.name}: {error}.")
    if before is not None and any(not same(item[name], before[name]) for name in table.attributes):
        return ParsedDocument(problem=f"The key ({', '.join(table.attributes)}) cannot be changed. To use another key, duplicate the item.")
    spec = table.spec_for(item)
    if spec is None:
        return ParsedDocument(item)
    return _checked(spec, item, before)


def _checked(spec: Spec[Any], item: Item, before: Item | None) -> ParsedDocument:
    try:
        instance = spec.decode(item)
    except DecodeError as error:
        return ParsedDocument(problem=error.message)
    problem = _out_of_range(spec, instance, item, before or {})
    if before is not None and not problem:
        problem = _by_hand(spec, item, before) or _illegal_transitions(spec, readable(spec, before), instance)
    return ParsedDocument(problem=problem) if problem else ParsedDocument(spec.encode(instance), instance, spec)


def _by_hand(spec: Spec[Any], item: Item, before: Item) -> str:
    """Changes of attributes that the model derives."""
    touched = sorted(name for name in spec.derived_names if not same(item.get(name), before.get(name)))
    if touched:
        return f"{', '.join(touched)} is derived from other attributes; change those instead."
    counted = sorted(wire for wire in spec.counted_wires if not same(item.get(wire), before.get(wire)))
    return f"{', '.join(counted)} counts other items and is updated when they are written; do not change it." if counted else ""


def readable(spec: Spec[Any], item: Item) -> Any:
    """The instance of an item; None if its entity cannot decode it."""
    try:
        return spec.decode(item)
    except DecodeError:
        return None


def _out_of_range(spec: Spec[Any], instance: Any, item: Item, before: Item) -> str:
    """Changes to values that are out of range. A stored value that was already out of range may stay."""
    for name, problem in spec.violations(instance).items():
        wire = spec.attributes[name].wire
        if not same(item.get(wire), before.get(wire)):
            return f"{name}: {problem}."
    return ""


def _illegal_transitions(spec: Spec[Any], before: BaseModel | None, after: BaseModel) -> str:
    """Illegal state transitions. The state of an item that could not be decoded is unknown."""
    if before is None:
        return ""
    for attribute in spec.attributes.values():
        old, new = before.__dict__[attribute.name], after.__dict__[attribute.name]
        if attribute.state and old is not None and new is not None and old != new and not old.may_become(new):
            allowed = ", ".join(sorted(map(str, old.successors))) or "nothing"
            return f"{attribute.name} cannot go from {old} to {new}: after {old} comes {allowed}."
    return ""


@dataclass(frozen=True)
class Difference:
    """One attribute in three versions of an item; empty text if it is absent."""

    name: str
    read: str
    mine: str
    stored: str

    @property
    def clash(self) -> bool:
        """Whether both writers changed it, to different values."""
        return self.read != self.mine and self.read != self.stored and self.mine != self.stored


def differences(read: Mapping[str, Any], mine: Mapping[str, Any], stored: Mapping[str, Any], leave_out: frozenset[str]) -> list[Difference]:
    """The attributes that differ between the three versions: as read, as edited, as stored now."""

    def text(item: Mapping[str, Any], name: str) -> str:
        return value_text(canonical(item[name])) if name in item else ""

    names = dict.fromkeys((*read, *mine, *stored))
    found = [Difference(name, text(read, name), text(mine, name), text(stored, name)) for name in names if name not in leave_out]
    return [entry for entry in found if not entry.read == entry.mine == entry.stored]
