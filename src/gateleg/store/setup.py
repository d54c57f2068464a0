"""What all operations of a store share. A value: stores with another prefix, scope or timeout are copies with one member replaced."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypedDict
from uuid import UUID

from gateleg.net import Backoff
from gateleg.store.operations.cursors import Signer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gateleg.model import Table
    from gateleg.store.observing.hooks import Hook
    from gateleg.store.scopes import Scope
    from gateleg.store.unreadable import OnUnreadable

__all__ = ["Rewriter", "Setup", "table_names_in"]

_SYSTEM = random.SystemRandom()


class Rewriter(Protocol):
    """Knows which entities are being moved (`gateleg.migrate`)."""

    def rewrite(self, operation: Any) -> Any:
        """The operation that is carried out instead of one; the same one when nothing of it moves."""


@dataclass(frozen=True)
class Setup:
    """Names, time, chance and rules of a store."""

    #: stands before every table name
    prefix: str = ""
    #: whole names in the account of tables that have others than their prefix and their own
    table_names: Mapping[str, str] = field(default_factory=dict)
    #: the time in seconds since 1970
    clock: Callable[[], float] = time.time
    #: seconds that only ever grow, for rates and timeouts
    ticks: Callable[[], float] = time.monotonic
    random: random.Random = _SYSTEM
    backoff: Backoff = field(default_factory=Backoff)
    cursors: Signer = field(default_factory=Signer)
    hooks: tuple[Hook, ...] = ()
    #: how many requests of one batch or scan may be under way at once
    concurrency: int = 1
    #: seconds for one operation, with all its requests and pauses
    timeout: float | None = None
    #: the partition that the store cannot leave
    scope: Scope | None = None
    #: whether reads show items whose time is over
    expired: bool = False
    #: what lists do with an item that its entity cannot read
    on_unreadable: OnUnreadable = "warn"
    #: what is done instead of an operation on an entity whose items are being moved
    moves: Rewriter | None = None

    def name_of(self, table: Table) -> str:
        """The table's name in the account."""
        return self.table_names[table.name] if table.name in self.table_names else self.prefix + table.name

    def now(self) -> datetime:
        """The present time."""
        return datetime.fromtimestamp(self.clock(), UTC)

    def delays(self) -> Iterator[float]:
        """The seconds to wait before each repetition of what others were in the way of."""
        return self.backoff.delays(self.random.random)

    def token(self) -> str:
        """A token that makes a transaction idempotent."""
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def marks(self, number: int) -> list[str]:
        """So many texts that nobody else has. Drawn at once: each time the system is asked for chance takes as long as a small read."""
        text = f"{self.random.getrandbits(128 * number):0{32 * number}x}" if number else ""
        return [text[start : start + 32] for start in range(0, len(text), 32)]


class Options(TypedDict, total=False):
    """What a store's constructor takes besides its transport; see `Setup`."""

    #: whole names in the account of single tables: `{"Songs": "prod-songs-eu"}`; the prefix does not stand before them
    table_names: Mapping[str, str]
    hooks: Sequence[Hook]
    #: the secret that signs cursors; the same one for all processes that share them
    cursor_key: bytes
    backoff: Backoff
    concurrency: int
    timeout: float | None
    clock: Callable[[], float]
    ticks: Callable[[], float]
    random: random.Random
    on_unreadable: OnUnreadable


def table_names_in(text: str) -> dict[str, str]:
    """Table names as they are written in one line: `Songs=prod-songs, Albums=prod-albums`."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    wrong = next((table for table, _, name in pairs if not table.strip() or not name.strip()), None)
    if wrong is not None:
        raise ValueError(f"{wrong.strip()!r} has no name: table names are written as Table=name, separated by commas")
    return {table.strip(): name.strip() for table, _, name in pairs}


def setup_from(prefix: str, options: Options) -> Setup:
    """The setup that a store's options describe."""
    given = dict(options)
    key = given.pop("cursor_key", None)
    hooks = tuple(options.get("hooks", ()))
    return Setup(**{**given, "prefix": prefix, "hooks": hooks, "cursors": Signer(options["cursor_key"]) if key else Signer()})  # type: ignore[arg-type]
