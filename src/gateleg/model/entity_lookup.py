"""Find the spec of an entity class."""

from __future__ import annotations

from functools import cache
from typing import Any

from gateleg.model.errors import NotAnEntity


# Cached because each call of the store needs it several times. A spec never changes once built, and lives as long as its table.
@cache
def read_spec(entity: Any) -> Any:
    """The spec of an entity class, untyped; `layout_of` and `spec_of` return it typed. Raises `NotAnEntity` for anything else."""
    try:
        found = entity.__spec__
    except AttributeError:
        raise NotAnEntity(f"{getattr(entity, '__name__', entity)!s} is not an entity.") from None
    if isinstance(found, property):
        # `entity` is the metaclass: the caller passed an entity class instead of an instance.
        raise NotAnEntity(
            "An entity class was passed where an instance is expected.", fix="Pass an instance of the entity, such as Book(title=...)."
        )
    return found
