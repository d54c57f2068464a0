"""Operations: values that know their requests and how to interpret the responses. Every verb builds one."""

from __future__ import annotations

from types import GeneratorType, MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from pydantic import BaseModel

from gateleg.model import Ref, spec_of
from gateleg.model.errors import MissingComponent
from gateleg.model.keys.key_arguments import Presets, key_components
from gateleg.store.errors import BadLimit, KeyGivenTwice
from gateleg.store.flow import Request, Together
from gateleg.store.setup import Setup
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Condition
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.store.flow import Flow, Reply

__all__ = ["Operation", "Stream", "locate"]

R_co = TypeVar("R_co", covariant=True)
E = TypeVar("E", bound=BaseModel)
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Operation(Generic[R_co]):
    """Something that a store can do, with a result of type `R_co`. Nothing is sent until `Store.run`."""

    __slots__ = ()

    def flow(self, setup: Setup) -> Flow[R_co]:
        """The steps. Mistakes in the operation itself are raised here, before the first step."""
        raise NotImplementedError

    def start(self, setup: Setup) -> Request | Flow[R_co]:
        """The first step of a driver: the flow, or the request of a `SingleRequest`."""
        return self.flow(setup)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The partitions that it touches, each as an entity, the key that is used and its known components."""
        raise NotImplementedError

    def params(self, prefix: str = "") -> dict[str, Any]:
        """The first request, as it would be sent: a dry run."""
        step = next(self.flow(Setup(prefix=prefix)))
        first = step.requests[0] if isinstance(step, Together) else step
        assert isinstance(first, Request)
        return first.payload


class SingleRequest(Operation[R_co], Generic[R_co]):
    """An operation that is one request and its answer, as a rule.

    `start` gives the request, or a flow where more is needed. Drivers send the request and give its answer to `finish`, or its refusal
    to `refused`; `flow` is the same in the form of a generator, for operations that are parts of others.
    """

    __slots__ = ()

    def start(self, setup: Setup) -> Request | Flow[R_co]:
        """The single request, or a flow if more are needed. Mistakes in the operation itself are raised here."""
        raise NotImplementedError

    def finish(self, request: Request, reply: Reply, setup: Setup) -> R_co | Flow[R_co]:
        """The result, or the rest of the way to it."""
        raise NotImplementedError

    def refused(self, request: Request, error: ServiceError | Unreachable, setup: Setup) -> Flow[R_co]:
        """What to do if the service refuses the request; by default the error is raised."""
        yield from ()
        raise error

    def flow(self, setup: Setup) -> Flow[R_co]:
        """The steps: one request, and what follows from its answer."""
        first = self.start(setup)
        if not isinstance(first, Request):
            return (yield from first)
        try:
            reply = yield first
        except (ServiceError, Unreachable) as error:
            return (yield from self.refused(first, error, setup))
        result = self.finish(first, reply, setup)
        if isinstance(result, GeneratorType):
            result = yield from result
        return cast("R_co", result)


class Stream(Operation[None], Generic[R_co]):
    """An operation with many results, to be iterated over."""

    __slots__ = ()


#: The options of the verbs that take components of keys. As a keyword, such a name is always the option.
OPTIONS = frozenset(
    {
        "check_version",
        "condition",
        "consistent",
        "cursor",
        "examine",
        "hydrate",
        "known",
        "limit",
        "must_exist",
        "newest_first",
        "page_size",
        "project",
        "returning",
        "write_units",
    }
)


def locate(target: type[E] | Ref[E] | E, conditions: Sequence[Condition] = (), components: Mapping[str, Any] = NOTHING) -> Ref[E]:
    """The reference to an item, from an entity and key components, a reference or an instance."""
    if isinstance(target, type):
        spec = spec_of(target)
        try:
            if conditions:
                components = key_components(target, conditions, components, spec.reachable(spec.key))
            return spec.exact_ref(components) or spec.locate_validated(spec.key, components)
        except MissingComponent as error:
            raise by_position(error) from None
    if components or any(not isinstance(one, Presets) for one in conditions):
        raise _key_given_twice(target, components)
    return target if isinstance(target, Ref) else spec_of(type(target)).ref(target)


def _key_given_twice(target: Ref[Any] | BaseModel, components: Mapping[str, Any]) -> KeyGivenTwice:
    """The error for arguments besides a target that has its key; the advice is for those who meant to change an attribute."""
    entity, kind = (target.entity, "a reference") if isinstance(target, Ref) else (type(target), f"an instance of {type(target).__name__}")
    given = ", ".join(f"{name}=" for name in components) or "Components of a key"
    changed = [name for name in components if name in entity.model_fields and name not in spec_of(entity).key.names]
    fix = f"To change {changed[0]}, patch with the action {entity.__name__}.{changed[0]}.set(value)." if changed else None
    return KeyGivenTwice(f"{given} cannot be given with {kind}, which has its key already.", fix=fix)


def by_position(error: MissingComponent) -> MissingComponent:
    """The error, with advice that works: a component that is called like an option can only be given by position."""
    clash = next((name for name in error.missing if name in OPTIONS), None)
    if clash is None:
        return error
    fix = f"{clash}= is an option of the store's verbs; give the component by position, as {error.entity}.{clash} == value."
    return MissingComponent(error.message, fix=fix, entity=error.entity, missing=error.missing)


def check_limit(limit: int) -> int:
    """A limit that is an int. A text from a query string is the usual mistake."""
    if not isinstance(limit, int):
        raise BadLimit(f"limit must be an int, and is {limit!r}.", fix="Convert it with int().")
    return limit
