"""Both directions of a move: from a stored item of one side to the corresponding item of the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from gateleg.errors import GatelegError
from gateleg.migrate.errors import Inconvertible, Orphan
from gateleg.migrate.moves.items import canonical, decoded
from gateleg.model import spec_of
from gateleg.store.operations.reads import Find

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gateleg.migrate.moves.declaration import KeyMove
    from gateleg.model import Item, Ref, Spec
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

Side = Literal["old", "new"]


@dataclass(frozen=True)
class Direction:
    """One direction of a move: `Direction(move, "old")` goes from old items to new ones."""

    move: KeyMove
    #: the side that items are read from
    source_side: Side

    @cached_property
    def source(self) -> Spec[Any]:
        """The entity that items are read from."""
        return spec_of(self.move.old if self.source_side == "old" else self.move.new)

    @cached_property
    def target(self) -> Spec[Any]:
        """The entity that items are written to."""
        return spec_of(self.move.new if self.source_side == "old" else self.move.old)

    @property
    def target_side(self) -> Side:
        """The side that items are written to."""
        return "new" if self.source_side == "old" else "old"

    @cached_property
    def reverse(self) -> Direction:
        """The opposite direction."""
        return Direction(self.move, self.target_side)

    @cached_property
    def own(self) -> frozenset[str]:
        """The wire attributes of the target that the source does not determine."""
        return _own(self.move, self.target_side)

    def partition(self, source: Item, target: Item) -> str:
        """The hash key of the old item, which determines the stage."""
        old = spec_of(self.move.old)
        return text_of((source if self.source_side == "old" else target)[old.table.hash])

    def convert(self, item: Item, setup: Setup, parent: BaseModel | None = None) -> Flow[BaseModel | None]:
        """Convert a stored item to the other side; None if the move ignores it. Raises `Inconvertible` and `Orphan`.

        The `parent` that the move looks up is read, unless it is given.
        """
        try:
            instance = yield from decoded(self.source, item, setup)
            if self.source_side == "new":
                return self.move.revert(instance)
            if self.move.lookup is None:
                return self.move.convert(instance)
            ref: Ref[Any] = self.move.lookup(instance)
        except Exception as error:
            raise self._failed(item, error) from error
        if parent is None:
            parent = yield from Find(ref, consistent=True).flow(setup)
        if parent is None:
            raise Orphan(f"{self.shown(item)} has no parent: there is no {ref.entity.__name__} {_plain(ref.key)}.")
        try:
            return self.move.convert(instance, parent)
        except Exception as error:
            raise self._failed(item, error) from error

    def expected(self, item: Item | None, setup: Setup, parent: BaseModel | None = None) -> Flow[Item | None]:
        """The target's wire item, as determined by the source alone."""
        converted = None if item is None else (yield from self.convert(item, setup, parent))
        if converted is None:
            return None
        try:
            wire: Item = self.target.encode(converted)
        except GatelegError as error:
            assert item is not None
            raise self._failed(item, error) from error
        return wire

    def beside_own(self, wire: Item, existing: Item | None) -> Item:
        """The target's item, with its own attributes taken from an existing one."""
        kept = {name: value for name, value in (existing or {}).items() if name in self.own}
        return {**{name: value for name, value in wire.items() if name not in kept}, **kept} if kept else wire

    def check_loss(self, source: Item, target: Item, setup: Setup) -> Flow[None]:
        """Raise `Inconvertible` if converting the target back would not yield the source."""
        back = yield from self.reverse.convert(target, setup)
        there = self.source.encode((yield from decoded(self.source, source, setup)))
        again: Item = {} if back is None else self.source.encode(back)
        own = self.reverse.own
        lost = sorted(name for name in there.keys() | again.keys() if name not in own and there.get(name) != again.get(name))
        if lost:
            raise Inconvertible(f"{self.shown(source)} does not survive the way to {self.target.name} and back: {', '.join(lost)}.")

    def same(self, expected: Item | None, found: Item | None) -> bool:
        """Whether a stored target matches the expected one, apart from its own attributes."""
        if expected is None or found is None:
            return expected is found
        return not self.differences(expected, found)

    def differences(self, expected: Item, found: Item) -> list[str]:
        """The attributes in which a stored target differs from the expected one."""
        own = self.own
        return sorted(
            name for name in expected.keys() | found.keys() if name not in own and not _equal(expected.get(name), found.get(name))
        )

    def key_of(self, item: Item) -> Item:
        """The key of a target."""
        return {name: item[name] for name in self.target.table.attributes}

    def shown(self, item: Item) -> str:
        """A source item for messages."""
        return f"{self.source.name} {_plain({name: item[name] for name in self.source.table.attributes if name in item})}"

    def _failed(self, item: Item, error: Exception) -> Inconvertible:
        if isinstance(error, Inconvertible):
            return error
        return Inconvertible(f"{self.shown(item)} cannot become a {self.target.name}: {type(error).__name__}: {error}")


def _own(move: KeyMove, side: Side) -> frozenset[str]:
    named = move.old_only if side == "old" else move.new_only
    return named | frozenset(spec_of(move.old if side == "old" else move.new).counted_wires)


def _equal(one: Any, other: Any) -> bool:
    """Whether two wire values are equal, regardless of the order of sets and the format of numbers."""
    return bool(one == other or (one is not None and other is not None and canonical(one) == canonical(other)))


def text_of(value: Any) -> str:
    """A key attribute's value as a string."""
    ((_, content),) = value.items()
    return str(content)


def _plain(key: Item) -> str:
    return ", ".join(f"{name}={next(iter(value.values()))!r}" for name, value in key.items())
