"""Items that their entity cannot read, and items whose time is over: what becomes of them when many items are read.

One bad item must not take a list down, and must not get lost without a word either. It is left out and reported: to the log, or to what
`store.reading(on_unreadable=...)` says.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from gateleg.model import ModelError, spec_of
from gateleg.model.planning import is_expired
from gateleg.store.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gateleg.model import Item, Spec
    from gateleg.store.setup import Setup

__all__ = ["Items", "shown_item"]

T = TypeVar("T")
_log = logging.getLogger("gateleg.store")


class Items(list[T]):
    """Items in the order of their references; None where there is none. `unreadable` has those that are there but cannot be read."""

    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True)
class ListReader:
    """Reads the items of a list: leaves out what has expired, and reports what cannot be read."""

    setup: Setup
    unreadable: list[Unreadable] = field(default_factory=list)
    #: what upcasters have asked for, by table and key: an entity, None, or why it cannot be read
    asked: dict[Any, Any] = field(default_factory=dict)

    def all(self, spec: Spec[Any], items: Sequence[Item], decode: Callable[[Item], Any] | None = None) -> list[Any]:
        """The items that are alive and can be read."""
        decode = decode or spec.decode
        if spec.ttl is not None and not self.setup.expired:
            now = self.setup.now()
            items = [item for item in items if not is_expired(spec, item, now)]
        try:
            # Together, which is faster.
            return [decode(item) for item in items]
        except ModelError:
            return list(self._each(spec, items, decode))

    def one(self, spec: Spec[Any], item: Item | None) -> Any:
        """An item, or None when it is absent, expired or unreadable."""
        if item is None or hidden(spec, item, self.setup):
            return None
        return next(self._each(spec, [item], spec.decode), None)

    def results(self, found: Sequence[T]) -> Items[T]:
        """Results together with what could not be read."""
        items = Items(found)
        items.unreadable = tuple(self.unreadable)
        return items

    def _each(self, spec: Spec[Any], items: Sequence[Item], decode: Callable[[Item], Any]) -> Iterator[Any]:
        for item in items:
            try:
                yield decode(item)
            except ModelError as error:
                self.report(Unreadable(spec.ref_of(item), item, error))

    def report(self, bad: Unreadable) -> None:
        """Do with an item that cannot be read what the store says."""
        what = self.setup.on_unreadable
        if what == "raise":
            raise bad.error
        self.unreadable.append(bad)
        if what == "warn":
            _log.warning("skipped an item that cannot be read: %s", bad.error)
        else:
            what(bad)


def hidden(spec: Spec[Any], item: Item, setup: Setup) -> bool:
    """Whether an item is not shown because its time is over."""
    return spec.ttl is not None and not setup.expired and is_expired(spec, item, setup.now())


def shown_item(item: Item | None, entity: Any, setup: Setup) -> Item | None:
    """An item, unless its time is over."""
    return None if item is None or hidden(spec_of(entity), item, setup) else item
