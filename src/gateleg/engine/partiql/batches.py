"""BatchExecuteStatement: statements that read or write one item each, and fail or succeed independently."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from gateleg.engine import capacity
from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, not_found, validation
from gateleg.engine.layout import Layout
from gateleg.engine.partiql import point_reads, writes
from gateleg.engine.partiql.commands import ExistsCommand, InsertCommand, SelectCommand, is_read
from gateleg.engine.partiql.parameters import read_parameters
from gateleg.engine.partiql.requests import ONLY_IN_TRANSACTIONS, BoundStatement, bind_statement, resolve_command
from gateleg.engine.partiql.writes import StatementWrite

#: Error codes in the response, by code of the engine.
_CODES: Final = {
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "ItemCollectionSizeLimitExceededException": "ItemCollectionSizeLimitExceeded",
    "RequestLimitExceeded": "RequestLimitExceeded",
    "ValidationException": "ValidationError",
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "TransactionConflictException": "TransactionConflict",
    "ThrottlingException": "ThrottlingError",
    "InternalServerError": "InternalServerError",
    "ResourceNotFoundException": "ResourceNotFound",
    "AccessDeniedException": "AccessDenied",
    "DuplicateItemException": "DuplicateItem",
}


@dataclass(slots=True)
class _BatchStatement:
    """One statement of the batch, from its text to its response. After an error, it is skipped."""

    request: dict[str, Any]
    bound: BoundStatement | None = None
    #: the table, which the response names once it is known
    table: str | None = None
    layout: Layout | None = None
    read: SelectCommand | None = None
    key: bytes = b""
    write: StatementWrite | None = None
    error: EngineError | None = None
    item: Any = None
    consumed: dict[str, Any] | None = None

    def attempt(self, do: Callable[["_BatchStatement"], None]) -> None:
        """Run a step for this statement, unless it has failed."""
        if self.error is not None:
            return
        try:
            do(self)
        except EngineError as error:
            if error.code not in _CODES:
                raise
            self.error = error

    def response(self) -> dict[str, Any]:
        """The statement's entry in the response."""
        response: dict[str, Any] = {}
        if self.error is not None:
            response["Error"] = {"Code": _CODES[self.error.code], "Message": self.error.message}
        elif self.item is not None:
            response["Item"] = self.item
        if self.table is not None:
            response["TableName"] = self.table
        return response


def batch(context: Context, statements: list[dict[str, Any]], mode: str | None) -> dict[str, Any]:
    """Run a batch of statements."""
    batch_statements = [_BatchStatement(request) for request in statements]
    for statement in batch_statements:
        statement.attempt(_bind)
    if len({is_read(statement.bound.statement) for statement in batch_statements if statement.bound is not None}) > 1:
        raise validation("Read and write requests together in the same batch is not supported.")
    for statement in batch_statements:
        statement.attempt(lambda statement: _prepare(context, statement))
    row_ids = [
        (statement.layout.table.id, statement.key)
        for statement in batch_statements
        if statement.layout is not None and statement.error is None
    ]
    if len(set(row_ids)) < len(row_ids):
        raise validation("Provided list of item keys contains duplicates")
    for statement in batch_statements:
        statement.attempt(lambda statement: _run(context, statement, mode))
    response: dict[str, Any] = {"Responses": [statement.response() for statement in batch_statements]}
    if mode in ("TOTAL", "INDEXES") and any(statement.consumed is not None for statement in batch_statements):
        response["ConsumedCapacity"] = _consumed(batch_statements)
    return response


def _bind(statement: _BatchStatement) -> None:
    parameters = read_parameters(statement.request.get("Parameters"))
    statement.bound = bind_statement(statement.request["Statement"], parameters)


def _prepare(context: Context, statement: _BatchStatement) -> None:
    """Find the statement's item; refreshes the catalog if the cached table does not fit the statement."""
    try:
        _find(context, statement)
    except EngineError as error:
        if error.code != "ValidationException" or not context.catalog.refresh():
            raise
        _find(context, statement)


def _find(context: Context, statement: _BatchStatement) -> None:
    assert statement.bound is not None
    resolved = resolve_command(context, statement.bound)
    if isinstance(resolved.command, ExistsCommand):
        raise validation(ONLY_IN_TRANSACTIONS)
    if resolved.layout is None:
        statement.table = resolved.command.target.table
        raise not_found()
    if isinstance(resolved.command, SelectCommand):
        key = point_reads.read_key(resolved.layout, resolved.command, resolved.values, "BatchExecuteStatement")
        statement.read, statement.key = resolved.command, resolved.layout.request_key(key)
    else:
        statement.write = writes.prepare(resolved.layout, resolved.command, resolved.values)
        statement.key = statement.write.change.key
    statement.layout = resolved.layout


def _run(context: Context, statement: _BatchStatement, mode: str | None) -> None:
    layout, write = statement.layout, statement.write
    assert layout is not None
    statement.table = layout.table.name
    if write is not None:
        writes.run(context, write)
        statement.item = write.returned()
        statement.consumed = write.change.capacity(mode)
        return
    assert statement.read is not None
    with context.database.reading() as connection:
        size, statement.item = point_reads.fetch(context, connection, layout, statement.key, statement.read)
    units = capacity.read_units(size, bool(statement.request.get("ConsistentRead")))
    statement.consumed = capacity.consumed(mode, layout.table, units, {})


def _consumed(batch_statements: list[_BatchStatement]) -> list[dict[str, Any]]:
    """The consumed capacity by table. A failed write counts in its table's total only."""
    spent: dict[str, dict[str, Any] | None] = {}
    for statement in batch_statements:
        if statement.consumed is not None and statement.table is not None:
            spent[statement.table] = capacity.add(spent.get(statement.table), statement.consumed)
    for statement in batch_statements:
        total = spent.get(statement.table or "")
        if total is not None and statement.error is not None and statement.write is not None:
            attempted = statement.write.size if isinstance(statement.write.command, InsertCommand) else 0
            total["CapacityUnits"] += capacity.write_units(max(attempted, statement.write.change.old_size or 0))
    return [units for units in spent.values() if units is not None]
