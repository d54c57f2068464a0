"""Validation of attribute names."""

from typing import Final

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
