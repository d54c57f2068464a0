"""Conditions and update actions, and their rendering as request expressions. Attributes create them: `Job.priority >= 5`."""

from gateleg.model.expressions.actions import Action, Transition, render_actions
from gateleg.model.expressions.nodes import Condition, Operand, Placeholders, all_of, equals, exists, missing

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
