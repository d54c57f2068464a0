"""Remove data from requests and passwords from addresses, for errors, logs and traces.

Redacted requests keep names and expressions; each value is replaced by its type and length.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["shown_address", "without_credentials"]

#: Request parameters that contain attribute values by name.
_ITEMS = frozenset({"Key", "Item", "ExclusiveStartKey", "ExpressionAttributeValues"})
_CONTAINERS = (dict, list)
#: The user and the password in a URL. A password that should have been escaped may contain what ends the authority of a URL; what looks
#: like a port does not begin a password.
_USER = re.compile(r"(?<=://)(?:[^/?#\s'\"]+@|[^/?#\s'\":]*:(?!\d{1,5}(?:[/?#]|$))[^\s'\"]*@)")


def without_credentials(text: str) -> str:
    """The text with user names and passwords in URLs hidden."""
    return _USER.sub("(hidden)@", text)


def shown_address(text: str) -> str:
    """A text that should have been an address, as errors may quote it: without what comes before an @, which may be a password."""
    before, at, place = text.rpartition("@")
    scheme, colon, _ = before.partition("://")
    return f"{scheme}{colon}(hidden)@{place}" if colon else f"(hidden)@{place}" if at else text


def redacted(request: Any) -> Any:
    """A copy of a request in which every attribute value is replaced by its type and length."""
    if isinstance(request, dict):
        return {name: _items(value) if name in _ITEMS else redacted(value) for name, value in request.items() if name != "Keys"} | (
            {"Keys": [_items(key) for key in request["Keys"]]} if "Keys" in request else {}
        )
    if isinstance(request, list):
        return [redacted(entry) for entry in request]
    return request


def _items(values: Any) -> Any:
    if not isinstance(values, dict):
        return "..."
    return {name: _value(value) for name, value in values.items()}


def _value(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return "..."
    ((tag, content),) = value.items()
    if tag in ("BOOL", "NULL"):
        return {tag: "..."}
    noun = "elements" if isinstance(content, _CONTAINERS) else "characters"
    return {tag: f"{len(content)} {noun}"}
