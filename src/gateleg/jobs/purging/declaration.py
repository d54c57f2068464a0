"""`Purge`: declares which children and objects belong to the items of an entity, and how to find items that are due."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar, get_args, get_origin

from pydantic import BaseModel

from gateleg.jobs.errors import BadPurge
from gateleg.model import Access, Action, Query, spec_of
from gateleg.model.attributes.annotations import read_annotation
from gateleg.model.attributes.special_types import find_mark
from gateleg.model.inspection import is_refused

E = TypeVar("E", bound=BaseModel)
#: A pattern whose arguments are attributes of the parent, or a function from the parent to queries.
Children = Access[Any] | Callable[[Any], Sequence[Query[Any]]]


def _nothing(item: Any) -> tuple[()]:
    return ()


@dataclass(frozen=True)
class Purge(Generic[E]):
    """Declares what is removed together with an item of an entity that has a TTL attribute.

    An item is purged before its date in the TTL attribute, because TTL would remove it without its children. The objects of all `S3Key`
    attributes are removed too.

    Raises `BadPurge` if a child pattern needs an attribute that the parent does not have, or `ahead` is not positive.
    """

    entity: type[E]
    #: how long before its date an item is purged; must be longer than the time between two sweeps
    ahead: timedelta = timedelta(days=1)
    #: patterns whose arguments are attributes of the parent with the same names, or functions from the parent to queries; children of an
    #: entity with a `Purge` are purged, others deleted
    children: Sequence[Children] = ()
    #: returns further objects to remove: keys, or prefixes that end with a slash
    objects: Callable[[E], Sequence[str]] = _nothing
    #: named functions that remove data elsewhere, such as vectors, and return how much they have removed
    hooks: Mapping[str, Callable[[E], Awaitable[int | None]]] = field(default_factory=dict)
    #: returns actions to write when the purge of an item begins, such as a transition to a final state
    begin: Callable[[E], Sequence[Action]] = _nothing
    #: returns queries for the items whose date is not after the given time; without it, sweeps scan the table
    due: Callable[[datetime], Sequence[Query[E]]] | None = None
    #: the maximum number of read units per second of a scan
    read_units: float | None = None

    def __post_init__(self) -> None:
        """Raise `BadPurge` for an invalid declaration."""
        spec = spec_of(self.entity)
        for child in self.children:
            if isinstance(child, Access) and (missing := [name for name in child.required if name not in spec.sources]):
                raise BadPurge(
                    f"{child.name} needs {', '.join(missing)}, which {spec.name} does not have.",
                    fix="Pass a function from the parent to queries instead of the pattern.",
                )
        if self.ahead <= timedelta(0):
            raise BadPurge(f"{spec.name} would be purged after its date.", fix="Set `ahead` to more than the time between two sweeps.")

    def queries(self, item: E) -> list[Query[Any]]:
        """The queries that find the children of an item."""
        values = spec_of(self.entity).values(item)
        found: list[Query[Any]] = []
        for child in self.children:
            found += [child(**{name: values[name] for name in child.required})] if isinstance(child, Access) else child(item)
        return found

    def object_keys(self, item: E) -> list[str]:
        """The keys and prefixes of an item's objects."""
        found: list[str] = []
        for attribute in spec_of(self.entity).attributes.values():
            value = getattr(item, attribute.name)
            if _holds_keys(attribute.annotation) and value is not None:
                found += [value] if isinstance(value, str) else list(value)
        # Another program may have stored a URL in place of a key: no object of ours belongs to it.
        return [key for key in (*found, *self.objects(item)) if not is_refused(key.rstrip("/"))]


def _holds_keys(annotation: Any) -> bool:
    """Whether a type is an object key, or a list or set of them."""
    declared = read_annotation(annotation)
    if find_mark(declared.metadata, "s3-key"):
        return True
    return get_origin(declared.type) in (list, set, frozenset, tuple) and any(_holds_keys(one) for one in get_args(declared.type))
