"""From an entity to its spec, without importing either."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from gateleg.model.errors import NotAnEntity

if TYPE_CHECKING:
    from gateleg.model.spec import Spec

E = TypeVar("E", bound=BaseModel)


def spec_of(entity: type[E]) -> Spec[E]:
    """Everything the model knows about an entity, built when the class was."""
    try:
        spec: Spec[E] = entity.__spec__  # type: ignore[attr-defined]
    except AttributeError:
        raise NotAnEntity(f"{getattr(entity, '__name__', entity)!s} is no entity.") from None
    return spec
