"""From an entity to its spec, without importing either."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from gateleg.model.spec import Spec

E = TypeVar("E", bound=BaseModel)


def spec_of(entity: type[E]) -> Spec[E]:
    """Everything the model knows about an entity, built when the class was."""
    spec: Spec[E] = entity.__spec__  # type: ignore[attr-defined]
    return spec
