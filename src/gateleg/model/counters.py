"""Counters: attributes of a parent item that count its children, declared on the children's entity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.model.keys.restrictions import read_when

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.model.attributes.attr import Attr
    from gateleg.model.keys.plans import Ref

__all__ = ["RECOUNT"]

#: An attribute that a recount sets on the parent item, and that every change of a counter removes. A recount writes its result only if the
#: attribute is still there, so it never overwrites a change that happened while it was counting.
RECOUNT = "~recount"


class Counter:
    """Count this entity's items in an attribute of another entity, the parent.

    Declare it in the class of the counted items: `done = Counter(Project.completed_scenes, when={"status": ["completed"]})`.

    The parent's key is built from the child's attributes of the same names. `when` counts only items whose attributes have one of the
    values. The attribute starts at 0 and changes in the same transactions as the children; puts and updates of the parent do not touch it.
    An upper bound of the attribute (`le=`, `lt=`) limits the number of children.
    """

    def __init__(self, attribute: Attr[int], *, when: Mapping[str, Iterable[Any]] | None = None) -> None:
        self.attribute = attribute
        self.when = read_when(when)
        #: the components of the parent's key; set when the counted entity's spec is built
        self.parent_names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The child's attributes that determine whether it is counted, and in which parent."""
        return (*self.parent_names, *self.when)

    def counts(self, values: Mapping[str, Any] | None) -> bool:
        """Whether an item with these values is counted."""
        return values is not None and all(values.get(name) in allowed for name, allowed in self.when.items())

    def parent(self, values: Mapping[str, Any]) -> Ref[Any]:
        """The reference to the parent item, which holds the counter."""
        ref: Ref[Any] = self.attribute.owner.key(**{name: values[name] for name in self.parent_names})
        return ref
