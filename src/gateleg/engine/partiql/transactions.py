"""ExecuteTransaction: statements that all read, or of which all write or none."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import apsw

from gateleg.engine import capacity
from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, not_found, validation
from gateleg.engine.layout import Layout
from gateleg.engine.operations.transactions import cancel_if_any, check_distinct, once, reason
from gateleg.engine.partiql import points, writing
from gateleg.engine.partiql.commands import Check, Erase, Modify, Read, is_read
from gateleg.engine.partiql.parameters import read_parameters
from gateleg.engine.partiql.requests import Asked, Meant, ask, understand
from gateleg.engine.partiql.writing import KEY_MISMATCH, NO_KEY, Step

_WRONG_TYPE: Final = "Key attribute's data type should match its data type in table's schema"


def transact(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a transaction of statements."""
    given = request["TransactStatements"]
    parameters = [read_parameters(statement.get("Parameters")) for statement in given]
    asked: list[Asked] = []
    for number, statement in enumerate(given):
        with _told(number):
            asked.append(ask(statement["Statement"], parameters[number]))
    reads = is_read(asked[0].statement)
    if any(is_read(one.statement) is not reads for one in asked):
        raise validation("ExecuteTransaction API does not support both read and write operations in the same request.")
    meant: list[Meant] = []
    for number, one in enumerate(asked):
        with _told(number):
            meant.append(understand(context, one))
            _check(meant[-1])
    _check_tables(meant)
    return _read_all(context, meant, request) if reads else _write_all(context, meant, request)


@contextmanager
def _told(number: int) -> Iterator[None]:
    """Faults of a statement name its position."""
    try:
        yield
    except EngineError as error:
        if error.code != "ValidationException":
            raise
        raise validation(f"Validation failed in TransactStatements[{number}]: {error.message}") from None


def _check(meant: Meant) -> None:
    """What a statement of a transaction must not have. Nothing is said of this where its table does not exist."""
    command = meant.command
    if meant.layout is None:
        return
    if isinstance(command, Modify | Erase) and command.returning is not None:
        raise validation("RETURNING clause is not supported in ExecuteTransaction.")
    if isinstance(command, Read | Check) and command.target.index is not None:
        raise validation("Reads on indices are not supported within transactions.")
    if isinstance(command, Check):
        writing.first_key(meant.layout, command.where, meant.values)
    if isinstance(command, Read):
        try:
            points.read_key(meant.layout, command, meant.values, "ExecuteTransaction")
        except EngineError as error:
            if not (error.message or "").startswith(_WRONG_TYPE):
                raise


def _check_tables(meant: list[Meant]) -> None:
    missing = not_found()
    cancel_if_any([{"Code": "ResourceNotFound", "Message": missing.message} if one.layout is None else {"Code": "None"} for one in meant])


def _table(meant: Meant) -> Layout:
    assert meant.layout is not None
    return meant.layout


def _read_all(context: Context, meant: list[Meant], request: dict[str, Any]) -> dict[str, Any]:
    keys: list[bytes] = []
    reasons: list[dict[str, Any]] = []
    for one in meant:
        assert isinstance(one.command, Read)
        try:
            keys.append(_table(one).request_key(points.read_key(_table(one), one.command, one.values, "ExecuteTransaction")))
            reasons.append({"Code": "None"})
        except EngineError as error:
            reasons.append(_reason(error))
    cancel_if_any(reasons)
    check_distinct([(_table(one).table.id, key) for one, key in zip(meant, keys, strict=True)])
    responses: list[dict[str, Any]] = []
    sizes: list[tuple[str, int]] = []
    with context.database.snapshot() as connection:
        for one, key in zip(meant, keys, strict=True):
            assert isinstance(one.command, Read)
            size, item = points.fetch(context, connection, _table(one), key, one.command)
            responses.append({} if item is None else {"Item": item})
            sizes.append((_table(one).table.name, size))
    return _answer(responses, capacity.transaction_reads(request.get("ReturnConsumedCapacity"), sizes))


def _answer(responses: list[dict[str, Any]], consumed: list[dict[str, Any]]) -> dict[str, Any]:
    return {"Responses": responses, "ConsumedCapacity": consumed} if consumed else {"Responses": responses}


def _write_all(context: Context, meant: list[Meant], request: dict[str, Any]) -> dict[str, Any]:
    steps: list[Step] = []
    reasons: list[dict[str, Any]] = []
    for one, given in zip(meant, request["TransactStatements"], strict=True):
        assert not isinstance(one.command, Read)
        try:
            step = writing.prepare(_table(one), one.command, one.values)
            step.return_failed = given.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
            steps.append(step)
            reasons.append({"Code": "None"})
        except EngineError as error:
            reasons.append(_reason(error))
    cancel_if_any(reasons)
    check_distinct([step.place for step in steps])
    mode = request.get("ReturnConsumedCapacity")
    written: list[Step] = []

    def run(connection: apsw.Connection) -> dict[str, Any]:
        _run(context, connection, steps)
        written.extend(steps)
        return {"sizes": [step.change.charged for step in steps]}

    with context.database.write() as connection:
        done = once(context, connection, _scoped(request), run)
    if written:
        return _answer([], capacity.transaction_writes(step.change.capacity(mode, factor=2) for step in written))
    return _answer([], capacity.transaction_reads(mode, done["sizes"]))


def _scoped(request: dict[str, Any]) -> dict[str, Any]:
    """The request with its token kept apart from those of TransactWriteItems."""
    token = request.get("ClientRequestToken")
    return request if token is None else {**request, "ClientRequestToken": f"partiql/{token}"}


def _run(context: Context, connection: apsw.Connection, steps: list[Step]) -> None:
    _each(steps, lambda step: step.renew(context))
    check_distinct([step.place for step in steps])
    _each(steps, lambda step: step.check(connection))
    for step in steps:
        step.store(context, connection)


def _each(steps: list[Step], do: Callable[[Step], None]) -> None:
    """Do something for every step; all that fail have their reasons in the cancelled transaction."""
    reasons: list[dict[str, Any]] = []
    for step in steps:
        try:
            do(step)
            reasons.append({"Code": "None"})
        except EngineError as error:
            reasons.append(reason(error))
    cancel_if_any(reasons)


def _reason(error: EngineError) -> dict[str, Any]:
    """Why a statement names no item; transactions say it as GetItem would."""
    message = error.message or ""
    return reason(validation(KEY_MISMATCH) if message == NO_KEY or message.startswith(_WRONG_TYPE) else error)
