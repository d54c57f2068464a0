"""Updates that differ only in their values are planned once.

Planning an update decides which index keys are rewritten, which values that requires, and which conditions the database must check. That
takes ten times as long as computing the values, and the result is the same for all updates of one kind. So it is cached:

- `PreparedUpdate`: an UpdateItem with finished expressions, and holes for the values that differ from call to call. A queue prepares its
  own for claims and completions (`gateleg.store.operations.write_operation`).
- `CachedPlan`: a prepared update of an entity, with recipes, functions that compute the values that the model adds. Planning itself uses
  the same recipes. An entity keeps its plans in `spec.plans`.
- `read_update`: the cache key of a requested update. It contains the same clauses on the same attributes, the same form of condition, the
  same known values, and the same answers to the yes/no questions that planning asks about values (is it None, is it in the `when` of an
  index). The caller's values are read in the same order as the planner renders them, which `keep_plan` verifies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from gateleg.model.expressions.nodes import Constant, RemoveAction, SetAction
from gateleg.model.planning.bounds import guards_of
from gateleg.plain import is_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence
    from datetime import datetime

    from gateleg.model.attr import Attribute
    from gateleg.model.expressions.nodes import Condition, Placeholders, UpdateAction
    from gateleg.model.planning.bounds import BoundGuard
    from gateleg.model.spec import Spec
    from gateleg.model.wire import Item, Value


#: Where a value comes from: a name in a mapping, or a position in a list.
Hole = str | int


@dataclass(frozen=True, eq=False, slots=True)
class PreparedUpdate:
    """An update without its key and without the values that differ from call to call. Compared by identity."""

    #: UpdateExpression and, if the update has one, ConditionExpression
    expressions: Mapping[str, str]
    #: attribute names by placeholder
    names: Mapping[str, str]
    #: all values by placeholder; the values of holes are examples
    values: Mapping[str, Value]
    #: the placeholders to fill in, and where their values come from
    holes: tuple[tuple[str, Hole], ...]

    @classmethod
    def of(cls, parameters: Mapping[str, Any], holes: tuple[tuple[str, Hole], ...] = ()) -> PreparedUpdate:
        """Make a prepared update from the parameters of one update."""
        expressions = {name: parameters[name] for name in ("UpdateExpression", "ConditionExpression") if name in parameters}
        names, values = parameters.get("ExpressionAttributeNames", {}), parameters.get("ExpressionAttributeValues", {})
        return cls(expressions, dict(names), dict(values), holes)

    @classmethod
    def from_example(cls, parameters: Mapping[str, Any], examples: Mapping[str, Value]) -> PreparedUpdate:
        """Make a prepared update from one that was planned with named example values, each different from all other values of the plan."""
        values = parameters["ExpressionAttributeValues"]
        holes = tuple(
            (placeholder, name) for placeholder, value in values.items() for name, example in examples.items() if value == example
        )
        missed = examples.keys() - {name for _, name in holes}
        if missed:
            raise ValueError(f"The planned update does not contain the example of {', '.join(sorted(missed))}.")
        return cls.of(parameters, holes)

    def bind(self, key: Item, bound: Mapping[str, Value] | Sequence[Value]) -> dict[str, Any]:
        """The parameters of the update of one item. `bound` is a mapping if the holes have names, a list if they have positions."""
        parameters: dict[str, Any] = {"Key": key, **self.expressions}
        if self.names:
            parameters["ExpressionAttributeNames"] = dict(self.names)
        if self.values:
            values = parameters["ExpressionAttributeValues"] = dict(self.values)
            for placeholder, hole in self.holes:
                values[placeholder] = bound[hole]  # type: ignore[index]
        return parameters


#: The new value of an attribute that only the database computes, such as a sum.
COMPUTED: Any = object()
#: Whether plans are cached, see `gateleg.plain`.
CACHES_PLANS = not is_plain("plans")
#: More than a program normally needs. The limit is for conditions with lists of varying length, each of which needs a plan.
_MAX_CACHED_PLANS = 500


@dataclass(slots=True)
class Inputs:
    """The inputs of recipes."""

    key: Item
    #: the known values of the item before and after the update
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    now: datetime


@dataclass(frozen=True, eq=False)
class Derived(Constant[Any]):
    """A value that the model adds. Its recipe computes it; without one, it is the same in all updates of one kind."""

    recipe: Callable[[Inputs], Value] | None = None

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
    return Derived(None, value)


@dataclass(frozen=True, slots=True)
class CachedPlan:
    """A prepared update of an entity, with recipes for the values that the model adds."""

    #: its holes are positions in a list: the caller's values, then those of the recipes
    update: PreparedUpdate
    recipes: tuple[Callable[[Inputs], Value], ...] = ()
    #: the attributes that are set to the current time
    stamps: tuple[str, ...] = ()
    #: the version attribute, if the update increments the version that was read
    version: str | None = None

    def fill(self, inputs: Inputs, values: list[Value]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parameters of the update with the caller's values, and the values of the attributes that the model set."""
        values = values.copy()
        for recipe in self.recipes:
            values.append(recipe(inputs))
        owned: dict[str, Any] = dict.fromkeys(self.stamps, inputs.now)
        if self.version is not None:
            owned[self.version] = inputs.before[self.version] + 1
        return self.update.bind(dict(inputs.key), values), owned


@dataclass(slots=True)
class UpdateRequest:
    """A requested update as the cache sees it."""

    #: the key of its plan
    key: Hashable
    #: the caller's values
    values: list[Value]
    #: the known values of the item after the update
    after: dict[str, Any]
    #: the new values of the attributes that it changes
    changes: dict[str, Any]
    #: the bounds that it could break
    guards: Sequence[BoundGuard]


def read_update(
    spec: Spec[Any],
    actions: Sequence[UpdateAction],
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
    values: list[Value] = []
    clauses: list[Hashable] = []
    # The values are read in the order in which planning renders them: the actions, the bounds, the caller's condition.
    try:
        for action in actions:
            attribute = spec.by_wire.get(action.path[0])
            if attribute is None or (note_change(changes, attribute, action) in ("", b"") and attribute.wire in spec.index_attributes):
                return None
            clauses.append(action.cache_key(values))
        guards = guards_of(actions)
        clauses += [guard.condition.cache_key(values) for guard in guards] if guards else ()
        condition_key = None if condition is None else condition.cache_key(values)
    except NotImplementedError:
        return None
    for attribute in spec.write_stamps:
        changes.setdefault(attribute.name, now)
    after = {**before, **changes}
    key = (tuple(clauses), condition_key, guarded, None if whole else tuple(before), _answers(spec, before, changes, after, guarded))
    return UpdateRequest(key, values, after, changes, guards)


def note_change(changes: dict[str, Any], attribute: Attribute, action: UpdateAction) -> Any:
    """Record an attribute's new value (and those of a key part's fields) in `changes`, and return it."""
    if len(action.path) > 1:
        value = COMPUTED
    elif isinstance(action, RemoveAction):
        value = None
    else:
        operand = getattr(action, "operand", None)
        value = operand.value if isinstance(action, SetAction) and isinstance(operand, Constant) else COMPUTED
    changes[attribute.name] = value
    if attribute.part is not None:
        changes |= {member: getattr(value, member, None) for member in attribute.part.__members__()}
    return value


def _answers(
    spec: Spec[Any], before: Mapping[str, Any], changes: Mapping[str, Any], after: Mapping[str, Any], guarded: bool
) -> tuple[bool, ...]:
    """The answers to all questions that planning asks about values."""
    answers: list[bool] = []
    for plan in spec.rewritable:
        if not plan.inputs.isdisjoint(changes):
            answers += [after.get(name) is None for name in plan.inputs]
            answers += [after.get(name) in allowed for name, allowed in plan.when.items()]
    if parts := spec.denormalised():
        answers += [changes[source.name] is None for source in parts if source.attribute in changes]
    if guarded and spec.version is not None:
        answers.append(before[spec.version.name] == 0)
    elif spec.uniques or spec.counters:
        # Without a version to check, the update is conditional on the values that markers and counters depend on.
        answers += [before.get(spec.sources[name].attribute) is None for name in companion_names(spec)]
    return tuple(answers)


@cache
def companion_names(spec: Spec[Any]) -> frozenset[str]:
    """The names of all attributes that the markers and counters of an entity depend on."""
    names = [unique.by for unique in spec.uniques.values()] + [counter.names for counter in spec.counters.values()]
    return frozenset(name for some in names for name in some)


def keep_plan(
    spec: Spec[Any],
    plans: dict[Hashable, CachedPlan],
    request: UpdateRequest,
    parameters: Mapping[str, Any],
    out: Placeholders,
    owned: Mapping[str, Any],
) -> None:
    """Cache an update that was planned, unless it contains a value that neither the caller nor a recipe provided."""
    from_caller = [placeholder for placeholder in out.values if placeholder not in out.recipes]
    if list(map(id, map(out.values.__getitem__, from_caller))) != list(map(id, request.values)):
        return
    recipes = {placeholder: recipe for placeholder, recipe in out.recipes.items() if recipe is not None}
    version = spec.version.name if spec.version is not None and spec.version.name in owned else None
    stamps = tuple(name for name in owned if name != version)
    holes = tuple((placeholder, position) for position, placeholder in enumerate([*from_caller, *recipes]))
    add_plan(plans, request.key, CachedPlan(PreparedUpdate.of(parameters, holes), tuple(recipes.values()), stamps, version))


def add_plan(plans: dict[Hashable, CachedPlan], key: Hashable, plan: CachedPlan) -> None:
    """Cache a plan; if there are too many, forget all others."""
    if len(plans) >= _MAX_CACHED_PLANS:
        plans.clear()
    plans[key] = plan
