"""Entities and tables with all that follows from their declarations: what stores and tools work with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model.entity_lookup import read_spec
from gateleg.model.layout import EntityLayout
from gateleg.model.tables import TableLayout

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from gateleg.model.codec.codec import Codec
    from gateleg.model.codec.wire import Item
    from gateleg.model.patterns import Access
    from gateleg.model.planning.plan_cache import CachedPlan

E = TypeVar("E", bound=BaseModel)


class Table(TableLayout):
    """A table: its name in the documents, its key attributes and indexes by wire name.

    `tag` is the attribute that says which entity an item is, for tables with several. `schema` is the attribute that holds an item's
    schema number, once an entity has one. `types` gives the type of key attributes that no entity determines (text is assumed).
    """

    @property
    def specs(self) -> list[Spec[Any]]:
        """The specs of the entities that live here, in the order of declaration."""
        return [member for member in self.members if isinstance(member, Spec)]

    def spec_for(self, item: Item) -> Spec[Any] | None:
        """The spec of the entity that an item belongs to: by its tag, else by the form of its key."""
        member = self.member_for(item)
        return member if isinstance(member, Spec) else None


@dataclass(eq=False)
class Spec(EntityLayout[E]):
    """Compiled metadata for an entity: attributes, keys, indexes, patterns and codec."""

    table: Table
    #: from an instance to a wire item, with all derived keys
    encode: Callable[[E], Item] = field(init=False)
    #: from a wire item to a validated instance
    decode: Callable[[Item], E] = field(init=False)
    patterns: dict[str, Access[E]] = field(default_factory=dict)
    #: the attributes that counters of other entities write, with those entities
    counted: dict[str, list[type[BaseModel]]] = field(default_factory=dict)
    #: updates that were planned before, by what they ask for
    plans: dict[Hashable, CachedPlan] = field(default_factory=dict)
    _codec: Codec[E] | None = None

    @property
    def codec(self) -> Codec[E]:
        """The generated codec and its source."""
        assert self._codec is not None
        return self._codec

    def install(self, codec: Codec[E]) -> None:
        """Take the codec; `encode` and `decode` become its functions, without a call in between."""
        self._codec = codec
        self.encode = codec.encode
        self.decode = codec.decode

    def decode_partial(self, item: Item) -> dict[str, Any]:
        """The validated values of those attributes that a projected item has, by Python name."""
        return self.codec.decode_partial(item)

    @property
    def counted_wires(self) -> dict[str, str]:
        """The counted attributes: from the name on the wire to that in Python."""
        return {self.attributes[name].wire: name for name in self.counted}


if TYPE_CHECKING:

    def spec_of(entity: type[E]) -> Spec[E]:
        """Everything the model knows about an entity, built when the class was."""
        ...

else:
    spec_of = read_spec
