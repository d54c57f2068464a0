"""SELECTs that must name one item by its key and nothing else, as batches and transactions want them."""

from typing import Any

import apsw

from gateleg.engine.context import Context, parsed
from gateleg.engine.errors import validation
from gateleg.engine.expressions import Compare, In, Item, Literal, Node, Value, Values
from gateleg.engine.layout import Layout
from gateleg.engine.operations.paging import Source
from gateleg.engine.partiql.commands import Read
from gateleg.engine.partiql.planning import conjuncts, equality, plan
from gateleg.engine.partiql.reading import project


def read_key(layout: Layout, read: Read, values: Values, operation: str) -> Item:
    """The key that a SELECT names; raises DynamoDB's error if it asks for anything else."""
    refused = validation(f"Select statements within {operation} must specify the primary key in the where clause.")
    if read.target.index is not None:
        raise refused
    plan(Source(layout, None), read.where, values, read.order)
    names = layout.table.keys.names
    key: Item = {}
    for part in conjuncts(read.where):
        found = equality(_sole_choice(part), names, values)
        if found is None or key.setdefault(found[0], found[1]) != found[1]:
            raise refused
    if len(key) != len(names):
        raise refused
    return key


def fetch(context: Context, connection: apsw.Connection, layout: Layout, key: bytes, read: Read) -> tuple[int, Any]:
    """The size of an item and what a SELECT wants of it; 0 and None if there is no such item."""
    row = connection.execute(layout.get, (key,)).fetchone()
    if row is None:
        return 0, None
    return row[0], context.item(row[1]) if not read.columns else project(read, parsed(row[1]))


def _sole_choice(node: Node) -> Node:
    """`name IN [value]` is as good as `name = value`."""
    if isinstance(node, In) and len(node.choices) == 1 and isinstance(node.choices[0], Value | Literal):
        return Compare("=", node.operand, node.choices[0])
    return node
