"""ExecuteStatement, BatchExecuteStatement and ExecuteTransaction."""

from typing import Any

from gateleg.engine.catalog import Context
from gateleg.engine.errors import not_found, validation
from gateleg.engine.partiql import selects, writes
from gateleg.engine.partiql.selects import SelectOptions
from gateleg.engine.partiql.statements import (
    ONLY_IN_TRANSACTIONS,
    ExistsCommand,
    SelectCommand,
    bind_statement,
    read_parameters,
    resolve_command,
)
from gateleg.engine.partiql.writes import batch, transact


def execute_statement(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Run one statement: a page of a SELECT, or one write."""
    bound = bind_statement(request["Statement"], read_parameters(request.get("Parameters")))
    resolved = resolve_command(context, bound)
    if isinstance(resolved.command, ExistsCommand):
        raise validation(ONLY_IN_TRANSACTIONS)
    if resolved.layout is None:
        raise not_found()
    mode = request.get("ReturnConsumedCapacity")
    if not isinstance(resolved.command, SelectCommand):
        write = writes.prepare(resolved.layout, resolved.command, resolved.values)
        write.return_failed = request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        writes.run(context, write)
        return writes.response(write, mode)
    options = SelectOptions(
        consistent=bool(request.get("ConsistentRead")),
        limit=request.get("Limit"),
        token=request.get("NextToken"),
        capacity=mode,
        text=bound.text,
        parameters=tuple(bound.parameters),
    )
    return selects.select(context, resolved.layout, resolved.command, resolved.values, options)


def batch_execute_statement(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Run up to 25 statements on one item each, all reads or all writes."""
    return batch(context, request["Statements"], request.get("ReturnConsumedCapacity"))


def execute_transaction(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Run up to 100 statements atomically."""
    return transact(context, request)


OPERATIONS = {
    "ExecuteStatement": execute_statement,
    "BatchExecuteStatement": batch_execute_statement,
    "ExecuteTransaction": execute_transaction,
}
