"""From an entity to its spec, without importing either."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model.errors import NotAnEntity

if TYPE_CHECKING:
    from gateleg.model.spec import Spec

E = TypeVar("E", bound=BaseModel)


def _spec_of(entity: Any) -> Any:
    """Everything the model knows about an entity, built when the class was."""
    try:
        return entity.__spec__
    except AttributeError:
        raise NotAnEntity(f"{getattr(entity, '__name__', entity)!s} is not an entity.") from None


if TYPE_CHECKING:

    def spec_of(entity: type[E]) -> Spec[E]:
        """Everything the model knows about an entity, built when the class was."""
        ...

else:
    # Every verb asks for it several times. A spec never changes once it is built, and lives as long as its table.
    spec_of = cache(_spec_of)
