"""Cursors: the end of a page as signed text, valid only for the query it was made for."""

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

__all__ = ["Position", "question_of"]

_PURPOSE = "cursor"


@dataclass(frozen=True)
class Position:
    """A place between two items: where each shard goes on, and in which direction."""

    #: the ExclusiveStartKey of each shard; None is its beginning
    starts: tuple[Item | None, ...]
    backward: bool = False
    #: where items may lie under older keys: the key of the item before the place, and whether that one did
    last: Item | None = None
    last_is_legacy: bool = False

    @property
    def at_start(self) -> bool:
        """Whether it is the beginning of everything."""
        return self.last is None and all(start is None for start in self.starts)


@dataclass(frozen=True)
class Signer:
    """Makes and opens cursors. Without a key of your own, cursors are good for the life of the process only."""

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def seal(self, position: Position, question: bytes) -> str:
        """The cursor of a position in the answer to a question."""
        return Secret(self.key).seal(
            _PURPOSE, orjson.dumps([position.backward, position.starts, position.last, position.last_is_legacy]), question
        )

    def open(self, cursor: str, question: bytes) -> Position:
        """The position of a cursor; anything but a cursor of this question is refused."""
        try:
            body = Secret(self.key).open(_PURPOSE, cursor, question)
        except BadToken:
            raise CursorRejected("The cursor was not made by this store for this pattern and these arguments.") from None
        # A cursor from before there was a `last` has two members.
        backward, starts, *rest = orjson.loads(body)
        return Position(tuple(starts), backward, *rest)


def question_of(requests: Any) -> bytes:
    """A digest of what is asked: the requests themselves, that is pattern, arguments, range, filter and order."""
    return hashlib.sha256(orjson.dumps(requests, option=orjson.OPT_SORT_KEYS)).digest()
