"""DynamoDB's expressions and their legacy forms, compiled to Python functions on wire items.

`prepare(request, operation)` gives the expressions of a request, checked in DynamoDB's order. Conditions and updates may also be built from
nodes (`condition`, `update`), as PartiQL does.
"""

from gateleg.engine.expressions.conditions import CompiledCondition, compile_condition, compile_operand, condition
from gateleg.engine.expressions.key_conditions import KeyCondition
from gateleg.engine.expressions.nodes import (
    Action,
    Add,
    Alias,
    And,
    Arithmetic,
    Between,
    Call,
    Compare,
    Delete,
    Getter,
    In,
    Item,
    Literal,
    Names,
    Node,
    Not,
    Operand,
    Or,
    Path,
    Remove,
    Set,
    Test,
    Value,
    Values,
)
from gateleg.engine.expressions.parameters import EXPRESSION_PARAMETERS, ExpressionParameters, check_parameters
from gateleg.engine.expressions.paths import check_disjoint
from gateleg.engine.expressions.prepare import Prepared, RequestPlan, check_legacy, prepare, request_plan
from gateleg.engine.expressions.projections import Projection, projection
from gateleg.engine.expressions.updates import CompiledUpdate, compile_value, update

__all__ = [
    "EXPRESSION_PARAMETERS",
    "Action",
    "Add",
    "Alias",
    "And",
    "Arithmetic",
    "Between",
    "Call",
    "Compare",
    "CompiledCondition",
    "CompiledUpdate",
    "Delete",
    "ExpressionParameters",
    "Getter",
    "In",
    "Item",
    "KeyCondition",
    "Literal",
    "Names",
    "Node",
    "Not",
    "Operand",
    "Or",
    "Path",
    "Prepared",
    "Projection",
    "Remove",
    "RequestPlan",
    "Set",
    "Test",
    "Value",
    "Values",
    "check_disjoint",
    "check_legacy",
    "check_parameters",
    "compile_condition",
    "compile_operand",
    "compile_value",
    "condition",
    "prepare",
    "projection",
    "request_plan",
    "update",
]
