"""Updates that are worked out before others have to wait, on the row as it was left last.

Most updates of a row follow another one by the same process: a job is claimed and then completed, a counter is raised again and again. What
comes of the next one can be worked out while somebody else writes. If the row is still the same when its turn comes, only the writing is
left; if not, the draft is worth nothing, and the update is worked out on the row as it is then.
"""

from dataclasses import dataclass

import apsw
import orjson

from gateleg.engine.entries import Statement, carry_out
from gateleg.engine.errors import EngineError
from gateleg.engine.expressions import Prepared
from gateleg.engine.layout import Layout
from gateleg.engine.operations.writing import Change, check_charge
from gateleg.engine.values import Item


@dataclass(frozen=True, slots=True)
class SpeculativeUpdate:
    """An update, the row it was worked out on, and what is to be written."""

    change: Change
    content: bytes
    entries: list[Statement]

    def swap(self, connection: apsw.Connection) -> bool:
        """Write it, if the row is still the one that it was worked out on; whether it was."""
        change, layout = self.change, self.change.layout
        connection.execute(layout.swap, (change.new_size, self.content, change.key, change.stored))
        if not connection.changes():
            return False
        carry_out(connection, self.entries)
        layout.remember(change.key, change.new_size, self.content)
        change.done = True
        return True


def speculate(layout: Layout, place: bytes, key: Item, prepared: Prepared) -> SpeculativeUpdate | None:
    """The draft of an update; none where the row is not known, its changes are logged or its row
    must be copied first, or the update may be refused."""
    known = layout.recent.get(place)
    if known is None or layout.table.logged or layout.table.copies:
        return None
    size, stored = known
    change = Change(layout, place, stored, size, orjson.loads(stored))
    try:
        check_charge(prepared)
        change.require(prepared.condition, prepared.values, False)
        change.update(key, prepared.update, prepared.values, prepared.sizes)
    except EngineError:
        # What is wrong with it may be so only with the row as it was.
        return None
    if change.new is None or change.old is None:
        return None
    return SpeculativeUpdate(
        change, orjson.dumps(change.new), layout.entries(place, change.old, change.new, change.new_size, change.written)
    )
