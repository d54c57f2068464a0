"""Conditions and update actions, and their rendering as request expressions. Attributes create them: `Job.priority >= 5`."""

from gateleg.model.expressions.nodes import (
    Action,
    Condition,
    Operand,
    Placeholders,
    Transition,
    all_of,
    equals,
    exists,
    missing,
    render_actions,
)

__all__ = [
    "Action",
    "Condition",
    "Operand",
    "Placeholders",
    "Transition",
    "all_of",
    "equals",
    "exists",
    "missing",
    "render_actions",
]
