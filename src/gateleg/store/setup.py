"""The configuration of a store, as a value. A store with another scope or timeout has a changed copy."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypedDict
from uuid import UUID

from gateleg.net import Backoff
from gateleg.store.cursors import Signer
from gateleg.store.errors import InvalidOption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gateleg.model import Table
    from gateleg.store.observing.hooks import Hook
    from gateleg.store.scopes import Scope
    from gateleg.store.unreadable import OnUnreadable

__all__ = ["Rewriter", "Setup", "table_names_in"]

_SYSTEM = random.SystemRandom()


class DeployedNames(dict["Table", str]):
    """The deployed name of each table, computed when first needed. As a dictionary, because nearly every request looks one up."""

    def __init__(self, prefix: str, overrides: Mapping[str, str]) -> None:
        super().__init__()
        self._prefix = prefix
        self._overrides = overrides

    def __missing__(self, table: Table) -> str:
        name = self[table] = self._overrides.get(table.name, self._prefix + table.name)
        return name


class Rewriter(Protocol):
    """Rewrites operations on entities whose items a migration is moving (`gateleg.migrate`)."""

    def rewrite(self, operation: Any) -> Any:
        """The operation to run instead; unchanged if none of its entities is being moved."""


@dataclass(frozen=True)
class Setup:
    """Table names, clock, randomness, hooks and limits of a store."""

    #: precedes every table name
    prefix: str = ""
    #: by declared name, the deployed names of tables that are not named by prefix and declared name
    table_names: Mapping[str, str] = field(default_factory=dict)
    #: the time in seconds since 1970
    clock: Callable[[], float] = time.time
    #: a monotonic clock in seconds, for rates and timeouts
    ticks: Callable[[], float] = time.monotonic
    random: random.Random = _SYSTEM
    backoff: Backoff = field(default_factory=Backoff)
    cursors: Signer = field(default_factory=Signer)
    hooks: tuple[Hook, ...] = ()
    #: the maximum number of concurrent requests of one batch or scan
    concurrency: int = 1
    #: the maximum seconds of one operation, with all its requests and pauses
    timeout: float | None = None
    #: the partition that the store is restricted to
    scope: Scope | None = None
    #: whether reads return expired items
    expired: bool = False
    #: what queries, pages and batches do with an item that cannot be decoded
    on_unreadable: OnUnreadable = "warn"
    #: rewrites operations on entities whose items a migration is moving
    moves: Rewriter | None = None
    #: the deployed name of each table
    names: DeployedNames = field(init=False, repr=False, compare=False)
    #: whether requests are sent without further work, because there are neither hooks nor a timeout
    direct: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the values that every request reads."""
        object.__setattr__(self, "names", DeployedNames(self.prefix, self.table_names))
        object.__setattr__(self, "direct", not self.hooks and self.timeout is None)

    def name_of(self, table: Table) -> str:
        """The table's deployed name."""
        return self.names[table]

    def now(self) -> datetime:
        """The current time."""
        return datetime.fromtimestamp(self.clock(), UTC)

    def delays(self) -> Iterator[float]:
        """The seconds to wait before each retry after a conflict."""
        return self.backoff.delays(self.random.random)

    def token(self) -> str:
        """A token that makes a transaction idempotent."""
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def tokens(self, number: int) -> list[str]:
        """A number of unique tokens from one call of the system's random generator, which takes as long as a small read."""
        text = f"{self.random.getrandbits(128 * number):0{32 * number}x}" if number else ""
        return [text[start : start + 32] for start in range(0, len(text), 32)]


class Options(TypedDict, total=False):
    """The options of a store's constructors; see `Setup`."""

    #: full deployed names of single tables, without the prefix: `{"Songs": "prod-songs-eu"}`
    table_names: Mapping[str, str]
    hooks: Sequence[Hook]
    #: the secret that signs cursors; must be the same in all processes that share cursors
    cursor_key: bytes
    backoff: Backoff
    concurrency: int
    timeout: float | None
    clock: Callable[[], float]
    ticks: Callable[[], float]
    random: random.Random
    on_unreadable: OnUnreadable


def table_names_in(text: str) -> dict[str, str]:
    """Parse table names from one line, such as `Songs=prod-songs, Albums=prod-albums`. Raises `ValueError` for other texts."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    wrong = next((table for table, _, name in pairs if not table.strip() or not name.strip()), None)
    if wrong is not None:
        raise ValueError(f"{wrong.strip()!r} has no name: write table names as Table=name, separated by commas")
    return {table.strip(): name.strip() for table, _, name in pairs}


def refuse_address(store: type, transport: object) -> None:
    """Raise `InvalidOption` for an address in place of a transport, which would fail at the first request."""
    if isinstance(transport, str | PathLike):
        raise InvalidOption(
            f"{store.__name__} takes a transport, and was given the address {str(transport)!r}.",
            fix=f"Write {store.__name__}.connect(...).",
        )


def setup_from(prefix: str, options: Options) -> Setup:
    """The setup for a store's options."""
    fields = dict(options)
    key = fields.pop("cursor_key", None)
    hooks = tuple(options.get("hooks", ()))
    return Setup(**{**fields, "prefix": prefix, "hooks": hooks, "cursors": Signer(options["cursor_key"]) if key else Signer()})  # type: ignore[arg-type]
