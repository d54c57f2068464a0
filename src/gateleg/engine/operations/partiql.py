"""ExecuteStatement, BatchExecuteStatement and ExecuteTransaction."""

from typing import Any

from gateleg.engine.context import Context
from gateleg.engine.errors import not_found, validation
from gateleg.engine.partiql import reading, writing
from gateleg.engine.partiql.batches import batch
from gateleg.engine.partiql.commands import Check, Read
from gateleg.engine.partiql.parameters import read_parameters
from gateleg.engine.partiql.reading import Options
from gateleg.engine.partiql.requests import ONLY_IN_TRANSACTIONS, ask, understand
from gateleg.engine.partiql.transactions import transact


def execute_statement(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """One statement: a page of a SELECT, or one write."""
    asked = ask(request["Statement"], read_parameters(request.get("Parameters")))
    meant = understand(context, asked)
    if isinstance(meant.command, Check):
        raise validation(ONLY_IN_TRANSACTIONS)
    if meant.layout is None:
        raise not_found()
    mode = request.get("ReturnConsumedCapacity")
    if not isinstance(meant.command, Read):
        step = writing.prepare(meant.layout, meant.command, meant.values)
        step.return_failed = request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        writing.run(context, step)
        return writing.answered(step, mode)
    options = Options(
        consistent=bool(request.get("ConsistentRead")),
        limit=request.get("Limit"),
        token=request.get("NextToken"),
        capacity=mode,
        text=asked.text,
        parameters=tuple(asked.parameters),
    )
    return reading.select(context, meant.layout, meant.command, meant.values, options)


def batch_execute_statement(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Up to 25 statements on one item each, all of which read or all of which write."""
    return batch(context, request["Statements"], request.get("ReturnConsumedCapacity"))


def execute_transaction(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Up to 100 statements at one moment: all of them, or none."""
    return transact(context, request)


OPERATIONS = {
    "ExecuteStatement": execute_statement,
    "BatchExecuteStatement": batch_execute_statement,
    "ExecuteTransaction": execute_transaction,
}
