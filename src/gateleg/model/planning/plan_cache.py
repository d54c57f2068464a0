"""Plan cache: updates that differ only in their values are planned once.

Planning an update decides which index keys are rewritten, which values that requires, and which conditions the database must check. That
takes ten times as long as computing the values, and the result is the same for all updates of one kind: the same clauses on the same
attributes, the same form of condition, the same known values, and the same answers to the yes/no questions that planning asks about values
(is it None, is it in the `when` of an index). Together, these are the cache key. The cached value is a `PreparedUpdate` with recipes,
functions that compute the values that the model adds. Planning itself uses the same recipes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model.expressions.actions import RemoveAction, SetAction, Transition
from gateleg.model.expressions.nodes import Constant
from gateleg.model.planning.bounds import guards_of
from gateleg.model.planning.prepared_update import PreparedUpdate

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence
    from datetime import datetime

    from gateleg.model.attributes.attribute import Attribute
    from gateleg.model.codec.wire import Item, Value
    from gateleg.model.expressions.actions import Action
    from gateleg.model.expressions.nodes import Condition, Placeholders
    from gateleg.model.layout import EntityLayout

#: The new value of an attribute that only the database computes, such as a sum.
COMPUTED: Any = object()
#: More than a program normally needs. The limit is for conditions with lists of varying length, each of which needs a plan.
_MAX_CACHED_PLANS = 500


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of recipes."""

    key: Item
    #: the known values of the item before and after the update
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    now: datetime


@dataclass(frozen=True, eq=False)
class Derived(Constant[Any]):
    """A value that the model computes, with the recipe that computes it."""

    recipe: Callable[[Inputs], Value] = None  # type: ignore[assignment]

    def render(self, out: Placeholders) -> str:
        """A value placeholder; the recipe is recorded under it."""
        placeholder = out.value(self.wire)
        out.recipes[placeholder] = self.recipe
        return placeholder


def derived(recipe: Callable[[Inputs], Value], inputs: Inputs) -> Derived:
    """The operand for the value that a recipe computes."""
    return Derived(None, recipe(inputs), recipe)


def fixed(value: Value) -> Derived:
    """The operand for a value that is the same in all updates of one kind."""
    return Derived(None, value, lambda inputs: value)


@dataclass(frozen=True, slots=True)
class CachedPlan:
    """A prepared update of an entity, with recipes for the values that the model adds."""

    #: its holes are positions in a list: the caller's values, then those of the recipes
    update: PreparedUpdate
    recipes: tuple[Callable[[Inputs], Value], ...]
    #: the attributes that are set to the current time
    stamps: tuple[str, ...]
    #: the version attribute, if the update increments the version that was read
    version: str | None

    def fill(self, inputs: Inputs, values: Sequence[Value]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parameters of the update with the caller's values, and the values of the attributes that the model set."""
        parameters = self.update.bind(dict(inputs.key), [*values, *[recipe(inputs) for recipe in self.recipes]])
        owned: dict[str, Any] = dict.fromkeys(self.stamps, inputs.now)
        if self.version is not None:
            owned[self.version] = inputs.before[self.version] + 1
        return parameters, owned


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """A requested update: the cache key of its plan, the caller's values, and the known values of the item after the update."""

    key: Hashable
    values: list[Value]
    after: dict[str, Any]


def note_change(changes: dict[str, Any], attribute: Attribute, action: Action) -> Any:
    """Record an attribute's new value (and those of a key part's fields) in `changes`, and return it."""
    value = changes[attribute.name] = _new_value(action)
    if attribute.part is not None:
        changes |= {member: getattr(value, member, None) for member in attribute.part.__members__()}
    return value


def _new_value(action: Action) -> Any:
    if len(action.path) > 1:
        return COMPUTED
    if isinstance(action, RemoveAction):
        return None
    operand = getattr(action, "operand", None)
    return operand.value if isinstance(action, SetAction) and isinstance(operand, Constant) else COMPUTED


def read_update(
    spec: EntityLayout[Any],
    actions: Sequence[Action],
    condition: Condition | None,
    before: Mapping[str, Any],
    now: datetime,
    *,
    whole: bool,
    guarded: bool,
) -> UpdateRequest | None:
    """Read an update into the form that the cache uses; None if it cannot be cached or is invalid: planning then raises the error.

    `whole` means that all values of the item are known, `guarded` that its version is checked.
    """
    changes: dict[str, Any] = {}
    for action in actions:
        attribute = spec.by_wire.get(action.path[0])
        if attribute is None or (note_change(changes, attribute, action) in ("", b"") and attribute.wire in spec.index_attributes):
            return None
    for attribute in spec.stamped("write"):
        changes.setdefault(attribute.name, now)
    after = {**before, **changes}
    values: list[Value] = []
    try:
        clauses = tuple([action.cache_key(values) for action in actions])
        # The values must be in the order of a plan: clauses, then the conditions of transitions, then bounds, then the caller's condition.
        for action in actions:
            if isinstance(action, Transition):
                for source in action.sources:
                    source.cache_key(values)
        bounds = tuple([guard.condition.cache_key(values) for guard in guards_of(actions)])
        condition_key = None if condition is None else condition.cache_key(values)
    except NotImplementedError:
        return None
    known = None if whole else tuple(before)
    key = (clauses, bounds, condition_key, guarded, known, _answers(spec, before, changes, after, guarded))
    return UpdateRequest(key, values, after)


def _answers(
    spec: EntityLayout[Any], before: Mapping[str, Any], changes: Mapping[str, Any], after: Mapping[str, Any], guarded: bool
) -> tuple[bool, ...]:
    """The answers to all questions that planning asks about values."""
    answers = []
    for plan in spec.rewritable:
        if not plan.inputs.isdisjoint(changes):
            answers += [after.get(name) is None for name in plan.inputs]
            answers += [after.get(name) in allowed for name, allowed in plan.when.items()]
    answers += [changes[source.name] is None for source in spec.denormalised() if source.attribute in changes]
    if guarded and spec.version is not None:
        answers.append(before[spec.version.name] == 0)
    return tuple(answers)


def keep_plan(
    spec: EntityLayout[Any],
    plans: dict[Hashable, CachedPlan],
    request: UpdateRequest,
    parameters: Mapping[str, Any],
    out: Placeholders,
    owned: Mapping[str, Any],
) -> None:
    """Cache an update that was planned, unless it contains a value that neither the caller nor a recipe provided."""
    from_caller = [placeholder for placeholder in out.values if placeholder not in out.recipes]
    if [out.values[placeholder] for placeholder in from_caller] != request.values:
        return
    if len(plans) >= _MAX_CACHED_PLANS:
        plans.clear()
    version = spec.version.name if spec.version is not None and spec.version.name in owned else None
    stamps = tuple(name for name in owned if name != version)
    holes = tuple((placeholder, position) for position, placeholder in enumerate([*from_caller, *out.recipes]))
    plans[request.key] = CachedPlan(PreparedUpdate.of(parameters, holes), tuple(out.recipes.values()), stamps, version)
