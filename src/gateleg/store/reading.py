"""Reading one item: get and find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from pydantic import BaseModel

from gateleg.model import Placeholders, Ref, spec_of
from gateleg.store.errors import NotFound
from gateleg.store.legacy import read_older
from gateleg.store.operation import Operation, locate, shown
from gateleg.store.quick_keys import quick_key
from gateleg.store.requests import Request
from gateleg.store.unreadable import hidden, shown_item

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Attr, Item, KeyPlan, Spec
    from gateleg.store.requests import Flow, Payload
    from gateleg.store.setup import Setup

E = TypeVar("E", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Find(Operation[Any], Generic[E]):
    """One item by its key. When it is not there the answer is None, or an error if it is `required`."""

    spec: Spec[E]
    key: Item
    #: the components of the key
    values: Mapping[str, Any]
    consistent: bool = False
    required: bool = False

    def flow(self, setup: Setup) -> Flow[Any]:
        """One GetItem; then one for each older form of the key, when nothing was found, and the first one again."""
        spec = self.spec
        reply = yield Request("GetItem", get_payload(setup.prefix + spec.table.name, self.key, self.consistent), spec.name + ".get")
        if "Item" in reply and not hidden(spec, reply["Item"], setup):
            return spec.decode(reply["Item"])
        return (yield from self.missing(setup))

    def missing(self, setup: Setup) -> Flow[E | None]:
        """What to do when there is nothing under the key: look under its older forms, and say so when that is no help."""
        found = (yield from self._older(setup)) if self.spec.key.legacy else None
        if found is None and self.required:
            raise NotFound(f"There is no {shown(self.ref)}.")
        return found

    @property
    def ref(self) -> Ref[E]:
        """The item that is meant."""
        return Ref(self.spec.entity, self.values, self.key)

    def _older(self, setup: Setup) -> Flow[E | None]:
        spec, ref = self.spec, self.ref
        for key in ref.legacy():
            reply = yield Request("GetItem", get_payload(setup.name_of(spec.table), key, self.consistent), spec.name + ".get")
            if "Item" in reply and not hidden(spec, reply["Item"], setup):
                found = read_older(reply["Item"], ref)
                if found is not None:
                    return found
        # Somebody may have moved it to its present key since that was looked at; it does not move back.
        reply = yield Request("GetItem", get_payload(setup.name_of(spec.table), self.key, self.consistent), spec.name + ".get")
        return spec.decode(reply["Item"]) if "Item" in reply and not hidden(spec, reply["Item"], setup) else None

    def places(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        yield self.spec.entity, self.spec.key, self.values


@dataclass(frozen=True, slots=True)
class Pick(Operation[dict[str, Any]]):
    """Some attributes of one item."""

    ref: Ref[Any]
    project: tuple[Attr[Any], ...]
    consistent: bool = False

    def flow(self, setup: Setup) -> Flow[dict[str, Any]]:
        """One GetItem with a projection; then, when nothing was found, whatever the key has older forms for."""
        spec, ref = spec_of(self.ref.entity), self.ref
        item = yield from self._projected(setup, ref.key)
        for key in ref.legacy() if item is None else ():
            # Only the whole of it tells whether it is the item that was asked for.
            reply = yield Request("GetItem", get_payload(setup.name_of(spec.table), key, self.consistent), f"{spec.name}.get")
            if "Item" in reply and read_older(reply["Item"], ref) is not None:
                item = yield from self._projected(setup, key)
                break
        if item is None and spec.key.legacy:
            # Somebody may have moved it to its present key since that was looked at.
            item = yield from self._projected(setup, ref.key)
        if item is None:
            raise NotFound(f"There is no {shown(ref)}.")
        wanted = {attr.name.split(".")[0].split("[")[0] for attr in self.project}
        return {name: value for name, value in spec.decode_partial(item).items() if name in wanted}

    def _projected(self, setup: Setup, key: Item) -> Flow[Item | None]:
        spec, out = spec_of(self.ref.entity), Placeholders()
        payload = get_payload(setup.name_of(spec.table), key, self.consistent)
        paths = [out.path(attr.path) for attr in self.project]
        if spec.ttl is not None and not any(attr.path[0] == spec.ttl.wire for attr in self.project):
            paths.append(out.name(spec.ttl.wire))
        payload["ProjectionExpression"] = ", ".join(paths)
        reply = yield Request("GetItem", payload | out.parameters(), f"{spec.name}.get")
        return shown_item(reply.get("Item"), spec.entity, setup)

    def places(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        yield self.ref.entity, spec_of(self.ref.entity).key, self.ref.values


def get_payload(table: str, key: Item, consistent: bool) -> Payload:
    """A GetItem request. Options are left out where they are the default: the engine has a short way for a table and a key alone."""
    payload: Payload = {"TableName": table, "Key": key}
    if consistent:
        payload["ConsistentRead"] = True
    return payload


def _sought(target: type[E] | Ref[E] | E, components: dict[str, Any], consistent: bool, required: bool) -> Find[E]:
    if isinstance(target, type):
        spec, build = quick_key(target)
        key = build(components)
        if key is not None:
            return Find(spec, key, components, consistent, required)
    ref = locate(target, components)
    return Find(spec_of(ref.entity), ref.key, ref.values, consistent, required)


def find(target: type[E] | Ref[E] | E, /, *, consistent: bool = False, **components: Any) -> Operation[E | None]:
    """One item, or None: `find(Job, job_id=...)`, by reference `find(Job.key(job_id=...))`, or again `find(job)`."""
    return _sought(target, components, consistent, required=False)


@overload
def get(
    target: type[E] | Ref[E] | E, /, *, project: Sequence[Attr[Any]], consistent: bool = False, **components: Any
) -> Operation[dict[str, Any]]: ...
@overload
def get(target: type[E] | Ref[E] | E, /, *, project: None = None, consistent: bool = False, **components: Any) -> Operation[E]: ...
def get(
    target: type[E] | Ref[E] | E, /, *, project: Sequence[Attr[Any]] | None = None, consistent: bool = False, **components: Any
) -> Operation[E] | Operation[dict[str, Any]]:
    """One item, or `NotFound`: `get(Job, job_id=...)`, by reference `get(Job.key(job_id=...))`, or again `get(job)`.

    `consistent` also sees what was written a moment ago. With `project=[Job.status]` the answer is a dictionary of those attributes.
    """
    if project:
        return Pick(locate(target, components), tuple(project), consistent)
    return _sought(target, components, consistent, required=True)
