"""Update plans: what updates of one statement have in common is checked once.

A statement is an object that stands for all of an UpdateItem but its key and its values. Stores give the prepared update that a request
was bound from.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from gateleg.engine.expressions import Plan, Prepared, Update, plan_of
from gateleg.engine.layout import Layout

#: How many statements are kept for a table.
_KEPT = 256


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    """What is known of the updates of one statement."""

    plan: Plan
    #: Placeholders of values that go into keys of indexes, with the types that these have.
    demands: tuple[tuple[str, str], ...]

    def prepared(self, given: dict[str, Any]) -> Prepared | None:
        """The expressions with these values; none where the values need a closer look."""
        found = self.plan.fill(given)
        if found is not None:
            values = found.values
            for placeholder, type_ in self.demands:
                if type_ not in values[placeholder]:
                    return None
        return found


def cached_plan(layout: Layout, statement: Hashable) -> UpdatePlan | None:
    """What is known of a statement."""
    found: UpdatePlan | None = layout.update_plans.get(statement)
    return found


def cache_plan(layout: Layout, statement: Hashable, request: dict[str, Any], prepared: Prepared) -> None:
    """Take a request that was found proper as an example of its statement."""
    if statement in layout.update_plans:
        return
    demands = None if prepared.update is None else _demands(layout, prepared.update)
    plan = None if demands is None or not prepared.values else plan_of(request, "UpdateItem")
    if demands is None or plan is None:
        return
    if len(layout.update_plans) >= _KEPT:
        layout.update_plans.clear()
    layout.update_plans[statement] = UpdatePlan(plan, demands)


def _demands(layout: Layout, update: Update) -> tuple[tuple[str, str], ...] | None:
    """What an update demands of values for the sake of indexes; none where it writes something else than these values into their keys."""
    found = []
    for name, type_ in layout.touched(update.attributes).keys:
        step = update.whole.get(name)
        if step is None or (step.given is None and step.operand is not None):
            return None
        if step.given is not None:
            found.append((step.given, type_))
    return tuple(found)
