"""From an entity's class to its metadata."""

from __future__ import annotations

from functools import cache
from typing import Any

from gateleg.model.errors import NotAnEntity


# Every verb asks for it several times. A spec never changes once it is built, and lives as long as its table.
@cache
def read_spec(entity: Any) -> Any:
    """The spec that was built with the class; `layout_of` and `spec_of` say its type."""
    try:
        found = entity.__spec__
    except AttributeError:
        raise NotAnEntity(f"{getattr(entity, '__name__', entity)!s} is not an entity.") from None
    if isinstance(found, property):
        # The class of an entity's class: a verb that takes an instance was given the entity itself.
        raise NotAnEntity("An entity was given where an item is expected.", fix="Give an instance of the entity, such as Book(title=...).")
    return found
