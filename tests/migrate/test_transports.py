"""The same migrations over the network: on our own endpoint, and on other servers (`make peers`)."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from gateleg.migrate import Migration, Migrator, MoveOptions, Moving, Phase, RateLimits
from gateleg.store import Store
from tests.migrate import test_examples as examples
from tests.migrate.moves.layouts import ACME, NewAgent, OldAgent, Time, agents_move, new_agents, old_agents, raw
from tests.store.transports.openers import NETWORK
from tests.store.transports.servers import PEERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OPENERS = {"endpoint": next(iter(NETWORK.values())), "moto": PEERS["moto"]}


@pytest.fixture(params=["endpoint", pytest.param("moto", marks=pytest.mark.peer)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    clock = Time()
    with ExitStack() as stack, OPENERS[request.param](stack, tmp_path) as opened:
        yield Store(opened.transport, clock=clock, ticks=clock, sleep=clock.sleep, concurrency=4)


def migrator(store: Store, *migrations: Migration) -> Migrator:
    return Migrator(store, "shop", migrations, by="ann", options=MoveOptions(segments=3, limits=RateLimits(page_size=10), force=True))


def test_a_table_moves_to_its_end_and_back(store: Store) -> None:
    store.ensure_tables(old_agents)
    agents = [OldAgent(endpoint_id="acme-prod", agent_uuid=f"{n:02d}", name=f"agent {n}", uses=n, tags={"a", "b"}) for n in range(40)]
    store.batch_write(agents, check_version=False)
    before = raw(store, old_agents)
    one = migrator(store, Migration(1, "agents-by-tenant", moves=(agents_move,)))
    one.apply(until=Phase.DUAL_WRITE)
    client = store.moving(Moving([agents_move]))
    client.patch(OldAgent, OldAgent.uses.add(5), endpoint_id="acme-prod", agent_uuid="07")
    client.create(NewAgent(partition_key=ACME, agent_uuid="new", title="by the new entity"))
    client.delete(NewAgent.key(partition_key=ACME, agent_uuid="08"))
    one.apply(until=Phase.CUT_OVER)
    assert one.verify(1)["agents/all"].holds
    assert store.get(NewAgent, partition_key=ACME, agent_uuid="07").uses == 12
    client.patch(OldAgent, OldAgent.uses.add(-5), endpoint_id="acme-prod", agent_uuid="07")
    client.delete(OldAgent.key(endpoint_id="acme-prod", agent_uuid="new"))
    client.create(OldAgent(endpoint_id="acme-prod", agent_uuid="08", name="agent 8", uses=8, tags={"b", "a"}))
    one.apply(until=Phase.CLEAN_UP)
    assert raw(store, old_agents) == []
    one.rollback(1)
    assert raw(store, new_agents) == []
    versions = {"07": "3", "08": "1"}
    for item in before:
        item["version"] = {"N": versions.get(item["agent_uuid"]["S"], item.get("version", {"N": "0"})["N"])}
        item["tags"]["SS"].sort()
    after = raw(store, old_agents)
    for item in after:
        item["tags"]["SS"].sort()
    assert after == before


def test_a_split_and_children_with_parents_and_companions(store: Store) -> None:
    store.ensure_tables(examples.documents)
    for number in range(6):
        store.put(examples.Document(id=f"{number}", kind="invoice" if number % 2 else "letter"))
    migrator(store, examples.split).apply()
    assert len(raw(store, examples.invoices)) == len(raw(store, examples.letters)) == 3
    store.ensure_tables(examples.threads, examples.messages)
    store.put(examples.Thread(id="t1", tenant="acme"))
    for number in range(5):
        store.put(examples.Message(id=f"{number}", thread="t1", slug=f"{number}"))
    one = Migrator(store, "talk", [examples.by_tenant], by="ann", options=MoveOptions(segments=2))
    one.apply()
    assert store.get(examples.TenantThread, tenant="acme", thread="t1").messages == 5
