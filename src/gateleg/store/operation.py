"""What the verbs make: a value that knows what to ask and how to read the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gateleg.model import Ref, spec_of
from gateleg.model.keys import BoundKey
from gateleg.store.requests import Request, Together
from gateleg.store.setup import Setup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateleg.model import KeyPlan
    from gateleg.store.requests import Flow

R_co = TypeVar("R_co", covariant=True)
E = TypeVar("E", bound=BaseModel)


class Operation(Generic[R_co]):
    """Something to be done by a store, which ends with an `R_co`. Making one does nothing; `Store.run` does."""

    __slots__ = ()

    def flow(self, setup: Setup) -> Flow[R_co]:
        """The steps. What is wrong with the operation itself is raised here, before the first of them."""
        raise NotImplementedError

    def places(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """Which partitions it touches: an entity, the key it uses, and the components that are known."""
        raise NotImplementedError

    def params(self, prefix: str = "") -> dict[str, Any]:
        """The first request, as it would be sent: a dry run."""
        step = next(self.flow(Setup(prefix=prefix)))
        first = step.requests[0] if isinstance(step, Together) else step
        assert isinstance(first, Request)
        return first.payload


class Stream(Operation[None], Generic[R_co]):
    """Something that gives many results, one after another."""

    __slots__ = ()


def locate(target: type[E] | Ref[E] | E, components: Mapping[str, Any]) -> Ref[E]:
    """The item that is meant: an entity and the components of its key, a reference, or an instance."""
    if isinstance(target, type):
        return BoundKey(target, spec_of(target).key)(**components)
    if components:
        raise TypeError(f"{', '.join(components)} given besides a reference or an instance")
    return target if isinstance(target, Ref) else spec_of(type(target)).ref(target)


def shown(ref: Ref[Any]) -> str:
    """A reference in words, for messages."""
    names = spec_of(ref.entity).key.names
    return f"{ref.entity.__name__}({', '.join(f'{name}={str(ref.values.get(name))!r}' for name in names)})"
