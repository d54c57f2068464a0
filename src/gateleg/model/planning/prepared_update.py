"""A prepared update: an UpdateItem whose expressions are worked out, with holes where the values go that differ from call to call.

What follows from an update (which index keys are rewritten, what the database must check) is the same for all updates of one kind, and
takes most of the time of making its request. So it is planned once. Three use the result:

- The plan cache of an entity (`plan_cache.py`) keeps one for each kind of patch that a program makes, and binds the next one of the kind.
- A queue binds its own for claims and completions, whose kind need not be found out (`gateleg.store.operations.prepared_patch`).
- The engine recognises a request by the prepared update that it was bound from, and checks only its key and its values
  (`gateleg.engine.operations.update_plans`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.model.codec.wire import Item, Value

#: What a value is found by: its name in a mapping, or its position in a list.
Hole = str | int


@dataclass(frozen=True, eq=False, slots=True)
class PreparedUpdate:
    """An update without its key and without the values that differ from call to call. Two are the same only if they are one object."""

    #: UpdateExpression and, where it has one, ConditionExpression
    expressions: Mapping[str, str]
    #: attribute names by placeholder
    names: Mapping[str, str]
    #: all values by placeholder; those of holes are examples
    values: Mapping[str, Value]
    #: placeholders, with what their values are found by
    holes: tuple[tuple[str, Hole], ...]

    @classmethod
    def of(cls, parameters: Mapping[str, Any], holes: tuple[tuple[str, Hole], ...]) -> PreparedUpdate:
        """Prepare further updates from the parameters of one."""
        expressions = {name: parameters[name] for name in ("UpdateExpression", "ConditionExpression") if name in parameters}
        names, values = parameters.get("ExpressionAttributeNames", {}), parameters.get("ExpressionAttributeValues", {})
        return cls(expressions, dict(names), dict(values), holes)

    @classmethod
    def from_example(cls, parameters: Mapping[str, Any], examples: Mapping[str, Value]) -> PreparedUpdate:
        """Prepare updates from one that was planned with example values, by name. Each must differ from all other values of the plan."""
        values = parameters["ExpressionAttributeValues"]
        holes = tuple(
            (placeholder, name) for placeholder, value in values.items() for name, example in examples.items() if value == example
        )
        missed = examples.keys() - {name for _, name in holes}
        if missed:
            raise ValueError(f"The plan has no place for {', '.join(sorted(missed))}.")
        return cls.of(parameters, holes)

    def bind(self, key: Item, given: Mapping[str, Value] | Sequence[Value]) -> dict[str, Any]:
        """The parameters of the update of one item: by a mapping where the holes have names, by a list where they have positions."""
        parameters: dict[str, Any] = {"Key": key, **self.expressions}
        if self.names:
            parameters["ExpressionAttributeNames"] = dict(self.names)
        if self.values:
            values = parameters["ExpressionAttributeValues"] = dict(self.values)
            for placeholder, hole in self.holes:
                values[placeholder] = given[hole]  # type: ignore[index]
        return parameters
