"""Plan cache: updates that differ only in their values are planned once.

To plan an update is to decide what follows from it: which index keys are rewritten, what they rely on, what the database must check. That
takes ten times as long as to work out the values, and it comes out the same for every update of the same kind: the same clauses on the
same attributes, the same kind of condition, the same things known beforehand, and the same answers to the questions that a plan asks of
values (is it None, is it one of those that an index admits). All of that together is the key under which a plan is kept: as a
`PreparedUpdate`, with recipes for those of its values that the model works out. The plan that it was taken from used the same recipes.
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

#: The new value of an attribute that only the database will know, such as a sum.
COMPUTED: Any = object()
#: More plans than a program has; conditions with lists of changing lengths could make ever more of them.
_MAX_CACHED_PLANS = 500


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the values of an update are made from."""

    key: Item
    #: the values that are known of the item, and those that it will have
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    now: datetime


@dataclass(frozen=True, eq=False)
class Derived(Constant[Any]):
    """A value that the model works out, and how."""

    recipe: Callable[[Inputs], Value] = None  # type: ignore[assignment]

    def render(self, out: Placeholders) -> str:
        """A value placeholder, for which the recipe is noted."""
        placeholder = out.value(self.wire)
        out.recipes[placeholder] = self.recipe
        return placeholder


def derived(recipe: Callable[[Inputs], Value], inputs: Inputs) -> Derived:
    """The value that a recipe makes."""
    return Derived(None, recipe(inputs), recipe)


def fixed(value: Value) -> Derived:
    """A value that is the same in all updates of one kind."""
    return Derived(None, value, lambda inputs: value)


@dataclass(frozen=True, slots=True)
class CachedPlan:
    """A prepared update of an entity, with how the model makes the values that the caller does not give."""

    #: its holes are positions in a list: the caller's values, then those of the recipes
    update: PreparedUpdate
    recipes: tuple[Callable[[Inputs], Value], ...]
    #: the attributes that the model sets to the present time
    stamps: tuple[str, ...]
    #: the version, where it is raised from the one that was read
    version: str | None

    def fill(self, inputs: Inputs, given: Sequence[Value]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parameters of the update, and the values of attributes that the model has set."""
        parameters = self.update.bind(dict(inputs.key), [*given, *[recipe(inputs) for recipe in self.recipes]])
        owned: dict[str, Any] = dict.fromkeys(self.stamps, inputs.now)
        if self.version is not None:
            owned[self.version] = inputs.before[self.version] + 1
        return parameters, owned


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """An update as it is asked for: the key of its plan, the values that the caller gives, and those that the item will have."""

    key: Hashable
    given: list[Value]
    after: dict[str, Any]


def note_change(changes: dict[str, Any], attribute: Attribute, action: Action) -> Any:
    """Enter the new value of an attribute, and those of the fields of a key part. The answer is the value."""
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
    """What is asked for; None when that is not an attribute, has no outline or must be refused: the plan then says why.

    `whole` says that all values of the item are known, `guarded` that its version is checked.
    """
    changes: dict[str, Any] = {}
    for action in actions:
        attribute = spec.by_wire.get(action.path[0])
        if attribute is None or (note_change(changes, attribute, action) in ("", b"") and attribute.wire in spec.index_attributes):
            return None
    for attribute in spec.stamped("write"):
        changes.setdefault(attribute.name, now)
    after = {**before, **changes}
    given: list[Value] = []
    try:
        outlines = tuple([action.outline(given) for action in actions])
        # A plan puts the conditions of moves behind all clauses, and before the caller's own.
        for action in actions:
            if isinstance(action, Transition):
                for source in action.sources:
                    source.outline(given)
        # Then come the bounds that sums and longer lists must keep.
        kept = tuple([guard.condition.outline(given) for guard in guards_of(actions)])
        wanted = None if condition is None else condition.outline(given)
    except NotImplementedError:
        return None
    known = None if whole else tuple(before)
    key = (outlines, kept, wanted, guarded, known, _answers(spec, before, changes, after, guarded))
    return UpdateRequest(key, given, after)


def _answers(
    spec: EntityLayout[Any], before: Mapping[str, Any], changes: Mapping[str, Any], after: Mapping[str, Any], guarded: bool
) -> tuple[bool, ...]:
    """All that a plan asks of values."""
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
    asked: UpdateRequest,
    parameters: Mapping[str, Any],
    out: Placeholders,
    owned: Mapping[str, Any],
) -> None:
    """Keep an update that was planned, unless a value in it came from somewhere else."""
    given = [placeholder for placeholder in out.values if placeholder not in out.recipes]
    if [out.values[placeholder] for placeholder in given] != asked.given:
        return
    if len(plans) >= _MAX_CACHED_PLANS:
        plans.clear()
    version = spec.version.name if spec.version is not None and spec.version.name in owned else None
    stamps = tuple(name for name in owned if name != version)
    holes = tuple((placeholder, position) for position, placeholder in enumerate([*given, *out.recipes]))
    plans[asked.key] = CachedPlan(PreparedUpdate.of(parameters, holes), tuple(out.recipes.values()), stamps, version)
