"""Whoever migrates is killed again and again: nothing is lost, nothing is doubled, and the way back leads to where it began."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from gateleg.apps.agents.catalogue_tables import TABLES
from gateleg.apps.agents.derived_data import rebuild
from gateleg.apps.agents.migrations.m0001_partition_keys import migration
from gateleg.apps.agents.migrations.old_layout import OLD_ITEMS
from gateleg.apps.agents.tables import TENANT_ITEMS
from gateleg.migrate import Migrator, MoveOptions, migrations_table
from gateleg.model import spec_of
from gateleg.store import Store
from tests.apps.agents.migrations.old_data import ACME, GLOBEX, old_data

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.crash
#: Things of each of nine kinds for each of two endpoints; agents have three versions.
EACH = 60


def raw(store: Store, entity: Any) -> list[str]:
    """The items of a table without what the migration corrects: which of several active versions is left."""
    items = [{name: value for name, value in item.items() if name != "status"} for item in store.scan(spec_of(entity).table)]
    return sorted(json.dumps(item, sort_keys=True) for item in items)


def migrate(folder: Path, way: str, kills: int, chance: random.Random, ahead: int) -> None:
    """Let operators migrate, the first ones of which are killed. Their clocks are ahead of ours, by so many seconds and more."""
    killed = 0
    while True:
        # Each is ahead of the one before: a minute is what the lock of a dead one holds.
        command = [sys.executable, "-m", "tests.apps.agents.migrations.mortal_operator", str(folder), way, str(ahead + 120 * killed)]
        operator = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            _, text = operator.communicate(timeout=1.0 + chance.random() * 2.0 if killed < kills else 300)
        except subprocess.TimeoutExpired:
            operator.kill()
            operator.communicate()
            killed += 1
            continue
        assert operator.returncode == 0, text[-3000:]
        return


def test_a_migration_survives_the_death_of_whoever_migrates(tmp_path: Path) -> None:
    chance = random.Random()
    with Store.connect(f"embedded:{tmp_path}/store?durability=relaxed") as store:
        store.create_tables(*TABLES, *(spec_of(entity).table for entity in OLD_ITEMS), migrations_table)
        items = [entry for endpoint in (ACME, GLOBEX) for entry in old_data(endpoint, EACH)]
        for table, item in items:
            store.transport.call("PutItem", {"TableName": table, "Item": item})
        before = {entity: raw(store, entity) for entity in OLD_ITEMS}
        migrate(tmp_path, "forward", 4, chance, ahead=0)
        assert sum(len(raw(store, entity)) for entity in TENANT_ITEMS) == len(items)
        later = Store(store.transport, clock=lambda: time.time() + 3600)
        verified = Migrator(later, "agents", [migration], by="test", options=MoveOptions(segments=1, force=True)).verify(1)
        assert all(result.holds for result in verified.values())
        again = rebuild(store)
        assert (again.pointers, again.deactivated, again.counts) == (0, 0, 0)
        migrate(tmp_path, "back", 1, chance, ahead=7200)
        assert {entity: raw(store, entity) for entity in OLD_ITEMS} == before
        assert [raw(store, entity) for entity in TENANT_ITEMS] == [[]] * len(TENANT_ITEMS)
