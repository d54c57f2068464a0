"""Check counters and unique markers against the items they stand for, and correct them beside writers.

A reading of a whole table is not of one moment. To mend, each item that looks wrong is marked first (`RECOUNT`), then everything is read
again, and what is found is written only where the mark is still there: every move of a counter takes it away, and so does every writer that
releases a marker. A child that is written meanwhile is therefore never lost; its parent is counted again in the next round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.migrate.surveys import Survey, WrongCount, WrongMarker, survey, tables_to_read
from gateleg.model import DecodeError
from gateleg.model.counters import RECOUNT
from gateleg.model.expressions import Placeholders, equals, exists
from gateleg.model.markers import markers
from gateleg.model.planning import as_marked, take_marker
from gateleg.store.backoff import settled
from gateleg.store.flow import Request
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.migrate.backfill import Fault
    from gateleg.model import Condition, Item, Table
    from gateleg.store import Store
    from gateleg.store.flow import Flow, Reply
    from gateleg.store.operations.transaction_entries import Identity
    from gateleg.store.setup import Setup

#: how often everything is read to mend what other writers keep changing
_ROUNDS = 5


@dataclass
class ConsistencyReport:
    """What is wrong with counts and markers, and how much of it was mended."""

    seen: int = 0
    counts: list[WrongCount] = field(default_factory=list)
    markers: list[WrongMarker] = field(default_factory=list)
    #: items that cannot be read, so that nobody knows where they are counted or what they hold
    faults: list[Fault] = field(default_factory=list)
    #: items that are counted in a parent which does not exist: they can be deleted
    orphans: int = 0
    #: how many counts and markers were corrected
    fixed: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing is left that is wrong."""
        return not self.counts and not self.markers and not self.faults


def check_consistency(store: Store, tables: Sequence[Table], *, fix: bool = False, read_units: float | None = None) -> ConsistencyReport:
    """Compare counts with the items they count, and unique markers with the items that hold them; with `fix`, correct them.

    Reads whole tables, together with those of the parents and children of their entities, twice when something looks wrong. The report has
    what is wrong at the end. Safe beside writers; without `fix` nothing is written.
    """
    wanted = tables_to_read(tables)
    found = survey(store, wanted, read_units)
    fixed = 0
    if fix:
        for _ in range(_ROUNDS):
            if not found.counts and not any(marker.kind != "shared" for marker in found.markers.values()):
                break
            fixed += _mended(store, wanted, found, read_units)
            found = survey(store, wanted, read_units)
    if found.counts or found.markers:
        # Beside writers, one reading may show half of a change.
        again = survey(store, wanted, read_units)
        again.counts = {place: wrong for place, wrong in again.counts.items() if place in found.counts}
        again.markers = {place: wrong for place, wrong in again.markers.items() if place in found.markers}
        found = again
    return ConsistencyReport(found.seen, list(found.counts.values()), list(found.markers.values()), found.faults, found.orphans, fixed)


def _mended(store: Store, tables: Sequence[Table], suspects: Survey, read_units: float | None) -> int:
    """Mark what looks wrong, read everything again, and correct what still is; the answer is how much was corrected."""
    token = store.setup.token()
    marked = {place for place, (table, key) in _suspected(suspects).items() if _mark(store, table, key, token)}
    found = survey(store, tables, read_units)
    fixed = 0
    by_item: dict[Identity, list[WrongCount]] = {}
    for (place, _), wrong in found.counts.items():
        if place in marked:
            by_item.setdefault(place, []).append(wrong)
    for wrongs in by_item.values():
        fixed += len(wrongs) if _write_counts(store, wrongs, token) else 0
    for place, marker in found.markers.items():
        if marker.kind == "missing" and place in suspects.markers:
            fixed += _take(store, marker)
        elif marker.kind == "orphaned" and place in marked:
            fixed += _release(store, marker, token)
    for place, (table, key) in _suspected(suspects).items():
        if place in marked and place not in by_item:
            _unmark(store, table, key, token)
    return fixed


def _suspected(found: Survey) -> dict[Identity, tuple[Table, Item]]:
    items = {place: (wrong.table, wrong.key) for (place, _), wrong in found.counts.items()}
    return items | {place: (wrong.table, wrong.key) for place, wrong in found.markers.items() if wrong.kind == "orphaned"}


def _mark(store: Store, table: Table, key: Item, token: str) -> bool:
    out = Placeholders()
    text = f"SET {out.name(RECOUNT)} = {out.value({'S': token})}"
    return _written(store, "UpdateItem", table, {"Key": key, "UpdateExpression": text}, exists(table.hash), out)


def _unmark(store: Store, table: Table, key: Item, token: str) -> bool:
    out = Placeholders()
    members = {"Key": key, "UpdateExpression": f"REMOVE {out.name(RECOUNT)}"}
    return _written(store, "UpdateItem", table, members, equals(RECOUNT, {"S": token}), out)


def _write_counts(store: Store, wrongs: Sequence[WrongCount], token: str) -> bool:
    """Set the counts of one item, unless one of them has moved since the item was marked."""
    table, out = wrongs[0].table, Placeholders()
    wires = {spec.name: {name: wire for wire, name in spec.counted_wires.items()} for spec in table.specs}
    sets = [f"{out.name(wires[wrong.entity][wrong.attribute])} = {out.value({'N': str(wrong.counted)})}" for wrong in wrongs]
    members = {"Key": wrongs[0].key, "UpdateExpression": f"SET {', '.join(sets)} REMOVE {out.name(RECOUNT)}"}
    return _written(store, "UpdateItem", table, members, equals(RECOUNT, {"S": token}), out)


def _release(store: Store, marker: WrongMarker, token: str) -> bool:
    """Delete a marker that no item holds, unless somebody has released and taken it since it was marked."""
    return _written(store, "DeleteItem", marker.table, {"Key": marker.key}, equals(RECOUNT, {"S": token}), Placeholders())


def _take(store: Store, marker: WrongMarker) -> bool:
    """Write a missing marker together with a check that its item still has the values; False when either has changed."""
    table, key = marker.table, marker.holders[0]
    name = store.setup.name_of(table)
    item = store.drive(_got(Request("GetItem", {"TableName": name, "Key": key, "ConsistentRead": True}, f"{table.name} check")))
    spec = None if item is None else table.spec_for(item)
    if item is None or spec is None:
        return False
    try:
        values = spec.values(spec.decode(item))
    except DecodeError:
        return False
    constraint = next((name for name, held in markers(spec, values).items() if held == marker.key), None)
    if constraint is None:
        return False
    out = Placeholders()
    condition = as_marked(spec, values)
    assert condition is not None
    check = {"TableName": name, "Key": key, "ConditionExpression": condition.render(out), **out.parameters()}
    put = take_marker(spec, constraint, marker.key, key).request(store.setup.name_of(spec.table))
    payload = {"TransactItems": [{"ConditionCheck": check}, {"Put": put}], "ClientRequestToken": store.setup.token()}
    return store.drive(_held(Request("TransactWriteItems", payload, f"{table.name} check"), store.setup))


def _written(store: Store, operation: str, table: Table, members: dict[str, Any], condition: Condition, out: Placeholders) -> bool:
    """Whether a conditional write was done."""
    payload = {"TableName": store.setup.name_of(table), **members, "ConditionExpression": condition.render(out)} | out.parameters()
    return store.drive(_held(Request(operation, payload, f"{table.name} check"), store.setup))


def _got(request: Request) -> Flow[Item | None]:
    reply: Reply = yield request
    return reply.get("Item")


def _held(request: Request, setup: Setup) -> Flow[bool]:
    """Whether the conditions of a request held."""
    try:
        yield from settled(request, setup)
    except ServiceError as error:
        if error.code not in ("ConditionalCheckFailedException", "TransactionCanceledException"):
            raise
        return False
    return True
