"""The shape of a table, in one form for declared and deployed tables, so that they can be compared.

Which GSIs to create and delete, and in which order: DynamoDB allows one at a time.

The steps that create a table.

Inspect deployed tables, as flows that both stores can run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from gateleg.migrate.migrations import Step
from gateleg.store.flow import Request
from gateleg.store.operations.tables import describe
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateleg.model import Table
    from gateleg.store.flow import Flow

__all__ = ["IndexShape", "create_table"]


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


#: the default quota of GSIs per table
_MAX_INDEXES = 20


def index_steps(wanted: TableShape, have: TableShape, settings: TableSettings) -> Iterator[Step]:
    """Creations come before deletions, so that a successor exists before an index goes, unless the old index is in the way."""
    missing = [index for name, index in wanted.globals.items() if have.globals.get(name) != index]
    obsolete = [index for name, index in have.globals.items() if wanted.globals.get(name) != index]
    in_the_way = [index for index in obsolete if _blocks(index, wanted, missing)]
    later = [index for index in obsolete if index not in in_the_way]
    crowd = len(have.globals) - len(in_the_way) + len(missing) - _MAX_INDEXES
    if crowd > 0:
        in_the_way, later = in_the_way + later[:crowd], later[crowd:]
    for index in in_the_way:
        yield _drop(have.name, index, replaced=index.name in wanted.globals)
    for index in missing:
        yield _add(wanted, have, index, settings)
    for index in later:
        yield _drop(have.name, index, replaced=False)


def _blocks(index: IndexShape, wanted: TableShape, missing: list[IndexShape]) -> bool:
    """Whether an index must be deleted first: another needs its name, or one of its key attributes with another type."""
    if index.name in wanted.globals:
        return True
    types = {key.name: key.type for other in missing for key in other.keys}
    return any(types.get(key.name, key.type) != key.type for key in index.keys)


def _drop(table: str, index: IndexShape, replaced: bool) -> Step:
    request: Wire = {"TableName": table, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": index.name}}]}
    loses = f"Queries on {index.name} fail" + (" until it is created again." if replaced else ".")
    note = "Under another name, the new index could be created before the old one is deleted." if replaced else ""
    return Step(table, "delete-index", f"delete the index {index}", "UpdateTable", request, loses, note)


def _add(wanted: TableShape, have: TableShape, index: IndexShape, settings: TableSettings) -> Step:
    capacity = have.capacity if settings.billing == "keep" else settings.billing
    request: Wire = {
        "TableName": wanted.name,
        "AttributeDefinitions": [{"AttributeName": key.name, "AttributeType": key.type} for key in index.keys],
        "GlobalSecondaryIndexUpdates": [{"Create": index.wire() | index_capacity(capacity)}],
    }
    return Step(wanted.name, "create-index", f"create the index {index}", "UpdateTable", request)


def create_table(wanted: TableShape, settings: TableSettings) -> Step:
    """The step that creates a table with all its indexes."""
    request: Wire = {
        "TableName": wanted.name,
        "AttributeDefinitions": definitions(wanted),
        "KeySchema": [key.wire() for key in wanted.keys],
    }
    request |= billing(settings)
    if wanted.globals:
        request["GlobalSecondaryIndexes"] = [index.wire() | index_capacity(settings.billing) for index in wanted.globals.values()]
    if wanted.locals:
        request["LocalSecondaryIndexes"] = [index.wire() for index in wanted.locals.values()]
    if wanted.stream is not None:
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": wanted.stream}
    if settings.protected:
        request["DeletionProtectionEnabled"] = True
    if settings.tags:
        request["Tags"] = [{"Key": key, "Value": value} for key, value in settings.tags.items()]
    return Step(wanted.name, "create-table", f"create the table {_title(wanted)}", "CreateTable", request)


def definitions(wanted: TableShape) -> list[Wire]:
    """AttributeDefinitions: the type of every key attribute."""
    keys = [wanted.keys, *(index.keys for index in (*wanted.globals.values(), *wanted.locals.values()))]
    types = {key.name: key.type for schema in keys for key in schema}
    return [{"AttributeName": name, "AttributeType": types[name]} for name in sorted(types)]


def billing(settings: TableSettings) -> Wire:
    """The billing parameters of a new table."""
    if isinstance(settings.billing, Capacity):
        return {"BillingMode": "PROVISIONED", "ProvisionedThroughput": settings.billing.wire()}
    return {"BillingMode": "PAY_PER_REQUEST"}


def index_capacity(capacity: Any) -> Wire:
    """The throughput of an index in a provisioned table; empty for others."""
    return {"ProvisionedThroughput": capacity.wire()} if isinstance(capacity, Capacity) else {}


def _title(wanted: TableShape) -> str:
    keys = ", ".join(key.name for key in wanted.keys)
    counts = [(len(wanted.globals), "global"), (len(wanted.locals), "local")]
    indexes = " and ".join(f"{count} {kind}" for count, kind in counts if count)
    many = len(wanted.globals) + len(wanted.locals) > 1
    return f"({keys})" + (f" with {indexes} {'indexes' if many else 'index'}" if indexes else "")


def enable_ttl(name: str, attribute: str) -> Step:
    """Enable TTL."""
    request = {"TableName": name, "TimeToLiveSpecification": {"Enabled": True, "AttributeName": attribute}}
    return Step(name, "change-ttl", f"let items expire by {attribute}", "UpdateTimeToLive", request)


def enable_recovery(name: str) -> Step:
    """Enable point-in-time recovery."""
    request = {"TableName": name, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
    return Step(name, "change-recovery", "start point-in-time recovery", "UpdateContinuousBackups", request)


#: error codes of services that do not support an operation
_NOT_OFFERED = {"UnknownOperationException", "UnknownOperation", "InvalidAction", "NotImplemented"}


def inspect_table(name: str, settings: TableSettings) -> Flow[Deployed | None]:
    """A table with its TTL and, if the settings concern them, its recovery and tags; None if it does not exist."""
    description = yield from describe(name)
    if description is None:
        return None
    expiry = yield from offered("DescribeTimeToLive", {"TableName": name})
    recoverable = (yield from _recoverable(name)) if settings.recoverable is not None else None
    tags = (yield from _tags(description["TableArn"])) if settings.tags else None
    return deployed_shape(description, _ttl(expiry or {}), recoverable, tags, expires=expiry is not None)


def offered(operation: str, request: Wire) -> Flow[dict[str, Any] | None]:
    """The response to a request; None if the service does not support the operation."""
    try:
        response: dict[str, Any] = yield Request(operation, request, "tables")
    except ServiceError as error:
        if error.code in _NOT_OFFERED:
            return None
        raise
    return response


def _ttl(response: Wire) -> str | None:
    """The TTL attribute; None while TTL is being disabled."""
    description = response.get("TimeToLiveDescription", {})
    return description.get("AttributeName") if description.get("TimeToLiveStatus") in ("ENABLED", "ENABLING") else None


def _recoverable(name: str) -> Flow[bool | None]:
    response = yield from offered("DescribeContinuousBackups", {"TableName": name})
    if response is None:
        return None
    recovery = response["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
    return bool(recovery.get("PointInTimeRecoveryStatus") == "ENABLED")


def _tags(arn: str) -> Flow[dict[str, str] | None]:
    found: dict[str, str] = {}
    request: Wire = {"ResourceArn": arn}
    while True:
        response = yield from offered("ListTagsOfResource", request)
        if response is None:
            return None
        found |= {tag["Key"]: tag["Value"] for tag in response.get("Tags", ())}
        if "NextToken" not in response:
            return found
        request = {"ResourceArn": arn, "NextToken": response["NextToken"]}
