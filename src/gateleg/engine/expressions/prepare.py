"""The expressions of a request: checked in DynamoDB's order, compiled, and kept for the next request like it.

`prepare` is the door. Three caches make most requests cheap:

- `read` keeps each expression as parsed and checked, by its text.
- An `Expression` keeps its compiled forms by attribute names. For a request, only the types of its values are left to check; the full
  rules run only if that check fails, to find the exact error.
- `_request_plans` keeps both for all expressions of a request, by the form of the request: what it has in common with others apart from
  its key and values. An update of a known form need not even be checked by the protocol layer (`prepare_unchecked`).

`EXPRESSION_PARAMETERS` are the expressions and legacy parameters that each operation accepts; `check_parameters` says which combine.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final, Generic, NamedTuple, TypeVar

from gateleg.engine.errors import EngineError, InvalidValueError, validation
from gateleg.engine.expressions import legacy, rules
from gateleg.engine.expressions.conditions import (
    LIST,
    NUMBER,
    SCALARS,
    SIZED,
    TEXTS,
    TYPES,
    CompiledCondition,
    aliases,
    check_disjoint,
    check_spelling,
    condition,
    resolve,
)
from gateleg.engine.expressions.grammar import MAX_SIZE, ConditionSource, UpdateSource, parse_condition, parse_update
from gateleg.engine.expressions.nodes import (
    Add,
    Arithmetic,
    Between,
    Call,
    Compare,
    InvalidExpression,
    Names,
    Operand,
    Path,
    Value,
    Values,
    name_fault,
)
from gateleg.engine.expressions.rules import KeyCondition, KeyTemplate, key_template
from gateleg.engine.expressions.updates import CompiledUpdate, Projection, parse_projection, projection, update
from gateleg.engine.values import EMPTY_SET, NESTED, canonicalize_item, text_size, validate
from gateleg.plain import is_plain

T = TypeVar("T")

#: Expressions to cache, and name bindings of each.
MAX_CACHED: Final = 2048
MAX_CACHED_BINDINGS: Final = 64

#: DynamoDB's limit for a placeholder, including its `#` or `:`.
MAX_PLACEHOLDER: Final = 255
_PLACEHOLDER = re.compile(r"[#:][A-Za-z0-9_]+")

#: The order in which DynamoDB reads the legacy parameters, all before the expressions; KeyConditions come last.
_LEGACY_ORDER: Final = ("AttributeUpdates", "Expected", "QueryFilter", "AttributesToGet", "ScanFilter")

#: The order in which DynamoDB reads expressions.
_READING_ORDER: Final = ("UpdateExpression", "ConditionExpression", "KeyConditionExpression", "FilterExpression", "ProjectionExpression")

#: The field of `Prepared` for each expression; a key condition is filled in when everything else is checked.
_MEMBERS: Final = {
    "UpdateExpression": "update",
    "ConditionExpression": "condition",
    "FilterExpression": "filter",
    "ProjectionExpression": "projection",
    "KeyConditionExpression": "template",
}

#: Parameters whose error for excessive size includes the size.
_REPORTS_SIZE: Final = frozenset({"ConditionExpression", "FilterExpression"})
_PLAIN = is_plain("request_plans")
_EMPTY: Final[dict[str, Any]] = {}


class Prepared(NamedTuple):
    """The expressions of one request; None for those that it does not have."""

    #: canonical values, for `condition.test`, `filter.test` and `update.apply`
    values: Values
    #: total size of the values and their placeholders
    size: int = 0
    condition: CompiledCondition | None = None
    filter: CompiledCondition | None = None
    projection: Projection | None = None
    update: CompiledUpdate | None = None
    key_condition: KeyCondition | None = None
    #: sizes of the values that are neither strings nor numbers
    sizes: Mapping[str, int] = _EMPTY


_NOTHING = Prepared(_EMPTY)


def prepare(request: Mapping[str, Any], operation: str) -> Prepared:
    """Check and compile the expressions of a request.

    `operation` is an operation (`PutItem`) or the member of a batch or transaction that the request is (`Put`, `KeysAndAttributes`).
    The request must have the right shape: texts where texts belong, maps where maps belong.
    """
    if PARAMETERS.isdisjoint(request):
        if operation == "Query":
            raise _no_key_condition()
        return _NOTHING
    parameters = EXPRESSION_PARAMETERS[operation]
    if _PLAIN or not parameters.legacy_names.isdisjoint(request):
        return _read(request, operation)[0]
    form = _form(request, operation, parameters)
    plan = _request_plans.get(form)
    prepared = None if plan is None else plan.fill(request.get("ExpressionAttributeValues"))
    if prepared is not None:
        return prepared
    prepared, plan = _read(request, operation)
    if is_cacheable(request.get("ExpressionAttributeNames") or _EMPTY):
        if len(_request_plans) >= MAX_CACHED:
            _request_plans.clear()
        _request_plans[form] = plan
    return prepared


def prepare_unchecked(request: Mapping[str, Any], operation: str) -> Prepared | None:
    """`prepare` for a request that the protocol layer has not checked, if a plan shows that it is valid but for its table and key.

    A request whose form is that of a valid one, and which has no other members, differs from it in nothing else but its values. May raise
    any `EngineError`, `TypeError` or `AttributeError` for an invalid one.
    """
    if _PLAIN:
        return None
    plan = _request_plans.get(_form(request, operation, EXPRESSION_PARAMETERS[operation]))
    return plan.fill(request.get("ExpressionAttributeValues")) if plan is not None and len(request) == plan.members else None


def check_parameters(request: Mapping[str, Any], operation: str) -> None:
    """Refuse expressions together with legacy parameters, and placeholders or a ConditionalOperator that nothing uses.

    DynamoDB looks at this before it looks at keys and items.
    """
    form = EXPRESSION_PARAMETERS[operation]
    expressions = [name for name in form.expressions if request.get(name) is not None]
    legacy = [] if form.legacy_names.isdisjoint(request) else [name for name in form.legacy if request.get(name) is not None]
    if expressions and legacy:
        if "KeyConditionExpression" not in expressions and "KeyConditions" in legacy:
            legacy.remove("KeyConditions")
        if legacy:
            raise validation(
                "Can not use both expression and non-expression parameters in the same request: "
                f"Non-expression parameters: {{{', '.join(legacy)}}} Expression parameters: {{{', '.join(expressions)}}}"
            )
    if not expressions and request.get("ExpressionAttributeNames") is not None:
        raise validation("ExpressionAttributeNames can only be specified when using expressions")
    if request.get("ExpressionAttributeValues") is not None:
        _check_values_used(form, request)
    if "ConditionalOperator" in legacy:
        _check_conditional_operator(request)


def check_legacy(request: Mapping[str, Any], operation: str) -> None:
    """Check what DynamoDB checks before an ExclusiveStartKey: mutually exclusive parameters, and legacy parameters."""
    check_parameters(request, operation)
    _read_legacy(request, EXPRESSION_PARAMETERS[operation].legacy_names)


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """What requests of one form have in common: only the values are left to check."""

    #: without values, which may be large
    prepared: Prepared
    #: the expressions that restrict their values
    restricting: "tuple[Expression[Any], ...]"
    template: KeyTemplate | None
    #: how many members the request has, if all of them count for its form; 0 if others are present
    members: int = 0

    def fill(self, wire_values: dict[str, Any] | None) -> Prepared | None:
        """The result with other values; None if these need the full checks."""
        if wire_values is None:
            return self.prepared
        sizes: dict[str, int] = {}
        values, size = _canonical(wire_values, sizes)
        for expression in self.restricting:
            if not expression.accepts_present(values):
                return None
        like = self.prepared
        key_condition = None if self.template is None else self.template.fill(values)
        return Prepared(values, size, like.condition, like.filter, like.projection, like.update, key_condition, sizes)


#: The plans of recent requests by form.
_request_plans: dict[tuple[Any, ...], RequestPlan] = {}


def _form(request: Mapping[str, Any], operation: str, parameters: "ExpressionParameters") -> tuple[Any, ...]:
    """What the requests that share a plan have in common."""
    names, values = request.get("ExpressionAttributeNames"), request.get("ExpressionAttributeValues")
    return (
        operation,
        *map(request.get, parameters.form),
        None if names is None else (*names, *names.values()),
        None if values is None else tuple(values),
    )


def _read(request: Mapping[str, Any], operation: str) -> tuple[Prepared, RequestPlan]:
    """Prepare a request without the cache, with all checks in DynamoDB's order."""
    check_parameters(request, operation)
    form = EXPRESSION_PARAMETERS[operation]
    members = _read_legacy(request, form.legacy_names)
    if operation == "Query" and request.get("KeyConditions") is None and request.get("KeyConditionExpression") is None:
        raise _no_key_condition()
    names = _checked_names(request.get("ExpressionAttributeNames"))
    values, size = _checked_values(request.get("ExpressionAttributeValues"))
    expressions = _read_expressions(request, form.reading_order, names, values, members)
    template: KeyTemplate | None = members.pop("template", None)
    if template is not None:
        members["key_condition"] = template.fill(values)
    elif operation == "Query":
        members["key_condition"] = legacy.read_key_conditions(request["KeyConditions"])
    prepared = Prepared(values, size, **members)
    restricting = tuple(expression for expression in expressions if expression.restricts_values)
    like = prepared._replace(values=_EMPTY, size=0, key_condition=None)
    return prepared, RequestPlan(like, restricting, template, form.members_of(request))


def _no_key_condition() -> EngineError:
    return validation("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")


def _check_values_used(form: "ExpressionParameters", request: Mapping[str, Any]) -> None:
    users = form.with_values
    if users and all(request.get(name) is None for name in users):
        verb = "are" if len(users) > 1 else "is"
        raise validation(f"ExpressionAttributeValues can only be specified when using expressions: {' and '.join(users)} {verb} null")


def _check_conditional_operator(request: Mapping[str, Any]) -> None:
    conditions = request.get("Expected") or request.get("QueryFilter") or request.get("ScanFilter")
    if not conditions:
        raise validation("ConditionalOperator cannot be used without Filter or Expected")
    if len(conditions) < 2:
        raise validation("ConditionalOperator can only be used when Filter or Expected has two or more elements")


def _read_legacy(request: Mapping[str, Any], parameters: frozenset[str]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    operator = request.get("ConditionalOperator")
    for parameter in _LEGACY_ORDER:
        content = request.get(parameter) if parameter in parameters else None
        if content is None:
            continue
        if parameter == "AttributeUpdates":
            members["update"] = legacy.read_attribute_updates(content)
        elif parameter == "Expected":
            members["condition"] = legacy.read_expected(content, operator)
        elif parameter in ("QueryFilter", "ScanFilter"):
            members["filter"] = legacy.read_filter(parameter, content, operator)
        else:
            members["projection"] = legacy.read_attributes_to_get(content)
    return members


def _read_expressions(
    request: Mapping[str, Any], parameters: tuple[str, ...], names: Names, values: Values, members: dict[str, Any]
) -> "tuple[Expression[Any], ...]":
    """Add the compiled expressions to `members`."""
    expressions = []
    for parameter in parameters:
        text = request.get(parameter)
        if text is not None:
            expression = read(parameter, text)
            members[_MEMBERS[parameter]] = expression.bind(names, values)
            expressions.append(expression)
    _check_used("ExpressionAttributeNames", names, {name for expression in expressions for name in expression.names})
    _check_used("ExpressionAttributeValues", values, {name for expression in expressions for name in expression.values})
    return tuple(expressions)


def _check_used(parameter: str, placeholders: Mapping[str, Any], used: set[str]) -> None:
    if len(used) != len(placeholders):
        unused = [key for key in placeholders if key not in used]
        raise validation(f"Value provided in {parameter} unused in expressions: keys: {{{', '.join(unused)}}}")


def _checked_names(names: Mapping[str, str] | None) -> Names:
    if names is None:
        return _EMPTY
    if not names:
        raise validation("ExpressionAttributeNames must not be empty")
    for key in names:
        _check_placeholder("ExpressionAttributeNames", "#", key)
    for key, name in names.items():
        fault = name_fault(name)
        if fault is not None:
            raise validation(f"ExpressionAttributeNames contains invalid value: {fault} for key {key}")
    return names


def _checked_values(values: dict[str, Any] | None) -> tuple[Values, int]:
    if values is None:
        return _EMPTY, 0
    if not values:
        raise validation("ExpressionAttributeValues must not be empty")
    for key in values:
        _check_placeholder("ExpressionAttributeValues", ":", key)
    return _canonical(values)


def _canonical(values: dict[str, Any], sizes: dict[str, int] | None = None) -> tuple[Values, int]:
    """Values in canonical form, and their total size."""
    try:
        return canonicalize_item(values, sizes)
    except EngineError:
        for key, value in values.items():
            _check_value(key, value)
        raise


def _check_value(key: str, value: Any) -> None:
    """Refuse an invalid value, naming its placeholder."""
    try:
        validate(value)
    except EngineError as error:
        if error.code != "ValidationException":
            raise
        wrapped = f"ExpressionAttributeValues contains invalid value: {error.message} for key {key}"
        if isinstance(error, InvalidValueError):
            raise InvalidValueError(wrapped, error.newer) from None
        detail = error.message or ""
        raise (InvalidValueError(wrapped, detail) if detail == NESTED or detail.endswith(EMPTY_SET) else validation(wrapped)) from None


def _check_placeholder(parameter: str, mark: str, key: str) -> None:
    size = text_size(key)
    if size > MAX_PLACEHOLDER:
        detail = f" size of key: {size}" if mark == "#" else ""
        raise validation(f"{parameter} contains invalid key: The expression attribute map contains a key that is too long;{detail}")
    if key[:1] != mark or not _PLACEHOLDER.fullmatch(key):
        raise validation(f'{parameter} contains invalid key: Syntax error; key: "{key}"')


@dataclass(frozen=True)
class ExpressionParameters:
    """The expression parameters of an operation, or of a part of one, in the order of DynamoDB's messages."""

    expressions: tuple[str, ...]
    legacy: tuple[str, ...] = ()
    #: the other parameters but table, key and values, for operations whose requests `prepare_unchecked` knows by their plan
    options: tuple[str, ...] = ()

    @cached_property
    def form(self) -> tuple[str, ...]:
        """The texts that requests with one plan have in common."""
        return (*self.expressions, *self.options)

    def members_of(self, request: Mapping[str, Any]) -> int:
        """How many members a request has if it has a table, a key and, apart from these, only what its form contains; 0 if not."""
        shared = (*self.form, "ExpressionAttributeNames", "ExpressionAttributeValues")
        members = 2 + sum(request.get(name) is not None for name in shared)
        return members if self.options and len(request) == members else 0

    @cached_property
    def with_values(self) -> tuple[str, ...]:
        """The expressions that may use values."""
        return tuple(name for name in self.expressions if name != "ProjectionExpression")

    @cached_property
    def reading_order(self) -> tuple[str, ...]:
        """The expressions in the order in which DynamoDB reads them."""
        return tuple(name for name in _READING_ORDER if name in self.expressions)

    @cached_property
    def legacy_names(self) -> frozenset[str]:
        """The legacy parameters, as a set for fast lookups."""
        return frozenset(self.legacy)


_PROJECTED = ExpressionParameters(("ProjectionExpression",), ("AttributesToGet",))
_CONDITIONAL = ExpressionParameters(("ConditionExpression",), ("Expected", "ConditionalOperator"))
_CHECKED = ExpressionParameters(("ConditionExpression",))

#: By operation; then by the member names of batches and transactions.
EXPRESSION_PARAMETERS: Final[dict[str, ExpressionParameters]] = {
    "GetItem": _PROJECTED,
    "PutItem": _CONDITIONAL,
    "DeleteItem": _CONDITIONAL,
    "UpdateItem": ExpressionParameters(
        ("UpdateExpression", "ConditionExpression"),
        ("AttributeUpdates", "Expected", "ConditionalOperator"),
        ("ReturnValues", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics", "ReturnValuesOnConditionCheckFailure"),
    ),
    "Query": ExpressionParameters(
        ("ProjectionExpression", "FilterExpression", "KeyConditionExpression"),
        ("AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"),
    ),
    "Scan": ExpressionParameters(("ProjectionExpression", "FilterExpression"), ("AttributesToGet", "ScanFilter", "ConditionalOperator")),
    "KeysAndAttributes": _PROJECTED,
    "Get": ExpressionParameters(("ProjectionExpression",)),
    "Put": _CHECKED,
    "Delete": _CHECKED,
    "ConditionCheck": _CHECKED,
    "Update": ExpressionParameters(("UpdateExpression", "ConditionExpression")),
}

#: All parameters that concern expressions; a request without any of them is not checked.
PARAMETERS: Final = frozenset(name for form in EXPRESSION_PARAMETERS.values() for name in (*form.expressions, *form.legacy)) | {
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
}


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
        bound = self.bound.get(key)
        try:
            if bound is None:
                self.check(names, values)
                bound = self.build(names)
                if is_cacheable(names):
                    if len(self.bound) >= MAX_CACHED_BINDINGS:
                        self.bound.clear()
                    self.bound[key] = bound
            elif not self.accepts(values):
                self.check(names, values)
        except InvalidExpression as fault:
            raise invalid(self.parameter, fault) from None
        return bound

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
                rules.check_bounds(values[low], values[high])
            for name in self.type_names:
                rules.check_type_name(values[name])
        except InvalidExpression:
            return False
        return True


def is_cacheable(names: Names) -> bool:
    """Whether to cache a compiled expression that uses these names: they may have 64 KB each, and a request may have many."""
    return sum(map(len, names.values())) <= MAX_SIZE


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
    rules.check_condition(source)
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
        lambda bindings, filled: rules.check_condition_references(source, bindings, filled),
        build,
        tuple(requirements.types),
        tuple(requirements.bounds),
        tuple(requirements.type_names),
    )


def _read_update(parameter: str, text: str) -> Expression[CompiledUpdate]:
    source = parse_update(text)
    rules.check_update(source)
    names, values = _used(source.references)
    return Expression(
        parameter,
        names,
        values,
        lambda bindings, filled: rules.check_update_references(source, bindings, filled),
        lambda bindings: update(source.actions, bindings),
        tuple(_update_value_types(source)),
    )


def _update_value_types(source: UpdateSource) -> list[tuple[str, frozenset[str]]]:
    requirements = _ValueRequirements()
    for action in source.actions:
        value = getattr(action, "value", None)
        if isinstance(value, Value) and type(action).__name__ in ("Add", "Delete"):
            requirements.require((value,), rules.SETS | (NUMBER if isinstance(action, Add) else frozenset()))
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

    def check(bindings: Names, filled: Values) -> None:
        check_disjoint([resolve(path, bindings) for path in paths])

    return Expression(parameter, names, values, check, lambda bindings: projection(resolve(path, bindings) for path in paths))


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
