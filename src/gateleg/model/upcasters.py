"""Upcasters: functions that convert items of older schemas while they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from gateleg.model.errors import DeclarationError, DecodeError, LookupNeeded, MissingUpcaster, ModelError
from gateleg.model.keys import spec_of
from gateleg.model.wire import Item, Upcaster

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from pydantic import BaseModel

    from gateleg.model.keys import Ref
    from gateleg.model.spec import Spec

__all__ = ["schema_of", "upcast_steps", "upcasting_needs_lookup"]

F = TypeVar("F", bound=Upcaster)
P = TypeVar("P", bound="BaseModel")
T = TypeVar("T")


@overload
def upcaster(entity: type[BaseModel], *, to: int) -> Callable[[F], F]: ...
@overload
def upcaster(
    entity: type[BaseModel], *, to: int, asks: Callable[[Item], Ref[P] | None]
) -> Callable[[Callable[[Item, P | None], Item]], Callable[[Item, P | None], Item]]: ...
def upcaster(entity: type[BaseModel], *, to: int, asks: Callable[[Item], Ref[Any] | None] | None = None) -> Callable[..., Any]:
    """Register a function that converts a wire item to schema number `to` of an entity declared with `schema=`.

    The function gets an item of schema `to - 1` and returns a new one. Items without a schema number have schema 1.

    If the conversion needs another item, `asks` is a function from the old item to the other item's reference, or None. The store reads
    the referenced items in batches, each once, and passes the entity to the conversion; it passes None if the item does not exist:

        @upcaster(Document, to=2, asks=lambda item: Repository.key(repository_id=item["repository_id"]["S"]))
        def into_default_collection(item: Item, repository: Repository | None) -> Item: ...

    Raises `DeclarationError` if the entity has no schema `to`, or already has an upcaster to it.
    """
    spec = spec_of(entity)
    if not 2 <= to <= spec.schema:
        raise DeclarationError(
            f"{spec.name} has schema {spec.schema}, so it cannot have an upcaster to schema {to}.",
            fix=f"Declare {spec.name} with schema={max(to, 2)}.",
        )
    if to in spec.upcasters:
        raise DeclarationError(f"{spec.name} has two upcasters to schema {to}.", fix="Keep one.")

    def register(step: F) -> F:
        spec.upcasters[to] = step
        if asks is not None:
            spec.lookups[to] = asks
        return step

    return register


def schema_of(item: Item, spec: Spec[Any]) -> int:
    """The schema number of an item."""
    return int(item.get(spec.table.schema, {"N": "1"})["N"])


def upcasting_needs_lookup(item: Item, spec: Spec[Any]) -> bool:
    """Whether upcasting an item needs other items."""
    return bool(spec.lookups) and schema_of(item, spec) < max(spec.lookups)


def upcast(item: Item, spec: Spec[Any]) -> Item:
    """Upcast an item to the entity's current schema; raise `LookupNeeded` if that needs another item.

    An item of a newer schema is returned unchanged; its unknown attributes are preserved.
    """
    steps = upcast_steps(item, spec)
    try:
        ref = next(steps)
    except StopIteration as end:
        found: Item = end.value
        return found
    raise LookupNeeded(f"An item of {spec.name} has schema {schema_of(item, spec)}; upcasting it needs {ref.entity.__name__} {ref.key}.")


def upcast_steps(item: Item, spec: Spec[Any]) -> Generator[Ref[Any], Any, Item]:
    """Upcast an item: yields references to items that its upcasters need, expects each entity (or None) sent back, and returns the item."""
    number = schema_of(item, spec)
    for step in range(number + 1, spec.schema + 1):
        if step not in spec.upcasters:
            raise MissingUpcaster(
                f"An item of {spec.name} has schema {number}, and no upcaster converts it to schema {step}.",
                fix=f"Register one with @upcaster({spec.name}, to={step}).",
            )
        if step in spec.lookups:
            ref = _attempt(spec, step, spec.lookups[step], item)
            item = _attempt(spec, step, spec.upcasters[step], item, None if ref is None else (yield ref))
        else:
            item = _attempt(spec, step, spec.upcasters[step], item)
    return item if number >= spec.schema else {**item, spec.table.schema: {"N": str(spec.schema)}}


def _attempt(spec: Spec[Any], step: int, function: Callable[..., T], *arguments: Any) -> T:
    try:
        return function(*arguments)
    except ModelError:
        raise
    except Exception as error:  # an application's function may raise anything
        raise DecodeError(f"The upcaster of {spec.name} to schema {step} failed: {type(error).__name__}: {error}.") from error
