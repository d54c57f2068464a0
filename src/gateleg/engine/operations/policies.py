"""PutResourcePolicy, GetResourcePolicy and DeleteResourcePolicy. Policies are stored, but not enforced."""

import json
from dataclasses import replace
from typing import Any

from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, invalid_parameter, not_found, validation
from gateleg.engine.operations.lookup import require_table
from gateleg.engine.schema import Table

_MAX_POLICY_BYTES = 20 * 1024
#: ExpectedRevisionId of a caller that wants to create a policy only.
_EXPECT_NO_POLICY = "NO_POLICY"


def put_resource_policy(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Store the policy of a table or of its stream."""
    arn, policy = request["ResourceArn"], request["Policy"]
    _check_policy(policy)
    with context.database.write() as connection:
        table = _owner(context, arn)
        kept = _policies(table)
        current = kept.get(arn)
        _check_revision(request.get("ExpectedRevisionId"), current, table, arn)
        if current is not None and current["Policy"] == policy:
            return {"RevisionId": current["RevisionId"]}
        revision = _revision(context.now(), current)
        context.catalog.replace(connection, _with_policies(table, {**kept, arn: {"Policy": policy, "RevisionId": revision}}))
    return {"RevisionId": revision}


def get_resource_policy(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """The policy of a table or of its stream."""
    arn = request["ResourceArn"]
    found = _policies(_owner(context, arn)).get(arn)
    if found is None:
        raise _no_policy(arn)
    return dict(found)


def delete_resource_policy(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Delete the policy of a table or of its stream, if there is one."""
    arn = request["ResourceArn"]
    with context.database.write() as connection:
        table = _owner(context, arn)
        kept = _policies(table)
        current = kept.get(arn)
        _check_revision(request.get("ExpectedRevisionId"), current, table, arn)
        if current is None:
            return {}
        context.catalog.replace(connection, _with_policies(table, {a: p for a, p in kept.items() if a != arn}))
    return {"RevisionId": current["RevisionId"]}


def table_policy(table: Table, policy: str) -> Table:
    """A new table with the policy of its CreateTable request."""
    _check_policy(policy)
    return _with_policies(table, {table.arn: {"Policy": policy, "RevisionId": _revision(table.created)}})


def _owner(context: Context, arn: str) -> Table:
    """The table of an ARN, which may also name its stream."""
    if not arn.startswith("arn:"):
        raise invalid_parameter(f"ARNs must start with 'arn:': {arn}")
    resource, _, label = arn.partition("/stream/")
    head, _, name = resource.partition(":table/")
    account = head.rpartition(":")[2]
    if account != context.namespace.account:
        raise validation("This action is only supported by accounts that match the resource owner\u2019s account.")
    if "/" in name:
        raise invalid_parameter(f"Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {arn}")
    if resource != context.namespace.arn(f"table/{name}"):
        raise invalid_parameter(f"Invalid resource Arn: {arn}")
    table = require_table(context, name)
    if label and label != table.stream_label:
        raise not_found(f"Requested resource not found: Stream: {label} not found for Table: {name}")
    return table


def _policies(table: Table) -> dict[str, dict[str, str]]:
    return dict(table.settings.get("ResourcePolicies", {}))


def _with_policies(table: Table, policies: dict[str, dict[str, str]]) -> Table:
    return replace(table, settings={**table.settings, "ResourcePolicies": policies})


def _check_policy(policy: str) -> None:
    if len(policy.encode()) > _MAX_POLICY_BYTES:
        raise validation(f"Resource policy exceeds the maximum size of {_MAX_POLICY_BYTES} bytes")
    try:
        parsed = json.loads(policy)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict) or "Statement" not in parsed:
        raise validation("Resource policy is not a valid policy document: Syntax errors in policy.")


def _check_revision(expected: str | None, current: dict[str, str] | None, table: Table, arn: str) -> None:
    if expected is None or (expected == _EXPECT_NO_POLICY and current is None):
        return
    if current is None:
        raise _no_policy(arn)
    revision = current["RevisionId"]
    if expected == _EXPECT_NO_POLICY:
        raise _no_policy(
            f"Requested policy update expecting none to be present for table {table.name}, but a policy exists with revision id {revision}."
        )
    if revision != expected:
        raise _no_policy(
            f"Requested update for policy with revision id {expected}, "
            f"but the policy associated to target table {table.name} has revision id {revision}."
        )


def _no_policy(why: str) -> EngineError:
    return EngineError("PolicyNotFoundException", f"Resource-based policy not found for the provided ResourceArn: {why}")


def _revision(now: float, current: dict[str, str] | None = None) -> str:
    """A revision id greater than the current one."""
    return str(max(int(now * 1_000_000), int(current["RevisionId"]) + 1 if current else 0))
