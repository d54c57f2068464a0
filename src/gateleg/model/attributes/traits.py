"""What the model, rather than pydantic, reads from the declaration of an attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = ["traits_of"]

Stamp = Literal["create", "write"]


@dataclass(frozen=True, slots=True)
class Traits:
    """What the model, rather than pydantic, needs to know about an attribute."""

    #: the name on the wire, when it is not the Python name in the entity's case
    name: str | None = None
    #: when the model sets the attribute to the present time
    stamp: Stamp | None = None
    #: the default is for new instances only; an item without the attribute is refused
    create_only: bool = False
    #: set at creation and never by an update
    read_only: bool = False


_PLAIN = Traits()


def traits_of(info: FieldInfo) -> Traits:
    """The traits of a pydantic field; those of a plain one are all unset."""
    return next((entry for entry in reversed(info.metadata) if isinstance(entry, Traits)), _PLAIN)


def empty_is_absent(info: FieldInfo) -> bool:
    """Whether a set is by default empty: then an empty one, which DynamoDB does not store, is absent on the wire."""
    return info.default_factory in (set, frozenset) or (not info.is_required() and info.default in (set(), frozenset()))
