"""Options of an attribute's declaration that pydantic does not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = ["traits_of"]

Stamp = Literal["create", "write"]


@dataclass(frozen=True, slots=True)
class Traits:
    """Options of an attribute that pydantic does not know."""

    #: the name on the wire, if it is not the Python name in the entity's case
    name: str | None = None
    #: when the attribute is set to the current time
    stamp: Stamp | None = None
    #: the default is for new instances only; decoding fails for an item without the attribute
    create_only: bool = False
    #: set at creation and never updated
    read_only: bool = False


_PLAIN = Traits()


def traits_of(info: FieldInfo) -> Traits:
    """The traits of a pydantic field; all unset for a field that declares none."""
    return next((entry for entry in reversed(info.metadata) if isinstance(entry, Traits)), _PLAIN)


def empty_is_absent(info: FieldInfo) -> bool:
    """Whether a set attribute defaults to an empty set: then an empty one, which DynamoDB cannot store, is stored as missing."""
    return info.default_factory in (set, frozenset) or (not info.is_required() and info.default in (set(), frozenset()))
