"""Upcasters: convert items of older schemas while they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from gateleg.model.codec.wire import Item, Upcaster
from gateleg.model.errors import DeclarationError, DecodeError, LookupNeeded, MissingUpcaster, ModelError
from gateleg.model.layout import layout_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from pydantic import BaseModel

    from gateleg.model.keys.plans import Ref
    from gateleg.model.layout import EntityLayout

__all__ = ["asks_store", "bring_up_steps", "schema_of"]

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
    """Register the step to schema number `to` of an entity declared with `schema=`. Items without a number have schema 1.

    A step that depends on another item names it with `asks`, a function from the old item to a reference. The store reads all that a
    call asks for in batches, each once, and gives the step the entity, or None where there is none or the reference was None:

        @upcaster(Document, to=2, asks=lambda item: Repository.key(repository_id=item["repository_id"]["S"]))
        def into_default_collection(item: Item, repository: Repository | None) -> Item: ...
    """
    spec = layout_of(entity)
    if not 2 <= to <= spec.schema:
        raise DeclarationError(
            f"{spec.name} has schema {spec.schema}; there is no step to {to}.", fix=f"Declare {spec.name} with schema={max(to, 2)}."
        )
    if to in spec.upcasters:
        raise DeclarationError(f"{spec.name} has two steps to schema {to}.", fix="Keep one.")

    def register(step: F) -> F:
        spec.upcasters[to] = step
        if asks is not None:
            spec.lookups[to] = asks
        return step

    return register


def schema_of(item: Item, spec: EntityLayout[Any]) -> int:
    """The schema number of an item."""
    return int(item.get(spec.table.schema, {"N": "1"})["N"])


def asks_store(item: Item, spec: EntityLayout[Any]) -> bool:
    """Whether other items are needed to bring an item up."""
    return bool(spec.lookups) and schema_of(item, spec) < max(spec.lookups)


def bring_up(item: Item, spec: EntityLayout[Any]) -> Item:
    """The item in the entity's present schema. An item from the future is left as it is: unknown attributes survive."""
    steps = bring_up_steps(item, spec)
    try:
        ref = next(steps)
    except StopIteration as end:
        found: Item = end.value
        return found
    raise LookupNeeded(
        f"An item of {spec.name} has schema {schema_of(item, spec)}, and bringing it up needs {ref.entity.__name__} {ref.key}."
    )


def bring_up_steps(item: Item, spec: EntityLayout[Any]) -> Generator[Ref[Any], Any, Item]:
    """The way of an item to the present schema: yields what its upcasters ask for, is sent what there is, and returns the item."""
    number = schema_of(item, spec)
    for step in range(number + 1, spec.schema + 1):
        if step not in spec.upcasters:
            raise MissingUpcaster(
                f"An item of {spec.name} has schema {number} and nothing brings it to {step}.",
                fix=f"Register one with @upcaster({spec.name}, to={step}).",
            )
        if step in spec.lookups:
            ref = _attempt(spec, step, spec.lookups[step], item)
            item = _attempt(spec, step, spec.upcasters[step], item, None if ref is None else (yield ref))
        else:
            item = _attempt(spec, step, spec.upcasters[step], item)
    return item if number >= spec.schema else {**item, spec.table.schema: {"N": str(spec.schema)}}


def _attempt(spec: EntityLayout[Any], step: int, function: Callable[..., T], *arguments: Any) -> T:
    try:
        return function(*arguments)
    except ModelError:
        raise
    except Exception as error:  # whatever the step stumbles over in an item
        raise DecodeError(f"The step of {spec.name} to schema {step} failed on an item: {type(error).__name__}: {error}.") from error
