"""Plan updates that keep all derived data consistent: index keys, denormalised fields, versions, stamps, markers and counters.

When an update changes a component of a derived key, the whole key is rewritten. The other components come from the primary key, from the
instance that is patched, or from `known`. Unless the version is checked, the write is conditional on those values being current. An update
whose other components are unknown is refused.

Updates that differ only in their values are planned once, see `plan_cache`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from gateleg.model.errors import DerivedKeyUnknown, ExpressionError, ImmutableKey, MissingComponent, ReadOnlyAttribute, StateNeedsTransition
from gateleg.model.expressions.nodes import (
    Arithmetic,
    Comparison,
    Condition,
    Constant,
    In,
    Path,
    Placeholders,
    RemoveAction,
    SetAction,
    Transition,
    UpdateAction,
    ValueCall,
    all_of,
    exists,
    missing,
    render_actions,
)
from gateleg.model.keys import empty_key, shard_of, sharded, spec_of
from gateleg.model.planning.bounds import guards_of
from gateleg.model.planning.plan_cache import (
    CACHES_PLANS,
    COMPUTED,
    Inputs,
    companion_names,
    derived,
    fixed,
    keep_plan,
    note_change,
    read_update,
)
from gateleg.model.planning.writes import NOTHING_MERGED, Write, counter_changes, moved_markers, present_schema, with_condition
from gateleg.model.stored_forms import stored_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from gateleg.model.attr import Attribute
    from gateleg.model.keys import KeyField, KeyPlan, KeySource, Ref
    from gateleg.model.planning.writes import MergedChanges
    from gateleg.model.spec import Spec
    from gateleg.model.wire import Item, Value

E = TypeVar("E", bound=BaseModel)


def plan_update(
    target: E | Ref[E],
    actions: Sequence[UpdateAction],
    *,
    now: datetime,
    mode: Literal["patch", "upsert"] = "patch",
    known: Mapping[str, Any] | None = None,
    condition: Condition | None = None,
    check_version: bool = True,
    merged: MergedChanges | None = None,
) -> Write[E]:
    """Plan an update of an item: `patch` requires that it exists, `upsert` creates it if necessary.

    The target is the instance that was read, or a reference; `known` are then values of the item that the caller knows. `merged` contains
    further changes and checks of the item in the same transaction.
    """
    entity: type[E]
    if isinstance(target, BaseModel):
        entity, instance = type(target), target
        spec: Spec[Any] = spec_of(entity)
        ref, values = spec.ref(target), spec.values(target)
        guarded = check_version and spec.version is not None
    else:
        entity, instance, ref = target.entity, None, target
        spec = spec_of(entity)
        values, guarded = {**spec.arguments(known or {}), **ref.values}, False
    cacheable = None
    # Plans of upserts, of updates with computed attributes, and of those with merged changes depend on more than their cache key contains.
    if CACHES_PLANS and mode == "patch" and merged is None and not spec.computed:
        cacheable = read_update(spec, actions, condition, values, now, whole=instance is not None, guarded=guarded)
    plan = None if cacheable is None else spec.plans.get(cacheable.key)
    if cacheable is not None and plan is not None:
        parameters, owned = plan.fill(Inputs(ref.key, values, cacheable.after, now), cacheable.values)
        write = Write(entity, spec.table, "Update", parameters, owned=owned)
        after, changes = cacheable.after, cacheable.changes
    else:
        guards = guards_of(actions) if cacheable is None else cacheable.guards
        besides = merged or NOTHING_MERGED
        draft: UpdateDraft[Any] = UpdateDraft(spec, ref.key, values, instance, guarded, now, besides)
        owned = draft.build(actions, mode, ref)
        schema = present_schema(spec, may_be_missing=mode == "upsert")
        stored = all_of(exists(spec.table.hash) if mode == "patch" else None, schema, draft.unchanged())
        bounds = all_of(*(guard.condition for guard in guards))
        out = Placeholders()
        parameters = {"Key": dict(ref.key), "UpdateExpression": render_actions([*draft.actions, *besides.actions], out)}
        condition = all_of(stored, draft.transitions(mode), bounds, draft.current(), condition, besides.condition, besides.guard)
        parameters = with_condition(parameters, condition, out)
        if cacheable is not None:
            keep_plan(spec, spec.plans, cacheable, parameters, out, owned)
        write = Write(entity, spec.table, "Update", parameters, owned=owned)
        after, changes = draft.after(), draft.changes
    if (spec.uniques or spec.counters) and not companion_names(spec).isdisjoint(changes):
        write.markers, write.counts = moved_markers(spec, values, after), counter_changes(spec, values, after)
    return write


def changed_attributes(before: E, after: E) -> list[UpdateAction]:
    """The actions that change a stored instance from `before` to `after`. A changed state attribute becomes a transition."""
    spec: Spec[Any] = spec_of(type(before))
    actions: list[UpdateAction] = []
    for attribute in spec.attributes.values():
        old, new = before.__dict__[attribute.name], after.__dict__[attribute.name]
        if old != new and not attribute.is_special("version") and attribute.traits.stamp is None:
            actions.append(attribute.attr.to(new) if attribute.state and new is not None else attribute.attr.set(new))
    return actions


@dataclass
class UpdateDraft(Generic[E]):
    """An update that is being planned."""

    spec: Spec[Any]
    key: Item
    #: the known values of the item before the update
    values: Mapping[str, Any]
    #: the instance to patch, if the caller passed one
    instance: BaseModel | None
    #: whether the version is checked
    guarded: bool
    now: datetime
    #: further changes and checks of the item in the same transaction
    merged: MergedChanges
    actions: list[UpdateAction] = field(default_factory=list)
    #: the new values of changed attributes
    changes: dict[str, Any] = field(default_factory=dict)
    moves: list[Transition] = field(default_factory=list)
    #: the known values that derived keys are built from, in insertion order
    relied: dict[str, None] = field(default_factory=dict)

    def build(self, actions: Sequence[UpdateAction], mode: str, ref: Ref[Any]) -> dict[str, Any]:
        """Add the actions and everything that follows from them; return the values that the model sets."""
        for action in actions:
            self.add_action(action)
        self.rewrite_parts()
        self.rewrite_computed()
        self.rewrite_indexes()
        owned = self.stamp_and_bump_version()
        self.rely_on_companions()
        if mode == "upsert":
            self.fill_new_item(ref.values)
        return owned

    def add_action(self, action: UpdateAction) -> None:
        """Check an action of the caller and record what it changes."""
        spec = self.spec
        attribute = spec.by_wire.get(action.path[0])
        if attribute is None or (action.owner is not None and not issubclass(spec.entity, action.owner)):
            raise _not_an_attribute(spec, action)
        _check_writable(spec, attribute, action)
        self.actions.append(action)
        if isinstance(action, Transition):
            self.moves.append(action)
        if note_change(self.changes, attribute, action) in ("", b"") and attribute.wire in spec.index_attributes:
            empty_key(spec.name, attribute.name)

    def after(self) -> dict[str, Any]:
        """The values after the update, as far as known."""
        return {**self.values, **self.changes}

    def _inputs(self) -> Inputs:
        return Inputs(self.key, self.values, self.after(), self.now)

    def rewrite_parts(self) -> None:
        """Rewrite the denormalised fields of changed key parts."""
        for source in self.spec.denormalised():
            if source.attribute in self.changes:
                self._write(source.wire, _changed_part(source), self.changes[source.name] is not None)

    def rewrite_computed(self) -> None:
        """Recompute computed fields from the instance after the update."""
        if not self.spec.computed:
            return
        if self.instance is None or COMPUTED in self.changes.values():
            raise DerivedKeyUnknown(
                f"{self.spec.name} has computed attributes ({', '.join(self.spec.computed)}), which need the whole item.",
                fix="Read the item and patch the instance with plain values.",
            )
        future = self.instance.model_copy(update={name: value for name, value in self.changes.items() if name in self.spec.attributes})
        packed, current = self.spec.encode(future), self.spec.encode(self.instance)
        for wire, _ in self.spec.computed.values():
            if packed.get(wire) != current.get(wire):
                self._write_value(wire, packed.get(wire))
                self._rely([name for name in self.spec.attributes if name not in self.changes])

    def rewrite_indexes(self) -> None:
        """Rewrite all index keys that depend on a change."""
        for plan in self.spec.indexes.values():
            if plan.derived and plan.inputs & self.changes.keys():
                self._rewrite(plan)

    def _rewrite(self, plan: KeyPlan) -> None:
        after = self.after()
        # An index may share key attributes with the table; those never change.
        fields = tuple(entry for entry in plan.derived if entry.attribute not in self.spec.table.attributes)
        if any(name in self.changes and after[name] is None for name in plan.names) or any(
            name in self.changes and after[name] is not COMPUTED and after[name] not in allowed for name, allowed in plan.when.items()
        ):
            for entry in fields:
                self._write_value(entry.attribute, None)
            return
        if plan.when or any(self._optional(name) for name in plan.names):
            self._need(list(plan.inputs), f"the key of {plan.index.name}")
            for entry in fields:
                self._write(entry.attribute, _key_value(plan, entry), plan.holds(after))
            return
        # The item is in the index before and after, so key attributes without a changed component stay as they are.
        for entry in fields:
            if set(entry.names) & self.changes.keys():
                self._need(entry.names, f"the key of {plan.index.name}")
                self._write(entry.attribute, _key_value(plan, entry), all(after[name] is not None for name in entry.names))

    def _optional(self, name: str) -> bool:
        return self.spec.attributes[self.spec.sources[name].attribute].optional

    def _need(self, names: Sequence[str], purpose: str) -> None:
        """Raise an error if one of the values is unknown, and rely on those that the update does not write."""
        after = self.after()
        unknown = sorted({name for name in names if name not in after or after[name] is COMPUTED})
        if unknown:
            raise DerivedKeyUnknown(
                f"The update changes {purpose}, which also depends on {', '.join(unknown)}.",
                fix="Patch the instance that was read, or pass the values with known=; replace sums by plain values.",
            )
        self._rely([name for name in names if name not in self.changes])

    def _rely(self, names: Sequence[str]) -> None:
        self.relied |= dict.fromkeys(name for name in names if name not in self.spec.reachable(self.spec.key))

    def _write(self, wire: str, recipe: Callable[[Inputs], Value], present: bool) -> None:
        """Set an attribute to the value of a recipe, or remove it; do nothing if the caller's actions write it."""
        if not self._writes(wire):
            self.actions.append(SetAction((wire,), operand=derived(recipe, self._inputs())) if present else RemoveAction((wire,)))

    def _write_value(self, wire: str, value: Value | None) -> None:
        if not self._writes(wire):
            self.actions.append(RemoveAction((wire,)) if value is None else SetAction((wire,), operand=Constant(None, value)))

    def _writes(self, wire: str) -> bool:
        return any(action.path == (wire,) for action in self.actions)

    def rely_on_companions(self) -> None:
        """Check that the values are known that changed markers and counters depend on, and rely on them."""
        spec = self.spec
        touched = [name for unique in spec.uniques.values() for name in unique.by if set(unique.by) & self.changes.keys()]
        for counter in spec.counters.values():
            if set(counter.names) & self.changes.keys():
                touched += counter.names
        if not touched:
            return
        unknown = [name for name in touched if name not in self.values]
        if unknown:
            raise DerivedKeyUnknown(
                f"The update changes markers or counters that depend on {', '.join(unknown)}.", fix="Patch the instance that was read."
            )
        self._need(touched, "markers or counters")
        self.relied |= dict.fromkeys(spec.sources[name].attribute for name in touched if name not in spec.reachable(spec.key))

    def stamp_and_bump_version(self) -> dict[str, Any]:
        """Set the stamps and increment the version; return the new values as far as known."""
        spec, owned = self.spec, {}
        for attribute in spec.stamped("write"):
            if attribute.name not in self.changes:
                owned[attribute.name] = self.changes[attribute.name] = self.now
                self.actions.append(SetAction((attribute.wire,), operand=derived(_stamp(attribute), self._inputs())))
        stamped = set(owned)
        for plan in spec.indexes.values():
            if plan.derived and plan.inputs & stamped:
                self._rewrite(plan)
        if spec.version is not None:
            self._bump_version(spec.version, owned)
        return owned

    def _bump_version(self, version: Attribute, owned: dict[str, Any]) -> None:
        if self.guarded:
            owned[version.name] = self.values[version.name] + 1
            operand: Any = derived(lambda inputs: {"N": str(inputs.before[version.name] + 1)}, self._inputs())
        else:
            old: Any = ValueCall("if_not_exists", (Path((version.wire,)), fixed({"N": "0"})))
            operand = Arithmetic(old, "+", fixed({"N": "1"}))
        self.actions.append(SetAction((version.wire,), operand=operand))

    def fill_new_item(self, components: Mapping[str, Any]) -> None:
        """Add everything that an upsert must write if it creates the item: key components, tag, schema number, defaults and index keys."""
        spec = self.spec
        if spec.uniques or spec.counters:
            raise DerivedKeyUnknown(
                f"{spec.name} has unique constraints or counters, and an upsert cannot know whether it creates the item.",
                fix="Use create or patch.",
            )
        natural = {entry.attribute for entry in spec.key.fields}
        after = {**self.after(), **components}
        needed = [a for a in spec.attributes.values() if a.info.is_required() and not a.optional and a.name not in spec.counted]
        absent = [attribute.name for attribute in needed if after.get(attribute.name) is None]
        if absent:
            raise MissingComponent(f"An upsert may create a {spec.name}, which needs {', '.join(absent)}.", fix="Set them in the upsert.")
        for source in spec.sources.values():
            if source.wire not in natural and components.get(source.name) is not None and source.name in spec.reachable(spec.key):
                self._write_value(source.wire, source.pack(components[source.name]))
        if spec.tag is not None and spec.table.tag is not None:
            self._write_value(spec.table.tag, {"S": spec.tag})
        if spec.schema > 1:
            self._write_value(spec.table.schema, {"N": str(spec.schema)})
        for attribute in spec.attributes.values():
            if attribute.name in spec.counted:
                if attribute.wire not in self.merged.deltas:
                    self._write_if_new(attribute.wire, Constant(0, {"N": "0"}))
            elif attribute.name not in after and not attribute.info.is_required():
                after[attribute.name] = self._write_default(attribute)
        for plan in spec.indexes.values():
            self._enter(plan, after)

    def _write_default(self, attribute: Attribute) -> Any:
        stamped = attribute.traits.stamp is not None
        value = self.now if stamped else attribute.info.get_default(call_default_factory=True, validated_data={})
        if value is not None and not attribute.is_special("version") and not (isinstance(value, set | frozenset) and not value):
            self._write_if_new(attribute.wire, attribute.attr.written(value))
        return value

    def _write_if_new(self, wire: str, value: Constant[Any]) -> None:
        if not self._writes(wire):
            self.actions.append(SetAction((wire,), operand=ValueCall("if_not_exists", (Path((wire,)), value))))

    def _enter(self, plan: KeyPlan, after: Mapping[str, Any]) -> None:
        """Write the index keys of a new item that the update does not already write."""
        written = {action.path for action in self.actions}
        rest = [entry for entry in plan.derived if (entry.attribute,) not in written]
        if not rest or not plan.holds(after) or any(entry in self.spec.key.fields for entry in rest):
            return
        if plan.when or any(self._optional(name) for name in plan.names):
            raise DerivedKeyUnknown(
                f"An upsert cannot know whether an existing {self.spec.name} is in {plan.index.name}.", fix="Use create or patch."
            )
        self._need([name for entry in rest for name in entry.names if name in self.changes], f"the key of {plan.index.name}")
        inputs = Inputs(self.key, self.values, after, self.now)
        for entry in rest:
            self._write_if_new(entry.attribute, derived(_key_value(plan, entry), inputs))

    def transitions(self, mode: str) -> Condition | None:
        """The condition that each stored state is a predecessor of its new state."""
        conditions = []
        for move in self.moves:
            state: Path[Any] = Path(move.path)
            # They follow from the new state, which the cache key contains.
            first, *others = [fixed(source.wire) for source in move.sources]
            legal: Condition = In(state, (first, *others)) if others else Comparison(state, "=", first)
            conditions.append(legal if mode == "patch" else legal | missing(str(move.path[0])))
        return all_of(*conditions)

    def current(self) -> Condition | None:
        """The condition that the values from which derived keys were built are current; None if the version is checked instead."""
        if self.guarded:
            return None
        conditions = []
        for source in dict.fromkeys(self.spec.stored(name) for name in self.relied):
            if self.values.get(source.name) is None:
                conditions.append(missing(source.wire))
            else:
                conditions.append(Comparison(Path((source.wire,)), "=", derived(_stored_value(source), self._inputs())))
        return all_of(*conditions)

    def unchanged(self) -> Condition | None:
        """The condition that the stored version is the one that was read; None if the version is not checked."""
        version = self.spec.version
        if version is None or not self.guarded:
            return None
        if self.values[version.name] == 0:
            return missing(version.wire) | Comparison(Path((version.wire,)), "=", fixed({"N": "0"}))
        stored = derived(lambda inputs: {"N": str(inputs.before[version.name])}, self._inputs())
        return Comparison(Path((version.wire,)), "=", stored)


def _not_an_attribute(spec: Spec[Any], action: UpdateAction) -> ExpressionError:
    owner = action.owner.__name__ if action.owner is not None else spec.name
    source = spec.sources.get(action.attribute)
    if source is not None and source.member is not None and owner == spec.name:
        whole = f"{owner}.{source.attribute}"
        return ExpressionError(f"{owner}.{source.name} is a field of {whole}.", fix=f"Set the whole key part: {whole}.set(...).")
    return ExpressionError(
        f"{owner}.{action.attribute} is not an attribute of {spec.name}, which the update changes.",
        fix=f"Use the attributes of {spec.name}: {', '.join(spec.attributes)}.",
    )


def _key_value(plan: KeyPlan, entry: KeyField) -> Callable[[Inputs], Value]:
    """A recipe for a key attribute of an index whose components all have values."""
    spread = plan.shards > 1 and entry is plan.hash[0]

    def recipe(inputs: Inputs) -> Value:
        value = entry.value(inputs.after)
        assert value is not None
        return {"S": sharded(value["S"], shard_of(inputs.key, plan.shards))} if spread else value

    return recipe


def _changed_part(source: KeySource) -> Callable[[Inputs], Value]:
    return lambda inputs: source.pack(inputs.after[source.name])


def _stored_value(source: KeySource) -> Callable[[Inputs], Value]:
    return lambda inputs: stored_value(source, inputs.before)


def _stamp(attribute: Attribute) -> Callable[[Inputs], Value]:
    return lambda inputs: attribute.attr.written(inputs.now).wire


def _check_writable(spec: Spec[Any], attribute: Attribute, action: UpdateAction) -> None:
    name = f"{spec.name}.{attribute.name}"
    if attribute.name in spec.reachable(spec.key):
        raise ImmutableKey(f"{name} is part of the primary key.")
    if attribute.read_only:
        raise ReadOnlyAttribute(f"{name} is read-only.")
    if attribute.is_special("version"):
        raise ReadOnlyAttribute(f"{name} is the version, which every write increments.")
    if attribute.name in spec.counted:
        raise ReadOnlyAttribute(
            f"{name} counts items of another entity and changes only when they are written.",
            fix="Remove it from the update. If the count is wrong, run `gateleg tables check --fix`.",
        )
    forced = isinstance(action, Transition) or (isinstance(action, SetAction) and action.forced)
    if attribute.state and not forced:
        raise StateNeedsTransition(f"{name} was set without a transition.")
    if isinstance(action, RemoveAction) and len(action.path) == 1 and attribute.needed and not attribute.optional:
        raise ReadOnlyAttribute(f"{name} is required and cannot be removed.", fix="Set another value, or make the attribute optional.")
