"""SELECTs of exactly one item by its key, as batches and transactions require them."""

from typing import Any

import apsw

from gateleg.engine.context import Context, parse_item
from gateleg.engine.errors import validation
from gateleg.engine.expressions import Compare, In, Item, Literal, Node, Value, Values
from gateleg.engine.layout import Layout
from gateleg.engine.operations.paging import RowSource
from gateleg.engine.partiql.commands import SelectCommand
from gateleg.engine.partiql.select_plan import conjuncts, equality, plan_select
from gateleg.engine.partiql.selects import project


def read_key(layout: Layout, read: SelectCommand, values: Values, operation: str) -> Item:
    """The key that a SELECT names; raises DynamoDB's error if it selects anything else."""
    refused = validation(f"Select statements within {operation} must specify the primary key in the where clause.")
    if read.target.index is not None:
        raise refused
    plan_select(RowSource(layout, None), read.where, values, read.order)
    names = layout.table.keys.names
    key: Item = {}
    for part in conjuncts(read.where):
        found = equality(_sole_choice(part), names, values)
        if found is None or key.setdefault(found[0], found[1]) != found[1]:
            raise refused
    if len(key) != len(names):
        raise refused
    return key


def fetch(context: Context, connection: apsw.Connection, layout: Layout, key: bytes, read: SelectCommand) -> tuple[int, Any]:
    """The size and the selected columns of an item; 0 and None if it does not exist."""
    row = connection.execute(layout.get, (key,)).fetchone()
    if row is None:
        return 0, None
    return row[0], context.response_item(row[1]) if not read.columns else project(read, parse_item(row[1]))


def _sole_choice(node: Node) -> Node:
    """Treat `name IN [value]` as `name = value`."""
    if isinstance(node, In) and len(node.choices) == 1 and isinstance(node.choices[0], Value | Literal):
        return Compare("=", node.operand, node.choices[0])
    return node
