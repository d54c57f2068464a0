"""The `#:` comments above attributes, read from the source."""

from __future__ import annotations

import inspect
import re

__all__ = ["attribute_comments"]

_COMMENT = re.compile(r"\s*#:\s?(.*)")
_ATTRIBUTE = re.compile(r"\s*(\w+)\s*:[^=]")


def attribute_comments(entity: type) -> dict[str, str]:
    """The comments of an entity's attributes, including inherited ones, by attribute; empty if the source is not available."""
    found: dict[str, str] = {}
    for owner in reversed(entity.__mro__):
        if owner.__module__.split(".")[0] not in ("builtins", "pydantic") and owner.__module__ != "gateleg.model.entity":
            found |= _comments(owner)
    return found


def _comments(owner: type) -> dict[str, str]:
    try:
        lines = inspect.getsource(owner).splitlines()
    except (OSError, TypeError):
        return {}
    found: dict[str, str] = {}
    pending: list[str] = []
    for line in lines:
        if comment := _COMMENT.fullmatch(line):
            pending.append(comment[1].strip())
            continue
        if pending and (attribute := _ATTRIBUTE.match(line)):
            found[attribute[1]] = " ".join(pending)
        pending = []
    return found
