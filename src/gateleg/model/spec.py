"""Specs: the compiled metadata of entities and tables, for stores and tools."""

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
    """Declare a table: `Table("Orders", hash="customer_id", range="order_id", indexes=[GSI("by-status", hash="status")])`.

    `name` is its name without the prefix of a deployment. `hash` and `range` are the key attributes. `tag` is the attribute that names the
    entity of an item, for tables with several entities. `schema` is the attribute for the schema number of entities declared with
    `schema=`. `types` maps key attributes that no entity uses to "S", "N" or "B" (the default is "S"). `stream` is the view type of the
    table's stream, such as "NEW_AND_OLD_IMAGES"; by default the table has no stream. Raises a `DeclarationError` for invalid names, options
    or indexes.
    """

    @property
    def specs(self) -> list[Spec[Any]]:
        """The specs of the table's entities, in the order of declaration."""
        return [member for member in self.members if isinstance(member, Spec)]

    def spec_for(self, item: Item) -> Spec[Any] | None:
        """The spec of the entity that a wire item belongs to, by its tag or else by the form of its key; None if there is none."""
        member = self.member_for(item)
        return member if isinstance(member, Spec) else None


@dataclass(eq=False)
class Spec(EntityLayout[E]):
    """The compiled metadata of an entity: attributes, keys, indexes, patterns and codec. `spec_of(entity)` returns it."""

    table: Table
    #: from an instance to a wire item, with all derived keys
    encode: Callable[[E], Item] = field(init=False)
    #: from a wire item to a validated instance
    decode: Callable[[Item], E] = field(init=False)
    patterns: dict[str, Access[E]] = field(default_factory=dict)
    #: the attributes in which counters of other entities count, with those entities
    counted: dict[str, list[type[BaseModel]]] = field(default_factory=dict)
    #: the plan cache of updates
    plans: dict[Hashable, CachedPlan] = field(default_factory=dict)
    _codec: Codec[E] | None = None

    @property
    def codec(self) -> Codec[E]:
        """The generated codec and its source."""
        assert self._codec is not None
        return self._codec

    def install(self, codec: Codec[E]) -> None:
        """Set the codec. `encode` and `decode` become its functions, to save a call."""
        self._codec = codec
        self.encode = codec.encode
        self.decode = codec.decode

    def decode_partial(self, item: Item) -> dict[str, Any]:
        """The attributes of a projected item, validated, by Python name. Raises `DecodeError` if one is invalid."""
        return self.codec.decode_partial(item)

    @property
    def counted_wires(self) -> dict[str, str]:
        """The counted attributes: from wire name to Python name."""
        return {self.attributes[name].wire: name for name in self.counted}


if TYPE_CHECKING:

    def spec_of(entity: type[E]) -> Spec[E]:
        """The compiled metadata of an entity. Raises `NotAnEntity` for a class that is not an entity."""
        ...

else:
    spec_of = read_spec
