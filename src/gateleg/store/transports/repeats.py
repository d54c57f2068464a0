"""Which requests may be repeated when the response was lost.

A lost answer leaves two possibilities: the request was carried out, or it was not. To send it again is right only if carrying it out twice
comes to the same as once, in what is stored and in what is answered:

- Reads change nothing.
- A put or a delete leaves the same item behind however often it is done, but what it replaced is seen by the first one only: with
  `ReturnValues` it is not repeated.
- An update is repeated when all it does is to set attributes to given values, or to remove them. Arithmetic, `ADD`, `DELETE`, elements of
  lists (their places move) and values copied from other attributes are not.
- A batch of writes is puts and deletes.
- A transaction with a token is recognised by the service.
- Everything else, such as the making of a table, is not repeated: the second answer would tell of the first request.

A condition does not change this, with one exception: if it fails at the second time, the first request may be the reason. The caller of
`repeatable` sees to that.
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


def repeatable(operation: str, request: dict[str, Any]) -> bool:
    """Whether a request may be sent again when it is not known what came of it."""
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
    """Whether an update sets given values and removes attributes, and does nothing else."""
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
    """The actions of a clause; commas within parentheses do not part them."""
    return re.split(r",(?![^(]*\))", clause)
