"""Writes as values: what PutItem, UpdateItem and DeleteItem are to be asked, and what must go along in the same transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from gateleg.model.actions import AddAction, render_actions
from gateleg.model.counters import CounterChange, counter_changes
from gateleg.model.errors import DerivedKeyUnknown
from gateleg.model.expressions import Condition, Placeholders, all_of, equals, exists, missing
from gateleg.model.instances import altered
from gateleg.model.lookup import spec_of
from gateleg.model.tables import Table
from gateleg.model.uniques import markers

if TYPE_CHECKING:
    from datetime import datetime

    from gateleg.model.keys import Ref
    from gateleg.model.spec import Spec
    from gateleg.model.wire import Item

E = TypeVar("E", bound=BaseModel)
NameOf = Callable[[Table], str]
Kind = Literal["Put", "Update", "Delete", "ConditionCheck"]


# Not frozen: one is made for every write, and a frozen one takes four times as long to make.
@dataclass(slots=True)
class Write(Generic[E]):
    """One write of an item.

    `request()` is the request of the single operation. When `companions` is not empty (markers of unique constraints, counters of a
    parent), all of them belong into one transaction: `transact()` lists them, this write first. `owned` are the values of attributes that
    the model set by itself (version, stamps), for the instance in hand once the write succeeded.
    """

    entity: type[E]
    table: Table
    kind: Kind
    parameters: Mapping[str, Any]
    companions: tuple[Write[Any], ...] = ()
    owned: Mapping[str, Any] = field(default_factory=dict)
    #: what the write is about, in words: for the reasons of a cancelled transaction
    purpose: str = ""
    #: of a put, the instance as it will be stored
    instance: E | None = None

    def request(self, name_of: NameOf = Table.physical) -> dict[str, Any]:
        """The request of PutItem, UpdateItem or DeleteItem. A refused condition answers with the item that won."""
        request = {"TableName": name_of(self.table), **self.parameters}
        if "ConditionExpression" in request:
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return request

    def transact(self, name_of: NameOf = Table.physical) -> list[dict[str, Any]]:
        """The entries for TransactWriteItems."""
        return [{str(write.kind): write.request(name_of)} for write in (self, *self.companions)]


def with_condition(parameters: dict[str, Any], condition: Condition | None, out: Placeholders) -> dict[str, Any]:
    """The parameters with a condition and all placeholders."""
    if condition is not None:
        parameters["ConditionExpression"] = condition.render(out)
    return parameters | out.parameters()


def version_condition(spec: Spec[Any], version: int) -> Condition | None:
    """That nobody has written the item since it was read."""
    if spec.version is None:
        return None
    if version == 0:
        return missing(spec.version.wire) | equals(spec.version.wire, {"N": "0"})
    return equals(spec.version.wire, {"N": str(version)})


def companions_of(spec: Spec[Any], before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[Write[Any], ...]:
    """The markers to take and release and the counters to change when an item goes from one set of values to another."""
    old = markers(spec, before) if before is not None else {}
    new = markers(spec, after) if after is not None else {}
    changed = [name for name in spec.uniques if old.get(name) != new.get(name)]
    taken = [_take_marker(spec, name, new[name]) for name in changed if name in new]
    released = [
        Write(spec.entity, spec.table, "Delete", {"Key": old[name]}, purpose=f"release {spec.name}.{name}")
        for name in changed
        if name in old
    ]
    return (*taken, *released, *(_change_counter(change) for change in counter_changes(spec, before, after)))


def _unchanged(spec: Spec[Any], values: Mapping[str, Any]) -> Condition | None:
    """That the item is there with the values that its markers and counters were worked out from."""
    names = [name for unique in spec.uniques.values() for name in unique.by]
    names += [name for counter in spec.counters.values() for name in counter.when]
    conditions = [exists(spec.table.hash)]
    for source in dict.fromkeys(spec.stored(name) for name in names if name not in spec.reachable(spec.key)):
        value = values.get(source.name)
        conditions.append(missing(source.wire) if value is None else equals(source.wire, source.pack(value)))
    return all_of(*conditions)


def _take_marker(spec: Spec[Any], name: str, key: Item) -> Write[Any]:
    out = Placeholders()
    parameters = with_condition({"Item": key}, missing(spec.table.hash), out)
    return Write(spec.entity, spec.table, "Put", parameters, purpose=f"hold {spec.name}.{name}")


def _change_counter(change: CounterChange) -> Write[Any]:
    spec, out = spec_of(change.ref.entity), Placeholders()
    action = change.action
    assert isinstance(action, AddAction)
    parameters = {"Key": change.ref.key, "UpdateExpression": render_actions([action], out)}
    parameters = with_condition(parameters, exists(spec.table.hash), out)
    return Write(spec.entity, spec.table, "Update", parameters, purpose=f"count {change.attribute!r}")


def plan_put(
    instance: E,
    *,
    now: datetime,
    create: bool = False,
    replaces: E | None = None,
    condition: Condition | None = None,
    check_version: bool = True,
) -> Write[E]:
    """Write a whole instance. `create` demands that there is none yet; `replaces` is the one that is there, when it is known.

    A versioned instance that was never written (version 0) is created; any other must be the one that was read. An entity with unique
    constraints or counters can only be created or replaced knowingly.
    """
    spec = spec_of(type(instance))
    if (spec.uniques or spec.counters) and not create and replaces is None:
        raise DerivedKeyUnknown(
            f"{spec.name} has unique constraints or counters, and what the put replaces is not known.",
            fix="Use create, patch an instance, or pass the instance that is replaced.",
        )
    written, owned, absent, version = _stamped(spec, instance, now, create, check_version)
    item = spec.encode(written)
    before = None if replaces is None else spec.values(replaces)
    if condition is None and before is None:
        parameters = {"Item": item, **_guarded(spec, absent, version)}
    else:
        guard = missing(spec.table.hash) if absent else version_condition(spec, version) if version is not None else None
        if before is not None and (spec.uniques or spec.counters) and (spec.version is None or not check_version):
            guard = all_of(guard, _unchanged(spec, before))
        parameters = with_condition({"Item": item}, all_of(guard, condition), Placeholders())
    companions = companions_of(spec, before, spec.values(written)) if spec.uniques or spec.counters else ()
    return Write(spec.entity, spec.table, "Put", parameters, companions, owned, f"put {spec.name}", written)


def _stamped(spec: Spec[Any], instance: E, now: datetime, create: bool, check_version: bool) -> tuple[E, dict[str, Any], bool, int | None]:
    """The instance with what the model sets, those values, whether there may be none yet, and the version that must be there."""
    stamps, version = spec.stamped("write"), spec.version
    if not stamps and version is None:
        return instance, {}, create, None
    owned: dict[str, Any] = {attribute.name: now for attribute in stamps}
    absent, expected = create, None
    if version is not None:
        read = getattr(instance, version.name)
        owned[version.name] = read + 1
        if check_version and not create:
            absent, expected = read == 0, read or None
    return altered(instance, owned), owned, absent, expected


def _guarded(spec: Spec[Any], absent: bool, version: int | None) -> dict[str, Any]:
    """The condition of a put that has none of its caller's: there is no item, or the one that was read, or it does not matter."""
    if not absent and version is None:
        return {}
    condition, names, placeholder = _absence(spec) if absent else _sameness(spec)
    guard: dict[str, Any] = {"ConditionExpression": condition, "ExpressionAttributeNames": dict(names)}
    if not absent:
        guard["ExpressionAttributeValues"] = {placeholder: {"N": str(version)}}
    return guard


@cache
def _absence(spec: Spec[Any]) -> tuple[str, Mapping[str, str], str]:
    out = Placeholders()
    return missing(spec.table.hash).render(out), out.names, ""


@cache
def _sameness(spec: Spec[Any]) -> tuple[str, Mapping[str, str], str]:
    """That the item has a version, and the placeholder of that version: whichever it is, the expression is the same."""
    out, condition = Placeholders(), version_condition(spec, 1)
    assert condition is not None
    return condition.render(out), out.names, next(iter(out.values))


def plan_delete(
    target: E | Ref[E], *, must_exist: bool = False, condition: Condition | None = None, check_version: bool = True
) -> Write[E]:
    """Delete an item. An instance with a version must be the one that was read; one with markers or counters must be an instance."""
    entity = type(target) if isinstance(target, BaseModel) else target.entity
    spec: Spec[Any] = spec_of(entity)
    guard: Condition | None = exists(spec.table.hash) if must_exist else None
    if isinstance(target, BaseModel):
        values = spec.values(target)
        key = spec.ref(target).key
        if spec.version is not None and check_version:
            guard = all_of(guard, version_condition(spec, values[spec.version.name]))
        companions = companions_of(spec, values, None)
        if companions and (spec.version is None or not check_version):
            guard = _unchanged(spec, values)
    else:
        if spec.uniques or spec.counters:
            raise DerivedKeyUnknown(f"{spec.name} has unique constraints or counters.", fix="Read the item and delete the instance.")
        key, companions = target.key, ()
    out = Placeholders()
    parameters = with_condition({"Key": dict(key)}, all_of(guard, condition), out)
    return Write(entity, spec.table, "Delete", parameters, companions, purpose=f"delete {spec.name}")


def plan_check(target: E | Ref[E], condition: Condition) -> Write[E]:
    """A condition on an item that a transaction does not write."""
    entity = type(target) if isinstance(target, BaseModel) else target.entity
    spec: Spec[Any] = spec_of(entity)
    key = spec.ref(target).key if isinstance(target, BaseModel) else target.key
    out = Placeholders()
    return Write(entity, spec.table, "ConditionCheck", with_condition({"Key": dict(key)}, condition, out), purpose=f"check {spec.name}")
