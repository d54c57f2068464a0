"""A prepared update: an UpdateItem with finished expressions, and holes for the values that differ from call to call.

Planning an update takes most of the time of building its request, and its result is the same for all updates of one kind, so it is done
once. Prepared updates are used in three places:

- The plan cache of an entity (`plan_cache.py`) keeps one for each kind of patch, and binds new values to it.
- A queue binds its own for claims and completions, without looking up their kind (`gateleg.store.operations.prepared_patch`).
- The engine recognises requests that were bound from the same prepared update, and validates only their keys and values
  (`gateleg.engine.operations.update_plans`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.model.codec.wire import Item, Value

#: Where a value comes from: a name in a mapping, or a position in a list.
Hole = str | int


@dataclass(frozen=True, eq=False, slots=True)
class PreparedUpdate:
    """An update without its key and without the values that differ from call to call. Compared by identity."""

    #: UpdateExpression and, if the update has one, ConditionExpression
    expressions: Mapping[str, str]
    #: attribute names by placeholder
    names: Mapping[str, str]
    #: all values by placeholder; the values of holes are examples
    values: Mapping[str, Value]
    #: the placeholders to fill in, and where their values come from
    holes: tuple[tuple[str, Hole], ...]

    @classmethod
    def of(cls, parameters: Mapping[str, Any], holes: tuple[tuple[str, Hole], ...]) -> PreparedUpdate:
        """Make a prepared update from the parameters of one update."""
        expressions = {name: parameters[name] for name in ("UpdateExpression", "ConditionExpression") if name in parameters}
        names, values = parameters.get("ExpressionAttributeNames", {}), parameters.get("ExpressionAttributeValues", {})
        return cls(expressions, dict(names), dict(values), holes)

    @classmethod
    def from_example(cls, parameters: Mapping[str, Any], examples: Mapping[str, Value]) -> PreparedUpdate:
        """Make a prepared update from one that was planned with named example values, each different from all other values of the plan."""
        values = parameters["ExpressionAttributeValues"]
        holes = tuple(
            (placeholder, name) for placeholder, value in values.items() for name, example in examples.items() if value == example
        )
        missed = examples.keys() - {name for _, name in holes}
        if missed:
            raise ValueError(f"The planned update does not contain the example of {', '.join(sorted(missed))}.")
        return cls.of(parameters, holes)

    def bind(self, key: Item, bound: Mapping[str, Value] | Sequence[Value]) -> dict[str, Any]:
        """The parameters of the update of one item. `bound` is a mapping if the holes have names, a list if they have positions."""
        parameters: dict[str, Any] = {"Key": key, **self.expressions}
        if self.names:
            parameters["ExpressionAttributeNames"] = dict(self.names)
        if self.values:
            values = parameters["ExpressionAttributeValues"] = dict(self.values)
            for placeholder, hole in self.holes:
                values[placeholder] = bound[hole]  # type: ignore[index]
        return parameters
