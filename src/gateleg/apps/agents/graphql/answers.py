"""Errors in GraphQL responses.

Every error has `extensions.code`, like the error envelope of the host's other APIs, and never the text of an internal
exception.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from graphql import GraphQLError
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError

from gateleg.apps.agents.errors import BadQuery
from gateleg.errors import GatelegError
from gateleg.web.envelope import body_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_log = logging.getLogger("gateleg.agents.graphql")
#: Errors of strawberry about the operation, whose messages are for clients.
_BY_GRAPHQL = (CannotGetOperationTypeError, InvalidOperationTypeError)


def shape(error: GraphQLError) -> None:
    """Set the message and code that clients see; internal details go to the log."""
    original = _cause(error)
    if isinstance(original, RecursionError):
        error.message, original = "The document is nested too deeply to be parsed.", None
    if original is None:
        # graphql-core's own messages contain only names of fields and types.
        error.extensions = {"code": BadQuery.code, "fix": BadQuery.fix} | (error.extensions or {})
        return
    shown = body_of(original)["error"]
    if not isinstance(original, GatelegError) or shown["code"] == "internal":
        _log.error("a resolver failed", exc_info=original)
    elif original.status >= 500:
        _log.error("the store failed in a resolver", exc_info=original)
    error.message = shown["message"]
    error.extensions = {"code": shown["code"]} | shown["details"]


def shape_all(errors: Iterable[GraphQLError]) -> None:
    """`shape` for each of them."""
    for error in errors:
        shape(error)


def _cause(error: GraphQLError) -> Exception | None:
    """The exception that caused an error; None for errors of GraphQL itself."""
    cause = error.original_error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    return None if isinstance(cause, _BY_GRAPHQL) else cause


def refusal_body(error: Exception) -> dict[str, Any]:
    """A GraphQL error response to a request that is not a valid operation."""
    shown = body_of(error)["error"]
    return {"data": None, "errors": [{"message": shown["message"], "extensions": {"code": shown["code"]} | shown["details"]}]}
