"""Items as DynamoDB JSON: to read, and to edit what fields cannot show.

Equality of wire values: numbers by value, sets regardless of order.

The attributes of an entity as a table on a page.

Who may view and change the items of a table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from gateleg.ai.tables import cache_table
from gateleg.host.principal import Role
from gateleg.host.tables import TABLES
from gateleg.model import DecodeError
from gateleg.ops.documents import attribute_comments
from gateleg.ops.explanations import key_forms
from gateleg.ops.plain_json import value_text
from gateleg.ops.transfer import BadLine, LineReader
from gateleg.ops.values import constraints, default_of, type_name
from gateleg.web.console.markup import tag
from gateleg.web.console.tables.grids import hidden_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from gateleg.host.principal import Principal
    from gateleg.model import Item, Spec, Table
    from gateleg.model.attr import Attribute


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


def same(one: Any, other: Any) -> bool:
    """Whether two values, or two items, are equal."""
    return bool(canonical(one) == canonical(other))


def canonical(value: Any) -> Any:
    """A value, or an item, in canonical form."""
    if isinstance(value, list):
        return [canonical(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((tag, content),) = value.items()
        if tag == "N" and isinstance(content, str):
            return {"N": _number(content)}
        if tag == "NS" and isinstance(content, list):
            return {"NS": sorted(map(_number, content))}
        if tag in ("SS", "BS") and isinstance(content, list):
            return {tag: sorted(content)}
    return {name: canonical(entry) for name, entry in value.items()}


def _number(text: str) -> str:
    number = Decimal(text).normalize()
    return format(number, "f") if -40 < number.adjusted() < 40 else str(number)


def attribute_table(spec: Spec[Any]) -> None:
    """Every attribute with its wire name, type, default and comment; then the key templates."""
    comments = attribute_comments(spec.entity)
    keys = {spec.sources[name].attribute for name in spec.key.names}
    box = tag("div", classes="grid-box", tabindex="0", role="region", aria_label=f"Attributes of {spec.name}")
    with box, tag("table", classes="grid still"):
        with tag("thead"), tag("tr"):
            for head in ("Attribute", "On the wire", "Type", "Default", "About"):
                tag("th", head, scope="col")
        with tag("tbody"):
            for attribute in spec.attributes.values():
                _row(attribute, comments.get(attribute.name, ""), attribute.name in keys)
    with tag("dl", classes="facts"):
        for name, plan in (("the table", spec.key), *spec.indexes.items()):
            tag("dt", f"Key of {name}")
            forms = ", ".join(f"{attribute} = {form}" for attribute, form in key_forms(plan).items())
            tag("dd", forms, "mono")


def _row(attribute: Attribute, comment: str, key: bool) -> None:
    about = attribute.info.description or comment
    limits = ", ".join(constraints((*attribute.declared.metadata, *attribute.info.metadata)))
    with tag("tr"):
        with tag("td", classes="lead", data_label="Attribute"), tag("span", classes="line gap-1"):
            tag("span", attribute.name, "strong mono")
            if key:
                tag("span", "key", "plain-chip")
        tag("td", attribute.wire, "mono", data_label="On the wire")
        tag("td", type_name(attribute.annotation), "mono", data_label="Type")
        tag("td", default_of(attribute.info, attribute.traits.stamp) or "required", data_label="Default")
        tag("td", "; ".join(filter(None, (about, limits))), data_label="About")


#: The host's own tables: keys, sessions and the audit log.
_OWN = tuple(table.name for table in TABLES)


def _is_hosts_own(table: str) -> bool:
    """Whether a table belongs to a host: this one, or another with the same store and a prefix."""
    return table.endswith(_OWN)


def why_not_read(principal: Principal, table: str) -> str:
    """Why a caller may not view the items of a table; empty if they may."""
    if _is_hosts_own(table) and not principal.may(Role.ADMIN):
        return "This table holds keys, sessions and the audit log; only an admin may see its items."
    if table.endswith(cache_table.name) and not principal.may(Role.ADMIN):
        return "This table holds cached replies of models for all users; only an admin may see its items."
    return ""


def why_not_change(principal: Principal, table: str) -> str:
    """Why a caller may not change the items of a table here; empty if they may."""
    if _is_hosts_own(table):
        return "Keys are created and revoked in the settings, and the audit log cannot be changed."
    return "" if principal.may(Role.OPERATOR) else "Changing items needs the role operator."
