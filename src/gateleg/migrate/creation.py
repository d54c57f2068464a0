"""The steps that create a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.migrate.plans import Step
from gateleg.migrate.shapes import Capacity

if TYPE_CHECKING:
    from gateleg.migrate.shapes import TableSettings, TableShape, Wire

__all__ = ["create_table"]


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
