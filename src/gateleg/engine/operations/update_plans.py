"""Update plans: validate once what the updates of one statement have in common.

A statement is any object that identifies an UpdateItem apart from its key and values. Stores pass the prepared update that the request
was bound from.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from gateleg.engine.expressions import CompiledUpdate, Prepared, RequestPlan, request_plan
from gateleg.engine.layout import Layout

#: Plans to cache per table.
_MAX_CACHED_PLANS = 256


@dataclass(frozen=True, slots=True)
class ValidatedUpdate:
    """The validated part of all updates of one statement."""

    plan: RequestPlan
    #: placeholders whose values become index keys, with the types of those keys
    index_key_types: tuple[tuple[str, str], ...]

    def prepared(self, given: dict[str, Any]) -> Prepared | None:
        """The expressions with these values; None if the values need the full checks."""
        found = self.plan.fill(given)
        if found is not None:
            values = found.values
            for placeholder, type_ in self.index_key_types:
                if type_ not in values[placeholder]:
                    return None
        return found


def cached_plan(layout: Layout, statement: Hashable) -> ValidatedUpdate | None:
    """The plan of a statement, if there is one."""
    found: ValidatedUpdate | None = layout.update_plans.get(statement)
    return found


def cache_plan(layout: Layout, statement: Hashable, request: dict[str, Any], prepared: Prepared) -> None:
    """Derive the plan of a statement from a valid request."""
    if statement in layout.update_plans:
        return
    index_key_types = None if prepared.update is None else _index_key_types(layout, prepared.update)
    plan = None if index_key_types is None or not prepared.values else request_plan(request, "UpdateItem")
    if index_key_types is None or plan is None:
        return
    if len(layout.update_plans) >= _MAX_CACHED_PLANS:
        layout.update_plans.clear()
    layout.update_plans[statement] = ValidatedUpdate(plan, index_key_types)


def _index_key_types(layout: Layout, update: CompiledUpdate) -> tuple[tuple[str, str], ...] | None:
    """The placeholders that an update writes to index keys, with their types; None if it writes anything else to an index key."""
    found = []
    for name, type_ in layout.affected_indexes(update.attributes).keys:
        step = update.by_attribute.get(name)
        if step is None or (step.placeholder is None and step.operand is not None):
            return None
        if step.placeholder is not None:
            found.append((step.placeholder, type_))
    return tuple(found)
