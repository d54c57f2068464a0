"""Comparisons on the command line: `sequence>=3`, `created_at=2026-05-01..2026-06-01`, `name=Sm*`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gateleg.commands.failures import MISUSED, fail

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gateleg.model import Attr, Condition

_COMPARISON = re.compile(r"\s*(\w+)\s*(<=|>=|!=|<|>|=)\s*(.*?)\s*", re.DOTALL)


def read_comparison(entity: type[BaseModel], text: str) -> Condition:
    """The condition of a text; its value is parsed as the attribute that it is compared with."""
    from gateleg.model import ModelError

    match = _COMPARISON.fullmatch(text)
    if match is None:
        fail(f"{text!r} is not a comparison; use name>=value, name=low..high or name=start*", MISUSED)
    name, operator, value = match.groups()
    if name not in entity.model_fields:
        fail(f"{entity.__name__} has no attribute {name}; it has {', '.join(entity.model_fields)}", MISUSED)
    try:
        return _condition(getattr(entity, name), operator, value)
    except ModelError as error:
        fail(str(error), MISUSED)


def _condition(attribute: Attr[Any], operator: str, value: str) -> Condition:
    low, dots, high = value.partition("..")
    if operator == "=" and dots and low and high:
        return attribute.between(low, high)
    if operator == "=" and value.endswith("*"):
        return attribute.begins_with(value[:-1])
    found: Condition = {
        "=": attribute.__eq__,
        "!=": attribute.__ne__,
        "<": attribute.__lt__,
        "<=": attribute.__le__,
        ">": attribute.__gt__,
        ">=": attribute.__ge__,
    }[operator](value)
    return found
