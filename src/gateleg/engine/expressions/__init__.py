"""Everything in DynamoDB that is an expression, or a legacy form of one, compiled to Python functions on wire-form items.

`prepare(request, operation)` gives the expressions of a request, checked in DynamoDB's order. Conditions and updates may also be built from
nodes (`condition`, `update`), as PartiQL does.
"""

from gateleg.engine.expressions.conditions import Condition, compile_condition, compile_operand, condition
from gateleg.engine.expressions.forms import FORMS, Form, check_parameters
from gateleg.engine.expressions.keys import KeyCondition
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
from gateleg.engine.expressions.paths import check_disjoint
from gateleg.engine.expressions.prepare import Plan, Prepared, check_legacy, plan_of, prepare
from gateleg.engine.expressions.projections import Projection, projection
from gateleg.engine.expressions.updates import Update, compile_value, update

__all__ = [
    "FORMS",
    "Action",
    "Add",
    "Alias",
    "And",
    "Arithmetic",
    "Between",
    "Call",
    "Compare",
    "Condition",
    "Delete",
    "Form",
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
    "Plan",
    "Prepared",
    "Projection",
    "Remove",
    "Set",
    "Test",
    "Update",
    "Value",
    "Values",
    "check_disjoint",
    "check_legacy",
    "check_parameters",
    "compile_condition",
    "compile_operand",
    "compile_value",
    "condition",
    "plan_of",
    "prepare",
    "projection",
    "update",
]
