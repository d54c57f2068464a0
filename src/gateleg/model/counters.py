"""Counters of a parent item, as declared on the entity that is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.model.keys.restrictions import read_when

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.model.attributes.attr import Attr
    from gateleg.model.keys.plans import Ref

__all__ = ["RECOUNT"]

#: An attribute that a recount sets on the item it is counting for, and that every move of a counter removes: a recount may write its result
#: only while the attribute is still there, so it never writes over a move that it has not seen.
RECOUNT = "~recount"


class Counter:
    """An attribute of another entity that counts this one's items.

    `done = Counter(Project.completed_scenes, when={"status": ["completed"]})`, declared in the class of the items that are counted.

    The parent's key is made of the child's attributes of the same names. `when` restricts what is counted. The attribute starts at zero
    and is written only together with the children: puts and updates of the parent leave it as it is. Its upper bound (`le=`, `lt=`) limits
    how many there may be.
    """

    def __init__(self, attribute: Attr[int], *, when: Mapping[str, Iterable[Any]] | None = None) -> None:
        self.attribute = attribute
        self.when = read_when(when)
        #: the components of the parent's key, once the counted entity is built
        self.parent_names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The child's attributes that say in which item, and whether, it is counted."""
        return (*self.parent_names, *self.when)

    def counts(self, values: Mapping[str, Any] | None) -> bool:
        """Whether an item with these values is counted."""
        return values is not None and all(values.get(name) in allowed for name, allowed in self.when.items())

    def parent(self, values: Mapping[str, Any]) -> Ref[Any]:
        """The item that holds the counter."""
        ref: Ref[Any] = self.attribute.owner.key(**{name: values[name] for name in self.parent_names})
        return ref
