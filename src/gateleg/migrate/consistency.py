"""Check counters and unique markers against the items they refer to, and correct them, with concurrent writers.

A scan of a whole table is not a snapshot. To fix an item that looks wrong, it is marked first (`RECOUNT`), then everything is read again,
and the correction is written only if the mark is still there: every change of a counter removes it, and so does every writer that releases
a marker. A child that is written meanwhile is therefore never lost; its parent is counted again in the next round.

One scan over whole tables: which counters and markers exist, and which should.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from gateleg.migrate.backfill import Fault, belongs, read_current
from gateleg.model import DecodeError, ModelError, spec_of
from gateleg.model.expressions import Placeholders, equals, exists
from gateleg.model.planning import as_marked, take_marker
from gateleg.model.tables import RECOUNT, is_marker, markers
from gateleg.store.flow import Request
from gateleg.store.operations.operation import ItemKey, item_key
from gateleg.store.operations.reads import upcast_item
from gateleg.store.operations.scans import Scan
from gateleg.store.operations.tables import check_keys
from gateleg.store.setup import retry_conflicts
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gateleg.model import Condition, Item, Spec, Table
    from gateleg.store import Store
    from gateleg.store.flow import Flow, Response
    from gateleg.store.setup import Setup


@dataclass(frozen=True)
class WrongCount:
    """A counter that differs from the number of items it counts."""

    table: Table
    #: key of the item with the counter
    key: Item
    entity: str
    attribute: str
    stored: int
    counted: int


@dataclass(frozen=True)
class WrongMarker:
    """A marker of a unique constraint that an item lacks, that no item owns, or that several items need."""

    kind: Literal["missing", "orphaned", "shared"]
    table: Table
    #: key of the marker
    key: Item
    #: keys of the items that need it
    holders: tuple[Item, ...] = ()


@dataclass
class ConsistencyScan:
    """The result of one scan."""

    seen: int = 0
    faults: list[Fault] = field(default_factory=list)
    #: items whose parent does not exist
    orphans: int = 0
    counts: dict[tuple[ItemKey, str], WrongCount] = field(default_factory=dict)
    markers: dict[ItemKey, WrongMarker] = field(default_factory=dict)


def tables_to_read(tables: Sequence[Table]) -> list[Table]:
    """Tables with counters or unique constraints, and the tables of the related parents and children."""
    found: dict[str, Table] = {}
    waiting = list(tables)
    while waiting:
        table = waiting.pop(0)
        related = [spec_of(counter.attribute.owner).table for spec in table.specs for counter in spec.counters.values()]
        related += [spec_of(child).table for spec in table.specs for children in spec.counted.values() for child in children]
        if table.name not in found and (related or any(spec.uniques for spec in table.specs)):
            found[table.name] = table
            waiting += related
    return list(found.values())


def scan_tables(store: Store, tables: Sequence[Table], read_units: float | None = None) -> ConsistencyScan:
    """Scan the tables once. With concurrent writers, findings may be changes in progress."""
    reading = _TableReader(store)
    for table in tables:
        for item in store.stream(Scan(table, read_units=read_units, consistent=True, markers=True)):
            reading.take(table, item)
    return reading.result(tables)


class _TableReader:
    """Collects items one by one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._name_of = store.setup.name_of
        self._asked: dict[ItemKey, Any] = {}
        self._scan = ConsistencyScan()
        self._expected: dict[tuple[ItemKey, str], int] = {}
        self._stored: dict[tuple[ItemKey, str], WrongCount] = {}
        self._needed: dict[ItemKey, list[Item]] = {}
        self._keys: dict[ItemKey, tuple[Table, Item]] = {}
        self._markers: set[ItemKey] = set()
        #: entities with unreadable items, whose counters are therefore unknown
        self._unreadable: set[str] = set()

    def take(self, table: Table, item: Item) -> None:
        key = {name: item[name] for name in table.attributes}
        place = item_key(self._name_of(table), key)
        if is_marker(table, item):
            self._markers.add(place)
            self._keys[place] = (table, key)
            return
        spec = table.spec_for(item) or next((one for one in table.specs if belongs(item, one)), None)
        if spec is None:
            return
        self._scan.seen += 1
        for wire, name in spec.counted_wires.items():
            stored = int(Decimal(item.get(wire, {"N": "0"}).get("N", "0")))
            self._stored[place, wire] = WrongCount(table, key, spec.name, name, stored, 0)
        if spec.uniques or spec.counters:
            self._take_child(spec, item, key)

    def _take_child(self, spec: Spec[Any], item: Item, key: Item) -> None:
        try:
            current = self._store.drive(upcast_item(spec, item, self._store.setup, self._asked))
            values = spec.values(read_current(current, spec))
            parents = [
                (counter.parent(values), str(counter.attribute.path[0])) for counter in spec.counters.values() if counter.counts(values)
            ]
            held = markers(spec, values)
        except ModelError as error:
            self._scan.faults.append(Fault(key, str(error)))
            self._unreadable |= {counter.attribute.owner.__name__ for counter in spec.counters.values()}
            return
        for ref, wire in parents:
            counted = (item_key(self._name_of(spec_of(ref.entity).table), ref.key), wire)
            self._expected[counted] = self._expected.get(counted, 0) + 1
        for marker in held.values():
            place = item_key(self._name_of(spec.table), marker)
            self._keys[place] = (spec.table, marker)
            self._needed.setdefault(place, []).append(key)

    def result(self, tables: Sequence[Table]) -> ConsistencyScan:
        """The findings."""
        found = self._scan
        found.orphans = sum(number for counted, number in self._expected.items() if counted not in self._stored)
        for counted, entry in self._stored.items():
            number = self._expected.get(counted, 0)
            if number != entry.stored and entry.entity not in self._unreadable:
                found.counts[counted] = WrongCount(entry.table, entry.key, entry.entity, entry.attribute, entry.stored, number)
        found.markers = dict(self._wrong_markers(tables))
        return found

    def _wrong_markers(self, tables: Sequence[Table]) -> Iterator[tuple[ItemKey, WrongMarker]]:
        declared = {f"{spec.name}#{name}" for table in tables for spec in table.specs for name in spec.uniques}
        # An unreadable item may own any of the markers that no other item does.
        for place in self._markers - self._needed.keys():
            table, key = self._keys[place]
            if "#".join(key[table.hash]["S"].split("#")[1:3]) in declared and not self._scan.faults:
                yield place, WrongMarker("orphaned", table, key)
        for place, holders in self._needed.items():
            table, key = self._keys[place]
            if len(holders) > 1:
                yield place, WrongMarker("shared", table, key, tuple(holders))
            elif place not in self._markers:
                yield place, WrongMarker("missing", table, key, tuple(holders))


#: scans to attempt while other writers keep changing items
_MAX_ROUNDS = 5


@dataclass
class ConsistencyReport:
    """Wrong counters and markers, and how many of them were fixed."""

    seen: int = 0
    counts: list[WrongCount] = field(default_factory=list)
    markers: list[WrongMarker] = field(default_factory=list)
    #: unreadable items, whose parents and markers are therefore unknown
    faults: list[Fault] = field(default_factory=list)
    #: items whose parent does not exist; they can be deleted
    orphans: int = 0
    #: number of counters and markers corrected
    fixed: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.counts and not self.markers and not self.faults


def check_consistency(store: Store, tables: Sequence[Table], *, fix: bool = False, read_units: float | None = None) -> ConsistencyReport:
    """Compare counters with the items they count, and unique markers with their owners; with `fix`, correct them.

    Scans whole tables, with those of related parents and children, twice if anything looks wrong. The report has what is wrong at the end.
    A table that does not exist has no items. Safe with concurrent writers; without `fix` nothing is written. Raises `KeysDiffer` before
    it reads a table that is deployed with another key.
    """
    existing = store.drive(check_keys(related := tables_to_read(tables), store.setup))
    wanted = [table for table in related if table in existing]
    found = scan_tables(store, wanted, read_units)
    fixed = 0
    if fix:
        for _ in range(_MAX_ROUNDS):
            if not found.counts and not any(marker.kind != "shared" for marker in found.markers.values()):
                break
            fixed += _fix(store, wanted, found, read_units)
            found = scan_tables(store, wanted, read_units)
    if found.counts or found.markers:
        # With concurrent writers, one scan may see half of a change.
        again = scan_tables(store, wanted, read_units)
        again.counts = {place: wrong for place, wrong in again.counts.items() if place in found.counts}
        again.markers = {place: wrong for place, wrong in again.markers.items() if place in found.markers}
        found = again
    return ConsistencyReport(found.seen, list(found.counts.values()), list(found.markers.values()), found.faults, found.orphans, fixed)


def _fix(store: Store, tables: Sequence[Table], suspects: ConsistencyScan, read_units: float | None) -> int:
    """Mark suspects, scan again, and correct what is still wrong; returns the number of corrections."""
    token = store.setup.token()
    marked = {place for place, (table, key) in _suspects(suspects).items() if _mark(store, table, key, token)}
    found = scan_tables(store, tables, read_units)
    fixed = 0
    by_item: dict[ItemKey, list[WrongCount]] = {}
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
    for place, (table, key) in _suspects(suspects).items():
        if place in marked and place not in by_item:
            _unmark(store, table, key, token)
    return fixed


def _suspects(found: ConsistencyScan) -> dict[ItemKey, tuple[Table, Item]]:
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
    """Set the counters of one item, unless one of them has changed since the item was marked."""
    table, out = wrongs[0].table, Placeholders()
    wires = {spec.name: {name: wire for wire, name in spec.counted_wires.items()} for spec in table.specs}
    sets = [f"{out.name(wires[wrong.entity][wrong.attribute])} = {out.value({'N': str(wrong.counted)})}" for wrong in wrongs]
    members = {"Key": wrongs[0].key, "UpdateExpression": f"SET {', '.join(sets)} REMOVE {out.name(RECOUNT)}"}
    return _written(store, "UpdateItem", table, members, equals(RECOUNT, {"S": token}), out)


def _release(store: Store, marker: WrongMarker, token: str) -> bool:
    """Delete a marker without owner, unless it was released and taken since it was marked."""
    return _written(store, "DeleteItem", marker.table, {"Key": marker.key}, equals(RECOUNT, {"S": token}), Placeholders())


def _take(store: Store, marker: WrongMarker) -> bool:
    """Write a missing marker if its item still has the values; False if either has changed."""
    table, key = marker.table, marker.holders[0]
    name = store.setup.name_of(table)
    item = store.drive(_get_item(Request("GetItem", {"TableName": name, "Key": key, "ConsistentRead": True}, f"{table.name} check")))
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
    return store.drive(_conditions_held(Request("TransactWriteItems", payload, f"{table.name} check"), store.setup))


def _written(store: Store, operation: str, table: Table, members: dict[str, Any], condition: Condition, out: Placeholders) -> bool:
    """Run a conditional write; returns whether its condition held."""
    payload = {"TableName": store.setup.name_of(table), **members, "ConditionExpression": condition.render(out)} | out.parameters()
    return store.drive(_conditions_held(Request(operation, payload, f"{table.name} check"), store.setup))


def _get_item(request: Request) -> Flow[Item | None]:
    response: Response = yield request
    return response.get("Item")


def _conditions_held(request: Request, setup: Setup) -> Flow[bool]:
    """Send a request; returns whether its conditions held."""
    try:
        yield from retry_conflicts(request, setup)
    except ServiceError as error:
        if error.code not in ("ConditionalCheckFailedException", "TransactionCanceledException"):
            raise
        return False
    return True
