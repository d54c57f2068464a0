"""An attribute of an entity, as its class declares it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gateleg.model.attributes.special_types import find_mark
from gateleg.model.attributes.states import States
from gateleg.model.keys.parts import KeyPart

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from gateleg.model.attributes.annotations import Declared
    from gateleg.model.attributes.attr import Attr
    from gateleg.model.attributes.traits import Traits
    from gateleg.model.codec.shapes import Shape

__all__ = ["Attribute"]


@dataclass(frozen=True, eq=False)
class Attribute:
    """One attribute of an entity."""

    name: str
    wire: str
    annotation: Any
    declared: Declared
    shape: Shape
    info: FieldInfo
    traits: Traits
    attr: Attr[Any]

    @cached_property
    def optional(self) -> bool:
        """Whether it may be None, which is stored as a missing attribute."""
        return self.declared.optional

    @cached_property
    def needed(self) -> bool:
        """Whether decoding fails for an item without it."""
        return self.info.is_required() or self.traits.create_only

    @cached_property
    def read_only(self) -> bool:
        """Whether it is set at creation and never updated: declared `read_only`, `stamp(on="create")` or pydantic's `frozen`."""
        return self.traits.read_only or self.traits.stamp == "create" or bool(self.info.frozen)

    @cached_property
    def state(self) -> bool:
        """Whether it is a state attribute, which changes only by declared transitions."""
        return isinstance(self.declared.type, type) and issubclass(self.declared.type, States)

    @cached_property
    def part(self) -> type[KeyPart] | None:
        """The `KeyPart` class of its value, if it is one."""
        kind = self.declared.type
        return kind if isinstance(kind, type) and issubclass(kind, KeyPart) else None

    def marked(self, kind: str) -> bool:
        """Whether its type has a mark, such as "version", "ttl" or "s3-key"."""
        return find_mark(self.declared.metadata, kind)
