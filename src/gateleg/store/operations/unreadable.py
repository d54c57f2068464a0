"""Unreadable and expired items in the results of queries, pages and batches.

One invalid item must neither fail the whole list nor disappear silently. It is left out and reported: to the log, or as
`store.reading(on_unreadable=...)` defines.
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
    """The items of a batch in the order of their references, with None for each missing one. `unreadable` lists undecodable items."""

    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True)
class ListReader:
    """Decodes the items of a list: leaves out expired items, and reports those that cannot be decoded."""

    setup: Setup
    unreadable: list[Unreadable] = field(default_factory=list)
    #: items that upcasters needed, by table and key: an instance, None, or the error if it cannot be decoded
    looked_up: dict[Any, Any] = field(default_factory=dict)

    def all(self, spec: Spec[Any], items: Sequence[Item], decode: Callable[[Item], Any] | None = None) -> list[Any]:
        """Decode items, without expired and unreadable ones."""
        decode = decode or spec.decode
        if spec.ttl is not None and not self.setup.expired:
            now = self.setup.now()
            items = [item for item in items if not is_expired(spec, item, now)]
        try:
            # Decoding without a try for each item is faster.
            return [decode(item) for item in items]
        except ModelError:
            return list(self._each(spec, items, decode))

    def one(self, spec: Spec[Any], item: Item | None) -> Any:
        """Decode an item; None if it is missing, expired or unreadable."""
        if item is None or hidden(spec, item, self.setup):
            return None
        return next(self._each(spec, [item], spec.decode), None)

    def results(self, found: Sequence[T]) -> Items[T]:
        """The results, with the unreadable items in their `unreadable`."""
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
        """Report an unreadable item as the store's `on_unreadable` defines."""
        action = self.setup.on_unreadable
        if action == "raise":
            raise bad.error
        self.unreadable.append(bad)
        if action == "warn":
            _log.warning("skipped an item that cannot be decoded: %s", bad.error)
        else:
            action(bad)


def hidden(spec: Spec[Any], item: Item, setup: Setup) -> bool:
    """Whether reads leave out an item because it has expired."""
    return spec.ttl is not None and not setup.expired and is_expired(spec, item, setup.now())


def shown_item(item: Item | None, entity: Any, setup: Setup) -> Item | None:
    """The item, or None if it has expired and reads leave out expired items."""
    return None if item is None or hidden(spec_of(entity), item, setup) else item
