"""TTL: whether an item has expired.

DynamoDB deletes an expired item within days, an embedded store within a second. For both to behave alike, a store treats an item as
missing from the moment that it expires.
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
    """Whether an item has expired. An item whose TTL attribute is missing or not a number never expires."""
    if spec.ttl is None:
        return False
    until = item.get(spec.ttl.wire, {}).get("N")
    return until is not None and Decimal(until) <= int(epoch_text(now))


def expired(spec: Spec[Any], now: datetime) -> Condition | None:
    """The condition that an item has expired; None for an entity without a TTL attribute."""
    if spec.ttl is None:
        return None
    return Comparison(Reference((spec.ttl.wire,)), "<=", Constant(now, {"N": epoch_text(now)}))


def not_expired(spec: Spec[Any], plan: KeyPlan, now: datetime) -> Condition | None:
    """A filter that drops expired items from a query; None if the TTL attribute is a key of the index, which filters must not use."""
    over = expired(spec, now)
    assert spec.ttl is None or over is not None
    return None if over is None or spec.ttl is None or spec.ttl.wire in plan.index.attributes else Not(over)


def holds_expiry(spec: Spec[Any], plan: KeyPlan) -> bool:
    """Whether an index contains the TTL attribute; True for an entity without one."""
    if spec.ttl is None:
        return True
    index, wire = plan.index, spec.ttl.wire
    return index.project == "all" or wire in index.project or wire in (*index.attributes, *spec.table.attributes)
