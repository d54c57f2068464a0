"""The configuration of a store, as a value: a store with another scope or timeout has a changed copy.

With it, what operations read of it: the scope that restricts them to a partition, the deadline of a timeout, the delays of retries, the
signer of cursors, the limit of a rate, and what to do with items that cannot be decoded.
"""

from __future__ import annotations

import hashlib
import random
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict
from uuid import UUID

import orjson

from gateleg.model import KeyPart, spec_of
from gateleg.net import Backoff, BadToken, Secret
from gateleg.plain import is_plain
from gateleg.store.errors import CursorRejected, InvalidOption, OutOfScope, TimedOut
from gateleg.store.flow import Pause
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import BaseModel

    from gateleg.model import Item, ModelError, Ref, Table
    from gateleg.model.keys import KeyPlan
    from gateleg.store.flow import Flow, Request, Response
    from gateleg.store.observing import Hook

_PLAIN = is_plain("direct")

__all__ = [
    "OnUnreadable",
    "Position",
    "RateLimiter",
    "Rewriter",
    "Setup",
    "Unreadable",
    "request_digest",
    "retry_conflicts",
    "table_names_in",
    "used",
]

_SYSTEM = random.SystemRandom()
#: Error codes after which the same request may succeed, and which transports do not retry.
CONFLICTS = frozenset({"TransactionConflictException", "TransactionInProgressException", "ReplicatedWriteConflictException"})
#: Reasons of a canceled transaction that do not depend on the data.
TRANSIENT = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})
_PURPOSE = "cursor"


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
        object.__setattr__(self, "direct", not _PLAIN and not self.hooks and self.timeout is None)

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


def setup_from(prefix: str, options: Options) -> Setup:
    """The setup for a store's options."""
    fields = dict(options)
    key = fields.pop("cursor_key", None)
    hooks = tuple(options.get("hooks", ()))
    return Setup(**{**fields, "prefix": prefix, "hooks": hooks, "cursors": Signer(options["cursor_key"]) if key else Signer()})  # type: ignore[arg-type]


def refuse_address(store: type, transport: object) -> None:
    """Raise `InvalidOption` for an address in place of a transport, which would fail at the first request."""
    if isinstance(transport, str | PathLike):
        raise InvalidOption(
            f"{store.__name__} takes a transport, and was given the address {str(transport)!r}.",
            fix=f"Write {store.__name__}.connect(...).",
        )


def table_names_in(text: str) -> dict[str, str]:
    """Parse table names from one line, such as `Songs=prod-songs, Albums=prod-albums`. Raises `ValueError` for other texts."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    wrong = next((table for table, _, name in pairs if not table.strip() or not name.strip()), None)
    if wrong is not None:
        raise ValueError(f"{wrong.strip()!r} has no name: write table names as Table=name, separated by commas")
    return {table.strip(): name.strip() for table, _, name in pairs}


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
class Scope:
    """Key components, with their values, that all operations of a scoped store must have."""

    values: Mapping[str, Any]

    @classmethod
    def of(cls, part: KeyPart | None, components: Mapping[str, Any]) -> Scope:
        """The scope of a key part, or of components by name."""
        if part is not None and not isinstance(part, KeyPart):
            raise OutOfScope(f"{part!r} is not a key part.", fix='Give components by name, such as store.scope(tenant="acme").')
        unset = [name for name, value in components.items() if value is None]
        if unset:
            raise OutOfScope(f"The scope was given {unset[0]}=None.", fix="Give a value; None would bind nothing.")
        values = {name: getattr(part, name) for name in type(part).__members__()} if part is not None else {}
        values |= components
        if not values:
            raise OutOfScope("A scope without components binds nothing.", fix="Give a key part, or components by name.")
        return cls(values)

    def within(self, other: Scope | None) -> Scope:
        """This scope combined with an outer one: both apply."""
        if other is None:
            return self
        for name, value in other.values.items():
            if self.values.get(name, value) != value:
                raise OutOfScope(f"The scope has {name}={value!r} already.")
        return Scope({**other.values, **self.values})

    def check(self, operation: Located) -> None:
        """Raise `OutOfScope` for an operation that touches anything outside the scope."""
        for entity, plan, values in operation.partitions():
            self._check(entity, plan, values)

    def _check(self, entity: type[BaseModel], plan: KeyPlan, values: Mapping[str, Any]) -> None:
        spec = spec_of(entity)
        place = plan.index.name or spec.table.name
        hash_names = {name for entry in plan.hash for name in entry.names}
        loose = self.values.keys() - spec.arguments_of(hash_names)
        if loose:
            raise OutOfScope(
                f"{place} holds {spec.name} items of other partitions too: its hash does not depend on {', '.join(sorted(loose))}."
            )
        known = spec.arguments(values)
        for name, value in self.values.items():
            if known.get(name) != value:
                raise OutOfScope(f"{spec.name} with {name}={known.get(name)!r} is outside the scope, which has {name}={value!r}.")


class Located(Protocol):
    """An operation that a scope can check, because it knows which partitions it touches."""

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """For each partition that the operation touches: the entity, the key plan and the known components."""


class OperationDeadline:
    """The time by which an operation must end."""

    __slots__ = ("_end", "_setup")

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._end = setup.ticks() + (setup.timeout or 0.0)

    def left(self) -> float:
        """The remaining seconds; raise `TimedOut` if none remain."""
        left = self._end - self._setup.ticks()
        if left <= 0:
            raise TimedOut(f"The operation took longer than {self._setup.timeout} seconds.")
        return left

    def pause(self, seconds: float) -> float:
        """Return the length of a pause; raise `TimedOut` at once if the pause would not end before the deadline."""
        if seconds >= self.left():
            raise TimedOut(f"The operation would take longer than {self._setup.timeout} seconds.")
        return seconds


def retry_conflicts(request: Request, setup: Setup, error: ServiceError | None = None) -> Flow[Response]:
    """Send a request, and retry it while it conflicts with other transactions. `error` is that of a first attempt, if it was made."""
    delays: Iterator[float] | None = None
    while True:
        if error is None:
            try:
                response: Response = yield request
                return response
            except ServiceError as refusal:
                error = refusal
        if not is_transient(error):
            raise error
        delays = delays if delays is not None else setup.delays()
        delay = next(delays, None)
        if delay is None:
            raise error
        yield Pause(delay)
        request.retries += 1
        error = None


def is_transient(error: ServiceError) -> bool:
    """Whether the same request may succeed a moment later."""
    if error.code == "TransactionCanceledException":
        codes = {reason.get("Code") for reason in error.extra.get("CancellationReasons", ())} - {"None", None}
        return bool(codes) and codes <= TRANSIENT
    return error.code in CONFLICTS


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


def request_digest(requests: Any) -> bytes:
    """A digest of a query: of its requests, which contain the pattern, arguments, range, filter and order."""
    return hashlib.sha256(orjson.dumps(requests, option=orjson.OPT_SORT_KEYS)).digest()


class RateLimiter:
    """Limits the average number of capacity units used per second, with a pause after each request."""

    def __init__(self, units: float, setup: Setup) -> None:
        self._units = units
        self._ticks = setup.ticks
        #: when the units used so far are within the limit
        self._paid = setup.ticks()

    def charge(self, response: dict[str, Any]) -> Flow[None]:
        """Pause until the units used by a response are within the limit."""
        now = self._ticks()
        self._paid = max(self._paid, now) + used(response) / self._units
        if self._paid > now:
            yield Pause(self._paid - now)


def used(response: dict[str, Any]) -> float:
    """The consumed capacity units that a response reports."""
    capacity = response.get("ConsumedCapacity")
    entries = capacity if isinstance(capacity, list) else [capacity] if capacity else []
    return float(sum(entry.get("CapacityUnits", 0) for entry in entries))


@dataclass(frozen=True)
class Unreadable:
    """A stored item that cannot be decoded. Repair it with `store.patch(bad.ref, ...)`, or delete it with `store.delete(bad.ref)`."""

    ref: Ref[Any]
    #: the wire item
    item: Item
    #: the problem
    error: ModelError = field(compare=False)


#: What to do with an item that cannot be decoded: log a warning, raise its error, or call a function.
OnUnreadable = Literal["warn", "raise"] | Callable[[Unreadable], None]
