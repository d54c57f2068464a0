"""What only one side of a move knows outlives the removal of that side's items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateleg.migrate import KeyMove, MoveOptions, Phase, RateLimits
from gateleg.migrate.moves.steps import advance, go_back, verify
from gateleg.migrate.moves.tables import migrations_table
from tests.migrate.moves.layouts import (
    ACME,
    NewAgent,
    OldAgent,
    agents_move,
    clients,
    new_agents,
    old_agents,
    old_key,
    opened,
    raw,
    to_new,
    to_old,
)

if TYPE_CHECKING:
    from gateleg.store import Store

move = KeyMove(
    "agents",
    OldAgent,
    NewAgent,
    convert=lambda old: to_new(old).model_copy(update={"notes": []}),
    revert=lambda new: to_old(new).model_copy(update={"notes": []}),
    old_key=old_key,
    patterns=agents_move.patterns,
    old_only=frozenset({"notes"}),
    new_only=frozenset({"notes"}),
)
(STAGE,) = move.stages
CONDUCT = MoveOptions(segments=2, force=True, limits=RateLimits(page_size=4))


@pytest.fixture
def store() -> Store:
    store = opened()
    agents = [OldAgent(endpoint_id="acme-prod", agent_uuid=f"{n:02d}", notes=[f"old {n}"] if n % 2 else []) for n in range(10)]
    store.batch_write(agents, check_version=False)
    return store


def go(store: Store, phase: Phase) -> None:
    store.drive(advance(move, STAGE, phase, store.setup, CONDUCT))


def back(store: Store, phase: Phase) -> None:
    store.drive(go_back(move, STAGE, phase, store.setup, CONDUCT))


def kept(store: Store) -> int:
    return sum(item["kind"]["S"] == "kept-values" for item in store.scan(migrations_table, consistent=True))


def test_the_way_back_from_the_clean_up_leads_to_the_exact_old_items(store: Store) -> None:
    before = raw(store, old_agents)
    go(store, Phase.CLEAN_UP)
    assert raw(store, old_agents) == []
    back(store, Phase.CUT_OVER)
    assert raw(store, old_agents) == before
    assert store.drive(verify(move, STAGE, store.setup)).holds
    back(store, Phase.OFF)
    assert raw(store, old_agents) == before
    assert raw(store, new_agents) == []


def test_an_item_that_is_written_while_old_items_are_restored_gets_what_was_kept(store: Store) -> None:
    go(store, Phase.CLEAN_UP)
    client = clients(store, move)
    pages = 0

    def write(task: str, _: object) -> None:
        nonlocal pages
        pages += 1
        if task == "restore" and pages == 1:
            for number in range(10):
                client.patch(NewAgent, NewAgent.uses.set(7), partition_key=ACME, agent_uuid=f"{number:02d}")

    store.drive(go_back(move, STAGE, Phase.CUT_OVER, store.setup, MoveOptions(segments=1, limits=RateLimits(page_size=2), watch=write)))
    found = {agent.agent_uuid: (agent.uses, agent.notes) for agent in store.export(OldAgent)}
    assert found == {f"{n:02d}": (7, [f"old {n}"] if n % 2 else []) for n in range(10)}
    assert kept(store) == 0


def test_what_only_copies_know_comes_back_with_the_next_backfill(store: Store) -> None:
    go(store, Phase.DUAL_READ)
    client = clients(store, move)
    client.patch(NewAgent, NewAgent.notes.append("new"), partition_key=ACME, agent_uuid="03")
    client.patch(NewAgent, NewAgent.notes.append("new"), partition_key=ACME, agent_uuid="04")
    back(store, Phase.OFF)
    assert raw(store, new_agents) == []
    go(store, Phase.DUAL_WRITE)
    clients(store, move).patch(OldAgent, OldAgent.uses.set(1), endpoint_id="acme-prod", agent_uuid="03")
    go(store, Phase.DUAL_READ)
    found = {agent.agent_uuid: agent.notes for agent in store.export(NewAgent) if agent.notes}
    assert found == {"03": ["new"], "04": ["new"]}
    assert [agent.notes for agent in store.export(OldAgent) if agent.agent_uuid == "03"] == [["old 3"]]
    assert kept(store) == 0
