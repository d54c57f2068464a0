"""Cursors: where a page ended, as text that only this store can have made and that fits only the question it was made for."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.store.errors import CursorRejected

if TYPE_CHECKING:
    from gateleg.model import Item

_TAG_BYTES = 16


@dataclass(frozen=True)
class Position:
    """A place between two items: where each shard goes on, and in which direction."""

    #: the ExclusiveStartKey of each shard; None is its beginning
    starts: tuple[Item | None, ...]
    backward: bool = False


@dataclass(frozen=True)
class Signer:
    """Makes and opens cursors. Without a key of your own, cursors are good for the life of the process only."""

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def seal(self, position: Position, question: bytes) -> str:
        """The cursor of a position in the answer to a question."""
        body = orjson.dumps([position.backward, position.starts])
        return urlsafe_b64encode(self._tag(body, question) + body).decode().rstrip("=")

    def open(self, cursor: str, question: bytes) -> Position:
        """The position of a cursor; anything but a cursor of this question is refused."""
        try:
            sealed = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        except ValueError:
            raise CursorRejected("The cursor is not one of ours.") from None
        tag, body = sealed[:_TAG_BYTES], sealed[_TAG_BYTES:]
        if not hmac.compare_digest(tag, self._tag(body, question)):
            raise CursorRejected("The cursor was not made by this store for this pattern and these arguments.")
        backward, starts = orjson.loads(body)
        return Position(tuple(starts), backward)

    def _tag(self, body: bytes, question: bytes) -> bytes:
        return hmac.digest(self.key, question + b"\x00" + body, hashlib.sha256)[:_TAG_BYTES]


def question_of(requests: Any) -> bytes:
    """A digest of what is asked: the requests themselves, that is pattern, arguments, range, filter and order."""
    return hashlib.sha256(orjson.dumps(requests, option=orjson.OPT_SORT_KEYS)).digest()
