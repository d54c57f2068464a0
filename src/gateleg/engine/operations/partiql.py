"""ExecuteStatement, BatchExecuteStatement and ExecuteTransaction; and INSERT, UPDATE and DELETE, which write one item by its key.

The statements of a BatchExecuteStatement read or write one item each, and fail or succeed independently; those of an ExecuteTransaction all
read from one snapshot, or all write or none.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import apsw

from gateleg.engine import capacity
from gateleg.engine.catalog import Context
from gateleg.engine.errors import EngineError, condition_failed, not_found, validation
from gateleg.engine.expressions import And, Item, Node, Prepared, Test, Values, condition
from gateleg.engine.layout import Layout
from gateleg.engine.operations.batch import cancel_if_any_failed, check_distinct, reason, run_once_per_token, with_capacity
from gateleg.engine.operations.items import ItemChange, check_item_size, check_paths
from gateleg.engine.partiql import selects
from gateleg.engine.partiql.selects import SelectOptions, conjuncts, equality
from gateleg.engine.partiql.statements import (
    ONLY_IN_TRANSACTIONS,
    BoundStatement,
    DeleteCommand,
    ExistsCommand,
    InsertCommand,
    ResolvedCommand,
    SelectCommand,
    UpdateCommand,
    Write,
    bind_statement,
    is_read,
    read_parameters,
    resolve_command,
)
from gateleg.engine.values import NESTED, canonicalize_item

KEY_MISMATCH: Final = "The provided key element does not match the schema"
NO_KEY: Final = "Where clause does not contain a mandatory equality on all key attributes"
_WRONG_TYPE: Final = "Key attribute's data type should match its data type in table's schema"
_TOO_DEEP: Final = "Nesting Levels have exceeded supported limits"

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
        write = prepare_write(resolved.layout, resolved.command, resolved.values)
        write.return_failed = request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        run_write(context, write)
        return write_response(write, mode)
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
    mode = request.get("ReturnConsumedCapacity")
    statements = [_BatchStatement(statement) for statement in request["Statements"]]
    for statement in statements:
        statement.attempt(_bind)
    if len({is_read(statement.bound.statement) for statement in statements if statement.bound is not None}) > 1:
        raise validation("Read and write requests together in the same batch is not supported.")
    for statement in statements:
        statement.attempt(lambda statement: _prepare(context, statement))
    row_ids = [
        (statement.layout.table.id, statement.key) for statement in statements if statement.layout is not None and statement.error is None
    ]
    if len(set(row_ids)) < len(row_ids):
        raise validation("Provided list of item keys contains duplicates")
    for statement in statements:
        statement.attempt(lambda statement: _run_statement(context, statement, mode))
    return with_capacity({"Responses": [statement.response() for statement in statements]}, _consumed(statements))


def execute_transaction(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Run up to 100 statements atomically."""
    statements = request["TransactStatements"]
    parameters = [read_parameters(statement.get("Parameters")) for statement in statements]
    bound: list[BoundStatement] = []
    for number, statement in enumerate(statements):
        with _prefix_errors(number):
            bound.append(bind_statement(statement["Statement"], parameters[number]))
    reads = is_read(bound[0].statement)
    if any(is_read(each.statement) is not reads for each in bound):
        raise validation("ExecuteTransaction API does not support both read and write operations in the same request.")
    resolved: list[ResolvedCommand] = []
    for number, each in enumerate(bound):
        with _prefix_errors(number):
            resolved.append(resolve_command(context, each))
            _check(resolved[-1])
    _check_tables(resolved)
    return _read_all(context, resolved, request) if reads else _write_all(context, resolved, request)


@dataclass(slots=True)
class StatementWrite:
    """A write in progress: its command, its row, the key or item, and the condition on the current row."""

    command: Write
    change: ItemChange
    item: Item
    size: int
    test: Test | None
    values: Values
    return_failed: bool = False

    @property
    def row_id(self) -> tuple[int, bytes]:
        """Table id and row key."""
        return self.change.layout.table.id, self.change.key

    def refresh_layout(self, context: Context) -> None:
        """Start again if the table has been altered or created again since the statement was prepared."""
        layout = context.layout(self.command.target.table)
        if layout is not self.change.layout:
            fresh = prepare_write(layout, self.command, self.values)
            self.change, self.item, self.size, self.test = fresh.change, fresh.item, fresh.size, fresh.test

    def check(self, connection: apsw.Connection) -> None:
        """Read the row, check the condition and compute the new item."""
        change, command = self.change.read(connection), self.command
        if isinstance(command, InsertCommand):
            if change.old is not None:
                raise EngineError("DuplicateItemException", "Duplicate primary key exists in table")
            change.put(self.item, self.size)
            return
        if not self._row_allows_write():
            raise condition_failed(change.old if self.return_failed else None)
        if isinstance(command, UpdateCommand):
            try:
                change.update(self.item, command.update, {**self.values, **command.literals})
            except EngineError as error:
                if error.message == NESTED:
                    raise validation(_TOO_DEEP) from None
                raise

    def _row_allows_write(self) -> bool:
        """Whether the row allows the write: an UPDATE requires it to exist, a DELETE does not."""
        old = self.change.old
        if old is None and not isinstance(self.command, ExistsCommand):
            return isinstance(self.command, DeleteCommand)
        return self.test is None or self.test(old or {}, self.values)

    def store(self, context: Context, connection: apsw.Connection) -> None:
        """Write the row."""
        if not isinstance(self.command, ExistsCommand):
            self.change.store(context, connection)

    def returned(self) -> Item | None:
        """The attributes that RETURNING requests, or None."""
        command, change = self.command, self.change
        if not isinstance(command, UpdateCommand | DeleteCommand) or command.returning is None:
            return None
        image = change.old if "OLD" in command.returning else change.new
        if image is None or isinstance(command, DeleteCommand) or command.returning.startswith("ALL"):
            return image
        return command.update.written_paths(image) or None


def prepare_write(layout: Layout, command: Write, values: Values) -> StatementWrite:
    """Prepare a write as far as possible without the row."""
    if isinstance(command, InsertCommand):
        item, size = canonicalize_item(command.item)
        check_item_size(size)
        return StatementWrite(command, ItemChange(layout, layout.item_key(item)), item, size, None, values)
    if isinstance(command, ExistsCommand):
        key, rest = first_key(layout, command.where, values)
    else:
        key, rest = sole_key(layout, command.where, values)
    further = condition(rest[0] if len(rest) == 1 else And(tuple(rest))) if rest else None
    check_paths(layout, Prepared(values, condition=further, update=command.update if isinstance(command, UpdateCommand) else None))
    return StatementWrite(command, ItemChange(layout, layout.request_key(key)), key, 0, further.test if further else None, values)


def sole_key(layout: Layout, where: Node | None, values: Values) -> tuple[Item, list[Node]]:
    """The key that a condition names, and its other conditions; refuses two keys."""
    names = layout.table.keys.names
    key: Item = {}
    rest: list[Node] = []
    for part in conjuncts(where):
        fixed = equality(part, names, values)
        if fixed is None:
            rest.append(part)
        elif key.setdefault(fixed[0], fixed[1]) != fixed[1]:
            raise validation(f"Multiple conditions on same key {fixed[0]}. Only single item Update/Insert/Delete are supported")
    if len(key) != len(names):
        raise validation(NO_KEY)
    return key, rest


def first_key(layout: Layout, where: Node | None, values: Values) -> tuple[Item, list[Node]]:
    """The first key that a condition names, and its other conditions."""
    names = layout.table.keys.names
    key: Item = {}
    rest: list[Node] = []
    for part in conjuncts(where):
        fixed = equality(part, names, values)
        if fixed is None or key.setdefault(fixed[0], fixed[1]) != fixed[1]:
            rest.append(part)
    if len(key) != len(names) or not rest:
        raise validation("EXISTS() must contain a single item read with additional condition")
    return key, rest


def run_write(context: Context, write: StatementWrite) -> None:
    """Run one write in a transaction of its own."""
    with context.database.write() as connection:
        write.refresh_layout(context)
        write.check(connection)
        write.store(context, connection)


def write_response(write: StatementWrite, mode: str | None) -> dict[str, Any]:
    """The response of ExecuteStatement to a write."""
    returned = write.returned()
    response: dict[str, Any] = {"Items": [] if returned is None else [returned]}
    consumed = write.change.capacity(mode)
    if consumed is not None:
        response["ConsumedCapacity"] = consumed
    return response


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
        key = selects.read_key(resolved.layout, resolved.command, resolved.values, "BatchExecuteStatement")
        statement.read, statement.key = resolved.command, resolved.layout.request_key(key)
    else:
        statement.write = prepare_write(resolved.layout, resolved.command, resolved.values)
        statement.key = statement.write.change.key
    statement.layout = resolved.layout


def _run_statement(context: Context, statement: _BatchStatement, mode: str | None) -> None:
    layout, write = statement.layout, statement.write
    assert layout is not None
    statement.table = layout.table.name
    if write is not None:
        run_write(context, write)
        statement.item = write.returned()
        statement.consumed = write.change.capacity(mode)
        return
    assert statement.read is not None
    with context.database.reading() as connection:
        size, statement.item = selects.fetch(context, connection, layout, statement.key, statement.read)
    units = capacity.read_units(size, bool(statement.request.get("ConsistentRead")))
    statement.consumed = capacity.consumed(mode, layout.table, units, {})


def _consumed(statements: list[_BatchStatement]) -> list[dict[str, Any]]:
    """The consumed capacity by table. A failed write counts in its table's total only."""
    spent: dict[str, dict[str, Any] | None] = {}
    for statement in statements:
        if statement.consumed is not None and statement.table is not None:
            spent[statement.table] = capacity.add(spent.get(statement.table), statement.consumed)
    for statement in statements:
        total = spent.get(statement.table or "")
        if total is not None and statement.error is not None and statement.write is not None:
            attempted = statement.write.size if isinstance(statement.write.command, InsertCommand) else 0
            total["CapacityUnits"] += capacity.write_units(max(attempted, statement.write.change.old_size or 0))
    return [units for units in spent.values() if units is not None]


@contextmanager
def _prefix_errors(number: int) -> Iterator[None]:
    """Prefix errors of a statement with its position."""
    try:
        yield
    except EngineError as error:
        if error.code != "ValidationException":
            raise
        raise validation(f"Validation failed in TransactStatements[{number}]: {error.message}") from None


def _check(resolved: ResolvedCommand) -> None:
    """Refuse what statements of a transaction may not have. DynamoDB reports a missing table first."""
    command = resolved.command
    if resolved.layout is None:
        return
    if isinstance(command, UpdateCommand | DeleteCommand) and command.returning is not None:
        raise validation("RETURNING clause is not supported in ExecuteTransaction.")
    if isinstance(command, SelectCommand | ExistsCommand) and command.target.index is not None:
        raise validation("Reads on indices are not supported within transactions.")
    if isinstance(command, ExistsCommand):
        first_key(resolved.layout, command.where, resolved.values)
    if isinstance(command, SelectCommand):
        try:
            selects.read_key(resolved.layout, command, resolved.values, "ExecuteTransaction")
        except EngineError as error:
            if not (error.message or "").startswith(_WRONG_TYPE):
                raise


def _check_tables(resolved: list[ResolvedCommand]) -> None:
    missing = not_found()
    cancel_if_any_failed(
        [{"Code": "ResourceNotFound", "Message": missing.message} if each.layout is None else {"Code": "None"} for each in resolved]
    )


def _table(resolved: ResolvedCommand) -> Layout:
    assert resolved.layout is not None
    return resolved.layout


def _read_all(context: Context, resolved: list[ResolvedCommand], request: dict[str, Any]) -> dict[str, Any]:
    keys: list[bytes] = []
    reasons: list[dict[str, Any]] = []
    for each in resolved:
        assert isinstance(each.command, SelectCommand)
        try:
            keys.append(_table(each).request_key(selects.read_key(_table(each), each.command, each.values, "ExecuteTransaction")))
            reasons.append({"Code": "None"})
        except EngineError as error:
            reasons.append(_reason(error))
    cancel_if_any_failed(reasons)
    check_distinct([(_table(each).table.id, key) for each, key in zip(resolved, keys, strict=True)])
    responses: list[dict[str, Any]] = []
    sizes: list[tuple[str, int]] = []
    with context.database.snapshot() as connection:
        for each, key in zip(resolved, keys, strict=True):
            assert isinstance(each.command, SelectCommand)
            size, item = selects.fetch(context, connection, _table(each), key, each.command)
            responses.append({} if item is None else {"Item": item})
            sizes.append((_table(each).table.name, size))
    return with_capacity({"Responses": responses}, capacity.transaction_reads(request.get("ReturnConsumedCapacity"), sizes))


def _write_all(context: Context, resolved: list[ResolvedCommand], request: dict[str, Any]) -> dict[str, Any]:
    statement_writes: list[StatementWrite] = []
    reasons: list[dict[str, Any]] = []
    for each, statement in zip(resolved, request["TransactStatements"], strict=True):
        assert not isinstance(each.command, SelectCommand)
        try:
            write = prepare_write(_table(each), each.command, each.values)
            write.return_failed = statement.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
            statement_writes.append(write)
            reasons.append({"Code": "None"})
        except EngineError as error:
            reasons.append(_reason(error))
    cancel_if_any_failed(reasons)
    check_distinct([write.row_id for write in statement_writes])
    mode = request.get("ReturnConsumedCapacity")
    written: list[StatementWrite] = []

    def run(connection: apsw.Connection) -> dict[str, Any]:
        _run_together(context, connection, statement_writes)
        written.extend(statement_writes)
        return {"sizes": [write.change.charged for write in statement_writes]}

    with context.database.write() as connection:
        done = run_once_per_token(context, connection, _scoped(request), run)
    if written:
        return with_capacity({"Responses": []}, capacity.transaction_writes(write.change.capacity(mode, factor=2) for write in written))
    return with_capacity({"Responses": []}, capacity.transaction_reads(mode, done["sizes"]))


def _scoped(request: dict[str, Any]) -> dict[str, Any]:
    """The request with its token in a namespace apart from TransactWriteItems."""
    token = request.get("ClientRequestToken")
    return request if token is None else {**request, "ClientRequestToken": f"partiql/{token}"}


def _run_together(context: Context, connection: apsw.Connection, statement_writes: list[StatementWrite]) -> None:
    _run_or_cancel(statement_writes, lambda write: write.refresh_layout(context))
    check_distinct([write.row_id for write in statement_writes])
    _run_or_cancel(statement_writes, lambda write: write.check(connection))
    for write in statement_writes:
        write.store(context, connection)


def _run_or_cancel(statement_writes: list[StatementWrite], do: Callable[[StatementWrite], None]) -> None:
    """Run a step for every write; cancels the transaction with the reasons of all that failed."""
    reasons: list[dict[str, Any]] = []
    for write in statement_writes:
        try:
            do(write)
            reasons.append({"Code": "None"})
        except EngineError as error:
            reasons.append(reason(error))
    cancel_if_any_failed(reasons)


def _reason(error: EngineError) -> dict[str, Any]:
    """The cancellation reason for an invalid key, with GetItem's message."""
    message = error.message or ""
    return reason(validation(KEY_MISMATCH) if message == NO_KEY or message.startswith(_WRONG_TYPE) else error)


OPERATIONS = {
    "ExecuteStatement": execute_statement,
    "BatchExecuteStatement": batch_execute_statement,
    "ExecuteTransaction": execute_transaction,
}
