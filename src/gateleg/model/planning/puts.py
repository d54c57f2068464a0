"""Plan the writes of whole items: puts, deletions, and the checks of a transaction."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model.errors import DerivedKeyUnknown
from gateleg.model.expressions.nodes import (
    Arithmetic,
    Condition,
    Constant,
    Path,
    Placeholders,
    RemoveAction,
    SetAction,
    UpdateAction,
    ValueCall,
    all_of,
    exists,
    missing,
    render_actions,
)
from gateleg.model.keys import spec_of
from gateleg.model.planning.writes import (
    NOTHING_MERGED,
    CounterChange,
    Kind,
    Write,
    as_marked,
    counter_changes,
    expired,
    moved_markers,
    present_schema,
    version_condition,
    with_condition,
)
from gateleg.model.tables import RECOUNT
from gateleg.model.wire import epoch_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model.keys import Ref
    from gateleg.model.planning.writes import MergedChanges
    from gateleg.model.spec import Spec
    from gateleg.model.wire import Item

E = TypeVar("E", bound=BaseModel)


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
    merged: MergedChanges | None = None,
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
        written = _counted_from_zero(spec, written, merged)
    item = spec.encode(written)
    counts_on = not (check_version or exact or batched) and spec.version is not None
    kind: Kind = "Update" if (spec.counted or counts_on) and not (create or absent) else "Put"
    before = None if replaces is None else spec.values(replaces)
    if kind == "Put" and condition is None and before is None and merged is None:
        parameters = _put_parameters(spec, item, absent, version, now)
    else:
        # Without a version to check, the markers and counters are guarded by the values that they were computed from.
        marked = before if companions and (spec.version is None or exact or not check_version) else None
        guard = _put_guard(spec, now, absent, version, marked, condition)
        if kind == "Put":
            guard = guard if merged is None else all_of(guard, merged.condition)
            parameters = with_condition({"Item": item}, guard, Placeholders())
        else:
            version_read = None
            if counts_on and spec.version is not None:
                # Only the database knows the new version.
                del owned[spec.version.name]
                version_read = instance.__dict__[spec.version.name]
            parameters = _put_around_counts(spec, item, replaces, merged or NOTHING_MERGED, guard, version_read)
    if not companions:
        return Write(spec.entity, spec.table, kind, parameters, (), (), owned, "", written)
    after = spec.values(written)
    markers, counts = moved_markers(spec, before, after), counter_changes(spec, before, after)
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


def _counted_from_zero(spec: Spec[Any], instance: E, merged: MergedChanges | None) -> E:
    """The instance with the counts of a new item: zero, plus the changes in the same transaction."""
    deltas = merged.deltas if merged is not None else {}
    return instance.model_copy(update={name: max(0, deltas.get(wire, 0)) for wire, name in spec.counted_wires.items()})


def _put_around_counts(
    spec: Spec[Any],
    item: Item,
    replaces: BaseModel | None,
    merged: MergedChanges,
    condition: Condition | None,
    version_read: int | None,
) -> dict[str, Any]:
    """The parameters of an update that writes a whole item except for its counted attributes, which are zero in a new item.

    Attributes that the entity does not declare are kept, unless the item that the put `replaces` has them and the new item does not. With
    `version_read`, the stored version is incremented; it starts from `version_read` if the item has none.
    """
    before: Item = {} if replaces is None else spec.encode(replaces)
    out = Placeholders()
    counted_on = frozenset[str]() if version_read is None or spec.version is None else {spec.version.wire}
    kept = {*spec.table.attributes, *spec.counted_wires, *counted_on, RECOUNT}
    known = {attribute.wire for attribute in spec.attributes.values()} | spec.derived_names | before.keys()
    actions: list[UpdateAction] = [SetAction((wire,), operand=Constant(None, value)) for wire, value in item.items() if wire not in kept]
    actions += [RemoveAction((wire,)) for wire in sorted(known - item.keys() - kept)]
    for wire in spec.counted_wires:
        if wire not in merged.deltas:
            zero: ValueCall[Any] = ValueCall("if_not_exists", (Path((wire,)), Constant(0, {"N": "0"})))
            actions.append(SetAction((wire,), operand=zero))
    for wire in counted_on:
        stored: ValueCall[Any] = ValueCall("if_not_exists", (Path((wire,)), Constant(version_read, {"N": str(version_read)})))
        actions.append(SetAction((wire,), operand=Arithmetic(stored, "+", Constant(1, {"N": "1"}))))
    key = {name: item[name] for name in spec.table.attributes}
    parameters = {"Key": key, "UpdateExpression": render_actions([*actions, *merged.actions], out)}
    return with_condition(parameters, all_of(condition, merged.condition, merged.guard), out)


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
    return instance.model_copy(update=owned), owned, absent, expected


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
    merged: MergedChanges | None = None,
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
        released, counts = moved_markers(spec, values, None), counter_changes(spec, values, None)
        if (released or counts) and (spec.version is None or not check_version):
            guard = as_marked(spec, values)
    else:
        if spec.uniques or spec.counters:
            raise DerivedKeyUnknown(f"{spec.name} has unique constraints or counters.", fix="Read the item and delete the instance.")
        key = target.key
    condition = all_of(condition, None if merged is None else merged.condition)
    if condition is not None:
        guard = all_of(guard, present_schema(spec, may_be_missing=not must_exist))
    out = Placeholders()
    parameters = with_condition({"Key": dict(key)}, all_of(guard, condition), out)
    return Write(entity, spec.table, "Delete", parameters, released, counts)


def plan_check(target: E | Ref[E], condition: Condition | None) -> Write[E]:
    """Plan a condition check of an item that a transaction does not write."""
    entity = type(target) if isinstance(target, BaseModel) else target.entity
    spec: Spec[Any] = spec_of(entity)
    key = spec.ref(target).key if isinstance(target, BaseModel) else target.key
    if condition is not None:
        condition = all_of(present_schema(spec, may_be_missing=True), condition)
    return Write(entity, spec.table, "ConditionCheck", with_condition({"Key": dict(key)}, condition, Placeholders()))
