"""Validation of attribute names."""

from collections.abc import Iterable
from typing import Final

from gateleg.engine.errors import validation
from gateleg.engine.values import text_size

#: DynamoDB's limit for a name in UTF-8.
MAX_NAME: Final = 65535


def name_fault(name: str) -> str | None:
    """Why a name is invalid, or None."""
    if not name:
        return "Empty attribute name"
    if len(name) > MAX_NAME // 4 and text_size(name) > MAX_NAME:
        return "Attribute name is too large, must be less than 65536 bytes"
    return None


def check_attribute_names(names: Iterable[str]) -> None:
    """Refuse attribute names that are empty or too long."""
    for name in names:
        fault = name_fault(name)
        if fault is not None:
            raise validation(fault)
