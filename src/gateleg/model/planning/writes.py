"""Writes as values: the parameters of PutItem, UpdateItem and DeleteItem, and the other writes of the same transaction.

Changes of counters that belong to a write, as update clauses and conditions.

TTL: whether an item has expired.

DynamoDB deletes an expired item within days, an embedded store within a second. For both to behave alike, a store treats an item as
missing from the moment that it expires.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from gateleg.model.constraints import RECOUNT, markers
from gateleg.model.errors import DerivedKeyUnknown
from gateleg.model.expressions.nodes import (
    Action,
    AddAction,
    Arithmetic,
    Comparison,
    Condition,
    Constant,
    Not,
    Placeholders,
    Reference,
    RemoveAction,
    SetAction,
    ValueCall,
    all_of,
    equals,
    exists,
    missing,
    render_actions,
)
from gateleg.model.keys import spec_of
from gateleg.model.planning.plan_cache import fixed, guards_of
from gateleg.model.stored_forms import stored_value
from gateleg.model.validation import copy_unchecked
from gateleg.model.wire import epoch_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model.keys import KeyPlan, Ref
    from gateleg.model.planning.plan_cache import BoundGuard
    from gateleg.model.spec import Spec
    from gateleg.model.tables import Table
    from gateleg.model.wire import Item

E = TypeVar("E", bound=BaseModel)


@dataclass(frozen=True)
class CounterChange:
    """A change of a counter in the transaction of a write."""

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


def counter_changes(spec: Spec[Any], before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[CounterChange]:
    """The counter changes when an item changes from one set of values to another; None means that the item does not exist."""
    totals: dict[tuple[str, str], CounterChange] = {}
    for counter in spec.counters.values():
        for values, sign in ((before, -1), (after, 1)):
            if values is None or not counter.counts(values):
                continue
            ref = counter.parent(values)
            place = (str(ref.key), counter.attribute.name)
            total = sign + (totals[place].delta if place in totals else 0)
            enters = sign > 0 and (before is None or counter.parent(before).key != ref.key)
            totals[place] = CounterChange(ref, counter.attribute, total, enters)
    return [change for change in totals.values() if change.delta]


def upper_bounds(attribute: Any, delta: int) -> tuple[BoundGuard, ...]:
    """The upper bounds that increasing a counter could break; empty if `delta` is not positive."""
    if delta <= 0:
        return ()
    rise: Constant[Any] = Constant(delta, {"N": str(delta)})
    return guards_of([AddAction(attribute.path, attribute.owner, attribute.name, attribute, operand=rise)])


@dataclass(frozen=True)
class Joined:
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
    def actions(self) -> list[Action]:
        """The update actions that change the counters; empty if none changes."""
        if not self.deltas:
            return []
        moves: list[Action] = []
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
                conditions.append(Comparison(Reference((wire,)), ">=", Constant(-delta, {"N": str(-delta)})))
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


#: the attribute of a marker that contains the key of the item that it belongs to
MARKER_OWNER = "_owner"
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
    present: Condition = Comparison(Reference((spec.table.schema,)), ">=", fixed({"N": str(spec.schema)}))
    return present | missing(spec.table.hash) if may_be_missing else present


def version_condition(spec: Spec[Any], version: int) -> Condition | None:
    """A condition: the item has not been written since it was read."""
    if spec.version is None:
        return None
    if version == 0:
        return missing(spec.version.wire) | equals(spec.version.wire, {"N": "0"})
    return equals(spec.version.wire, {"N": str(version)})


def moved_markers(spec: Spec[Any], before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[Write[Any], ...]:
    """The writes that take and release markers when an item changes from one set of values to another."""
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


def as_marked(spec: Spec[Any], values: Mapping[str, Any]) -> Condition | None:
    """A condition: the item exists, and the values from which its markers and counter changes were computed are current."""
    names = [name for unique in spec.uniques.values() for name in unique.by]
    names += [name for counter in spec.counters.values() for name in counter.names]
    conditions = [exists(spec.table.hash)]
    for source in dict.fromkeys(spec.stored(name) for name in names if name not in spec.reachable(spec.key)):
        value = values.get(source.name)
        conditions.append(missing(source.wire) if value is None else equals(source.wire, stored_value(source, values)))
    return all_of(*conditions)


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
    found = []
    for name, marker in markers(spec, values).items():
        gone, free = Placeholders(), Placeholders()
        check = with_condition({"Key": dict(key)}, missing(spec.table.hash), gone)
        still_owned = missing(MARKER_OWNER) | equals(MARKER_OWNER, {"M": spec.key.build(values)})
        release = with_condition({"Key": marker}, still_owned, free)
        purpose = f"release {spec.name}.{name}"
        found.append(
            (Write(spec.entity, spec.table, "ConditionCheck", check), Write(spec.entity, spec.table, "Delete", release, purpose=purpose))
        )
    return found


def plan_put(
    instance: E,
    *,
    now: datetime,
    create: bool = False,
    replaces: E | None = None,
    condition: Condition | None = None,
    check_version: bool = True,
    exact: bool = False,
    batched: bool = False,
    joined: Joined | None = None,
) -> Write[E]:
    """Plan a put of a whole instance.

    `create` requires that the item does not exist. `replaces` is the stored instance that the put replaces, if known; entities with unique
    constraints or counters need one of the two. `exact` writes version and stamps unchanged and does not check the version.

    An instance with version 0 was never written and is created; with another version, the stored item must have the same one.

    Counted attributes of a new item start at zero. If the item may exist, an UpdateItem writes all attributes except those. Puts without
    `check_version` are also UpdateItems, to increment the stored version; except `batched` ones, because a batch cannot contain updates.
    """
    spec = spec_of(type(instance))
    companions = spec.uniques or spec.counters
    if companions and not create and replaces is None:
        raise DerivedKeyUnknown(
            f"{spec.name} has unique constraints or counters, but the item that the put replaces is unknown.",
            fix="Use create for a new item. For an existing one, use patch, or put(new, replaces=old) with the instance that was read.",
        )
    written, owned, absent, version = (instance, {}, create, None) if exact else _stamped(spec, instance, now, create, check_version)
    if spec.counted:
        written = _counted_from_zero(spec, written, joined)
    item = spec.encode(written)
    counts_on = not (check_version or exact or batched) and spec.version is not None
    kind: Kind = "Update" if (spec.counted or counts_on) and not (create or absent) else "Put"
    before = None if replaces is None else spec.values(replaces)
    if kind == "Put" and condition is None and before is None and joined is None:
        parameters = _put_parameters(spec, item, absent, version, now)
    else:
        if counts_on and kind == "Update" and spec.version is not None:
            # Only the database knows the new version.
            owned = {name: value for name, value in owned.items() if name != spec.version.name}
        # Without a version to check, the markers and counters are guarded by the values that they were computed from.
        marked = before if companions and (spec.version is None or exact or not check_version) else None
        guard, out = _put_guard(spec, now, absent, version, marked, condition), Placeholders()
        if kind == "Put":
            guard = guard if joined is None else all_of(guard, joined.condition)
            parameters = with_condition({"Item": item}, guard, out)
        else:
            old = {} if replaces is None else spec.encode(replaces)
            version_read = getattr(instance, spec.version.name) if counts_on and spec.version is not None else None
            parameters = _put_around_counts(spec, item, old, joined or Joined(), guard, out, version_read)
    if not companions:
        return Write(spec.entity, spec.table, kind, parameters, (), (), owned, "", written)
    after = spec.values(written)
    markers, counts = moved_markers(spec, before, after), tuple(counter_changes(spec, before, after))
    return Write(spec.entity, spec.table, kind, parameters, markers, counts, owned, "", written)


def _put_guard(
    spec: Spec[Any], now: datetime, absent: bool, version: int | None, marked: Mapping[str, Any] | None, condition: Condition | None
) -> Condition | None:
    """The condition of a put on the stored item: it is absent, has a version or the values of `marked`; and the caller's condition."""
    guard = _none_there(spec, now) if absent else version_condition(spec, version) if version is not None else None
    if marked is not None:
        guard = all_of(guard, as_marked(spec, marked))
    if condition is not None and not absent:
        guard = all_of(guard, present_schema(spec, may_be_missing=True))
    return all_of(guard, condition)


def _counted_from_zero(spec: Spec[Any], instance: E, joined: Joined | None) -> E:
    """The instance with the counts of a new item: zero, plus the changes in the same transaction."""
    deltas = joined.deltas if joined is not None else {}
    return copy_unchecked(instance, {name: max(0, deltas.get(wire, 0)) for wire, name in spec.counted_wires.items()})


def _put_around_counts(
    spec: Spec[Any],
    item: Item,
    before: Item,
    joined: Joined,
    condition: Condition | None,
    out: Placeholders,
    version_read: int | None = None,
) -> dict[str, Any]:
    """The parameters of an update that writes a whole item except for its counted attributes, which are zero in a new item.

    Attributes that the entity does not declare are kept, unless `before` (the replaced item) has them and the new item does not. With
    `version_read`, the stored version is incremented; it starts from `version_read` if the item has none.
    """
    counted_on = frozenset[str]() if version_read is None or spec.version is None else {spec.version.wire}
    kept = {*spec.table.attributes, *spec.counted_wires, *counted_on, RECOUNT}
    known = {attribute.wire for attribute in spec.attributes.values()} | spec.derived_names | before.keys()
    actions: list[Action] = [SetAction((wire,), operand=Constant(None, value)) for wire, value in item.items() if wire not in kept]
    actions += [RemoveAction((wire,)) for wire in sorted(known - item.keys() - kept)]
    for wire in spec.counted_wires:
        if wire not in joined.deltas:
            zero: ValueCall[Any] = ValueCall("if_not_exists", (Reference((wire,)), Constant(0, {"N": "0"})))
            actions.append(SetAction((wire,), operand=zero))
    for wire in counted_on:
        stored: ValueCall[Any] = ValueCall("if_not_exists", (Reference((wire,)), Constant(version_read, {"N": str(version_read)})))
        actions.append(SetAction((wire,), operand=Arithmetic(stored, "+", Constant(1, {"N": "1"}))))
    key = {name: item[name] for name in spec.table.attributes}
    parameters = {"Key": key, "UpdateExpression": render_actions([*actions, *joined.actions], out)}
    return with_condition(parameters, all_of(condition, joined.condition, joined.guard), out)


def _stamped(spec: Spec[Any], instance: E, now: datetime, create: bool, check_version: bool) -> tuple[E, dict[str, Any], bool, int | None]:
    """The instance with version and stamps set, those values, whether the item must not exist, and the version that it must have."""
    stamps, version = _owned_names(spec)
    if not stamps and version is None:
        return instance, {}, create, None
    owned: dict[str, Any] = dict.fromkeys(stamps, now)
    absent, expected = create, None
    if version is not None:
        read = instance.__dict__[version]
        owned[version] = read + 1
        if check_version and not create:
            absent, expected = read == 0, read or None
    return copy_unchecked(instance, owned), owned, absent, expected


@cache
def _owned_names(spec: Spec[Any]) -> tuple[tuple[str, ...], str | None]:
    """The names of the attributes that every write stamps, and of the version attribute."""
    return tuple(attribute.name for attribute in spec.write_stamps), None if spec.version is None else spec.version.name


def _none_there(spec: Spec[Any], now: datetime) -> Condition:
    """A condition: the item does not exist, or has expired (DynamoDB may keep expired items for days)."""
    over = expired(spec, now)
    return missing(spec.table.hash) if over is None else missing(spec.table.hash) | over


def _put_parameters(spec: Spec[Any], item: Item, absent: bool, version: int | None, now: datetime) -> dict[str, Any]:
    """The parameters of a put without a condition of the caller: at most, the item must not exist or must have the version."""
    if not absent and version is None:
        return {"Item": item}
    condition, names, placeholder = _absence(spec) if absent else _sameness(spec)
    parameters: dict[str, Any] = {"Item": item, "ConditionExpression": condition, "ExpressionAttributeNames": dict(names)}
    if placeholder:
        parameters["ExpressionAttributeValues"] = {placeholder: {"N": epoch_text(now) if absent else str(version)}}
    return parameters


@cache
def _absence(spec: Spec[Any]) -> tuple[str, Mapping[str, str], str]:
    """The text and names of the condition that the item does not exist, and the placeholder of the current time if items expire."""
    out = Placeholders()
    return _none_there(spec, datetime.now(UTC)).render(out), out.names, next(iter(out.values), "")


@cache
def _sameness(spec: Spec[Any]) -> tuple[str, Mapping[str, str], str]:
    """The text and names of the condition that the item has a version, and the placeholder of the version."""
    out, condition = Placeholders(), version_condition(spec, 1)
    assert condition is not None
    return condition.render(out), out.names, next(iter(out.values))


def plan_delete(
    target: E | Ref[E],
    *,
    must_exist: bool = False,
    condition: Condition | None = None,
    check_version: bool = True,
    joined: Joined | None = None,
) -> Write[E]:
    """Plan the deletion of an item.

    For an instance with a version, the stored item must have the same version. An entity with unique constraints or counters needs an
    instance. Changes of the item's own counters in the same transaction are dropped.
    """
    entity = type(target) if isinstance(target, BaseModel) else target.entity
    spec: Spec[Any] = spec_of(entity)
    guard: Condition | None = exists(spec.table.hash) if must_exist else None
    released: tuple[Write[Any], ...] = ()
    counts: tuple[CounterChange, ...] = ()
    if isinstance(target, BaseModel):
        values = spec.values(target)
        key = spec.ref(target).key
        if spec.version is not None and check_version:
            guard = all_of(guard, version_condition(spec, values[spec.version.name]))
        released, counts = moved_markers(spec, values, None), tuple(counter_changes(spec, values, None))
        if (released or counts) and (spec.version is None or not check_version):
            guard = as_marked(spec, values)
    else:
        if spec.uniques or spec.counters:
            raise DerivedKeyUnknown(f"{spec.name} has unique constraints or counters.", fix="Read the item and delete the instance.")
        key = target.key
    condition = all_of(condition, None if joined is None else joined.condition)
    if condition is not None:
        guard = all_of(guard, present_schema(spec, may_be_missing=not must_exist))
    out = Placeholders()
    parameters = with_condition({"Key": dict(key)}, all_of(guard, condition), out)
    return Write(entity, spec.table, "Delete", parameters, released, counts)


def plan_check(target: E | Ref[E], condition: Condition | None, joined: Joined | None = None) -> Write[E]:
    """Plan a condition check of an item that a transaction does not write; it becomes an update if the transaction changes its counters."""
    entity = type(target) if isinstance(target, BaseModel) else target.entity
    spec: Spec[Any] = spec_of(entity)
    key = spec.ref(target).key if isinstance(target, BaseModel) else target.key
    parameters: dict[str, Any] = {"Key": dict(key)}
    kind: Kind = "ConditionCheck"
    out = Placeholders()
    counting = joined is not None and bool(joined.deltas)
    condition = all_of(condition, None if joined is None else joined.condition)
    if condition is not None or counting:
        condition = all_of(present_schema(spec, may_be_missing=not counting), condition)
    if joined is not None and counting:
        kind, parameters = "Update", parameters | {"UpdateExpression": render_actions(joined.actions, out)}
        condition = all_of(exists(spec.table.hash), condition, joined.guard)
    return Write(entity, spec.table, kind, with_condition(parameters, condition, out))


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
