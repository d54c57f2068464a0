"""Common parts of the export and import operations: ARNs, client tokens, pagination."""

import re
import uuid
from hashlib import sha256
from secrets import token_hex
from typing import Any

import orjson

from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, invalid_parameter, validation
from gateleg.engine.transfers import Transfer

PAGE = 25

_TABLE_ARN = re.compile(r"arn:aws[a-z-]*:dynamodb:([^:]*):([^:]*):table/(.+)")


def new_arn(table_arn: str, kind: str, now: float) -> str:
    """The ARN of a new job."""
    return f"{table_arn}/{kind}/{int(now * 1000):014d}-{token_hex(4)}"


def check_arn(context: Context, arn: str, kind: str) -> None:
    """Refuse an ARN that is not of a job of this kind in this account."""
    found = re.fullmatch(rf"arn:aws[a-z-]*:dynamodb:[^:]*:([^:]*):table/[a-zA-Z0-9_.-]+/{kind}/[0-9]+-[0-9a-f]+", arn)
    if found is None:
        raise validation(f"Invalid {kind.capitalize()} ARN")
    if found[1] != context.namespace.account:
        raise EngineError("AccessDeniedException", "Access is denied")


def table_name(context: Context, arn: str) -> str | None:
    """The table name in an ARN; None for another region."""
    found = _TABLE_ARN.fullmatch(arn)
    if found is None:
        raise invalid_parameter("tableArn is not a valid ARN")
    region, account, name = found.groups()
    if account != context.namespace.account:
        raise EngineError("AccessDeniedException", "Access is denied")
    if "/" in name:
        raise validation("Invalid Request: Table ARN is invalid.")
    return name if region == context.namespace.region else None


def digest(request: dict[str, Any]) -> bytes:
    """A digest of a request, which repeated requests with the same ClientToken must match."""
    rest = {member: value for member, value in request.items() if member != "ClientToken"}
    return sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).digest()


def token(request: dict[str, Any]) -> str:
    """The request's ClientToken, or a new one."""
    given: str | None = request.get("ClientToken")
    return given or str(uuid.uuid4())


def page(found: list[Transfer], kind: str, limit: int, after: str | None) -> tuple[list[Transfer], str | None]:
    """One page of jobs, sorted from newest to oldest, and the token of the next page."""
    if after is not None:
        place = _sort_key(after, kind)
        found = [transfer for transfer in found if _number(transfer) < place]
    more = len(found) > limit
    return found[:limit], _encode(_number(found[limit - 1]), kind) if more else None


def _number(transfer: Transfer) -> str:
    return transfer.arn.rpartition("/")[2]


def _encode(number: str, kind: str) -> str:
    return f"{kind}:{number}".encode().ljust(56, b"\0").hex()


def _sort_key(token: str, kind: str) -> str:
    try:
        name, _, number = bytes.fromhex(token).rstrip(b"\0").decode().partition(":")
    except ValueError:
        name = number = ""
    if name != kind:
        raise validation(f"Invalid Request: Provided nextToken is invalid: {token}")
    return number
