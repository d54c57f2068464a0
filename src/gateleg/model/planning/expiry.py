"""TTL: whether an item has expired.

DynamoDB deletes expired items when it finds the time, which may take days; an embedded store does so within a second. For both to behave
alike, an expired item counts as absent from the moment its TTL attribute names.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from gateleg.model.codec.wire import epoch_text
from gateleg.model.expressions.nodes import Comparison, Condition, Constant, Not, Reference

if TYPE_CHECKING:
    from datetime import datetime

    from gateleg.model.codec.wire import Item
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.model.spec import Spec


def is_expired(spec: Spec[Any], item: Item, now: datetime) -> bool:
    """Whether an item's time is over. One without a time, or with something else in its place, does not expire."""
    if spec.ttl is None:
        return False
    until = item.get(spec.ttl.wire, {}).get("N")
    return until is not None and Decimal(until) <= int(epoch_text(now))


def expired(spec: Spec[Any], now: datetime) -> Condition | None:
    """The same as a condition; None for an entity whose items do not expire."""
    if spec.ttl is None:
        return None
    return Comparison(Reference((spec.ttl.wire,)), "<=", Constant(now, {"N": epoch_text(now)}))


def not_expired(spec: Spec[Any], plan: KeyPlan, now: datetime) -> Condition | None:
    """A filter for the queries of an index; None where the TTL attribute is a key of it, which filters must not name."""
    over = expired(spec, now)
    assert spec.ttl is None or over is not None
    return None if over is None or spec.ttl is None or spec.ttl.wire in plan.index.attributes else Not(over)


def holds_expiry(spec: Spec[Any], plan: KeyPlan) -> bool:
    """Whether a query of an index sees when its items expire."""
    if spec.ttl is None:
        return True
    index, wire = plan.index, spec.ttl.wire
    return index.project == "all" or wire in index.project or wire in (*index.attributes, *spec.table.attributes)
