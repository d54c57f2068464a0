"""Render the key condition of a Query from the arguments of an access pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model.attributes.attr import Attr
from gateleg.model.codec.shapes import TimeShape
from gateleg.model.errors import NotAKeyCondition, QueryError
from gateleg.model.expressions.evaluation import compares
from gateleg.model.expressions.nodes import Between, BooleanCall, Comparison, Condition, Constant, Placeholders
from gateleg.model.keys.plans import KeyField, KeyPlan, sharded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model.codec.wire import Item, Value


__all__ = ["render_key_condition"]


@dataclass(frozen=True)
class Bound:
    """A restriction of one sort component: its name, an operator and values."""

    name: str
    operator: str
    values: tuple[Any, ...]


def read_bound(condition: Condition) -> Bound:
    """Convert a condition to a bound; raise `NotAKeyCondition` if it cannot restrict a sort key."""
    operand: Any = None
    bound = Bound("", "", ())
    if isinstance(condition, Comparison) and isinstance(condition.right, Constant) and condition.operator != "<>":
        operand, bound = condition.left, Bound("", condition.operator, (condition.right.value,))
    elif isinstance(condition, Between) and isinstance(condition.low, Constant) and isinstance(condition.high, Constant):
        operand, bound = condition.operand, Bound("", "BETWEEN", (condition.low.value, condition.high.value))
    elif isinstance(condition, BooleanCall) and condition.function == "begins_with" and isinstance(condition.arguments[1], Constant):
        operand, bound = condition.arguments[0], Bound("", "begins_with", (condition.arguments[1].value,))
    if not isinstance(operand, Attr) or len(operand.path) != 1:
        raise NotAKeyCondition("A key can only be restricted by a single comparison of a sort attribute with a value.")
    return Bound(operand.name, bound.operator, bound.values)


def next_components(plan: KeyPlan, values: Mapping[str, Any]) -> list[str]:
    """The sort components without a value, in order."""
    return [name for entry in plan.range for name in entry.names if values.get(name) is None]


def check_order(plan: KeyPlan, values: Mapping[str, Any], bound: Bound | None) -> None:
    """Raise an error if a sort component has a value or bound but one before it does not: keys can only be searched from the left."""
    rest = next_components(plan, values)
    names = [name for entry in plan.range for name in entry.names]
    if rest:
        late = [name for name in names[names.index(rest[0]) :] if values.get(name) is not None]
        if late:
            raise QueryError(
                f"{', '.join(late)} passed without {rest[0]}.", fix=f"Pass {rest[0]} too: the sort key is ordered by {', '.join(names)}."
            )
    if bound is None:
        return
    if not rest or bound.name != rest[0]:
        place = f"The next sort component is {rest[0]}." if rest else "The key is already complete."
        raise NotAKeyCondition(f"A condition on {bound.name} cannot restrict the key here. {place}")
    entry = next(entry for entry in plan.range if bound.name in entry.names)
    shape = entry.source.shape if entry.source is not None else None
    if isinstance(shape, TimeShape) and shape.kind == "S" and not shape.format.ordered and bound.operator != "=":
        raise NotAKeyCondition(
            f"{bound.name} is stored as {shape.format.directives!r}, whose texts do not sort chronologically.", fix="Compare with ==."
        )
    if entry.text is not None and bound.operator not in ("=", "begins_with"):
        at = entry.names.index(bound.name)
        component = entry.text.components[at]
        last = at + 1 == len(entry.names) and not entry.text.template.literals[at + 1]
        if not component.ordered or (component.width is None and not last):
            raise NotAKeyCondition(
                f"{bound.name} has no fixed width in {entry.text.template.text!r}, so keys do not sort by it.",
                fix="Compare with ==, or give the component a width.",
            )


def render_key_condition(plan: KeyPlan, values: Mapping[str, Any], bound: Bound | None, out: Placeholders, shard: int | None = None) -> str:
    """The key condition expression."""
    clauses: list[str] = []
    for entry in plan.hash:
        value = entry.value(values)
        if value is None:
            raise QueryError(f"The hash of {plan.index.name or 'the table'} needs {', '.join(entry.names)}.", fix="Pass all of them.")
        if shard is not None and entry is plan.hash[0]:
            value = {"S": sharded(value["S"], shard)}
        clauses.append(f"{out.name(entry.attribute)} = {out.value(value)}")
    for entry in plan.range:
        operator, *operands = _range_clause(entry, values, bound)
        if operands:
            clauses.append(_clause(out, entry.attribute, operator, operands))
        if operator != "=" or not operands:
            break
    return " AND ".join(clauses)


def in_key_range(plan: KeyPlan, values: Mapping[str, Any], bound: Bound | None, item: Item) -> bool:
    """Whether the sort key of a wire item satisfies the key condition of these values and this bound."""
    for entry in plan.range:
        operator, *operands = _range_clause(entry, values, bound)
        found = item.get(entry.attribute)
        if found is None or (operands and not compares(found, operator, *operands)):
            return False
        if operator != "=" or not operands:
            break
    return True


def _range_clause(entry: KeyField, values: Mapping[str, Any], bound: Bound | None) -> list[Any]:
    """The operator and wire operands for one range attribute; no operands if it is not restricted."""
    if entry.text is None:
        assert entry.source is not None
        if values.get(entry.source.name) is not None:
            return ["=", entry.source.pack(values[entry.source.name])]
        if bound is None or bound.name != entry.source.name:
            return [""]
        if bound.operator == "begins_with":
            return ["begins_with", {"S": bound.values[0]}]
        return [bound.operator, *(entry.source.pack(value) for value in bound.values)]
    lead, count = entry.text.build_prefix(values)
    if count == len(entry.names):
        return ["=", {"S": lead}]
    if bound is not None and bound.name == entry.names[count]:
        operator, *texts = entry.text.range_of(lead, count, bound.operator, bound.values)
        return [operator, *({"S": text} for text in texts)]
    return ["begins_with", {"S": lead}] if lead else [""]


def _clause(out: Placeholders, attribute: str, operator: str, operands: list[Value]) -> str:
    name = out.name(attribute)
    values = [out.value(operand) for operand in operands]
    if operator == "BETWEEN":
        return f"{name} BETWEEN {values[0]} AND {values[1]}"
    if operator == "begins_with":
        return f"begins_with({name}, {values[0]})"
    return f"{name} {operator} {values[0]}"
