"""All expressions of a request, checked in DynamoDB's order and ready to run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from gateleg.engine.errors import EngineError, validation
from gateleg.engine.expressions import legacy
from gateleg.engine.expressions.compiled import read
from gateleg.engine.expressions.conditions import Condition
from gateleg.engine.expressions.forms import FORMS, PARAMETERS, check_parameters
from gateleg.engine.expressions.keys import KeyCondition, KeyTemplate
from gateleg.engine.expressions.nodes import Names, Values
from gateleg.engine.expressions.projections import Projection
from gateleg.engine.expressions.updates import Update
from gateleg.engine.values import text_size, validate

#: Bytes that a placeholder may have, its `#` or `:` included.
MAX_PLACEHOLDER: Final = 255
#: Bytes that an attribute's name may have.
MAX_NAME: Final = 65535

#: The order in which DynamoDB reads the expressions of a request.
_ORDER: Final = ("UpdateExpression", "ConditionExpression", "KeyConditionExpression", "FilterExpression", "ProjectionExpression")
#: The order in which it reads the legacy parameters, all before the expressions; KeyConditions come after them.
_LEGACY_ORDER: Final = ("AttributeUpdates", "Expected", "QueryFilter", "AttributesToGet", "ScanFilter")
_EMPTY: Final[dict[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Prepared:
    """The expressions of one request. What the request does not have is None."""

    #: Canonical values, to be passed to `condition.test`, `filter.test` and `update.apply`.
    values: Values
    condition: Condition | None = None
    filter: Condition | None = None
    projection: Projection | None = None
    update: Update | None = None
    key_condition: KeyCondition | None = None


_NOTHING = Prepared(_EMPTY)


def prepare(request: Mapping[str, Any], operation: str) -> Prepared:
    """The checked and compiled expressions of a request.

    `operation` is an operation (`PutItem`) or the member of a batch or transaction that the request is (`Put`, `KeysAndAttributes`).
    The request must have the right shape: texts where texts belong, maps where maps belong.
    """
    if PARAMETERS.isdisjoint(request):
        if operation == "Query":
            raise _no_key_condition()
        return _NOTHING
    check_parameters(request, operation)
    form = FORMS[operation]
    found = _read_legacy(request, form.legacy) if form.legacy else {}
    if operation == "Query" and request.get("KeyConditions") is None and request.get("KeyConditionExpression") is None:
        raise _no_key_condition()
    values = _read_expressions(request, form.expressions, found)
    if operation == "Query" and request.get("KeyConditions") is not None:
        found["key_condition"] = legacy.read_key_conditions(request["KeyConditions"])
    return Prepared(values, **found)


def _no_key_condition() -> EngineError:
    return validation("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")


def _read_legacy(request: Mapping[str, Any], parameters: tuple[str, ...]) -> dict[str, Any]:
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


def _read_expressions(request: Mapping[str, Any], parameters: tuple[str, ...], found: dict[str, Any]) -> Values:
    """Puts the compiled expressions into `found`; gives the values they use."""
    names: Names = _EMPTY
    given_names = request.get("ExpressionAttributeNames")
    if given_names is not None:
        names = _checked_names(given_names)
    values: Values = _EMPTY
    given_values = request.get("ExpressionAttributeValues")
    if given_values is not None:
        values = _checked_values(given_values)
    used_names: set[str] = set()
    used_values: set[str] = set()
    template: KeyTemplate | None = None
    for parameter in _ORDER:
        text = request.get(parameter) if parameter in parameters else None
        if text is None:
            continue
        expression = read(parameter, text)
        bound = expression.bind(names, values)
        used_names.update(expression.names)
        used_values.update(expression.values)
        if parameter == "KeyConditionExpression":
            template = bound
        else:
            found[_MEMBERS[parameter]] = bound
    _check_used("ExpressionAttributeNames", names, used_names)
    _check_used("ExpressionAttributeValues", values, used_values)
    if template is not None:
        found["key_condition"] = template.fill(values)
    return values


_MEMBERS: Final = {
    "UpdateExpression": "update",
    "ConditionExpression": "condition",
    "FilterExpression": "filter",
    "ProjectionExpression": "projection",
}


def _check_used(parameter: str, given: Mapping[str, Any], used: set[str]) -> None:
    if len(used) != len(given):
        unused = [key for key in given if key not in used]
        raise validation(f"Value provided in {parameter} unused in expressions: keys: {{{', '.join(unused)}}}")


def _checked_names(given: Mapping[str, str]) -> Names:
    if not given:
        raise validation("ExpressionAttributeNames must not be empty")
    for key in given:
        _check_placeholder("ExpressionAttributeNames", "#", key)
    for key, name in given.items():
        if not name:
            raise validation(f"ExpressionAttributeNames contains invalid value: Empty attribute name for key {key}")
        if len(name) > MAX_NAME // 4 and text_size(name) > MAX_NAME:
            what = "Attribute name is too large, must be less than 65536 bytes"
            raise validation(f"ExpressionAttributeNames contains invalid value: {what} for key {key}")
    return given


def _checked_values(given: Mapping[str, Any]) -> Values:
    if not given:
        raise validation("ExpressionAttributeValues must not be empty")
    for key in given:
        _check_placeholder("ExpressionAttributeValues", ":", key)
    values: dict[str, Any] = {}
    for key, value in given.items():
        try:
            values[key] = validate(value)
        except EngineError as error:
            if error.code != "ValidationException":
                raise
            raise validation(f"ExpressionAttributeValues contains invalid value: {error.message} for key {key}") from None
    return values


_PLACEHOLDER = re.compile(r"[#:][A-Za-z0-9_]+")


@lru_cache(maxsize=4096)
def _check_placeholder(parameter: str, mark: str, key: str) -> None:
    size = text_size(key)
    if size > MAX_PLACEHOLDER:
        told = f" size of key: {size}" if mark == "#" else ""
        raise validation(f"{parameter} contains invalid key: The expression attribute map contains a key that is too long;{told}")
    if key[:1] != mark or not _PLACEHOLDER.fullmatch(key):
        raise validation(f'{parameter} contains invalid key: Syntax error; key: "{key}"')
