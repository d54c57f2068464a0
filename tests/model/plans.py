"""Planned writes in a form that tests can compare."""

from datetime import UTC, datetime
from typing import Any

from gateleg.model.planning import Write

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)


def sets(write: Write[Any]) -> dict[str, Any]:
    """The plain SET clauses of an update, by wire name."""
    parameters = write.parameters
    found: dict[str, Any] = {}
    text = parameters["UpdateExpression"].split(" REMOVE ")[0].split(" ADD ")[0].removeprefix("SET ")
    for clause in text.split(", #"):
        name, _, value = clause.removeprefix("#").partition(" = ")
        found[name] = parameters["ExpressionAttributeValues"].get(value, value)
    return found


def removed(write: Write[Any]) -> set[str]:
    _, _, text = write.parameters["UpdateExpression"].partition("REMOVE ")
    return {name.strip().removeprefix("#") for name in text.split(" ADD ")[0].split(",") if name.strip()}


def condition(write: Write[Any]) -> str:
    """The condition with its values filled in."""
    text = str(write.parameters.get("ConditionExpression", ""))
    for placeholder, value in sorted(write.parameters.get("ExpressionAttributeValues", {}).items(), reverse=True):
        text = text.replace(placeholder, str(next(iter(value.values()))))
    return text
