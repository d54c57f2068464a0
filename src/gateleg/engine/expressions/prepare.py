"""Prepare a request's expressions: checked in DynamoDB's order and compiled."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from gateleg.engine.errors import EngineError, InvalidValueError, validation
from gateleg.engine.expressions import legacy
from gateleg.engine.expressions.attribute_names import name_fault
from gateleg.engine.expressions.compiled import MAX_CACHED, Expression, is_cacheable, read
from gateleg.engine.expressions.conditions import CompiledCondition
from gateleg.engine.expressions.key_conditions import KeyCondition, KeyTemplate
from gateleg.engine.expressions.nodes import Names, Values
from gateleg.engine.expressions.parameters import EXPRESSION_PARAMETERS, PARAMETERS, check_parameters
from gateleg.engine.expressions.projections import Projection
from gateleg.engine.expressions.updates import CompiledUpdate
from gateleg.engine.values import EMPTY_SET, NESTED, canonicalize_item, text_size, validate

#: DynamoDB's limit for a placeholder, including its `#` or `:`.
MAX_PLACEHOLDER: Final = 255

#: The order in which DynamoDB reads the legacy parameters, all before the expressions; KeyConditions come last.
_LEGACY_ORDER: Final = ("AttributeUpdates", "Expected", "QueryFilter", "AttributesToGet", "ScanFilter")
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


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """A cached result for requests with the same expressions, names and placeholders: only the values are left to check."""

    #: without values, which may be large
    prepared: Prepared
    #: the expressions that restrict their values
    restricting: tuple[Expression[Any], ...]
    template: KeyTemplate | None

    def fill(self, given: dict[str, Any] | None) -> Prepared | None:
        """The result with other values; None if these need the full checks."""
        if given is None:
            return self.prepared
        sizes: dict[str, int] = {}
        values, size = _canonical(given, sizes)
        for expression in self.restricting:
            if not expression.accepts_present(values):
                return None
        like = self.prepared
        key_condition = None if self.template is None else self.template.fill(values)
        return Prepared(values, size, like.condition, like.filter, like.projection, like.update, key_condition, sizes)


_request_plans: dict[tuple[Any, ...], RequestPlan] = {}


def prepare(request: Mapping[str, Any], operation: str) -> Prepared:
    """Check and compile the expressions of a request.

    `operation` is an operation (`PutItem`) or the member of a batch or transaction that the request is (`Put`, `KeysAndAttributes`).
    The request must have the right shape: texts where texts belong, maps where maps belong.
    """
    if PARAMETERS.isdisjoint(request):
        if operation == "Query":
            raise _no_key_condition()
        return _NOTHING
    form = EXPRESSION_PARAMETERS[operation]
    if not form.legacy_names.isdisjoint(request):
        return _read(request, operation)[0]
    names, values = request.get("ExpressionAttributeNames"), request.get("ExpressionAttributeValues")
    key = (
        operation,
        *map(request.get, form.expressions),
        None if names is None else (*names, *names.values()),
        None if values is None else tuple(values),
    )
    plan = _request_plans.get(key)
    prepared = None if plan is None else plan.fill(values)
    if prepared is not None:
        return prepared
    prepared, plan = _read(request, operation)
    if is_cacheable(names or _EMPTY):
        if len(_request_plans) >= MAX_CACHED:
            _request_plans.clear()
        _request_plans[key] = plan
    return prepared


def request_plan(request: Mapping[str, Any], operation: str) -> RequestPlan | None:
    """The plan for requests like this valid one; None if it has legacy parameters or no expressions."""
    form = EXPRESSION_PARAMETERS[operation]
    return None if PARAMETERS.isdisjoint(request) or not form.legacy_names.isdisjoint(request) else _read(request, operation)[1]


def _read(request: Mapping[str, Any], operation: str) -> tuple[Prepared, RequestPlan]:
    """Prepare a request without the cache, with all checks in DynamoDB's order."""
    check_parameters(request, operation)
    form = EXPRESSION_PARAMETERS[operation]
    found = _read_legacy(request, form.legacy_names)
    if operation == "Query" and request.get("KeyConditions") is None and request.get("KeyConditionExpression") is None:
        raise _no_key_condition()
    names = _checked_names(request.get("ExpressionAttributeNames"))
    values, size = _checked_values(request.get("ExpressionAttributeValues"))
    expressions = _read_expressions(request, form.reading_order, names, values, found)
    template: KeyTemplate | None = found.pop("template", None)
    if template is not None:
        found["key_condition"] = template.fill(values)
    elif operation == "Query":
        found["key_condition"] = legacy.read_key_conditions(request["KeyConditions"])
    prepared = Prepared(values, size, **found)
    restricting = tuple(expression for expression in expressions if expression.restricts_values)
    return prepared, RequestPlan(prepared._replace(values=_EMPTY, size=0, key_condition=None), restricting, template)


def check_legacy(request: Mapping[str, Any], operation: str) -> None:
    """Check what DynamoDB checks before an ExclusiveStartKey: mutually exclusive parameters, and legacy parameters."""
    check_parameters(request, operation)
    _read_legacy(request, EXPRESSION_PARAMETERS[operation].legacy_names)


def _no_key_condition() -> EngineError:
    return validation("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")


def _read_legacy(request: Mapping[str, Any], parameters: frozenset[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    operator = request.get("ConditionalOperator")
    for parameter in _LEGACY_ORDER:
        given = request.get(parameter) if parameter in parameters else None
        if given is None:
            continue
        if parameter == "AttributeUpdates":
            found["update"] = legacy.read_attribute_updates(given)
        elif parameter == "Expected":
            found["condition"] = legacy.read_expected(given, operator)
        elif parameter in ("QueryFilter", "ScanFilter"):
            found["filter"] = legacy.read_filter(parameter, given, operator)
        else:
            found["projection"] = legacy.read_attributes_to_get(given)
    return found


def _read_expressions(
    request: Mapping[str, Any], parameters: tuple[str, ...], names: Names, values: Values, found: dict[str, Any]
) -> tuple[Expression[Any], ...]:
    """Add the compiled expressions to `found`."""
    expressions = []
    for parameter in parameters:
        text = request.get(parameter)
        if text is not None:
            expression = read(parameter, text)
            found[_MEMBERS[parameter]] = expression.bind(names, values)
            expressions.append(expression)
    _check_used("ExpressionAttributeNames", names, {name for expression in expressions for name in expression.names})
    _check_used("ExpressionAttributeValues", values, {name for expression in expressions for name in expression.values})
    return tuple(expressions)


#: The field of `Prepared` for each expression; a key condition is filled in when everything else is checked.
_MEMBERS: Final = {
    "UpdateExpression": "update",
    "ConditionExpression": "condition",
    "FilterExpression": "filter",
    "ProjectionExpression": "projection",
    "KeyConditionExpression": "template",
}


def _check_used(parameter: str, given: Mapping[str, Any], used: set[str]) -> None:
    if len(used) != len(given):
        unused = [key for key in given if key not in used]
        raise validation(f"Value provided in {parameter} unused in expressions: keys: {{{', '.join(unused)}}}")


def _checked_names(given: Mapping[str, str] | None) -> Names:
    if given is None:
        return _EMPTY
    if not given:
        raise validation("ExpressionAttributeNames must not be empty")
    for key in given:
        _check_placeholder("ExpressionAttributeNames", "#", key)
    for key, name in given.items():
        fault = name_fault(name)
        if fault is not None:
            raise validation(f"ExpressionAttributeNames contains invalid value: {fault} for key {key}")
    return given


def _checked_values(given: dict[str, Any] | None) -> tuple[Values, int]:
    if given is None:
        return _EMPTY, 0
    if not given:
        raise validation("ExpressionAttributeValues must not be empty")
    for key in given:
        _check_placeholder("ExpressionAttributeValues", ":", key)
    return _canonical(given)


def _canonical(given: dict[str, Any], sizes: dict[str, int] | None = None) -> tuple[Values, int]:
    """Values in canonical form, and their total size."""
    try:
        return canonicalize_item(given, sizes)
    except EngineError:
        for key, value in given.items():
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


_PLACEHOLDER = re.compile(r"[#:][A-Za-z0-9_]+")


def _check_placeholder(parameter: str, mark: str, key: str) -> None:
    size = text_size(key)
    if size > MAX_PLACEHOLDER:
        detail = f" size of key: {size}" if mark == "#" else ""
        raise validation(f"{parameter} contains invalid key: The expression attribute map contains a key that is too long;{detail}")
    if key[:1] != mark or not _PLACEHOLDER.fullmatch(key):
        raise validation(f'{parameter} contains invalid key: Syntax error; key: "{key}"')
