"""Plan puts, updates, deletes and queries as DynamoDB requests, with their markers and counters. For stores."""

from gateleg.model.patterns import Collected, CollectionQuery, tag_condition
from gateleg.model.planning.bounds import BoundGuard, guards_of
from gateleg.model.planning.plan_cache import PreparedUpdate
from gateleg.model.planning.puts import plan_check, plan_delete, plan_put
from gateleg.model.planning.updates import changed_attributes, plan_update
from gateleg.model.planning.writes import (
    CounterChange,
    MergedChanges,
    Write,
    as_marked,
    counter_changes,
    holds_expiry,
    is_expired,
    not_expired,
    plan_counters,
    plan_release,
    take_marker,
    upper_bounds,
)

__all__ = [
    "BoundGuard",
    "Collected",
    "CollectionQuery",
    "CounterChange",
    "MergedChanges",
    "PreparedUpdate",
    "Write",
    "as_marked",
    "changed_attributes",
    "counter_changes",
    "guards_of",
    "holds_expiry",
    "is_expired",
    "not_expired",
    "plan_check",
    "plan_counters",
    "plan_delete",
    "plan_put",
    "plan_release",
    "plan_update",
    "tag_condition",
    "take_marker",
    "upper_bounds",
]
