"""A write as a value: the parameters of its request, and its companions, the other writes of the same transaction.

The companions are the markers of unique constraints, and the counters of parents. Both follow from the values of an item before and after a
write. The writes of markers are complete. The changes of counters are not: those of one parent are added up over the whole transaction, and
merged into the operation that writes the parent, if there is one.

Also the conditions on a stored item that several kinds of writes need: on its schema, its version and its expiry. DynamoDB deletes an
expired item within days, an embedded store within a second. For both to behave alike, a store treats an item as missing from the moment
that it expires.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from gateleg.model.expressions.nodes import (
    AddAction,
    Comparison,
    Condition,
    Constant,
    Not,
    Path,
    Placeholders,
    RemoveAction,
    SetAction,
    UpdateAction,
    all_of,
    equals,
    exists,
    missing,
    render_actions,
)
from gateleg.model.keys import spec_of
from gateleg.model.planning.bounds import guards_of
from gateleg.model.planning.plan_cache import CACHES_PLANS, CachedPlan, PreparedUpdate, add_plan, fixed
from gateleg.model.stored_forms import stored_value
from gateleg.model.tables import RECOUNT, markers
from gateleg.model.wire import epoch_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from gateleg.model.keys import KeyPlan, Ref
    from gateleg.model.planning.bounds import BoundGuard
    from gateleg.model.spec import Spec
    from gateleg.model.tables import Table
    from gateleg.model.wire import Item

E = TypeVar("E", bound=BaseModel)
Kind = Literal["Put", "Update", "Delete", "ConditionCheck"]

#: the attribute of a marker that contains the key of the item that it belongs to
MARKER_OWNER = "_owner"


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


# Not frozen: writes of counted items create one each, and creating a frozen one takes several times as long.
@dataclass(slots=True)
class CounterChange:
    """A change of a counter in the transaction of a write."""

    #: the parent
    ref: Ref[Any]
    #: an `Attr[int]`; annotated as Any because type checkers treat an `Attr` field as its value
    attribute: Any
    delta: int
    #: whether the parent must exist: only if the item is added to it. An item that stays or leaves may be an orphan
    required: bool = False

    @property
    def wire(self) -> str:
        """The counter's name on the wire."""
        return str(self.attribute.path[0])


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


def moved_markers(spec: Spec[Any], before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[Write[Any], ...]:
    """The writes that take and release markers when an item changes from one set of values to another; None: it does not exist."""
    if not spec.uniques:
        return ()
    old = markers(spec, before) if before is not None else {}
    new = markers(spec, after) if after is not None else {}
    changed = [name for name in spec.uniques if old.get(name) != new.get(name)]
    owner = spec.key.build(after) if after is not None else {}
    taken = [take_marker(spec, name, new[name], owner) for name in changed if name in new]
    released = [
        Write(spec.entity, spec.table, "Delete", {"Key": old[name]}, purpose=f"release {spec.name}.{name}")
        for name in changed
        if name in old
    ]
    return (*taken, *released)


def take_marker(spec: Spec[Any], name: str, key: Item, owner: Item) -> Write[Any]:
    """The write that creates a marker for the item with the key `owner`, on condition that the marker does not exist."""
    out = Placeholders()
    parameters = with_condition({"Item": {**key, MARKER_OWNER: {"M": dict(owner)}}}, missing(spec.table.hash), out)
    return Write(spec.entity, spec.table, "Put", parameters, purpose=f"hold {spec.name}.{name}")


def plan_release(instance: BaseModel) -> list[tuple[Write[Any], Write[Any]]]:
    """Plan the release of the markers of an item that no longer exists.

    Returns two writes for each marker: the check that the item does not exist, and the delete of the marker, on condition that it still
    belongs to the item. Markers without an owner, which older versions wrote, are deleted as well.
    """
    spec: Spec[Any] = spec_of(type(instance))
    values = spec.values(instance)
    key = spec.ref(instance).key
    releases = []
    for name, marker in markers(spec, values).items():
        gone, free = Placeholders(), Placeholders()
        check = with_condition({"Key": dict(key)}, missing(spec.table.hash), gone)
        still_owned = missing(MARKER_OWNER) | equals(MARKER_OWNER, {"M": spec.key.build(values)})
        release = with_condition({"Key": marker}, still_owned, free)
        purpose = f"release {spec.name}.{name}"
        releases.append(
            (Write(spec.entity, spec.table, "ConditionCheck", check), Write(spec.entity, spec.table, "Delete", release, purpose=purpose))
        )
    return releases


def counter_changes(spec: Spec[Any], before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[CounterChange, ...]:
    """The counter changes when an item changes from one set of values to another; None means that the item does not exist."""
    changes: dict[tuple[Any, str, str], CounterChange] = {}
    # Counters of one parent share its reference.
    parents: dict[tuple[Any, tuple[str, ...], int], Ref[Any]] = {}
    for counter in spec.counters.values():
        leaves = before is not None and (not counter.when or counter.counts(before))
        enters = after is not None and (not counter.when or counter.counts(after))
        moves = before is None or after is None
        if not moves:
            for name in counter.parent_names:
                moves = moves or before.get(name) != after.get(name)  # type: ignore[union-attr]
        if leaves and enters and not moves:
            continue
        owner = counter.attribute.owner
        for counts, values, sign in ((leaves, before, -1), (enters, after, 1)):
            if not counts or values is None:
                continue
            shared = (owner, counter.parent_names, sign if moves else 0)
            ref = parents.get(shared)
            if ref is None:
                ref = parents[shared] = counter.parent(values)
            place = (owner, counter.attribute.name, str(ref.key))
            total = sign + (changes[place].delta if place in changes else 0)
            required = sign > 0 and moves and (before is None or counter.parent(before).key != ref.key)
            changes[place] = CounterChange(ref, counter.attribute, total, required)
    return tuple(change for change in changes.values() if change.delta)


def as_marked(spec: Spec[Any], values: Mapping[str, Any]) -> Condition | None:
    """A condition: the item exists, and the values from which its markers and counter changes were computed are current."""
    names = [name for unique in spec.uniques.values() for name in unique.by]
    names += [name for counter in spec.counters.values() for name in counter.names]
    conditions = [exists(spec.table.hash)]
    for source in dict.fromkeys(spec.stored(name) for name in names if name not in spec.reachable(spec.key)):
        value = values.get(source.name)
        conditions.append(missing(source.wire) if value is None else equals(source.wire, stored_value(source, values)))
    return all_of(*conditions)


@dataclass(slots=True)
class MergedChanges:
    """Further changes and checks of an item in a transaction, merged into the operation that writes the item."""

    #: the changes of counters, by wire name
    deltas: Mapping[str, int] = field(default_factory=dict)
    #: the condition of the transaction's checks of this item
    condition: Condition | None = None
    #: the item as it was when the database refused these changes, because a counter would have become negative
    seen: Item | None = None
    #: the upper bounds of the counters
    bounds: tuple[BoundGuard, ...] = ()

    @property
    def actions(self) -> list[UpdateAction]:
        """The update actions that change the counters; empty if none changes."""
        if not self.deltas:
            return []
        moves: list[UpdateAction] = []
        for wire, delta in self.deltas.items():
            if self._too_low(wire, delta):
                moves.append(SetAction((wire,), operand=Constant(0, {"N": "0"})))
            else:
                moves.append(AddAction((wire,), operand=Constant(delta, {"N": str(delta)})))
        return [*moves, RemoveAction((RECOUNT,))]

    @property
    def guard(self) -> Condition | None:
        """The condition that no counter breaks its bound or becomes negative.

        A counter that is already too low is set to zero instead, on condition that it has not changed since it was read.
        """
        conditions: list[Condition] = [bound.condition for bound in self.bounds]
        for wire, delta in self.deltas.items():
            if self._too_low(wire, delta):
                stored = (self.seen or {}).get(wire)
                conditions.append(missing(wire) if stored is None else equals(wire, stored))
            elif delta < 0:
                conditions.append(Comparison(Path((wire,)), ">=", Constant(-delta, {"N": str(-delta)})))
        return all_of(*conditions)

    def lacks(self, item: Item) -> bool:
        """Whether a counter of an item is too low to be decreased."""
        return any(delta < 0 and _number(item, wire) < -delta for wire, delta in self.deltas.items())

    def broken(self, item: Item) -> tuple[BoundGuard, ...]:
        """The upper bounds that the changes would break in an item."""
        return tuple(bound for bound in self.bounds if not bound.holds(item))

    def _too_low(self, wire: str, delta: int) -> bool:
        return self.seen is not None and delta < 0 and _number(self.seen, wire) < -delta


def _number(item: Item, wire: str) -> Decimal:
    return Decimal(item.get(wire, {"N": "0"}).get("N", "0"))


#: What is merged into a write that no other operation of its transaction concerns.
NOTHING_MERGED = MergedChanges()


def upper_bounds(attribute: Any, delta: int) -> tuple[BoundGuard, ...]:
    """The upper bounds that increasing a counter could break; empty if `delta` is not positive."""
    if delta <= 0:
        return ()
    rise: Constant[Any] = Constant(delta, {"N": str(delta)})
    return guards_of([AddAction(attribute.path, attribute.owner, attribute.name, attribute, operand=rise)])


def plan_counters(ref: Ref[Any], merged: MergedChanges) -> Write[Any]:
    """Plan the update that changes the counters of an existing item, for a transaction without another write of the item."""
    spec: Spec[Any] = spec_of(ref.entity)
    key = None
    # Most changes are those of one child; others are planned each time, as there may be many of them.
    if CACHES_PLANS and merged.condition is None and merged.seen is None and max(map(abs, merged.deltas.values())) == 1:
        key = (plan_counters, *merged.deltas.items())
        plan = spec.plans.get(key)
        if plan is not None:
            return Write(ref.entity, spec.table, "Update", plan.update.bind(dict(ref.key), ()))
    out = Placeholders()
    parameters = {"Key": dict(ref.key), "UpdateExpression": render_actions(merged.actions, out)}
    condition = all_of(exists(spec.table.hash), present_schema(spec, may_be_missing=False), merged.condition, merged.guard)
    parameters = with_condition(parameters, condition, out)
    if key is not None:
        add_plan(spec.plans, key, CachedPlan(PreparedUpdate.of(parameters)))
    return Write(ref.entity, spec.table, "Update", parameters)
