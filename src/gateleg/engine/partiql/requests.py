"""From a request's text and parameters to what it asks for, in DynamoDB's order: parameters, grammar, table, meaning."""

from dataclasses import dataclass
from typing import Any, Final

from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, validation
from gateleg.engine.expressions import Values
from gateleg.engine.layout import Layout
from gateleg.engine.partiql.commands import Command, command_of, target_of
from gateleg.engine.partiql.conditions import parameter_name
from gateleg.engine.partiql.faults import Refusal
from gateleg.engine.partiql.statements import parse
from gateleg.engine.partiql.trees import Statement

ONLY_IN_TRANSACTIONS: Final = "EXISTS can only be used in ExecuteTransaction write requests."
_SEVERAL_KEYS: Final = "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement that is well formed, with its parameters."""

    text: str
    statement: Statement
    parameters: list[Any]
    values: Values


@dataclass(frozen=True, slots=True)
class Meant:
    """What a statement means, and its table; none if there is no such table."""

    command: Command
    values: Values
    layout: Layout | None


def ask(text: str, parameters: list[Any]) -> Asked:
    """Parse a statement, which must take as many parameters as there are."""
    try:
        parsed = parse(text)
    except Refusal as refusal:
        raise refusal.error(text) from None
    if parsed.parameters != len(parameters):
        raise validation("Number of parameters in request and statement don't match.")
    return Asked(text, parsed.statement, parameters, {parameter_name(i): value for i, value in enumerate(parameters)})


def understand(context: Context, asked: Asked) -> Meant:
    """Find a statement's table, and what the statement means."""
    layout = find_layout(context, asked)
    try:
        command = command_of(asked.statement, asked.values)
    except Refusal as refusal:
        raise refusal.error(asked.text) from None
    return Meant(command, asked.values, layout)


def find_layout(context: Context, asked: Asked) -> Layout | None:
    """The table of a statement, or none if it does not exist; indexes that PartiQL cannot read are refused."""
    target = target_of(asked.statement)
    if target is None:
        return None
    try:
        layout = context.layout(target.table)
        if target.index is not None and target.index not in layout.by_name:
            context.catalog.refresh()
            layout = context.layout(target.table)
    except EngineError as error:
        if error.code != "ResourceNotFoundException":
            raise
        return None
    index = layout.by_name.get(target.index) if target.index is not None else None
    if index is not None and (len(index.index.keys.hash) > 1 or len(index.index.keys.range) > 1):
        raise validation(_SEVERAL_KEYS)
    return layout
