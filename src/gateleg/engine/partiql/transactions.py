"""ExecuteTransaction: statements that all read from one snapshot, or all write or none."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import apsw

from gateleg.engine import capacity
from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, not_found, validation
from gateleg.engine.layout import Layout
from gateleg.engine.operations.transactions import cancel_if_any_failed, check_distinct, reason, run_once_per_token
from gateleg.engine.partiql import point_reads, writes
from gateleg.engine.partiql.commands import DeleteCommand, ExistsCommand, SelectCommand, UpdateCommand, is_read
from gateleg.engine.partiql.parameters import read_parameters
from gateleg.engine.partiql.requests import BoundStatement, ResolvedCommand, bind_statement, resolve_command
from gateleg.engine.partiql.writes import KEY_MISMATCH, NO_KEY, StatementWrite

_WRONG_TYPE: Final = "Key attribute's data type should match its data type in table's schema"


def transact(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Run a transaction of statements."""
    given = request["TransactStatements"]
    parameters = [read_parameters(statement.get("Parameters")) for statement in given]
    bound: list[BoundStatement] = []
    for number, statement in enumerate(given):
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
        writes.first_key(resolved.layout, command.where, resolved.values)
    if isinstance(command, SelectCommand):
        try:
            point_reads.read_key(resolved.layout, command, resolved.values, "ExecuteTransaction")
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
            keys.append(_table(each).request_key(point_reads.read_key(_table(each), each.command, each.values, "ExecuteTransaction")))
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
            size, item = point_reads.fetch(context, connection, _table(each), key, each.command)
            responses.append({} if item is None else {"Item": item})
            sizes.append((_table(each).table.name, size))
    return _answer(responses, capacity.transaction_reads(request.get("ReturnConsumedCapacity"), sizes))


def _answer(responses: list[dict[str, Any]], consumed: list[dict[str, Any]]) -> dict[str, Any]:
    return {"Responses": responses, "ConsumedCapacity": consumed} if consumed else {"Responses": responses}


def _write_all(context: Context, resolved: list[ResolvedCommand], request: dict[str, Any]) -> dict[str, Any]:
    statement_writes: list[StatementWrite] = []
    reasons: list[dict[str, Any]] = []
    for each, given in zip(resolved, request["TransactStatements"], strict=True):
        assert not isinstance(each.command, SelectCommand)
        try:
            write = writes.prepare(_table(each), each.command, each.values)
            write.return_failed = given.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
            statement_writes.append(write)
            reasons.append({"Code": "None"})
        except EngineError as error:
            reasons.append(_reason(error))
    cancel_if_any_failed(reasons)
    check_distinct([write.row_id for write in statement_writes])
    mode = request.get("ReturnConsumedCapacity")
    written: list[StatementWrite] = []

    def run(connection: apsw.Connection) -> dict[str, Any]:
        _run(context, connection, statement_writes)
        written.extend(statement_writes)
        return {"sizes": [write.change.charged for write in statement_writes]}

    with context.database.write() as connection:
        done = run_once_per_token(context, connection, _scoped(request), run)
    if written:
        return _answer([], capacity.transaction_writes(write.change.capacity(mode, factor=2) for write in written))
    return _answer([], capacity.transaction_reads(mode, done["sizes"]))


def _scoped(request: dict[str, Any]) -> dict[str, Any]:
    """The request with its token in a namespace apart from TransactWriteItems."""
    token = request.get("ClientRequestToken")
    return request if token is None else {**request, "ClientRequestToken": f"partiql/{token}"}


def _run(context: Context, connection: apsw.Connection, statement_writes: list[StatementWrite]) -> None:
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
