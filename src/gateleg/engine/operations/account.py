"""DescribeLimits and DescribeEndpoints."""

from typing import Any

from gateleg.engine.context import Context


def describe_limits(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """The quotas that DynamoDB gives a new account."""
    return {
        "AccountMaxReadCapacityUnits": 80000,
        "AccountMaxWriteCapacityUnits": 80000,
        "TableMaxReadCapacityUnits": 40000,
        "TableMaxWriteCapacityUnits": 40000,
    }


def describe_endpoints(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """The one endpoint of the region."""
    return {"Endpoints": [{"Address": f"dynamodb.{context.namespace.region}.amazonaws.com", "CachePeriodInMinutes": 1440}]}
