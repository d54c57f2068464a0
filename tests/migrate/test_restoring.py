"""The way back by a backup, and to a point in time: what was written since is lost, and nothing else."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from gateleg.engine import Engine
from gateleg.migrate import Migration, Migrator, MoveOptions, Phase
from gateleg.migrate.errors import NoBackup
from gateleg.migrate.moves.control import read_state
from gateleg.store import Store
from gateleg.store.transports.embedded import EmbeddedTransport
from tests.migrate.moves.layouts import ACME, NewAgent, OldAgent, Time, agents_move, clients, new_agents, old_agents, raw

ITEMS = 120


@pytest.fixture
def store() -> Store:
    """A store whose engine has its time from the same clock."""
    clock = Time()
    store = Store(EmbeddedTransport(Engine(":memory:", clock=clock)), clock=clock, ticks=clock, sleep=clock.sleep, random=random.Random(7))
    store.ensure_tables(old_agents, new_agents)
    store.batch_write([OldAgent(endpoint_id="acme-prod", agent_uuid=f"{n:03d}") for n in range(ITEMS)], check_version=False)
    return store


def migrator(store: Store) -> Migrator:
    return Migrator(store, "shop", [Migration(1, "by-tenant", moves=(agents_move,))], by="ann", options=MoveOptions(force=True))


def recoverable(store: Store) -> None:
    specification = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
    store.transport.call("UpdateContinuousBackups", {"TableName": "old-agents", **specification})


def moment(store: Store) -> datetime:
    """Now; the clock goes on, so that what follows is later."""
    clock: Any = store.setup.clock
    clock.sleep(5)
    now = datetime.fromtimestamp(clock(), UTC)
    clock.sleep(5)
    return now


def damage(store: Store) -> None:
    """A release with a fault writes by the new entity."""
    client = clients(store)
    client.create(NewAgent(partition_key=ACME, agent_uuid="late"))
    for number in range(10, 20):
        client.delete(NewAgent.key(partition_key=ACME, agent_uuid=f"{number:03d}"))
    client.patch(NewAgent, NewAgent.title.set("wrong"), partition_key=ACME, agent_uuid="001")


@pytest.mark.parametrize("phase", [Phase.CUT_OVER, Phase.CLEAN_UP])
def test_a_table_is_brought_back_to_a_point_in_time(store: Store, phase: Phase) -> None:
    recoverable(store)
    one = migrator(store)
    one.apply(until=Phase.DUAL_READ)
    clients(store).patch(OldAgent, OldAgent.name.set("right"), endpoint_id="acme-prod", agent_uuid="001")
    before, at = raw(store, old_agents), moment(store)
    damage(store)
    one.apply(until=phase)
    found = one.restore(1, at=at)
    assert found == {"old-agents": {"items": ITEMS, "written": 11, "deleted": 1}}
    assert raw(store, old_agents) == before
    assert raw(store, new_agents) == []
    assert [status.state for status in one.status()] == ["rolled-back"]
    assert not [name for name in store.transport.call("ListTables", {})["TableNames"] if "restored" in name]
    # And it can begin again.
    one.apply(until=Phase.DUAL_READ)
    assert one.verify(1)["agents/all"].holds


def test_a_table_is_brought_back_from_the_backup_of_before_its_clean_up(store: Store) -> None:
    before = raw(store, old_agents)
    one = migrator(store)
    one.apply(until=Phase.DUAL_READ)
    damage(store)
    one.apply(until=Phase.CLEAN_UP)
    assert one.restore(1) == {"old-agents": {"items": ITEMS, "written": 11, "deleted": 1}}
    assert raw(store, old_agents) == before


def test_a_point_in_time_that_nobody_has_is_refused_before_anything_changes(store: Store) -> None:
    one = migrator(store)
    one.apply()
    before = raw(store, old_agents), raw(store, new_agents)
    with pytest.raises(NoBackup, match="old-agents"):
        one.restore(1, at=moment(store))
    assert (raw(store, old_agents), raw(store, new_agents)) == before
    assert store.drive(read_state(agents_move, agents_move.stages[0], store.setup)).phase is Phase.CUT_OVER
