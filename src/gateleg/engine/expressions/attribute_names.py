"""What DynamoDB asks of an attribute's name."""

from typing import Final

from gateleg.engine.values import text_size

#: Bytes of UTF-8 that a name may have.
MAX_NAME: Final = 65535


def name_fault(name: str) -> str | None:
    """What is wrong with a name, if anything."""
    if not name:
        return "Empty attribute name"
    if len(name) > MAX_NAME // 4 and text_size(name) > MAX_NAME:
        return "Attribute name is too large, must be less than 65536 bytes"
    return None
