"""BatchExecuteStatement: statements that read or write one item each; each fails or succeeds on its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from gateleg.engine import capacity
from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, not_found, validation
from gateleg.engine.layout import Layout
from gateleg.engine.partiql import points, writing
from gateleg.engine.partiql.commands import Check, Create, Read, is_read
from gateleg.engine.partiql.parameters import read_parameters
from gateleg.engine.partiql.requests import ONLY_IN_TRANSACTIONS, Asked, ask, understand
from gateleg.engine.partiql.writing import Step

#: What a statement's error is called in the answer.
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
class _Member:
    """One statement of the batch, from its text to its answer. After an error nothing more is done for it."""

    given: dict[str, Any]
    asked: Asked | None = None
    #: The table, told in the answer once the statement has got as far as that.
    table: str | None = None
    layout: Layout | None = None
    read: Read | None = None
    key: bytes = b""
    step: Step | None = None
    error: EngineError | None = None
    item: Any = None
    consumed: dict[str, Any] | None = None

    def attempt(self, do: Callable[["_Member"], None]) -> None:
        """Do something for this statement, unless it has failed already."""
        if self.error is not None:
            return
        try:
            do(self)
        except EngineError as error:
            if error.code not in _CODES:
                raise
            self.error = error

    def answer(self) -> dict[str, Any]:
        """The statement's part of the answer."""
        answer: dict[str, Any] = {}
        if self.error is not None:
            answer["Error"] = {"Code": _CODES[self.error.code], "Message": self.error.message}
        elif self.item is not None:
            answer["Item"] = self.item
        if self.table is not None:
            answer["TableName"] = self.table
        return answer


def batch(context: Context, statements: list[dict[str, Any]], mode: str | None) -> dict[str, Any]:
    """The answer to a batch of statements."""
    members = [_Member(given) for given in statements]
    for member in members:
        member.attempt(_ask)
    if len({is_read(member.asked.statement) for member in members if member.asked is not None}) > 1:
        raise validation("Read and write requests together in the same batch is not supported.")
    for member in members:
        member.attempt(lambda one: _prepare(context, one))
    places = [(member.layout.table.id, member.key) for member in members if member.layout is not None and member.error is None]
    if len(set(places)) < len(places):
        raise validation("Provided list of item keys contains duplicates")
    for member in members:
        member.attempt(lambda one: _run(context, one, mode))
    answer: dict[str, Any] = {"Responses": [member.answer() for member in members]}
    if mode in ("TOTAL", "INDEXES") and any(member.consumed is not None for member in members):
        answer["ConsumedCapacity"] = _consumed(members)
    return answer


def _ask(member: _Member) -> None:
    parameters = read_parameters(member.given.get("Parameters"))
    member.asked = ask(member.given["Statement"], parameters)


def _prepare(context: Context, member: _Member) -> None:
    """Find the item that a statement is about, by the table as it is now where the one that was known has none."""
    try:
        _find(context, member)
    except EngineError as error:
        if error.code != "ValidationException" or not context.catalog.refresh():
            raise
        _find(context, member)


def _find(context: Context, member: _Member) -> None:
    assert member.asked is not None
    meant = understand(context, member.asked)
    if isinstance(meant.command, Check):
        raise validation(ONLY_IN_TRANSACTIONS)
    if meant.layout is None:
        member.table = meant.command.target.table
        raise not_found()
    if isinstance(meant.command, Read):
        key = points.read_key(meant.layout, meant.command, meant.values, "BatchExecuteStatement")
        member.read, member.key = meant.command, meant.layout.request_key(key)
    else:
        member.step = writing.prepare(meant.layout, meant.command, meant.values)
        member.key = member.step.change.key
    member.layout = meant.layout


def _run(context: Context, member: _Member, mode: str | None) -> None:
    layout, step = member.layout, member.step
    assert layout is not None
    member.table = layout.table.name
    if step is not None:
        writing.run(context, step)
        member.item = step.returned()
        member.consumed = step.change.capacity(mode)
        return
    assert member.read is not None
    with context.database.reading() as connection:
        size, member.item = points.fetch(context, connection, layout, member.key, member.read)
    units = capacity.read_units(size, bool(member.given.get("ConsistentRead")))
    member.consumed = capacity.consumed(mode, layout.table, units, {})


def _consumed(members: list[_Member]) -> list[dict[str, Any]]:
    """What was consumed, by table. A write that failed counts in its table's total, and nowhere else."""
    spent: dict[str, dict[str, Any] | None] = {}
    for member in members:
        if member.consumed is not None and member.table is not None:
            spent[member.table] = capacity.add(spent.get(member.table), member.consumed)
    for member in members:
        total = spent.get(member.table or "")
        if total is not None and member.error is not None and member.step is not None:
            attempted = member.step.size if isinstance(member.step.command, Create) else 0
            total["CapacityUnits"] += capacity.write_units(max(attempted, member.step.change.old_size or 0))
    return [units for units in spent.values() if units is not None]
