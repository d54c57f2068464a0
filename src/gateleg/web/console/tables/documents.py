"""Items as DynamoDB JSON: to read, and to edit what fields cannot show.

The attributes of an entity as a table on a page.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.host.items import ParsedDocument, canonical, check_document, hidden_names
from gateleg.ops.documents import attribute_comments
from gateleg.ops.explanations import key_forms
from gateleg.ops.plain_json import value_text
from gateleg.ops.values import constraints, default_of, type_name
from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Item, Spec, Table
    from gateleg.model.attr import Attribute


#: The maximum length of a line of JSON.
_LINE = 96


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
    """Parse an item; with `before`, as a change of that item."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        return ParsedDocument(problem=f"Not valid JSON: {error.msg} (line {error.lineno}, column {error.colno}).")
    return check_document(table, content, before)


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
