"""Plan updates that keep all derived data consistent: index keys, denormalised fields, versions, stamps, markers and counters.

When an update changes a component of a derived key, the whole key is rewritten. The other components come from the primary key, from the
instance that is patched, or from `known`. Unless the version is checked, the write is conditional on those values being current. An update
whose other components are unknown is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel

from gateleg.model.expressions.actions import Action, render_actions
from gateleg.model.expressions.nodes import Condition, Placeholders, all_of, exists
from gateleg.model.planning.bounds import guards_of
from gateleg.model.planning.counter_changes import Joined
from gateleg.model.planning.plan_cache import Inputs, keep_plan, read_update
from gateleg.model.planning.update_plan import UpdatePlan
from gateleg.model.planning.writes import Write, present_schema, with_condition
from gateleg.model.spec import spec_of
from gateleg.plain import is_plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gateleg.model.keys.plans import Ref
    from gateleg.model.spec import Spec

E = TypeVar("E", bound=BaseModel)
_PLAIN = is_plain("plans")


def plan_update(
    target: E | Ref[E],
    actions: Sequence[Action],
    *,
    now: datetime,
    mode: Literal["patch", "upsert"] = "patch",
    known: Mapping[str, Any] | None = None,
    condition: Condition | None = None,
    check_version: bool = True,
    joined: Joined | None = None,
) -> Write[E]:
    """Plan an update of an item: `patch` requires that it exists, `upsert` creates it if necessary.

    The target is the instance that was read, or a reference; `known` are then values of the item that the caller knows. `joined` contains
    further changes and checks of the item in the same transaction.
    """
    entity = type(target) if isinstance(target, BaseModel) else target.entity
    spec: Spec[Any] = spec_of(entity)
    instance = target if isinstance(target, BaseModel) else None
    ref = spec.ref(target) if isinstance(target, BaseModel) else target
    values = spec.values(instance) if instance is not None else {**spec.arguments(known or {}), **ref.values}
    guarded = instance is not None and check_version and spec.version is not None
    cacheable = None
    # Plans of upserts, and of updates with companions, depend on more than their cache key contains.
    if mode == "patch" and joined is None and not _PLAIN and not (spec.computed or spec.uniques or spec.counters):
        cacheable = read_update(spec, actions, condition, values, now, whole=instance is not None, guarded=guarded)
    plan = None if cacheable is None else spec.plans.get(cacheable.key)
    if cacheable is not None and plan is not None:
        parameters, owned = plan.fill(Inputs(ref.key, values, cacheable.after, now), cacheable.values)
        return Write(entity, spec.table, "Update", parameters, owned=owned, prepared=plan.update)
    besides = joined or Joined()
    draft: UpdatePlan[Any] = UpdatePlan(spec, ref.key, values, instance, guarded, now, besides)
    owned = _build(draft, actions, mode, ref)
    schema = present_schema(spec, may_be_missing=mode == "upsert")
    guard = all_of(exists(spec.table.hash) if mode == "patch" else None, schema, draft.unchanged())
    bounds = all_of(*(guard.condition for guard in guards_of(actions)))
    out = Placeholders()
    parameters = {"Key": dict(ref.key), "UpdateExpression": render_actions([*draft.actions, *besides.actions], out)}
    condition = all_of(guard, draft.transitions(mode), bounds, draft.guards(), condition, besides.condition, besides.guard)
    parameters = with_condition(parameters, condition, out)
    if cacheable is not None:
        keep_plan(spec, spec.plans, cacheable, parameters, out, owned)
    return Write(entity, spec.table, "Update", parameters, draft.markers, draft.counts, owned)


def _build(draft: UpdatePlan[Any], actions: Sequence[Action], mode: str, ref: Ref[Any]) -> dict[str, Any]:
    """Add the actions and everything that follows from them; return the values that the model sets."""
    for action in actions:
        draft.add_action(action)
    draft.rewrite_parts()
    draft.rewrite_computed()
    draft.rewrite_indexes()
    draft.plan_companions()
    owned = draft.stamp_and_bump_version()
    if mode == "upsert":
        draft.fill_new_item(ref.values)
    return owned


def changed_attributes(before: E, after: E) -> list[Action]:
    """The actions that change a stored instance from `before` to `after`. A changed state attribute becomes a transition."""
    spec: Spec[Any] = spec_of(type(before))
    actions: list[Action] = []
    for attribute in spec.attributes.values():
        old, new = before.__dict__[attribute.name], after.__dict__[attribute.name]
        if old != new and not attribute.marked("version") and attribute.traits.stamp is None:
            actions.append(attribute.attr.to(new) if attribute.state and new is not None else attribute.attr.set(new))
    return actions
