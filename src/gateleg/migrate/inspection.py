"""Inspect deployed tables, as flows that both stores can run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.migrate.shapes import deployed_shape
from gateleg.store.flow import Request
from gateleg.store.operations.tables import describe
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from gateleg.migrate.shapes import Deployed, TableSettings, Wire
    from gateleg.store.flow import Flow

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
