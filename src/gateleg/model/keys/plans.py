"""Key plans, which build the key attributes of an item from its values, and references to items."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from pydantic import BaseModel

from gateleg.model.entity_lookup import read_spec
from gateleg.model.errors import EmptyKey
from gateleg.model.keys.key_arguments import missing_components

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model.codec.wire import Item, Value
    from gateleg.model.keys.sources import KeySource
    from gateleg.model.keys.text_keys import TextKey
    from gateleg.model.tables import Index, KeyType

__all__ = ["KeyPlan"]

E_co = TypeVar("E_co", bound=BaseModel, covariant=True)


@dataclass(frozen=True)
class KeyField:
    """One key attribute: a copy of an attribute's wire value, or text built from a template."""

    attribute: str
    #: the attribute whose wire value it copies; None for text
    source: KeySource | None
    text: TextKey | None
    type: KeyType

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its components."""
        return self.text.template.names if self.text is not None else (self._source.name,)

    @property
    def natural(self) -> bool:
        """Whether the key attribute is itself an attribute of the entity."""
        return self.source is not None and self.source.wire == self.attribute

    @property
    def _source(self) -> KeySource:
        assert self.source is not None
        return self.source

    def value(self, values: Mapping[str, Any]) -> Value | None:
        """The key attribute's wire value, or None if a component is None."""
        if self.text is not None:
            text, count = self.text.build_prefix(values)
            return {"S": text} if count == len(self.text.components) else None
        if values.get(self._source.name) is None:
            return None
        value = self._source.pack(values[self._source.name])
        if value in _EMPTY:
            empty_key(self.attribute, self._source.name)
        return value

    @property
    def prefix(self) -> str:
        """The literal text that every value begins with."""
        return self.text.template.prefix if self.text is not None else ""


@dataclass(frozen=True)
class KeyPlan:
    """How one entity builds the key of its table or of an index."""

    index: Index
    hash: tuple[KeyField, ...]
    range: tuple[KeyField, ...]
    when: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    shards: int = 1
    legacy: tuple[KeyPlan, ...] = ()
    #: whether new items are stored under the first legacy key, and stored items stay where they are
    writes_legacy: bool = False

    @cached_property
    def fields(self) -> tuple[KeyField, ...]:
        """The hash fields, then the range fields."""
        return self.hash + self.range

    @cached_property
    def derived(self) -> tuple[KeyField, ...]:
        """The key attributes that are not attributes of the entity, so that encoding must add them."""
        return tuple(entry for entry in self.fields if not entry.natural)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all components, in order, without duplicates."""
        return tuple(dict.fromkeys(name for entry in self.fields for name in entry.names))

    @cached_property
    def inputs(self) -> frozenset[str]:
        """The names of all attributes that the key depends on: the components and the attributes of `when`."""
        return frozenset((*self.names, *self.when))

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether an item with these values is in the index."""
        for name in self.names:
            if values.get(name) is None:
                return False
        return not self.when or all(values.get(name) in allowed for name, allowed in self.when.items())

    def build(self, values: Mapping[str, Any], shard: int | None = None) -> Item:
        """The key attributes on the wire; empty if an item with these values is not in the index."""
        if not self.holds(values):
            return {}
        item = {entry.attribute: entry.value(values) for entry in self.fields}
        if shard is not None and self.shards > 1:
            first = self.hash[0].attribute
            item[first] = {"S": sharded(item[first]["S"], shard)}  # type: ignore[index]
        return item  # type: ignore[return-value]

    def require(self, values: Mapping[str, Any], entity: str) -> Item:
        """The key attributes on the wire; raise `MissingComponent` if a component is missing."""
        item = self.build(values)
        missing = [name for name in self.names if values.get(name) is None] if not item else ()
        if missing:
            raise missing_components(f"The key of {entity}", entity, missing)
        return item

    def fits(self, item: Item) -> bool:
        """Whether an item's key attributes match the templates."""
        for entry in self.fields:
            value = item.get(entry.attribute)
            if value is None or entry.type not in value or (entry.text is not None and not entry.text.matches(value["S"])):
                return False
        return True

    def parse(self, item: Item) -> dict[str, Any]:
        """The components in the key attributes of an item, in a form that pydantic accepts."""
        values: dict[str, Any] = {}
        for entry in self.fields:
            if entry.attribute not in item:
                continue
            if entry.text is not None:
                text = item[entry.attribute]["S"]
                if entry is self.hash[0] and self.shards > 1:
                    text = text.rsplit("#", 1)[0]
                values |= entry.text.parse(text)
            elif entry.source is not None:
                values[entry.source.name] = entry.source.unpack(item[entry.attribute])
        return values


def empty_key(owner: str, name: str) -> NoReturn:
    """Raise `EmptyKey`."""
    raise EmptyKey(f"{owner}: {name} is a key and cannot be empty.")


_EMPTY: tuple[Value, ...] = ({"S": ""}, {"B": ""})


def sharded(text: str, shard: int) -> str:
    """The hash value of one shard of an index."""
    return f"{text}#{shard}"


def shard_of(primary: Item, shards: int) -> int:
    """The shard of an item. It depends on the primary key only, so it never changes and every update can compute it."""
    text = "\x00".join(str(content) for value in primary.values() for content in value.values())
    return zlib.crc32(text.encode()) % shards


def _shown_component(value: Any) -> str:
    """A component of a key for messages: numbers as they are, everything else as the text that it is known by."""
    return str(value) if isinstance(value, int | Decimal) and not isinstance(value, Enum) else repr(str(value))


# Not frozen: every read creates one, and creating a frozen one takes three times as long.
@dataclass(slots=True)
class Ref(Generic[E_co]):
    """A reference to an item: its entity, the components of its key (`values`), and the key on the wire (`key`).

    `Job.key(job_id=...)` and `job.key` create one. A store accepts it wherever it accepts an instance.
    """

    entity: type[E_co]
    values: Mapping[str, Any]
    key: Item

    def legacy(self) -> list[Item]:
        """The item's keys under older templates (`Key(legacy=...)`), to try when the item is not found."""
        plans: tuple[KeyPlan, ...] = read_spec(self.entity).key.legacy
        return [plan.build(self.values) for plan in plans if plan.holds(self.values)]

    def __str__(self) -> str:
        """The entity and the components of the key, for messages: `Job(job_id='...')`. Numbers are without quotes."""
        names: tuple[str, ...] = read_spec(self.entity).key.names
        return f"{self.entity.__name__}({', '.join(f'{name}={_shown_component(self.values.get(name))}' for name in names)})"
