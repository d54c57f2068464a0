"""Declares fields of the schema, and converts arguments and results.

Resolvers return items of the store; types of the schema declare which attributes clients see:

    @offer(AgentType | None)
    async def agent(self, info: Info, agent_uuid: str | None = None) -> Agent | None:
        \"\"\"An agent's active version.\"\"\"
"""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import strawberry
from strawberry.tools import create_type
from strawberry.types.unset import UNSET

from gateleg.apps.agents.graphql.scalars import renamed_schema, stored_name, to_stored
from gateleg.apps.agents.listing import Listing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Attributes of the partition, which items store as one value.
_OF_PARTITION = frozenset({"partition_key", "endpoint_id", "part_id"})
#: Arguments whose keys are data: names of headers, of variables, and in the answers of models and of people.
_VERBATIM = frozenset({"headers", "output_schema", "values", "answers"})
#: Arguments that are JSON schemas of what is stored.
_SCHEMAS = frozenset({"configuration_schema"})
#: Clients of the public engine send this to clear an attribute, because its schema has no null.
CLEAR_MARKER = "null"


class SavePayload:
    """The payload of a mutation that writes: one field with the item."""

    def __init__(self, item: Any) -> None:
        self.item = item


class DeletePayload:
    """Whether a mutation deleted the item, and if not, why."""

    def __init__(self, ok: bool, reason: str | None = None) -> None:
        self.ok = ok
        self.reason = reason


def read_attribute(source: Any, name: str) -> Any:
    """The default resolver."""
    if isinstance(source, SavePayload):
        return source.item
    if isinstance(source, Listing):
        return source.items
    if isinstance(source, dict):
        return source[name]
    if name in _OF_PARTITION and hasattr(source, "partition"):
        return getattr(source.partition, name)
    return getattr(source, name)


def resolver_field(graphql_type: Any, *, name: str | None = None, deprecated: str | None = None) -> Callable[[Callable[..., Any]], Any]:
    """Declare a field from a resolver, with its docstring as description. `graphql_type` is the type that clients see."""

    def declare(resolver: Callable[..., Any]) -> Any:
        about = " ".join((inspect.getdoc(resolver) or "").split())
        return strawberry.field(
            resolver=resolver, graphql_type=graphql_type, name=name, description=about or None, deprecation_reason=deprecated
        )

    return declare


def subscription_field(graphql_type: Any) -> Callable[[Callable[..., Any]], Any]:
    """Declare a subscription from an async generator; its docstring is the description."""

    def declare(resolver: Callable[..., Any]) -> Any:
        about = " ".join((inspect.getdoc(resolver) or "").split())
        return strawberry.subscription(resolver=resolver, graphql_type=graphql_type, description=about)

    return declare


def save_payload_type(name: str, field: str, graphql_type: type) -> type:
    """Declare the payload type of a mutation that writes."""
    return create_type(name, [strawberry.field(name=field, graphql_type=graphql_type | None)], description="The written item.")


def delete_payload_type(name: str) -> type:
    """Declare the payload type of a mutation that deletes."""
    ok = strawberry.field(name="ok", graphql_type=bool, description="Whether it was deleted; false if other items still refer to it.")
    reason = strawberry.field(name="reason", graphql_type=str | None, description="Why it was not deleted.")
    return create_type(name, [ok, reason], description="Whether the item was deleted.")


def stored_arguments(arguments: Mapping[str, Any], *, clearing: bool = True) -> dict[str, Any]:
    """The given arguments of a resolver in stored form: `stored_arguments(locals())`.

    Omitted arguments are left out. Null becomes None, and so does the string "null", except in texts that users wrote.
    """
    found = {}
    for name, value in arguments.items():
        if name not in ("self", "info") and value is not UNSET:
            cleared = clearing and isinstance(value, str) and value == CLEAR_MARKER
            found[name] = None if cleared else _to_stored_value(name, value)
    return found


def _to_stored_value(name: str, value: Any) -> Any:
    """The stored form of an argument. A time without a zone is UTC."""
    if name in _VERBATIM:
        return value
    if name in _SCHEMAS:
        return renamed_schema(value, stored_name)
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else to_stored(value)
