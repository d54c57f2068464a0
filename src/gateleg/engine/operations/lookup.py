"""The table that an operation on tables is about."""

from gateleg.engine.context import Context
from gateleg.engine.errors import not_found
from gateleg.engine.operations.definition import bare_name
from gateleg.engine.operations.description import Census
from gateleg.engine.schema import Table


def existing(context: Context, name: str) -> Table:
    """The table of that name or ARN, or the error of operations on tables themselves."""
    table = context.catalog.lookup(context.namespace, name)
    if table is None:
        raise not_found(f"Requested resource not found: Table: {bare_name(name)} not found")
    return table


def census(context: Context, table: Table) -> Census:
    """Counts a table's items as it stands."""
    return lambda index: context.statistics(table) if index is None else context.index_statistics(table, index)
