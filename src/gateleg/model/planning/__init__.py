"""Plan puts, updates, deletes and queries as DynamoDB requests, with their markers and counters. For stores."""

from gateleg.model.planning.bounds import BoundGuard, guards_of
from gateleg.model.planning.collections import Collected, CollectionQuery
from gateleg.model.planning.counter_changes import CounterChange, Joined, counter_changes, upper_bounds
from gateleg.model.planning.expiry import holds_expiry, is_expired, not_expired
from gateleg.model.planning.prepared_update import PreparedUpdate
from gateleg.model.planning.queries import tag_condition
from gateleg.model.planning.updates import changed_attributes, plan_update
from gateleg.model.planning.writes import Write, as_marked, plan_check, plan_delete, plan_put, plan_release, take_marker

__all__ = [
    "BoundGuard",
    "Collected",
    "CollectionQuery",
    "CounterChange",
    "Joined",
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
    "plan_delete",
    "plan_put",
    "plan_release",
    "plan_update",
    "tag_condition",
    "take_marker",
    "upper_bounds",
]
