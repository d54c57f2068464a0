"""The attributes of an entity as a table on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.ops.comments import attribute_comments
from gateleg.ops.explanations import key_forms
from gateleg.ops.types import constraints, default_of, type_name
from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from gateleg.model import Spec
    from gateleg.model.attr import Attribute


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
