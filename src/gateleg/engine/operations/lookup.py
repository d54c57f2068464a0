"""Lookup of the table that an operation on tables names."""

from gateleg.engine.context import Context
from gateleg.engine.errors import not_found
from gateleg.engine.operations.definition import table_name_of
from gateleg.engine.operations.description import ItemCounter
from gateleg.engine.schema import Table


def require_table(context: Context, name: str) -> Table:
    """The table by name or ARN; raises the error that operations on tables answer with."""
    table = context.catalog.find_table(context.namespace, name)
    if table is None:
        raise not_found(f"Requested resource not found: Table: {table_name_of(name)} not found")
    return table


def counter(context: Context, table: Table) -> ItemCounter:
    """A function that counts the table's current items."""
    return lambda index: context.statistics(table) if index is None else context.index_statistics(table, index)
