"""Reading one item: get and find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from pydantic import BaseModel

from gateleg.model import Placeholders, spec_of
from gateleg.store.errors import NotFound
from gateleg.store.operation import Operation, locate, shown
from gateleg.store.requests import Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Attr, Item, KeyPlan, Ref
    from gateleg.store.requests import Flow, Payload
    from gateleg.store.setup import Setup

E = TypeVar("E", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Find(Operation[E | None], Generic[E]):
    """One item by its key, or None."""

    ref: Ref[E]
    consistent: bool = False
    legacy: bool = True

    def flow(self, setup: Setup) -> Flow[E | None]:
        """One GetItem; then one for each older form of the key, when nothing was found."""
        spec, ref = spec_of(self.ref.entity), self.ref
        reply = yield Request("GetItem", get_payload(setup.name_of(spec.table), ref.key, self.consistent), f"{spec.name}.get")
        if "Item" in reply:
            return spec.decode(reply["Item"])
        if not spec.key.legacy or not self.legacy:
            return None
        return (yield from self._older(setup))

    def _older(self, setup: Setup) -> Flow[E | None]:
        spec = spec_of(self.ref.entity)
        for key in self.ref.legacy():
            reply = yield Request("GetItem", get_payload(setup.name_of(spec.table), key, self.consistent), f"{spec.name}.get")
            if "Item" in reply:
                found = spec.decode(reply["Item"])
                if is_meant(found, self.ref):
                    return found
        return None

    def places(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        yield self.ref.entity, spec_of(self.ref.entity).key, self.ref.values


@dataclass(frozen=True, slots=True)
class Get(Operation[E], Generic[E]):
    """One item by its key; an error when it is not there."""

    find: Find[E]

    def flow(self, setup: Setup) -> Flow[E]:
        """As `find`."""
        found = yield from self.find.flow(setup)
        if found is None:
            raise NotFound(f"There is no {shown(self.find.ref)}.")
        return found

    def places(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        return self.find.places()


@dataclass(frozen=True, slots=True)
class Pick(Operation[dict[str, Any]]):
    """Some attributes of one item."""

    ref: Ref[Any]
    project: tuple[Attr[Any], ...]
    consistent: bool = False

    def flow(self, setup: Setup) -> Flow[dict[str, Any]]:
        """One GetItem with a projection."""
        spec, out = spec_of(self.ref.entity), Placeholders()
        payload = get_payload(setup.name_of(spec.table), self.ref.key, self.consistent)
        payload["ProjectionExpression"] = ", ".join(out.path(attr.path) for attr in self.project)
        reply = yield Request("GetItem", payload | out.parameters(), f"{spec.name}.get")
        if "Item" not in reply:
            raise NotFound(f"There is no {shown(self.ref)}.")
        return spec.decode_partial(reply["Item"])

    def places(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        yield self.ref.entity, spec_of(self.ref.entity).key, self.ref.values


def get_payload(table: str, key: Item, consistent: bool) -> Payload:
    """A GetItem request. Options are left out where they are the default: the engine has a short way for a table and a key alone."""
    payload: Payload = {"TableName": table, "Key": key}
    if consistent:
        payload["ConsistentRead"] = True
    return payload


def is_meant(found: BaseModel, ref: Ref[Any]) -> bool:
    """Whether an item that was found under an older key is the one that was asked for: older keys say less."""
    values = spec_of(type(found)).values(found)
    return all(values.get(name) == ref.values.get(name) for name in spec_of(ref.entity).key.names)


def find(target: type[E] | Ref[E] | E, /, *, consistent: bool = False, **components: Any) -> Operation[E | None]:
    """One item, or None: `find(Job, job_id=...)`, by reference `find(Job.key(job_id=...))`, or again `find(job)`."""
    return Find(locate(target, components), consistent)


@overload
def get(
    target: type[E] | Ref[E] | E, /, *, project: Sequence[Attr[Any]], consistent: bool = False, **components: Any
) -> Operation[dict[str, Any]]: ...
@overload
def get(target: type[E] | Ref[E] | E, /, *, consistent: bool = False, **components: Any) -> Operation[E]: ...
def get(
    target: type[E] | Ref[E] | E, /, *, project: Sequence[Attr[Any]] = (), consistent: bool = False, **components: Any
) -> Operation[E] | Operation[dict[str, Any]]:
    """One item, or `NotFound`: `get(Job, job_id=...)`, by reference `get(Job.key(job_id=...))`, or again `get(job)`.

    `consistent` also sees what was written a moment ago. With `project=[Job.status]` the answer is a dictionary of those attributes.
    """
    ref = locate(target, components)
    return Pick(ref, tuple(project), consistent) if project else Get(Find(ref, consistent))
