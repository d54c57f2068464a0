"""From the text and parameters of a request to a command, in DynamoDB's order: parameters, grammar, table, command."""

from dataclasses import dataclass
from typing import Any, Final

from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, validation
from gateleg.engine.expressions import Values
from gateleg.engine.layout import Layout
from gateleg.engine.partiql.commands import Command, command_of, target_of
from gateleg.engine.partiql.conditions import parameter_name
from gateleg.engine.partiql.errors import StatementError
from gateleg.engine.partiql.statements import parse
from gateleg.engine.partiql.trees import Statement

ONLY_IN_TRANSACTIONS: Final = "EXISTS can only be used in ExecuteTransaction write requests."
_SEVERAL_KEYS: Final = "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."


@dataclass(frozen=True, slots=True)
class BoundStatement:
    """A well-formed statement with its parameters."""

    text: str
    statement: Statement
    parameters: list[Any]
    values: Values


@dataclass(frozen=True, slots=True)
class ResolvedCommand:
    """The command of a statement, and its table; None if the table does not exist."""

    command: Command
    values: Values
    layout: Layout | None


def bind_statement(text: str, parameters: list[Any]) -> BoundStatement:
    """Parse a statement and check its number of parameters."""
    try:
        parsed = parse(text)
    except StatementError as refusal:
        raise refusal.error(text) from None
    if parsed.parameters != len(parameters):
        raise validation("Number of parameters in request and statement don't match.")
    return BoundStatement(text, parsed.statement, parameters, {parameter_name(i): value for i, value in enumerate(parameters)})


def resolve_command(context: Context, bound: BoundStatement) -> ResolvedCommand:
    """Find a statement's table and derive its command."""
    layout = find_layout(context, bound)
    try:
        command = command_of(bound.statement, bound.values)
    except StatementError as refusal:
        raise refusal.error(bound.text) from None
    return ResolvedCommand(command, bound.values, layout)


def find_layout(context: Context, bound: BoundStatement) -> Layout | None:
    """The table of a statement, or None if it does not exist; refuses indexes that PartiQL cannot read."""
    target = target_of(bound.statement)
    if target is None:
        return None
    try:
        layout = context.layout(target.table)
        if target.index is not None and target.index not in layout.index_by_name:
            context.catalog.refresh()
            layout = context.layout(target.table)
    except EngineError as error:
        if error.code != "ResourceNotFoundException":
            raise
        return None
    index = layout.index_by_name.get(target.index) if target.index is not None else None
    if index is not None and (len(index.index.keys.hash) > 1 or len(index.index.keys.range) > 1):
        raise validation(_SEVERAL_KEYS)
    return layout
