"""UpdateContributorInsights, DescribeContributorInsights and ListContributorInsights. The setting is stored, but nothing is measured."""

from dataclasses import replace
from typing import Any

from gateleg.engine.context import Context
from gateleg.engine.errors import not_found
from gateleg.engine.operations.lookup import require_table
from gateleg.engine.schema import Table

_DEFAULT_MODE = "ACCESSED_AND_THROTTLED_KEYS"


def update_contributor_insights(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Enable or disable insights for a table or an index."""
    enabled = request["ContributorInsightsAction"] == "ENABLE"
    mode = request.get("ContributorInsightsMode") or _DEFAULT_MODE
    with context.database.write() as connection:
        table, index = _target(context, request)
        entry = {"Status": "ENABLED" if enabled else "DISABLED", "Mode": mode, "At": context.now()}
        insights = {**table.settings.get("ContributorInsights", {}), index or "": entry}
        context.catalog.replace(connection, replace(table, settings={**table.settings, "ContributorInsights": insights}))
    status = "ENABLING" if enabled else "DISABLING"
    return {**_names(table, index), "ContributorInsightsStatus": status, "ContributorInsightsMode": mode}


def describe_contributor_insights(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Whether insights are enabled for a table or an index."""
    table, index = _target(context, request)
    entry = table.settings.get("ContributorInsights", {}).get(index or "")
    if entry is None:
        return {**_names(table, index), "ContributorInsightsStatus": "DISABLED"}
    response = {**_names(table, index), "ContributorInsightsStatus": entry["Status"], "LastUpdateDateTime": entry["At"]}
    if entry["Status"] == "ENABLED":
        response["ContributorInsightsMode"] = entry["Mode"]
        response["ContributorInsightsRuleList"] = [
            f"DynamoDBContributorInsights-{rule}-{table.name}-{int(table.created * 1000)}" for rule in _rules(table, entry["Mode"])
        ]
    return response


def list_contributor_insights(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """The tables and indexes with a setting for insights."""
    name = request.get("TableName")
    tables = (
        [require_table(context, name)] if name else [e.table for e in context.catalog.layouts() if e.table.namespace == context.namespace]
    )
    summaries = [
        {**_names(table, index or None), "ContributorInsightsStatus": entry["Status"], "ContributorInsightsMode": entry["Mode"]}
        for table in sorted(tables, key=lambda table: table.name)
        for index, entry in table.settings.get("ContributorInsights", {}).items()
    ]
    return {"ContributorInsightsSummaries": summaries}


def _target(context: Context, request: dict[str, Any]) -> tuple[Table, str | None]:
    table = require_table(context, request["TableName"])
    index = request.get("IndexName")
    if index is not None and table.index(index) is None:
        raise not_found(f"Requested resource not found: Index: {index} not found")
    return table, index


def _names(table: Table, index: str | None) -> dict[str, Any]:
    return {"TableName": table.name} | ({"IndexName": index} if index else {})


def _rules(table: Table, mode: str) -> list[str]:
    letters = "PK" if not table.keys.range else "PKSK"
    parts = ["PKT", *(["SKT"] if "SK" in letters else [])]
    return parts if mode == "THROTTLED_KEYS" else ["PKC", *(["SKC"] if "SK" in letters else []), *parts]
