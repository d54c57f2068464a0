"""The shape of a table, in one form for declared and deployed tables, so that they can be compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Table

__all__ = ["IndexShape"]

Wire = dict[str, Any]
_GONE = "DELETING"


@dataclass(frozen=True)
class Capacity:
    """Provisioned units per second."""

    read: int
    write: int

    def wire(self) -> Wire:
        """In the form of CreateTable."""
        return {"ReadCapacityUnits": self.read, "WriteCapacityUnits": self.write}

    def __str__(self) -> str:
        return f"{self.read:,} read and {self.write:,} write units"


@dataclass(frozen=True)
class TableSettings:
    """Settings of tables that belong to an environment rather than to the declaration. None leaves a setting as it is."""

    #: "on-demand", "keep" what is there, or provisioned capacity for the table and each index
    billing: Capacity | Literal["on-demand", "keep"] = "on-demand"
    #: whether deletion protection is on
    protected: bool | None = None
    #: whether point-in-time recovery is on
    recoverable: bool | None = None
    #: required tags; others are left alone
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class KeyElement:
    """One attribute of a key."""

    name: str
    role: str
    type: str

    def wire(self) -> Wire:
        """As a KeySchema has it."""
        return {"AttributeName": self.name, "KeyType": self.role}


@dataclass(frozen=True)
class IndexShape:
    """An index: its key with types, and what it projects."""

    name: str
    keys: tuple[KeyElement, ...]
    projection: str
    include: frozenset[str] = frozenset()
    capacity: Capacity | None = field(default=None, compare=False)

    def wire(self) -> Wire:
        """As CreateTable wants it, without capacity."""
        projection: Wire = {"ProjectionType": self.projection}
        if self.include:
            projection["NonKeyAttributes"] = sorted(self.include)
        return {"IndexName": self.name, "KeySchema": [key.wire() for key in self.keys], "Projection": projection}

    def __str__(self) -> str:
        shown = ", ".join(key.name for key in self.keys)
        extra = {"ALL": "", "KEYS_ONLY": ", keys only"}.get(self.projection, f", with {', '.join(sorted(self.include))}")
        return f"{self.name} ({shown}{extra})"


@dataclass(frozen=True)
class TableShape:
    """Everything about a table that a plan compares."""

    name: str
    keys: tuple[KeyElement, ...]
    globals: Mapping[str, IndexShape] = field(default_factory=dict)
    locals: Mapping[str, IndexShape] = field(default_factory=dict)
    stream: str | None = None
    ttl: str | None = None
    #: None when requests are paid for one by one
    capacity: Capacity | None = None
    protected: bool = False
    #: None when it is not known, or the service does not offer it
    recoverable: bool | None = None
    tags: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Deployed:
    """A table as the service describes it."""

    shape: TableShape
    arn: str = ""
    #: the service's own count, which may be hours old
    items: int = 0
    #: whether the service can let items expire
    expires: bool = True


def declared_shape(table: Table, prefix: str = "", *, name: str | None = None) -> TableShape:
    """The shape that a declaration asks for."""
    return _shape({**table.definition(prefix), "TableName": name or table.physical(prefix)}, ttl=table.ttl())


def deployed_shape(
    description: Wire,
    ttl: str | None = None,
    recoverable: bool | None = None,
    tags: Mapping[str, str] | None = None,
    *,
    expires: bool = True,
) -> Deployed:
    """The shape of a table that DescribeTable has described."""
    shape = _shape(description, ttl, recoverable, tags)
    return Deployed(shape, description.get("TableArn", ""), int(description.get("ItemCount", 0)), expires)


def _shape(source: Wire, ttl: str | None = None, recoverable: bool | None = None, tags: Mapping[str, str] | None = None) -> TableShape:
    types = {entry["AttributeName"]: entry["AttributeType"] for entry in source["AttributeDefinitions"]}
    stream = source.get("StreamSpecification") or {}
    billing = source.get("BillingMode") or source.get("BillingModeSummary", {}).get("BillingMode")
    return TableShape(
        source["TableName"],
        _keys(source["KeySchema"], types),
        _indexes(source.get("GlobalSecondaryIndexes") or (), types),
        _indexes(source.get("LocalSecondaryIndexes") or (), types),
        stream.get("StreamViewType") if stream.get("StreamEnabled") else None,
        ttl,
        None if billing == "PAY_PER_REQUEST" else _capacity(source),
        bool(source.get("DeletionProtectionEnabled")),
        recoverable,
        tags,
    )


def _keys(schema: list[Wire], types: Mapping[str, str]) -> tuple[KeyElement, ...]:
    elements = [KeyElement(entry["AttributeName"], entry["KeyType"], types[entry["AttributeName"]]) for entry in schema]
    return tuple(sorted(elements, key=lambda element: element.role))


def _indexes(entries: Any, types: Mapping[str, str]) -> dict[str, IndexShape]:
    """The indexes that are there to stay: one that is being deleted is not."""
    return {entry["IndexName"]: _index(entry, types) for entry in entries if entry.get("IndexStatus") != _GONE}


def _index(entry: Wire, types: Mapping[str, str]) -> IndexShape:
    projection = entry["Projection"]
    include = frozenset(projection.get("NonKeyAttributes") or ())
    return IndexShape(entry["IndexName"], _keys(entry["KeySchema"], types), projection["ProjectionType"], include, _capacity(entry))


def _capacity(source: Wire) -> Capacity | None:
    units = source.get("ProvisionedThroughput") or {}
    read, write = units.get("ReadCapacityUnits", 0), units.get("WriteCapacityUnits", 0)
    return Capacity(int(read), int(write)) if read and write else None
