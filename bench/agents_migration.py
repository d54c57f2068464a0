"""The migration of agents' old tables at size, by workers that are killed with `kill -9` again and again.

    python bench/agents_migration.py [--items 100000] [--kills 10] [--seed 1] [--json]

Old items of nine kinds for fifty endpoints, two of every three versions of an agent active, are moved to keys of tenants by a process
that is killed at random moments; the next one goes on. Then every old item is looked for in the new tables by this program's own rule,
both sides are compared by the migration's own verification, and everything is moved back, with kills again: each item must be what it
was, but for the one correction that the migration makes (one version of an agent is left active), and the new tables empty.

Clocks of later processes are set forward, since the lock of a killed one holds for a minute. The processes' own seconds are counted.
"""

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.apps.agents.migrations.old_data import old_data  # noqa: E402

from gateleg.apps.agents.catalogue_tables import TABLES  # noqa: E402
from gateleg.apps.agents.derived_data import rebuild  # noqa: E402
from gateleg.apps.agents.migrations.m0001_partition_keys import migration  # noqa: E402
from gateleg.apps.agents.migrations.old_layout import OLD_ITEMS  # noqa: E402
from gateleg.apps.agents.tables import TENANT_ITEMS, VersionPointer  # noqa: E402
from gateleg.migrate import Migrator, MoveOptions, migrations_table  # noqa: E402
from gateleg.model import spec_of  # noqa: E402
from gateleg.store import Store  # noqa: E402

ENDPOINTS = 50
#: Items that `old_data` makes for each number.
EACH = 11
#: Seconds that a killed process has had, at least and at most.
LIVES = (4.0, 60.0)
#: Items that are copied and compared at once.
PAGE = 100
#: Seconds by which the clock of each process is ahead of the one before.
AHEAD = 120

Key = tuple[str, str]


@dataclass
class Way:
    """One direction of the migration."""

    seconds: float = 0.0
    killed: int = 0
    #: how long each process ran
    lives: list[float] = field(default_factory=list)


def fill(store: Store, items: int) -> int:
    """Old tables with so many items or a few more; how many there are."""
    store.create_tables(*TABLES, *(spec_of(entity).table for entity in OLD_ITEMS), migrations_table)
    each, written = math.ceil(items / (ENDPOINTS * EACH)), 0
    for number in range(ENDPOINTS):
        found = old_data(f"endpoint-{number:02d}", each)
        for first in range(0, len(found), 25):
            requests: dict[str, list[Any]] = {}
            for table, item in found[first : first + 25]:
                requests.setdefault(table, []).append({"PutRequest": {"Item": item}})
            store.transport.call("BatchWriteItem", {"RequestItems": requests})
        written += len(found)
    return written


def contents(store: Store, entity: type[Any]) -> dict[Key, Mapping[str, Any]]:
    """The items of a table by their keys, as they lie there."""
    table = spec_of(entity).table
    return {(item[table.hash]["S"], item[str(table.range)]["S"]): item for item in store.scan(table, consistent=True)}


def without_status(items: Mapping[Key, Mapping[str, Any]]) -> dict[Key, dict[str, Any]]:
    """Items without the attribute that the migration corrects."""
    return {key: {name: value for name, value in item.items() if name != "status"} for key, item in items.items()}


def migrate(folder: Path, direction: str, kills: int, chance: random.Random, first: int) -> Way:
    """Let processes migrate until one is done; the first ones are killed."""
    way = Way()
    while True:
        ahead = str(AHEAD * (first + way.killed))
        command = [sys.executable, "-m", "tests.apps.agents.migrations.mortal_operator", str(folder), direction, ahead, str(PAGE)]
        began = time.perf_counter()
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=HERE.parent) as process:
            try:
                _, said = process.communicate(timeout=chance.uniform(*LIVES) if way.killed < kills else None)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                way.killed += 1
                continue
            finally:
                way.lives.append(time.perf_counter() - began)
                way.seconds += way.lives[-1]
        if process.returncode != 0:
            raise SystemExit(said[-3000:])
        return way


def compare(before: Mapping[type[Any], Mapping[Key, Any]], store: Store) -> tuple[int, int]:
    """Old items that are not in the new tables, and new ones that come from none: `X` must be in `X#X` under the same id."""
    lost = extra = 0
    for move in migration.moves:
        expected = {(f"{endpoint}#{endpoint}", id) for endpoint, id in before[move.old]}
        found = set(contents(store, move.new))
        lost, extra = lost + len(expected - found), extra + len(found - expected)
    return lost, extra


def prove(folder: Path, items: int, kills: int, seed: int) -> dict[str, Any]:
    """Migrate forth and back, and look."""
    chance = random.Random(seed)
    with Store.connect(f"embedded:{folder}/store?durability=relaxed") as store:
        written = fill(store, items)
        before: dict[type[Any], dict[Key, Any]] = {entity: contents(store, entity) for entity in OLD_ITEMS}
        there = migrate(folder, "forward", kills, chance, 0)
        lost, extra = compare(before, store)
        later = Store(store.transport, clock=lambda: time.time() + AHEAD * (kills + 2))
        began = time.perf_counter()
        verified = Migrator(later, "agents", [migration], by="bench", options=MoveOptions(segments=2, force=True)).verify(1)
        seconds = time.perf_counter() - began
        again = rebuild(store)
        pointers = sum(1 for _ in store.export(VersionPointer))
        back = migrate(folder, "back", max(1, kills // 3), chance, kills + 4)
        differing = 0
        for entity, items_before in before.items():
            old, new = without_status(items_before), without_status(contents(store, entity))
            differing += sum(1 for key in old.keys() | new.keys() if old.get(key) != new.get(key))
        left = sum(len(contents(store, entity)) for entity in TENANT_ITEMS)
    return {
        "items": written,
        "killed": there.killed,
        "seconds": round(there.seconds, 1),
        "lost": lost,
        "without an old item": extra,
        "verified": all(result.holds for result in verified.values()),
        "verification seconds": round(seconds, 1),
        "pointers": pointers,
        "corrections of a second rebuild": again.pointers + again.deactivated + again.counts,
        "killed on the way back": back.killed,
        "seconds of the way back": round(back.seconds, 1),
        "differing after the way back": differing,
        "left in the new tables": left,
    }


def main(items: int, kills: int, seed: int, as_json: bool) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        found = prove(Path(folder), items, kills, seed)
    if as_json:
        print(json.dumps(found))
        return
    table = Table(title=f"Migration of {found['items']:,} old items with kill -9")
    table.add_column("what")
    table.add_column("result", justify="right")
    for name, value in found.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value))
    Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    main(given.items, given.kills, given.seed, given.json)
