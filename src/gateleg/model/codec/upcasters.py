"""Upcasters: convert items of older schemas while they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from gateleg.model.codec.wire import Item, Upcaster
from gateleg.model.errors import DeclarationError, DecodeError, MissingUpcaster, ModelError
from gateleg.model.layout import layout_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from gateleg.model.layout import EntityLayout

F = TypeVar("F", bound=Upcaster)


def upcaster(entity: type[BaseModel], *, to: int) -> Callable[[F], F]:
    """Register the step to schema number `to` of an entity declared with `schema=`. Items without a number have schema 1."""
    spec = layout_of(entity)
    if not 2 <= to <= spec.schema:
        raise DeclarationError(
            f"{spec.name} has schema {spec.schema}; there is no step to {to}.", fix=f"Declare {spec.name} with schema={max(to, 2)}."
        )
    if to in spec.upcasters:
        raise DeclarationError(f"{spec.name} has two steps to schema {to}.", fix="Keep one.")

    def register(step: F) -> F:
        spec.upcasters[to] = step
        return step

    return register


def schema_of(item: Item, spec: EntityLayout[Any]) -> int:
    """The schema number of an item."""
    return int(item.get(spec.table.schema, {"N": "1"})["N"])


def bring_up(item: Item, spec: EntityLayout[Any]) -> Item:
    """The item in the entity's present schema. An item from the future is left as it is: unknown attributes survive."""
    number = schema_of(item, spec)
    for step in range(number + 1, spec.schema + 1):
        if step not in spec.upcasters:
            raise MissingUpcaster(
                f"An item of {spec.name} has schema {number} and nothing brings it to {step}.",
                fix=f"Register one with @upcaster({spec.name}, to={step}).",
            )
        item = _taken(spec, step, item)
    return item if number >= spec.schema else {**item, spec.table.schema: {"N": str(spec.schema)}}


def _taken(spec: EntityLayout[Any], step: int, item: Item) -> Item:
    try:
        return spec.upcasters[step](item)
    except ModelError:
        raise
    except Exception as error:  # whatever the step stumbles over in an item
        raise DecodeError(f"The step of {spec.name} to schema {step} failed on an item: {type(error).__name__}: {error}.") from error
