"""UpdateTimeToLive and DescribeTimeToLive."""

from dataclasses import replace
from typing import Any

from gateleg.engine.context import Context
from gateleg.engine.errors import validation
from gateleg.engine.operations.lookup import require_table


def update_time_to_live(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Set the attribute with the expiry time, or disable expiry."""
    specification = request["TimeToLiveSpecification"]
    attribute = specification["AttributeName"]
    with context.database.write() as connection:
        table = require_table(context, request["TableName"])
        if table.ttl is not None and table.ttl != attribute:
            raise validation(f"TimeToLive is active on a different AttributeName: current AttributeName is {table.ttl}")
        if specification["Enabled"] == (table.ttl is not None):
            raise validation(f"TimeToLive is already {'enabled' if table.ttl is not None else 'disabled'}")
        context.catalog.replace(connection, replace(table, ttl=attribute if specification["Enabled"] else None))
    return {"TimeToLiveSpecification": {"Enabled": specification["Enabled"], "AttributeName": attribute}}


def describe_time_to_live(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Whether items of a table expire, and by which attribute."""
    table = require_table(context, request["TableName"])
    if table.ttl is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": table.ttl}}
