"""Updates that keep everything derived right: index keys, denormalised fields, versions, stamps, markers and counters.

The rule for derived keys: when an update changes a component, the whole derived attribute is rewritten. What it needs besides comes
from the primary key, from the instance that is patched, or from `known`; and unless the version guards it, the write is conditional on
those values being current. What cannot be known is refused.
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
    """Change an item: `patch` one that exists, or `upsert`. Give the instance that was read, or a reference and what is `known` of it.

    `joined` is what else a transaction asks of the item.
    """
    entity = type(target) if isinstance(target, BaseModel) else target.entity
    spec: Spec[Any] = spec_of(entity)
    instance = target if isinstance(target, BaseModel) else None
    ref = spec.ref(target) if isinstance(target, BaseModel) else target
    values = spec.values(instance) if instance is not None else {**spec.arguments(known or {}), **ref.values}
    guarded = instance is not None and check_version and spec.version is not None
    asked = None
    # What an upsert or anything kept by transaction needs depends on more than the key of a plan tells.
    if mode == "patch" and joined is None and not _PLAIN and not (spec.computed or spec.uniques or spec.counters):
        asked = read_update(spec, actions, condition, values, now, whole=instance is not None, guarded=guarded)
    plan = None if asked is None else spec.plans.get(asked.key)
    if asked is not None and plan is not None:
        parameters, owned = plan.fill(Inputs(ref.key, values, asked.after, now), asked.given)
        return Write(entity, spec.table, "Update", parameters, owned=owned, prepared=plan.update)
    besides = joined or Joined()
    draft: UpdatePlan[Any] = UpdatePlan(spec, ref.key, values, instance, guarded, now, besides)
    owned = _worked_out(draft, actions, mode, ref)
    schema = present_schema(spec, may_be_missing=mode == "upsert")
    guard = all_of(exists(spec.table.hash) if mode == "patch" else None, schema, draft.unchanged())
    bounds = all_of(*(guard.condition for guard in guards_of(actions)))
    out = Placeholders()
    parameters = {"Key": dict(ref.key), "UpdateExpression": render_actions([*draft.actions, *besides.actions], out)}
    condition = all_of(guard, draft.transitions(mode), bounds, draft.guards(), condition, besides.condition, besides.guard)
    parameters = with_condition(parameters, condition, out)
    if asked is not None:
        keep_plan(spec, spec.plans, asked, parameters, out, owned)
    return Write(entity, spec.table, "Update", parameters, draft.markers, draft.counts, owned)


def _worked_out(draft: UpdatePlan[Any], actions: Sequence[Action], mode: str, ref: Ref[Any]) -> dict[str, Any]:
    """Take the actions and all that follows from them; the answer is what the model sets by itself."""
    for action in actions:
        draft.take(action)
    draft.rewrite_parts()
    draft.rewrite_computed()
    draft.rewrite_indexes()
    draft.move_companions()
    owned = draft.own()
    if mode == "upsert":
        draft.complete(ref.values)
    return owned


def changed_attributes(before: E, after: E) -> list[Action]:
    """The actions that bring a stored instance from one state to another: a partial save. A changed state must be a legal move."""
    spec: Spec[Any] = spec_of(type(before))
    actions: list[Action] = []
    for attribute in spec.attributes.values():
        old, new = before.__dict__[attribute.name], after.__dict__[attribute.name]
        if old != new and not attribute.marked("version") and attribute.traits.stamp is None:
            actions.append(attribute.attr.to(new) if attribute.state and new is not None else attribute.attr.set(new))
    return actions
