"""Plan cache: updates that differ only in their values are planned once.

Planning an update decides which index keys are rewritten, which values that requires, and which conditions the database must check. That
takes ten times as long as computing the values, and the result is the same for all updates of one kind: the same clauses on the same
attributes, the same form of condition, the same known values, and the same answers to the yes/no questions that planning asks about values
(is it None, is it in the `when` of an index). Together, these are the cache key. The cached value is a `PreparedUpdate` with recipes,
functions that compute the values that the model adds. Planning itself uses the same recipes.

A prepared update: an UpdateItem with finished expressions, and holes for the values that differ from call to call.

Planning an update takes most of the time of building its request, and its result is the same for all updates of one kind, so it is done
once. Prepared updates are used in two places:

- The plan cache of an entity keeps one for each kind of patch, and binds new values to it.
- A queue binds its own for claims and completions, without looking up their kind (`gateleg.store.operations.write_operation`).

Bounds that only the database can check, as conditions of updates that add to a number or change the length of a list, set or map.

With `ge=0`, `Book.available.add(-5)` gets the condition `available >= 5`. DynamoDB cannot compare the sum of two attributes in a condition,
so such an update is written without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Literal

from gateleg.model.errors import ExpressionValue
from gateleg.model.expressions.evaluation import Size, Term, is_satisfied
from gateleg.model.expressions.nodes import (
    AddAction,
    Arithmetic,
    BooleanCall,
    Comparison,
    Condition,
    Constant,
    DeleteAction,
    Not,
    Operand,
    Reference,
    RemoveAction,
    SetAction,
    Transition,
    ValueCall,
    all_of,
)
from gateleg.model.wire import decimal_text

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from datetime import datetime

    from gateleg.model.attr import Attribute
    from gateleg.model.expressions.nodes import Action, Operator, Path, Placeholders
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
    def of(cls, parameters: Mapping[str, Any], holes: tuple[tuple[str, Hole], ...]) -> PreparedUpdate:
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
    spec: Spec[Any],
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
    spec: Spec[Any], before: Mapping[str, Any], changes: Mapping[str, Any], after: Mapping[str, Any], guarded: bool
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
    spec: Spec[Any],
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


_OPERATORS: dict[str, Operator] = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_MIRRORED: dict[Operator, Operator] = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}
_COMPARE: dict[str, Callable[[Decimal, Decimal], bool]] = {">=": ge, ">": gt, "<=": le, "<": lt}
_WORDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than", "min_length": "at least", "max_length": "at most"}


@dataclass(frozen=True, eq=False)
class BoundGuard:
    """A bound of an attribute as a condition of an update that could break it."""

    #: the attribute's Python name
    attribute: str
    #: the name of the declared bound: ge, max_length, ...
    rule: Literal["ge", "gt", "le", "lt", "min_length", "max_length"]
    bound: Any
    condition: Condition

    def holds(self, item: Item) -> bool:
        """Whether an item satisfies the condition."""
        return is_satisfied(self.condition, item)

    @property
    def text(self) -> str:
        """The bound in words."""
        counted = " elements" if self.rule in ("min_length", "max_length") else ""
        return f"{_WORDS[self.rule]} {self.bound}{counted}"


def guards_of(actions: Sequence[Action]) -> tuple[BoundGuard, ...]:
    """The bounds that actions could break, in the order of the actions."""
    if all(action.attr is None for action in actions):
        return ()
    found: list[BoundGuard] = []
    for action in actions:
        if action.attr is not None and action.attr.bounds is not None:
            found += _attribute_guards(action)
    return (*found, *_elements(actions))


def _attribute_guards(action: Action) -> Iterator[BoundGuard]:
    """The bounds of the attribute that is written."""
    if isinstance(action, AddAction | DeleteAction) and isinstance(action.operand, Constant):
        ((tag, content),) = action.operand.wire.items()
        if tag == "N":
            yield from _numbers(action, action.path, Decimal(0), 1, Decimal(content))
        elif tag in ("SS", "NS", "BS"):
            yield from _sets(action, tag, content)
    elif isinstance(action, SetAction) and not isinstance(action.operand, Constant):
        yield from _assigned(action, _plain(action.operand))


def _assigned(action: SetAction, operand: Operand[Any]) -> Iterator[BoundGuard]:
    if isinstance(operand, ValueCall) and operand.function == "list_append":
        added = sum(len(part.wire["L"]) for part in operand.arguments if isinstance(part, Constant))
        yield from _longer(action, added)
    elif isinstance(operand, Arithmetic):
        left, right = _plain(operand.left), _plain(operand.right)
        sign = 1 if operand.sign == "+" else -1
        if isinstance(right, Constant) and (variable := _variable(left)) is not None:
            yield from _numbers(action, *variable, 1, sign * Decimal(right.wire["N"]))
        elif isinstance(left, Constant) and (variable := _variable(right)) is not None:
            yield from _numbers(action, *variable, sign, Decimal(left.wire["N"]))
    elif (variable := _variable(operand)) is not None:
        yield from _numbers(action, *variable, 1, Decimal(0))


def _plain(operand: Operand[Any]) -> Operand[Any]:
    return operand.operand if isinstance(operand, Term) else operand


def _variable(operand: Operand[Any]) -> tuple[Path, Decimal | None] | None:
    """The path of an operand that reads one attribute, and its default if the attribute is missing; None for other operands."""
    if isinstance(operand, ValueCall) and operand.function == "if_not_exists":
        path, default = _path(operand.arguments[0]), operand.arguments[1]
        if path is not None and isinstance(default, Constant) and "N" in default.wire:
            return path, Decimal(default.wire["N"])
        return None
    path = _path(operand)
    return None if path is None else (path, None)


def _path(operand: Operand[Any]) -> Path | None:
    path: Path | None = getattr(operand, "path", None)
    return path


def _numbers(action: Action, path: Path, default: Decimal | None, sign: int, shift: Decimal) -> Iterator[BoundGuard]:
    """The bounds of `sign * value + shift` as conditions on the value at `path`; a missing value counts as `default`."""
    assert action.attr is not None
    for rule, operator in _OPERATORS.items():
        bound = getattr(action.attr.bounds, rule)
        if not isinstance(bound, int | float | Decimal):
            continue
        # Increasing a number cannot break its lower bound, and decreasing it cannot break its upper bound.
        if path == action.path and sign > 0 and (shift <= 0 if rule in ("le", "lt") else shift >= 0):
            continue
        exact = Decimal(str(bound))
        limit: Constant[Any] = Constant(None, {"N": decimal_text(sign * (exact - shift))})
        within: Condition = Comparison(Reference(path), operator if sign > 0 else _MIRRORED[operator], limit)
        if default is not None and _COMPARE[operator](sign * default + shift, exact):
            within = within | _absent(path)
        yield BoundGuard(action.attribute, rule, bound, within)  # type: ignore[arg-type]


def _sets(action: Action, tag: str, elements: list[str]) -> Iterator[BoundGuard]:
    assert action.attr is not None
    place: Reference[Any] = Reference(action.path)
    members = [BooleanCall("contains", (place, Constant(None, {tag[0]: element}))) for element in elements]
    if isinstance(action, AddAction):
        most = action.attr.bounds.max_length
        if most is not None:
            known = all_of(*members)
            assert known is not None
            yield BoundGuard(action.attribute, "max_length", most, _fits(action, len(elements), most) | known)
    else:
        least = action.attr.bounds.min_length
        if least is not None:
            unaffected = all_of(*(Not(member) for member in members))
            assert unaffected is not None
            yield BoundGuard(
                action.attribute, "min_length", least, _absent(action.path) | _size(action.path, ">=", least + len(elements)) | unaffected
            )


def _longer(action: Action, added: int) -> Iterator[BoundGuard]:
    assert action.attr is not None
    most = action.attr.bounds.max_length
    if most is not None:
        yield BoundGuard(action.attribute, "max_length", most, _fits(action, added, most))


def _fits(action: Action, added: int, most: int) -> Condition:
    """A condition: `added` more elements fit. A missing list or set counts as empty."""
    if added > most:
        raise ExpressionValue(f"{action.attr!r} allows at most {most} elements, not {added}.", fix="Add fewer elements.")
    return _absent(action.path) | _size(action.path, "<=", most - added)


def _elements(actions: Sequence[Action]) -> Iterator[BoundGuard]:
    """The lengths of lists and maps whose elements are set or removed."""
    touched: dict[tuple[Path, bool], list[Action]] = {}
    for action in actions:
        parent = action.attr.parent if action.attr is not None else None
        if parent is not None and parent.bounds is not None and isinstance(action, SetAction | RemoveAction):
            touched.setdefault((parent.path, isinstance(action, SetAction)), []).append(action)
    for (path, grows), parts in touched.items():
        assert parts[0].attr is not None
        parent = parts[0].attr.parent
        places = [Reference[Any](part.path) for part in parts]
        if grows and (most := parent.bounds.max_length) is not None:
            there = all_of(*(BooleanCall("attribute_exists", (place,)) for place in places))
            assert there is not None
            yield BoundGuard(parent.name, "max_length", most, _size(path, "<=", most - len(parts)) | there)
        elif not grows and (least := parent.bounds.min_length) is not None:
            gone = all_of(*(BooleanCall("attribute_not_exists", (place,)) for place in places))
            assert gone is not None
            yield BoundGuard(parent.name, "min_length", least, _size(path, ">=", least + len(parts)) | gone)


def _absent(path: Path) -> Condition:
    return BooleanCall("attribute_not_exists", (Reference(path),))


def _size(path: Path, operator: Operator, count: int) -> Condition:
    return Comparison(Size(Reference(path)), operator, Constant(count, {"N": str(count)}))
