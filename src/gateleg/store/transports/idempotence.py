"""Which requests are idempotent, so that they may be resent after their response was lost.

If a response is lost, the request may or may not have been executed. Resending it is safe only if executing it twice has the same effect
and the same response as once:

- Reads change nothing.
- Repeating a put or delete stores the same, but only the first one returns the replaced item: it is not resent with `ReturnValues`.
- An update is resent if it only sets attributes to constants, or removes them. Updates with arithmetic, `ADD`, `DELETE`, list elements
  (whose positions shift) or values copied from other attributes are not.
- A batch of writes consists of puts and deletes.
- The service recognises a repeated transaction by its token.
- All other requests, such as CreateTable, are not resent: the second response would be an error because of the first request.

A condition does not change this, with one exception: if it fails in the second request, the first one may be the reason. The caller of
`is_idempotent` handles that case.
"""

from __future__ import annotations

import re
from typing import Any

_READS = re.compile("Get|Query|Scan|BatchGet|TransactGet|Describe|List|SearchVectors")
_NAME = r"(?:#\w+|[A-Za-z_]\w*)"
_PATH = rf"{_NAME}(?:\.{_NAME})*"
_ASSIGNMENT = rf"\s*(?P<path>{_PATH})\s*=\s*(?::\w+|if_not_exists\s*\(\s*(?P=path)\s*,\s*:\w+\s*\))\s*"
_CLAUSE = re.compile(r"(?<![\w#:.])(SET|REMOVE|ADD|DELETE)\b", re.IGNORECASE)
_ACTIONS = {"SET": re.compile(_ASSIGNMENT), "REMOVE": re.compile(rf"\s*{_PATH}\s*")}


def is_idempotent(operation: str, request: dict[str, Any]) -> bool:
    """Whether executing a request twice has the same effect and response as once, so that it may be resent."""
    if _READS.match(operation) or operation == "BatchWriteItem":
        return True
    if operation in ("PutItem", "DeleteItem"):
        return str(request.get("ReturnValues", "NONE")) == "NONE"
    if operation == "UpdateItem":
        return "OLD" not in str(request.get("ReturnValues", "NONE")) and _is_plain(request.get("UpdateExpression"))
    if operation in ("TransactWriteItems", "ExecuteTransaction"):
        return bool(request.get("ClientRequestToken"))
    if operation == "ExecuteStatement":
        return str(request.get("Statement", "")).lstrip()[:6].upper() == "SELECT"
    return False


def _is_plain(expression: str | None) -> bool:
    """Whether an update only sets attributes to constants and removes attributes."""
    if expression is None:
        return False
    pieces = _CLAUSE.split(expression)
    if pieces[0].strip():
        return False
    clauses = zip(pieces[1::2], pieces[2::2], strict=True)
    return all(
        (form := _ACTIONS.get(keyword.upper())) is not None and all(form.fullmatch(action) for action in _actions(body))
        for keyword, body in clauses
    )


def _actions(clause: str) -> list[str]:
    """Split a clause into actions, at commas outside of parentheses."""
    return re.split(r",(?![^(]*\))", clause)
