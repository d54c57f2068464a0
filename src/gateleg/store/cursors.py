"""Cursors: a position in the results of a query as signed text, valid for that query only."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.net import BadToken, Secret
from gateleg.store.errors import CursorRejected

if TYPE_CHECKING:
    from gateleg.model import Item

__all__ = ["Position", "request_digest"]

_PURPOSE = "cursor"


@dataclass(frozen=True)
class Position:
    """A position between two items: where to continue in each shard, and in which direction."""

    #: the ExclusiveStartKey of each shard; None for its beginning
    starts: tuple[Item | None, ...]
    backward: bool = False
    #: for entities with legacy keys: the key of the item before the position, and whether it is a legacy key
    last: Item | None = None
    last_is_legacy: bool = False

    @property
    def at_start(self) -> bool:
        """Whether it is the beginning of the results."""
        return self.last is None and all(start is None for start in self.starts)


@dataclass(frozen=True)
class Signer:
    """Signs and verifies cursors. With the default random key, cursors are valid in this process only."""

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def seal(self, position: Position, digest: bytes) -> str:
        """The cursor of a position; `digest` is that of the query, from `request_digest`."""
        return Secret(self.key).seal(
            _PURPOSE, orjson.dumps([position.backward, position.starts, position.last, position.last_is_legacy]), digest
        )

    def open(self, cursor: str, digest: bytes) -> Position:
        """The position of a cursor. Raises `CursorRejected` if this store did not make it for this query."""
        try:
            body = Secret(self.key).open(_PURPOSE, cursor, digest)
        except BadToken:
            raise CursorRejected("The cursor was not made by this store for this pattern and these arguments.") from None
        # Cursors of older versions have two members, without `last`.
        backward, starts, *rest = orjson.loads(body)
        return Position(tuple(starts), backward, *rest)


def request_digest(requests: Any) -> bytes:
    """A digest of a query: of its requests, which contain the pattern, arguments, range, filter and order."""
    return hashlib.sha256(orjson.dumps(requests, option=orjson.OPT_SORT_KEYS)).digest()
