"""One scan over whole tables: which counters and markers exist, and which should."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from gateleg.migrate.backfill import Fault, belongs, read_current
from gateleg.model import ModelError, spec_of
from gateleg.model.tables import is_marker, markers
from gateleg.store.operations.operation import ItemKey, item_key
from gateleg.store.operations.reads import upcast_item
from gateleg.store.operations.scans import Scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gateleg.model import Item, Spec, Table
    from gateleg.store import Store


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
