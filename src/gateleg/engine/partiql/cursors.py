"""NextToken: the position of a SELECT, bound to statement, parameters and table, with a checksum against tampering."""

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
class SelectCursor:
    """The current range of the plan, and the key of the last row read from it, if any."""

    range_index: int
    key: dict[str, Any] | None


def fingerprint(table: Table, text: str, parameters: tuple[Any, ...]) -> bytes:
    """A digest of what a token is bound to."""
    return sha256(orjson.dumps([table.uuid, text, parameters])).digest()[:_DIGEST]


def encode(cursor: SelectCursor, bound: bytes) -> str:
    """Encode a cursor as an opaque token."""
    body = bound + orjson.dumps([cursor.range_index, cursor.key])
    return b64encode(_seal(body) + body).decode()


def decode(token: str, bound: bytes) -> SelectCursor:
    """Decode a token, which must belong to the same request."""
    try:
        raw = b64decode(token, validate=True)
    except (Base64Error, ValueError):
        raise invalid() from None
    seal, body = raw[:_DIGEST], raw[_DIGEST:]
    if len(body) <= _DIGEST or _seal(body) != seal:
        raise invalid()
    if body[:_DIGEST] != bound:
        raise validation("NextToken does not match request")
    range_index, key = orjson.loads(body[_DIGEST:])
    return SelectCursor(range_index, key)


def invalid() -> EngineError:
    """The error for an invalid token."""
    return validation("Invalid NextToken")


def _seal(body: bytes) -> bytes:
    return sha256(_SEAL + body).digest()[:_DIGEST]
