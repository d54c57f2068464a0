"""The legacy parameters: Expected, QueryFilter, ScanFilter, KeyConditions, AttributeUpdates and AttributesToGet."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from gateleg.engine.errors import invalid_parameter, validation
from gateleg.engine.expressions import updates
from gateleg.engine.expressions.conditions import SCALARS, TEXTS, CompiledCondition, condition, greater, type_of
from gateleg.engine.expressions.nodes import (
    And,
    Between,
    Call,
    Compare,
    In,
    Item,
    Literal,
    Node,
    Not,
    Or,
    Path,
    Values,
    check_attribute_names,
)
from gateleg.engine.expressions.rules import SETS, KeyCondition
from gateleg.engine.expressions.updates import Projection, projection
from gateleg.engine.values import validate

Wire = dict[str, Any]

_ENUM = "IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS"

#: Number of operands by operator; IN takes one or more.
_COUNTS: Final = {
    "NULL": 0,
    "NOT_NULL": 0,
    "EQ": 1,
    "NE": 1,
    "LE": 1,
    "LT": 1,
    "GE": 1,
    "GT": 1,
    "CONTAINS": 1,
    "NOT_CONTAINS": 1,
    "BEGINS_WITH": 1,
    "BETWEEN": 2,
}
#: Accepted types by operator, unless all are accepted.
_TYPES: Final = {
    "LE": SCALARS,
    "LT": SCALARS,
    "GE": SCALARS,
    "GT": SCALARS,
    "CONTAINS": SCALARS,
    "NOT_CONTAINS": SCALARS,
    "IN": SCALARS,
    "BETWEEN": SCALARS,
    "BEGINS_WITH": TEXTS,
}
_COMPARATORS: Final = {"EQ": "=", "NE": "<>", "LE": "<=", "LT": "<", "GE": ">=", "GT": ">"}


def read_expected(expected: Mapping[str, Any], operator: str | None) -> CompiledCondition | None:
    """The condition of Expected; None if it is empty."""
    check_attribute_names(expected)
    return _joined([_expectation(name, entry) for name, entry in expected.items()], operator)


def read_filter(member: str, conditions: Mapping[str, Any], operator: str | None) -> CompiledCondition | None:
    """The condition of QueryFilter or ScanFilter; `member` is the parameter's name."""
    check_attribute_names(conditions)
    nodes = []
    for name, entry in conditions.items():
        comparison, operands = _condition(member, name, entry)
        nodes.append(_node(name, comparison, operands))
    return _joined(nodes, operator)


def read_key_conditions(conditions: Mapping[str, Any]) -> KeyCondition:
    """The key condition of KeyConditions."""
    check_attribute_names(conditions)
    return KeyCondition({name: _condition("KeyConditions", name, entry) for name, entry in conditions.items()})


def read_attributes_to_get(names: list[str]) -> Projection:
    """The projection of AttributesToGet."""
    check_attribute_names(names)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise invalid_parameter(f"Duplicate value in attribute name: {name}")
        seen.add(name)
    return projection((name,) for name in names)


def _joined(nodes: list[Node], operator: str | None) -> CompiledCondition | None:
    if not nodes:
        return None
    if len(nodes) == 1:
        return condition(nodes[0])
    return condition(Or(tuple(nodes)) if operator == "OR" else And(tuple(nodes)))


def _node(name: str, operator: str, operands: list[Wire]) -> Node:
    """A legacy comparison as a condition."""
    path = Path((name,))
    values = tuple(Literal(operand) for operand in operands)
    if operator in _COMPARATORS:
        return Compare(_COMPARATORS[operator], path, values[0])
    if operator == "BETWEEN":
        return Between(path, *values)
    if operator == "IN":
        return In(path, values)
    if operator == "NULL":
        return Call("attribute_not_exists", (path,))
    exists = Call("attribute_exists", (path,))
    if operator == "NOT_NULL":
        return exists
    if operator == "NOT_CONTAINS":
        # Unlike NOT, this is false for a missing attribute.
        return And((exists, Not(Call("contains", (path, *values)))))
    return Call("begins_with" if operator == "BEGINS_WITH" else "contains", (path, *values))


def _condition(member: str, name: str, entry: Mapping[str, Any]) -> tuple[str, list[Wire]]:
    """The validated operator and operands of a Condition structure."""
    place = f"{member[0].lower()}{member[1:]}.{name}.member.comparisonOperator"
    operator = _known_operator(entry.get("ComparisonOperator"), place)
    operands = [validate(value) for value in entry.get("AttributeValueList") or []]
    _check_operands(operator, operands)
    return operator, operands


def _known_operator(operator: str | None, place: str) -> str:
    if operator is None:
        raise validation(f"1 validation error detected: Value null at '{place}' failed to satisfy constraint: Member must not be null")
    if operator != "IN" and operator not in _COUNTS:
        raise validation(
            f"1 validation error detected: Value '{operator}' at '{place}' failed to satisfy constraint: "
            f"Member must satisfy enum value set: [{_ENUM}]"
        )
    return operator


def _check_operands(operator: str, operands: list[Wire]) -> None:
    if not operands if operator == "IN" else len(operands) != _COUNTS[operator]:
        raise invalid_parameter(f"Invalid number of argument(s) for the {operator} ComparisonOperator")
    types = [type_of(operand) for operand in operands]
    if len(set(types)) > 1:
        raise invalid_parameter("AttributeValues inside AttributeValueList must be of same type")
    if types and operator in _TYPES and types[0] not in _TYPES[operator]:
        raise invalid_parameter(f"ComparisonOperator {operator} is not valid for {types[0]} AttributeValue type")
    if operator == "BETWEEN" and greater(*operands):
        raise validation("The BETWEEN condition was provided a range where the lower bound is greater than the upper bound")


def _expectation(name: str, entry: Mapping[str, Any]) -> Node:
    """The condition of one entry of Expected: a comparison, a required value, or a required absence."""
    value, listed, operator = (entry.get(member) for member in ("Value", "AttributeValueList", "ComparisonOperator"))
    if value is not None and listed is not None:
        raise invalid_parameter(f"Value and AttributeValueList cannot be used together for Attribute: {name}")
    if operator is not None:
        return _compared(name, entry)
    if listed is not None:
        raise invalid_parameter(f"AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}")
    exists = entry.get("Exists")
    if exists is False:
        if value is not None:
            raise invalid_parameter(f"Value cannot be used when Exists is false for Attribute: {name}")
        return _node(name, "NULL", [])
    if value is None:
        stated = "null" if exists is None else "true"
        raise invalid_parameter(f"Value must be provided when Exists is {stated} for Attribute: {name}")
    return _node(name, "EQ", [validate(value)])


def _compared(name: str, entry: Mapping[str, Any]) -> Node:
    operator = _known_operator(entry.get("ComparisonOperator"), f"expected.{name}.member.comparisonOperator")
    if entry.get("Exists") is not None:
        raise invalid_parameter(f"Exists and ComparisonOperator cannot be used together for Attribute: {name}")
    value, listed = entry.get("Value"), entry.get("AttributeValueList")
    if value is None and listed is None and operator not in ("NULL", "NOT_NULL"):
        raise invalid_parameter(f"Value or AttributeValueList must be used with ComparisonOperator: {operator} for Attribute: {name}")
    operands = [validate(part) for part in (listed if listed is not None else [] if value is None else [value])]
    _check_operands(operator, operands)
    return _node(name, operator, operands)


def read_attribute_updates(attributes: Mapping[str, Any]) -> updates.CompiledUpdate:
    """The update of AttributeUpdates; even an empty one creates the item."""
    check_attribute_names(attributes)
    steps = tuple(_attribute_step(name, entry) for name, entry in attributes.items())
    creates_item = not attributes or any((entry.get("Action") or "PUT") != "DELETE" for entry in attributes.values())
    return updates.build_update(steps, creates_item=creates_item)


def _attribute_step(name: str, entry: Mapping[str, Any]) -> updates.UpdateStep:
    action = entry.get("Action") or "PUT"
    if action not in _WRITES:
        raise validation(
            f"1 validation error detected: Value '{action}' at 'attributeUpdates.{name}.member.action' failed to satisfy constraint: "
            "Member must satisfy enum value set: [ADD, PUT, DELETE]"
        )
    value = None if entry.get("Value") is None else validate(entry["Value"])
    if value is None:
        if action != "DELETE":
            raise invalid_parameter("Only DELETE action is allowed when no attribute value is specified")
        return updates.UpdateStep((name,), None, updates.put)
    tag = type_of(value)
    if action == "DELETE" and tag not in SETS:
        raise invalid_parameter(f"DELETE action with value is not supported for the type {tag}")
    if action == "ADD" and tag not in SETS | {"N", "L"}:
        raise invalid_parameter(f"ADD action is not supported for the type {tag}")
    return updates.UpdateStep((name,), _constant(value), _WRITES[action])


def _constant(value: Wire) -> Callable[[Item, Values], Wire]:
    return lambda item, values: value


def _checked(write: updates.Write) -> updates.Write:
    """A write that refuses an attribute of another type with the legacy API's message."""

    def checked(old: Wire | None, operand: Wire) -> Wire | None:
        if old is not None and type_of(operand) not in old:
            raise validation("Type mismatch for attribute to update")
        return write(old, operand)

    return checked


def _add(old: Wire | None, operand: Wire) -> Wire:
    """ADD of the legacy API, which also appends to lists."""
    if old is not None and "L" in operand:
        return {"L": old["L"] + operand["L"]}
    return updates.add(old, operand)


_WRITES: Final[dict[str, updates.Write]] = {"PUT": updates.put, "ADD": _checked(_add), "DELETE": _checked(updates.delete)}
