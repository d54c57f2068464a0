"""Cached expressions.

An expression is parsed and checked once, and compiled once for each set of attribute names. For a request, only the types of its values
are left to check; the full rules run only if that check fails, to find the exact error.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

from gateleg.engine.errors import EngineError, validation
from gateleg.engine.expressions import condition_rules, update_rules
from gateleg.engine.expressions.condition_grammar import ConditionSource, parse_condition
from gateleg.engine.expressions.conditions import CompiledCondition, condition
from gateleg.engine.expressions.errors import InvalidExpression
from gateleg.engine.expressions.functions import LIST, NUMBER, SCALARS, SIZED, TEXTS, TYPES
from gateleg.engine.expressions.key_conditions import KeyTemplate, key_template
from gateleg.engine.expressions.nodes import Add, Arithmetic, Between, Call, Compare, Names, Operand, Path, Value, Values
from gateleg.engine.expressions.paths import aliases, check_disjoint, check_spelling, resolve
from gateleg.engine.expressions.projections import Projection, parse_projection, projection
from gateleg.engine.expressions.tokens import MAX_SIZE
from gateleg.engine.expressions.update_grammar import UpdateSource, parse_update
from gateleg.engine.expressions.updates import CompiledUpdate, update

T = TypeVar("T")

#: Expressions to cache, and name bindings of each.
MAX_CACHED: Final = 2048
MAX_CACHED_BINDINGS: Final = 64

#: Parameters whose error for excessive size includes the size.
_REPORTS_SIZE: Final = frozenset({"ConditionExpression", "FilterExpression"})


def is_cacheable(names: Names) -> bool:
    """Whether to cache a compiled expression that uses these names: they may have 64 KB each, and a request may have many."""
    return sum(map(len, names.values())) <= MAX_SIZE


@dataclass(slots=True)
class Expression(Generic[T]):
    """A parsed expression: its references, its checks against a request, and its compiled forms by attribute names."""

    parameter: str
    #: `#names` and `:values` in use
    names: tuple[str, ...]
    values: tuple[str, ...]
    #: applies all rules that need names and values
    check: Callable[[Names, Values], None]
    build: Callable[[Names], T]
    #: allowed types of values, by placeholder
    value_types: tuple[tuple[str, frozenset[str]], ...] = ()
    #: bounds of BETWEEN, and type names of attribute_type
    bounds: tuple[tuple[str, str], ...] = ()
    type_names: tuple[str, ...] = ()
    bound: dict[tuple[str | None, ...], T] = field(default_factory=dict)

    def bind(self, names: Names, values: Values) -> T:
        """The compiled expression for a request's names, after checking its values."""
        key = tuple([names.get(name) for name in self.names])
        found = self.bound.get(key)
        try:
            if found is None:
                self.check(names, values)
                found = self.build(names)
                if is_cacheable(names):
                    if len(self.bound) >= MAX_CACHED_BINDINGS:
                        self.bound.clear()
                    self.bound[key] = found
            elif not self.accepts(values):
                self.check(names, values)
        except InvalidExpression as fault:
            raise invalid(self.parameter, fault) from None
        return found

    def accepts(self, values: Values) -> bool:
        """Whether the values are certainly valid; `check` finds the error if they are not."""
        return all(name in values for name in self.values) and self.accepts_present(values)

    @property
    def restricts_values(self) -> bool:
        """Whether the expression restricts the types of its values."""
        return bool(self.value_types or self.bounds or self.type_names)

    def accepts_present(self, values: Values) -> bool:
        """`accepts` for values that are known to be present."""
        for name, allowed in self.value_types:
            if allowed.isdisjoint(values[name]):
                return False
        return not (self.bounds or self.type_names) or self._accepts_bounds_and_types(values)

    def _accepts_bounds_and_types(self, values: Values) -> bool:
        try:
            for low, high in self.bounds:
                condition_rules.check_bounds(values[low], values[high])
            for name in self.type_names:
                condition_rules.check_type_name(values[name])
        except InvalidExpression:
            return False
        return True


def invalid(parameter: str, fault: InvalidExpression) -> EngineError:
    """The error for an invalid expression."""
    return validation(f"Invalid {parameter}: {fault.message}")


@lru_cache(maxsize=MAX_CACHED)
def read(parameter: str, text: str) -> Expression[Any]:
    """Parse the expression of a parameter, cached; raises DynamoDB's error if it is invalid."""
    try:
        _check_size(parameter, text)
        return _READERS[parameter](parameter, text)
    except InvalidExpression as fault:
        raise invalid(parameter, fault) from None


def _check_size(parameter: str, text: str) -> None:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_SIZE:
        detail = f" expression size: {size}" if parameter in _REPORTS_SIZE else ""
        raise InvalidExpression(f"Expression size has exceeded the maximum allowed size;{detail}")


def _read_condition(parameter: str, text: str) -> Expression[CompiledCondition]:
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
    requirements = _ValueRequirements()
    for clause in source.clauses:
        for call in clause.calls:
            requirements.require_call(call)
        if isinstance(clause.node, Between):
            requirements.require_between(clause.node)
        elif isinstance(clause.node, Compare) and clause.node.operator not in ("=", "<>"):
            requirements.require((clause.node.left, clause.node.right), SCALARS)
    return Expression(
        parameter,
        names,
        values,
        lambda given, filled: condition_rules.check_references(source, given, filled),
        build,
        tuple(requirements.types),
        tuple(requirements.bounds),
        tuple(requirements.type_names),
    )


def _read_update(parameter: str, text: str) -> Expression[CompiledUpdate]:
    source = parse_update(text)
    update_rules.check_text(source)
    names, values = _used(source.references)
    return Expression(
        parameter,
        names,
        values,
        lambda given, filled: update_rules.check_references(source, given, filled),
        lambda given: update(source.actions, given),
        tuple(_update_value_types(source)),
    )


def _update_value_types(source: UpdateSource) -> list[tuple[str, frozenset[str]]]:
    requirements = _ValueRequirements()
    for action in source.actions:
        value = getattr(action, "value", None)
        if isinstance(value, Value) and type(action).__name__ in ("Add", "Delete"):
            requirements.require((value,), update_rules.SETS | (NUMBER if isinstance(action, Add) else frozenset()))
    for call in source.calls:
        if isinstance(call, Arithmetic):
            requirements.require((call.left, call.right), NUMBER)
        elif call.name == "list_append":
            requirements.require(call.args, LIST)
    return requirements.types


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
class _ValueRequirements:
    types: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    bounds: list[tuple[str, str]] = field(default_factory=list)
    type_names: list[str] = field(default_factory=list)

    def require(self, operands: tuple[Operand, ...], allowed: frozenset[str]) -> None:
        self.types.extend((operand.name, allowed) for operand in operands if isinstance(operand, Value))

    def require_call(self, call: Call) -> None:
        if call.name == "begins_with":
            self.require(call.args, TEXTS)
        elif call.name == "size":
            self.require(call.args, SIZED)
        elif call.name == "attribute_type":
            self.type_names.extend(arg.name for arg in call.args[1:] if isinstance(arg, Value))
            self.require(call.args[1:], TYPES & {"S"})

    def require_between(self, node: Between) -> None:
        self.require((node.operand, node.low, node.high), SCALARS)
        if isinstance(node.low, Value) and isinstance(node.high, Value):
            self.bounds.append((node.low.name, node.high.name))
