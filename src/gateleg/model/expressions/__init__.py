"""Conditions and update actions, and their rendering as request expressions. Attributes create them: `Job.priority >= 5`."""

from gateleg.model.expressions.nodes import (
    Condition,
    Operand,
    Placeholders,
    Transition,
    UpdateAction,
    all_of,
    equals,
    exists,
    missing,
    render_actions,
)

__all__ = [
    "Condition",
    "Operand",
    "Placeholders",
    "Transition",
    "UpdateAction",
    "all_of",
    "equals",
    "exists",
    "missing",
    "render_actions",
]
