"""What the tests ask: the message with which a request's expressions are refused, and shortcuts to compile them."""

from typing import Any

import pytest

from gateleg.engine.errors import EngineError
from gateleg.engine.expressions import prepare

Item = dict[str, Any]


def refused(operation: str, **request: Any) -> str:
    """The message of the ValidationException that a request gets."""
    with pytest.raises(EngineError) as caught:
        prepare(request, operation)
    assert caught.value.code == "ValidationException"
    assert caught.value.message is not None
    return caught.value.message


def placeholders(names: dict[str, str] | None, values: dict[str, Any] | None) -> dict[str, Any]:
    """The placeholder parameters of a request; absent where there is nothing."""
    given: dict[str, Any] = {}
    if names:
        given["ExpressionAttributeNames"] = names
    if values:
        given["ExpressionAttributeValues"] = values
    return given


def holds(text: str, item: Item, values: dict[str, Any] | None = None, names: dict[str, str] | None = None) -> bool:
    """Whether a ConditionExpression holds for an item."""
    prepared = prepare({"ConditionExpression": text, **placeholders(names, values)}, "PutItem")
    assert prepared.condition is not None
    return prepared.condition.test(item, prepared.values)


def condition_refused(text: str, values: dict[str, Any] | None = None, names: dict[str, str] | None = None) -> str:
    """Why a ConditionExpression is refused."""
    message = refused("PutItem", ConditionExpression=text, **placeholders(names, values))
    assert message.startswith("Invalid ConditionExpression: ")
    return message.removeprefix("Invalid ConditionExpression: ")


def updated(text: str, item: Item, values: dict[str, Any] | None = None, names: dict[str, str] | None = None) -> Item:
    """The item after an UpdateExpression."""
    prepared = prepare({"UpdateExpression": text, **placeholders(names, values)}, "UpdateItem")
    assert prepared.update is not None
    return prepared.update.apply(item, prepared.values)


def update_refused(text: str, values: dict[str, Any] | None = None, names: dict[str, str] | None = None) -> str:
    """Why an UpdateExpression is refused before it meets an item."""
    message = refused("UpdateItem", UpdateExpression=text, **placeholders(names, values))
    assert message.startswith("Invalid UpdateExpression: ")
    return message.removeprefix("Invalid UpdateExpression: ")


def update_failed(text: str, item: Item, values: dict[str, Any] | None = None) -> str:
    """Why an UpdateExpression cannot be applied to an item."""
    with pytest.raises(EngineError) as caught:
        updated(text, item, values)
    assert caught.value.message is not None
    return caught.value.message


def projected(text: str, item: Item, names: dict[str, str] | None = None) -> Item:
    """The part of an item that a ProjectionExpression wants."""
    prepared = prepare({"ProjectionExpression": text, **placeholders(names, None)}, "GetItem")
    assert prepared.projection is not None
    return prepared.projection.apply(item)
