"""`get` and `find`: read one item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from pydantic import BaseModel

from gateleg.model import Ref, spec_of
from gateleg.model.expressions import Placeholders
from gateleg.store.errors import InvalidOption, NotFound
from gateleg.store.flow import Request
from gateleg.store.operations.entity_reads import hidden, needs_lookup, read_older, shown_item, upcast_item
from gateleg.store.operations.operation import Operation, SingleRequest, locate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Attr, Condition, Item, Spec
    from gateleg.model.keys import KeyPlan
    from gateleg.store.flow import Flow, Payload, Response
    from gateleg.store.setup import Setup

__all__ = ["Find", "Pick"]

E = TypeVar("E", bound=BaseModel)


@overload
def find(target: type[E], /, *key: Condition[E], consistent: bool = False, **components: Any) -> Operation[E | None]: ...
@overload
def find(target: Ref[E] | E, /, *, consistent: bool = False) -> Operation[E | None]: ...
def find(target: type[E] | Ref[E] | E, /, *key: Condition[E], consistent: bool = False, **components: Any) -> Operation[E | None]:
    """Read one item; None if it does not exist: `find(Job, job_id=...)`, `find(Job.key(job_id=...))`, or `find(job)` to read it again.

    Key components are passed by name, or by position as `find(Job, Job.job_id == ...)`, which type checkers check. With `consistent`, the
    result reflects all earlier writes. Raises `DecodeError` if the stored item is invalid.
    """
    return Find(locate(target, key, components), consistent)


@overload
def get(
    target: type[E], /, *key: Condition[E], project: Sequence[Attr[Any]], consistent: bool = False, **components: Any
) -> Operation[dict[str, Any]]: ...
@overload
def get(target: type[E], /, *key: Condition[E], project: None = None, consistent: bool = False, **components: Any) -> Operation[E]: ...
@overload
def get(target: Ref[E] | E, /, *, project: Sequence[Attr[Any]], consistent: bool = False) -> Operation[dict[str, Any]]: ...
@overload
def get(target: Ref[E] | E, /, *, project: None = None, consistent: bool = False) -> Operation[E]: ...
def get(
    target: type[E] | Ref[E] | E,
    /,
    *key: Condition[E],
    project: Sequence[Attr[Any]] | None = None,
    consistent: bool = False,
    **components: Any,
) -> Operation[E] | Operation[dict[str, Any]]:
    """Read one item: `get(Job, job_id=...)`, `get(Job.key(job_id=...))`, or `get(job)` to read it again.

    Key components are passed by name, or by position as `get(Job, Job.job_id == ...)`, which type checkers check. With `consistent`, the
    result reflects all earlier writes. With `project=[Job.status]`, it is a dictionary of those attributes. Raises `NotFound` if the item
    does not exist, and `DecodeError` if it is invalid.
    """
    if project:
        ref = locate(target, key, components)
        return Pick(ref, projected(project, ref.entity), consistent)
    return Find(locate(target, key, components), consistent, True)


def projected(attributes: Sequence[Attr[Any]], entity: type[Any]) -> tuple[Attr[Any], ...]:
    """The attributes of `project=`. Raises `InvalidOption` if one is not an attribute, such as its name."""
    for attribute in attributes:
        if not hasattr(attribute, "path"):
            raise InvalidOption(f"project= takes attributes, and was given {attribute!r}.", fix="Write project=[Book.title].")
        if not issubclass(entity, attribute.owner):
            raise InvalidOption(
                f"project= names {attribute!r}, which is not an attribute of {entity.__name__}.",
                fix=f"Name attributes of {entity.__name__} itself.",
            )
    return tuple(attributes)


# Not frozen: every read creates one, and creating a frozen one takes three times as long.
@dataclass(slots=True)
class Find(SingleRequest[Any], Generic[E]):
    """Read one item by its key. If it does not exist, the result is None, or `NotFound` is raised if it is `required`."""

    ref: Ref[E]
    consistent: bool = False
    required: bool = False

    def start(self, setup: Setup) -> Request:
        """The GetItem request."""
        ref = self.ref
        spec = spec_of(ref.entity)
        payload: Payload = {"TableName": setup.names[spec.table], "Key": ref.key}
        if self.consistent:
            payload["ConsistentRead"] = True
        return Request("GetItem", payload, spec.name + ".get", 0, spec)

    def finish(self, request: Request, response: Response, setup: Setup) -> Any:
        """Decode the item. If it does not exist, read it by its legacy keys, and then by its current key again."""
        spec, item = request.about, response.get("Item")
        if item is not None and (spec.ttl is None or not hidden(spec, item, setup)):
            return self._upcast(item, setup) if spec.lookups else spec.decode(item)
        if spec.key.legacy:
            return self._older(setup)
        return self._checked(None)

    def _upcast(self, item: Item, setup: Setup) -> E | Flow[E]:
        """Decode the item, or return a flow that does if its upcasters need other items."""
        spec = spec_of(self.ref.entity)
        return decode_flow(spec, item, setup) if needs_lookup(spec, item) else spec.decode(item)

    def _checked(self, found: E | None) -> E | None:
        if found is None and self.required:
            raise NotFound(f"There is no {self.ref}.")
        return found

    def _older(self, setup: Setup) -> Flow[E | None]:
        spec, ref = spec_of(self.ref.entity), self.ref
        for key in ref.legacy():
            response = yield Request("GetItem", get_payload(setup.name_of(spec.table), key, self.consistent), spec.name + ".get")
            if "Item" in response and not hidden(spec, response["Item"], setup):
                found = yield from read_older(response["Item"], ref, setup)
                if found is not None:
                    return found
        # It may have been moved to its current key after the first read; it never moves back.
        response = yield Request("GetItem", get_payload(setup.name_of(spec.table), self.ref.key, self.consistent), spec.name + ".get")
        item = shown_item(response.get("Item"), ref.entity, setup)
        return self._checked(None if item is None else (yield from decode_flow(spec, item, setup)))

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        yield self.ref.entity, spec_of(self.ref.entity).key, self.ref.values


@dataclass(frozen=True, slots=True)
class Pick(Operation[dict[str, Any]]):
    """Read some attributes of one item."""

    ref: Ref[Any]
    project: tuple[Attr[Any], ...]
    consistent: bool = False

    def flow(self, setup: Setup) -> Flow[dict[str, Any]]:
        """One GetItem with a projection; if the item does not exist, read it by its legacy keys."""
        spec, ref = spec_of(self.ref.entity), self.ref
        item = yield from self._projected(setup, ref.key)
        for key in ref.legacy() if item is None else ():
            # The whole item is needed to check that it is the requested one, and to upcast it.
            response = yield Request("GetItem", get_payload(setup.name_of(spec.table), key, self.consistent), f"{spec.name}.get")
            older = shown_item(response.get("Item"), ref.entity, setup)
            found = None if older is None else (yield from read_older(older, ref, setup))
            if found is not None:
                item = spec.encode(found)
                break
        if item is None and spec.key.legacy:
            # It may have been moved to its current key after the first read.
            item = yield from self._projected(setup, ref.key)
        if item is None:
            raise NotFound(f"There is no {ref}.")
        wanted = {attr.name.split(".")[0].split("[")[0] for attr in self.project}
        return {name: value for name, value in spec.decode_partial(item).items() if name in wanted}

    def _projected(self, setup: Setup, key: Item) -> Flow[Item | None]:
        spec, out = spec_of(self.ref.entity), Placeholders()
        payload = get_payload(setup.name_of(spec.table), key, self.consistent)
        paths = [out.path(attr.path) for attr in self.project]
        if spec.ttl is not None and not any(attr.path[0] == spec.ttl.wire for attr in self.project):
            paths.append(out.name(spec.ttl.wire))
        payload["ProjectionExpression"] = ", ".join(paths)
        response = yield Request("GetItem", payload | out.parameters(), f"{spec.name}.get")
        return shown_item(response.get("Item"), spec.entity, setup)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        yield self.ref.entity, spec_of(self.ref.entity).key, self.ref.values


def decode_flow(spec: Spec[E], item: Item, setup: Setup) -> Flow[E]:
    """Decode an item after reading the items that its upcasters need."""
    return spec.decode((yield from upcast_item(spec, item, setup)))


def get_payload(table: str, key: Item, consistent: bool) -> Payload:
    """The parameters of a GetItem request. Default options are omitted: the engine has a fast path for only a table and a key."""
    payload: Payload = {"TableName": table, "Key": key}
    if consistent:
        payload["ConsistentRead"] = True
    return payload
