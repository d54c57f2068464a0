"""Expressions read once and kept.

The text is parsed and checked once; for each set of names it is compiled once. What is left for a request is a look at the types of its
values, and only where that look finds something odd are the full rules gone through, for the exact error.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

from gateleg.engine.errors import EngineError, validation
from gateleg.engine.expressions import condition_rules, update_rules
from gateleg.engine.expressions.condition_grammar import ConditionSource, parse_condition
from gateleg.engine.expressions.conditions import Condition, condition
from gateleg.engine.expressions.faults import Fault
from gateleg.engine.expressions.functions import LIST, NUMBER, SCALARS, SIZED, TEXTS, TYPES
from gateleg.engine.expressions.keys import KeyTemplate, key_template
from gateleg.engine.expressions.nodes import Add, Arithmetic, Between, Call, Compare, Names, Operand, Path, Value, Values
from gateleg.engine.expressions.paths import aliases, check_disjoint, check_spelling, resolve
from gateleg.engine.expressions.projections import Projection, parse_projection, projection
from gateleg.engine.expressions.tokens import MAX_SIZE
from gateleg.engine.expressions.update_grammar import UpdateSource, parse_update
from gateleg.engine.expressions.updates import Update, update

T = TypeVar("T")

#: Expressions that are kept, and name bindings of each.
KEPT: Final = 2048
BINDINGS: Final = 64

#: Parameters whose message about their size tells the size.
_SIZE_TOLD: Final = frozenset({"ConditionExpression", "FilterExpression"})


def short(names: Names) -> bool:
    """Whether what belongs to these names may be kept: a name may have 64 KB, and a request many of them."""
    return sum(map(len, names.values())) <= MAX_SIZE


@dataclass(slots=True)
class Expression(Generic[T]):
    """A parsed expression: what it refers to, how to check it against a request, and its compiled forms by the names they use."""

    parameter: str
    #: `#names` and `:values` that it uses.
    names: tuple[str, ...]
    values: tuple[str, ...]
    #: Applies all rules that need names and values.
    check: Callable[[Names, Values], None]
    build: Callable[[Names], T]
    #: The types that a value must have.
    demands: tuple[tuple[str, frozenset[str]], ...] = ()
    #: Bounds of BETWEEN, and type names of attribute_type.
    bounds: tuple[tuple[str, str], ...] = ()
    type_names: tuple[str, ...] = ()
    bound: dict[tuple[str | None, ...], T] = field(default_factory=dict)

    def bind(self, names: Names, values: Values) -> T:
        """The compiled expression for a request's names, after a check of its values."""
        key = tuple([names.get(name) for name in self.names])
        found = self.bound.get(key)
        try:
            if found is None:
                self.check(names, values)
                found = self.build(names)
                if short(names):
                    if len(self.bound) >= BINDINGS:
                        self.bound.clear()
                    self.bound[key] = found
            elif not self.fits(values):
                self.check(names, values)
        except Fault as fault:
            raise invalid(self.parameter, fault) from None
        return found

    def fits(self, values: Values) -> bool:
        """Whether the values are surely right; the rules tell what is wrong if not."""
        return all(name in values for name in self.values) and self.suits(values)

    @property
    def demanding(self) -> bool:
        """Whether not any value will do."""
        return bool(self.demands or self.bounds or self.type_names)

    def suits(self, values: Values) -> bool:
        """Whether the values, all of which are known to be there, are surely right."""
        for name, allowed in self.demands:
            if allowed.isdisjoint(values[name]):
                return False
        return not (self.bounds or self.type_names) or self._fits_exactly(values)

    def _fits_exactly(self, values: Values) -> bool:
        try:
            for low, high in self.bounds:
                condition_rules.check_bounds(values[low], values[high])
            for name in self.type_names:
                condition_rules.check_type_name(values[name])
        except Fault:
            return False
        return True


def invalid(parameter: str, fault: Fault) -> EngineError:
    """A fault as the answer has it."""
    return validation(f"Invalid {parameter}: {fault.message}")


@lru_cache(maxsize=KEPT)
def read(parameter: str, text: str) -> Expression[Any]:
    """The expression of a parameter; raises DynamoDB's error where its text is wrong."""
    try:
        _check_size(parameter, text)
        return _READERS[parameter](parameter, text)
    except Fault as fault:
        raise invalid(parameter, fault) from None


def _check_size(parameter: str, text: str) -> None:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_SIZE:
        told = f" expression size: {size}" if parameter in _SIZE_TOLD else ""
        raise Fault(f"Expression size has exceeded the maximum allowed size;{told}")


def _read_condition(parameter: str, text: str) -> Expression[Condition]:
    source = _condition_source(text)
    return _condition_expression(parameter, source, lambda names: condition(source.root, names))


def _read_key_condition(parameter: str, text: str) -> Expression[KeyTemplate]:
    source = _condition_source(text)
    return _condition_expression(parameter, source, lambda names: key_template(source.root, names))


def _condition_source(text: str) -> ConditionSource:
    source = parse_condition(text)
    condition_rules.check_text(source)
    return source


def _condition_expression(parameter: str, source: ConditionSource, build: Callable[[Names], T]) -> Expression[T]:
    names, values = _used(source.references)
    demands = _Demands()
    for clause in source.clauses:
        for call in clause.calls:
            demands.note_call(call)
        if isinstance(clause.node, Between):
            demands.note_between(clause.node)
        elif isinstance(clause.node, Compare) and clause.node.operator not in ("=", "<>"):
            demands.note((clause.node.left, clause.node.right), SCALARS)
    return Expression(
        parameter,
        names,
        values,
        lambda given, filled: condition_rules.check_references(source, given, filled),
        build,
        tuple(demands.types),
        tuple(demands.bounds),
        tuple(demands.type_names),
    )


def _read_update(parameter: str, text: str) -> Expression[Update]:
    source = parse_update(text)
    update_rules.check_text(source)
    names, values = _used(source.references)
    return Expression(
        parameter,
        names,
        values,
        lambda given, filled: update_rules.check_references(source, given, filled),
        lambda given: update(source.actions, given),
        tuple(_update_demands(source)),
    )


def _update_demands(source: UpdateSource) -> list[tuple[str, frozenset[str]]]:
    demands = _Demands()
    for action in source.actions:
        value = getattr(action, "value", None)
        if isinstance(value, Value) and type(action).__name__ in ("Add", "Delete"):
            demands.note((value,), update_rules.SETS | (NUMBER if isinstance(action, Add) else frozenset()))
    for call in source.calls:
        if isinstance(call, Arithmetic):
            demands.note((call.left, call.right), NUMBER)
        elif call.name == "list_append":
            demands.note(call.args, LIST)
    return demands.types


def _read_projection(parameter: str, text: str) -> Expression[Projection]:
    paths = parse_projection(text)
    check_spelling(paths)
    names, values = _used(paths)

    def check(given: Names, filled: Values) -> None:
        check_disjoint([resolve(path, given) for path in paths])

    return Expression(parameter, names, values, check, lambda given: projection(resolve(path, given) for path in paths))


_READERS: Final[dict[str, Callable[[str, str], Expression[Any]]]] = {
    "ConditionExpression": _read_condition,
    "FilterExpression": _read_condition,
    "KeyConditionExpression": _read_key_condition,
    "UpdateExpression": _read_update,
    "ProjectionExpression": _read_projection,
}


def _used(references: tuple[Path | Value, ...] | tuple[Path, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names: dict[str, None] = {}
    values: dict[str, None] = {}
    for reference in references:
        if isinstance(reference, Path):
            names.update(dict.fromkeys(aliases(reference)))
        else:
            values[reference.name] = None
    return tuple(names), tuple(values)


@dataclass(slots=True)
class _Demands:
    types: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    bounds: list[tuple[str, str]] = field(default_factory=list)
    type_names: list[str] = field(default_factory=list)

    def note(self, operands: tuple[Operand, ...], allowed: frozenset[str]) -> None:
        self.types.extend((operand.name, allowed) for operand in operands if isinstance(operand, Value))

    def note_call(self, call: Call) -> None:
        if call.name == "begins_with":
            self.note(call.args, TEXTS)
        elif call.name == "size":
            self.note(call.args, SIZED)
        elif call.name == "attribute_type":
            self.type_names.extend(arg.name for arg in call.args[1:] if isinstance(arg, Value))
            self.note(call.args[1:], TYPES & {"S"})

    def note_between(self, node: Between) -> None:
        self.note((node.operand, node.low, node.high), SCALARS)
        if isinstance(node.low, Value) and isinstance(node.high, Value):
            self.bounds.append((node.low.name, node.high.name))
