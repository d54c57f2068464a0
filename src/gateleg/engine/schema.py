"""The schema of a table: keys, indexes, settings. Immutable values, stored as JSON in the catalog."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

KeyType = Literal["S", "N", "B"]


class Namespace(NamedTuple):
    """An account and a region: what table names are unique within, and what ARNs are made of."""

    account: str = "123456789012"
    region: str = "us-east-1"

    def arn(self, resource: str) -> str:
        """The ARN of a DynamoDB resource such as `table/Music`."""
        return f"arn:aws:dynamodb:{self.region}:{self.account}:{resource}"


@dataclass(frozen=True, slots=True)
class KeyAttribute:
    """An attribute that is part of a key, with its scalar type."""

    name: str
    type: KeyType


@dataclass(frozen=True)
class KeySchema:
    """The hash and range attributes of a table or an index: one and at most one, except in GSIs, which take up to four of each."""

    hash: tuple[KeyAttribute, ...]
    range: tuple[KeyAttribute, ...] = ()

    @cached_property
    def attributes(self) -> tuple[KeyAttribute, ...]:
        """Hash attributes, then range attributes."""
        return self.hash + self.range

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, hash before range."""
        return tuple(a.name for a in self.attributes)

    def wire(self) -> list[dict[str, str]]:
        """As `KeySchema` has it in requests and descriptions."""
        return [{"AttributeName": a.name, "KeyType": "HASH"} for a in self.hash] + [
            {"AttributeName": a.name, "KeyType": "RANGE"} for a in self.range
        ]


@dataclass(frozen=True)
class Index:
    """A secondary index."""

    id: int
    name: str
    kind: Literal["GSI", "LSI"]
    keys: KeySchema
    projection: Literal["ALL", "KEYS_ONLY", "INCLUDE"]
    include: tuple[str, ...] = ()
    status: str = "ACTIVE"
    #: Further members of the description (throughput, warm throughput, on-demand limits), kept as they are on the wire.
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """A table as the catalog holds it.

    `settings` keeps what has no bearing on items as it is on the wire: `BillingMode`, `ProvisionedThroughput`,
    `DeletionProtectionEnabled`, `TableClass`, `SSESpecification`, `OnDemandThroughput`, `WarmThroughput`, and the like.
    """

    id: int
    uuid: str
    namespace: Namespace
    name: str
    created: float
    #: AttributeDefinitions, in the order given
    definitions: dict[str, KeyType]
    keys: KeySchema
    indexes: tuple[Index, ...] = ()
    status: str = "ACTIVE"
    #: view type of the stream that is enabled, if one is
    stream: str | None = None
    #: label of the latest stream, enabled or not
    stream_label: str | None = None
    #: attribute that holds the expiry, when TTL is enabled
    ttl: str | None = None
    #: since when point-in-time recovery has been on
    recovery_since: float | None = None
    recovery_days: int = 35
    #: whether rows are still being copied into it, for a restore
    restoring: bool = False
    #: the SQLite tables that rows are being copied to: a row must be there before it changes (`copies.py`)
    copies: tuple[str, ...] = ()
    tags: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        """The table's ARN."""
        return self.namespace.arn(f"table/{self.name}")

    @property
    def logged(self) -> bool:
        """Whether changes of items go to the change log (for a stream, or for recovery)."""
        return self.stream is not None or self.recovery_since is not None

    def index(self, name: str) -> Index | None:
        """The index of that name."""
        return next((i for i in self.indexes if i.name == name), None)
