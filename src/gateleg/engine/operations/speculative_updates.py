"""Speculative updates: compute an update before taking the write lock, on the last known content of the row.

Most updates of a row follow another one by the same process: a job is claimed and then completed, a counter is incremented repeatedly.
The next one can be computed while another thread or process writes. If the row is unchanged once the lock is held, only the write is left;
otherwise the update is computed again on the current row.
"""

from dataclasses import dataclass

import apsw
import orjson

from gateleg.engine.entries import Statement, execute_statements
from gateleg.engine.errors import EngineError
from gateleg.engine.expressions import Prepared
from gateleg.engine.layout import Layout
from gateleg.engine.operations.item_change import ItemChange, check_expression_size
from gateleg.engine.values import Item


@dataclass(frozen=True, slots=True)
class SpeculativeUpdate:
    """A computed update: the row it is based on, and what to write."""

    change: ItemChange
    content: bytes
    index_statements: list[Statement]

    def apply_if_unchanged(self, connection: apsw.Connection) -> bool:
        """Write the update if the row is still the one it is based on; returns whether it was written."""
        change, layout = self.change, self.change.layout
        connection.execute(layout.compare_and_swap, (change.new_size, self.content, change.key, change.stored))
        if not connection.changes():
            return False
        execute_statements(connection, self.index_statements)
        layout.remember(change.key, change.new_size, self.content)
        change.applied = True
        return True


def speculate(layout: Layout, row_key: bytes, key: Item, prepared: Prepared) -> SpeculativeUpdate | None:
    """Compute an update in advance; None if the row is not cached, its changes are logged, a copy of the table is in progress,
    or the update fails on the cached row."""
    known = layout.recent.get(row_key)
    if known is None or layout.table.logged or layout.table.copies:
        return None
    size, stored = known
    change = ItemChange(layout, row_key, stored, size, orjson.loads(stored))
    try:
        check_expression_size(prepared)
        change.check_condition(prepared.condition, prepared.values, False)
        change.update(key, prepared.update, prepared.values, prepared.sizes)
    except EngineError:
        # The error may be due to the cached row alone.
        return None
    if change.new is None or change.old is None:
        return None
    return SpeculativeUpdate(
        change,
        orjson.dumps(change.new),
        layout.index_statements(row_key, change.old, change.new, change.new_size, change.written_attributes),
    )
