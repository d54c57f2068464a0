"""Writes as values: the parameters of PutItem, UpdateItem and DeleteItem, and the other writes of the same transaction.

Also the conditions on a stored item that several kinds of writes need: on its schema, its version and its expiry. DynamoDB deletes an
expired item within days, an embedded store within a second. For both to behave alike, a store treats an item as missing from the moment
that it expires.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from gateleg.model.expressions.nodes import Comparison, Condition, Constant, Not, Path, Placeholders, equals, missing
from gateleg.model.planning.plan_cache import fixed
from gateleg.model.wire import epoch_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from gateleg.model.keys import KeyPlan
    from gateleg.model.planning.companions import CounterChange
    from gateleg.model.spec import Spec
    from gateleg.model.tables import Table
    from gateleg.model.wire import Item

E = TypeVar("E", bound=BaseModel)

Kind = Literal["Put", "Update", "Delete", "ConditionCheck"]


# Not frozen: every write creates one, and creating a frozen one takes four times as long.
@dataclass(slots=True)
class Write(Generic[E]):
    """One write of an item.

    `request()` is the request of the single operation. Unless it is `alone`, the `markers` of unique constraints and the `counts` of
    parents belong in the same transaction. `owned` are the values that the model set (version, stamps), to copy to the caller's instance
    after the write succeeded.
    """

    entity: type[E]
    table: Table
    kind: Kind
    parameters: Mapping[str, Any]
    #: the markers of unique values to take and to release
    markers: tuple[Write[Any], ...] = ()
    #: the counters to change
    counts: tuple[CounterChange, ...] = ()
    owned: Mapping[str, Any] = field(default_factory=dict)
    #: for a marker, a description for the errors of a canceled transaction: `hold User.one_email`
    purpose: str = ""
    #: for a put, the instance as it will be stored, except for counts of an existing item
    instance: E | None = None

    @property
    def key(self) -> Item:
        """The key of the item."""
        item: Item = self.parameters.get("Key") or {name: self.parameters["Item"][name] for name in self.table.attributes}
        return item

    @property
    def alone(self) -> bool:
        """Whether the write needs no transaction, because it has no markers and counter changes."""
        return not self.markers and not self.counts

    def request(self, table_name: str | None = None) -> dict[str, Any]:
        """The request of PutItem, UpdateItem or DeleteItem. If its condition fails, the error contains the stored item."""
        request = {"TableName": self.table.name if table_name is None else table_name, **self.parameters}
        if "ConditionExpression" in request:
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return request


def with_condition(parameters: dict[str, Any], condition: Condition | None, out: Placeholders) -> dict[str, Any]:
    """Add a condition and all placeholders to the parameters."""
    if condition is not None:
        parameters["ConditionExpression"] = condition.render(out)
    return parameters | out.parameters()


def present_schema(spec: Spec[Any], *, may_be_missing: bool) -> Condition | None:
    """A condition: the item is stored in the entity's current schema or a later one; None for an entity with only one schema.

    In an item of an older schema, upcasters could overwrite an update, and conditions would apply to values that readers never see.
    """
    if spec.schema == 1:
        return None
    present: Condition = Comparison(Path((spec.table.schema,)), ">=", fixed({"N": str(spec.schema)}))
    return present | missing(spec.table.hash) if may_be_missing else present


def version_condition(spec: Spec[Any], version: int) -> Condition | None:
    """A condition: the item has not been written since it was read."""
    if spec.version is None:
        return None
    if version == 0:
        return missing(spec.version.wire) | equals(spec.version.wire, {"N": "0"})
    return equals(spec.version.wire, {"N": str(version)})


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
    return Comparison(Path((spec.ttl.wire,)), "<=", Constant(now, {"N": epoch_text(now)}))


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
