"""Table schemas: keys, indexes, settings. Immutable values, stored as JSON in the catalog."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

KeyType = Literal["S", "N", "B"]


class Namespace(NamedTuple):
    """An account and a region: the scope of table names, and part of every ARN."""

    account: str = "123456789012"
    region: str = "us-east-1"

    def arn(self, resource: str) -> str:
        """The ARN of a DynamoDB resource such as `table/Music`."""
        return f"arn:aws:dynamodb:{self.region}:{self.account}:{resource}"


@dataclass(frozen=True, slots=True)
class KeyAttribute:
    """A key attribute with its scalar type."""

    name: str
    type: KeyType


@dataclass(frozen=True)
class KeySchema:
    """The hash and range attributes of a table or index: one hash and at most one range attribute; up to four of each in a GSI."""

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
        """In the form of requests and descriptions."""
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
    #: further members of the description (throughput, warm throughput, on-demand limits) in wire form
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
    #: AttributeDefinitions in their original order
    definitions: dict[str, KeyType]
    keys: KeySchema
    indexes: tuple[Index, ...] = ()
    status: str = "ACTIVE"
    #: view type of the enabled stream, if any
    stream: str | None = None
    #: label of the latest stream, enabled or not
    stream_label: str | None = None
    #: attribute with the expiry time, if TTL is enabled
    ttl: str | None = None
    #: since when point-in-time recovery has been enabled
    recovery_since: float | None = None
    recovery_days: int = 35
    #: whether a restore is still copying rows into the table
    restoring: bool = False
    #: SQLite tables that rows are being copied to; a row must be copied before it changes (`long_work.py`)
    copies: tuple[str, ...] = ()
    tags: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        """The table's ARN."""
        return self.namespace.arn(f"table/{self.name}")

    @property
    def logged(self) -> bool:
        """Whether changes of items go to the change log, for a stream or for recovery."""
        return self.stream is not None or self.recovery_since is not None

    def index(self, name: str) -> Index | None:
        """The index with that name, or None."""
        return next((i for i in self.indexes if i.name == name), None)
