"""NextToken: where a SELECT goes on. It is bound to the statement, the parameters and the table, and it tells when it was tampered with."""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from gateleg.engine.errors import EngineError, validation
from gateleg.engine.schema import Table

_DIGEST = 16
_SEAL = b"gateleg partiql cursor 1"


@dataclass(frozen=True, slots=True)
class Cursor:
    """The range that is being read, by its position in the plan, and the key of the last row, if any was read there."""

    span: int
    key: dict[str, Any] | None


def fingerprint(table: Table, text: str, parameters: tuple[Any, ...]) -> bytes:
    """What a token is bound to."""
    return sha256(orjson.dumps([table.uuid, text, parameters])).digest()[:_DIGEST]


def encode(cursor: Cursor, bound: bytes) -> str:
    """A cursor as an opaque token."""
    body = bound + orjson.dumps([cursor.span, cursor.key])
    return b64encode(_seal(body) + body).decode()


def decode(token: str, bound: bytes) -> Cursor:
    """The cursor that a token holds, which must have been given for the same request."""
    try:
        raw = b64decode(token, validate=True)
    except (Base64Error, ValueError):
        raise invalid() from None
    seal, body = raw[:_DIGEST], raw[_DIGEST:]
    if len(body) <= _DIGEST or _seal(body) != seal:
        raise invalid()
    if body[:_DIGEST] != bound:
        raise validation("NextToken does not match request")
    span, key = orjson.loads(body[_DIGEST:])
    return Cursor(span, key)


def invalid() -> EngineError:
    """A token that is none of ours."""
    return validation("Invalid NextToken")


def _seal(body: bytes) -> bytes:
    return sha256(_SEAL + body).digest()[:_DIGEST]
