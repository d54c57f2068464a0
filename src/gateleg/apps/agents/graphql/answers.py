"""What clients see of errors.

Every error of an answer has `extensions.code`, as the envelope of the host's other errors has, and never the text of an exception that
nobody meant for clients.
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
    """Give an error the message and the code that clients see; what is not for them goes to the log."""
    original = _cause(error)
    if isinstance(original, RecursionError):
        error.message, original = "The document is nested too deeply to be read.", None
    if original is None:
        # graphql-core's own messages name fields and types only.
        error.extensions = {"code": BadQuery.code, "fix": BadQuery.fix} | (error.extensions or {})
        return
    shown = body_of(original)["error"]
    if not isinstance(original, GatelegError) or shown["code"] == "internal":
        _log.error("a field of a query failed", exc_info=original)
    elif original.status >= 500:
        _log.error("the store failed in a query", exc_info=original)
    error.message = shown["message"]
    error.extensions = {"code": shown["code"]} | shown["details"]


def shape_all(errors: Iterable[GraphQLError]) -> None:
    """`shape` for each of them."""
    for error in errors:
        shape(error)


def _cause(error: GraphQLError) -> Exception | None:
    """The exception behind an error; None for one that GraphQL itself has found."""
    cause = error.original_error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    return None if isinstance(cause, _BY_GRAPHQL) else cause


def refusal_body(error: Exception) -> dict[str, Any]:
    """The answer to a request that did not become an operation, in the shape of GraphQL."""
    shown = body_of(error)["error"]
    return {"data": None, "errors": [{"message": shown["message"], "extensions": {"code": shown["code"]} | shown["details"]}]}
