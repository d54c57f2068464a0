"""Every write of either side leaves both sides in agreement, with the errors and results of the single verbs."""

from __future__ import annotations

from typing import Any

import pytest

from gateleg.migrate import KeyMove, Moving
from gateleg.migrate.errors import MoveClosed, MoveIncomplete
from gateleg.migrate.moves.control import enter_phase, read_processes
from gateleg.migrate.moves.declaration import Phase
from gateleg.model import Attr, Entity, Key, Table, field, spec_of
from gateleg.store import AlreadyExists, LostRace, NotFound, Store, TransactionCanceled, check, create, patch
from tests.migrate.moves.layouts import (
    ACME,
    NewAgent,
    OldAgent,
    agents_move,
    clients,
    move_to,
    new_agents,
    old_agents,
    old_key,
    opened,
    raw,
    to_new,
    to_old,
)

BOTH = [phase for phase in Phase if phase.writes_both]
OLD = [phase for phase in BOTH if phase.takes_old]


def agree(store: Store) -> None:
    """Both tables hold the same agents."""
    old = sorted(store.export(OldAgent), key=lambda agent: agent.agent_uuid)
    new = sorted(store.export(NewAgent), key=lambda agent: agent.agent_uuid)
    assert [to_new(agent) for agent in old] == new


@pytest.mark.parametrize("phase", OLD)
def test_every_write_of_an_old_agent_is_copied(phase: Phase) -> None:
    store = opened()
    move_to(store, phase)
    client = clients(store)
    agent = client.create(OldAgent(endpoint_id="acme-prod", agent_uuid="a", name="first", tags={"x"}))
    agree(store)
    agent = client.patch(agent, OldAgent.name.set("second"), OldAgent.uses.add(3), OldAgent.notes.append("one"))
    assert (agent.name, agent.uses, agent.version, agent.notes) == ("second", 3, 2, ["one"])
    agree(store)
    client.patch(OldAgent.key(endpoint_id="acme-prod", agent_uuid="a"), OldAgent.tags.remove())
    agree(store)
    client.put(client.get(OldAgent, endpoint_id="acme-prod", agent_uuid="a").model_copy(update={"uses": 9}))
    agree(store)
    client.upsert(OldAgent.key(endpoint_id="acme-prod", agent_uuid="b"), OldAgent.name.set("other"))
    agree(store)
    with client.edit(client.get(OldAgent, endpoint_id="acme-prod", agent_uuid="b")) as draft:
        draft.name = "edited"
    agree(store)
    client.retrying(OldAgent, lambda one: [OldAgent.uses.set(one.uses + 1)], endpoint_id="acme-prod", agent_uuid="b")
    agree(store)
    client.batch_write([OldAgent(endpoint_id="acme-prod", agent_uuid="c", version=0)], check_version=False)
    agree(store)
    assert len(list(store.export(NewAgent))) == 3
    client.delete(OldAgent.key(endpoint_id="acme-prod", agent_uuid="a"))
    agree(store)
    assert client.delete_all(OldAgent.of_endpoint, endpoint_id="acme-prod") == 2
    assert raw(store, new_agents) == raw(store, old_agents) == []


@pytest.mark.parametrize("phase", BOTH)
def test_every_write_of_a_new_agent_is_copied_back(phase: Phase) -> None:
    store = opened()
    store.put(OldAgent(endpoint_id="acme-prod", agent_uuid="a", name="before"))
    move_to(store, phase)
    client = clients(store)
    if phase.complete:
        store.put(to_new(store.get(OldAgent, endpoint_id="acme-prod", agent_uuid="a")).model_copy(update={"version": 0}))
    agent = client.patch(NewAgent, NewAgent.title.set("after"), NewAgent.uses.add(2), partition_key=ACME, agent_uuid="a")
    assert (agent.title, agent.uses, agent.version) == ("after", 2, 2)
    assert store.get(OldAgent, endpoint_id="acme-prod", agent_uuid="a").name == "after"
    agree(store)
    with pytest.raises(AlreadyExists):
        client.create(NewAgent(partition_key=ACME, agent_uuid="a"))
    client.create(NewAgent(partition_key=ACME, agent_uuid="b", title="new"))
    agree(store)
    client.delete(client.get(NewAgent, partition_key=ACME, agent_uuid="a"))
    agree(store)
    assert [item["agent_uuid"]["S"] for item in raw(store, old_agents)] == ["b"]


def test_errors_are_those_of_the_single_verbs() -> None:
    store = opened()
    move_to(store, Phase.DUAL_WRITE)
    client = clients(store)
    agent = client.create(OldAgent(endpoint_id="acme-prod", agent_uuid="a"))
    with pytest.raises(AlreadyExists):
        client.create(OldAgent(endpoint_id="acme-prod", agent_uuid="a"))
    client.patch(agent, OldAgent.uses.set(1))
    with pytest.raises(LostRace) as lost:
        client.patch(agent, OldAgent.uses.set(2))
    assert lost.value.current.uses == 1
    with pytest.raises(NotFound):
        client.patch(OldAgent, OldAgent.uses.set(2), endpoint_id="acme-prod", agent_uuid="z")
    with pytest.raises(TransactionCanceled) as canceled:
        client.transact(
            [
                create(OldAgent(endpoint_id="acme-prod", agent_uuid="b")),
                check(OldAgent.key(endpoint_id="acme-prod", agent_uuid="a"), OldAgent.uses == 7),
            ]
        )
    assert canceled.value.reasons[0] is None
    assert canceled.value.reasons[1] is not None
    assert len(raw(store, old_agents)) == len(raw(store, new_agents)) == 1


def test_a_transaction_writes_all_sides_of_all_its_items() -> None:
    store = opened()
    move_to(store, Phase.CUT_OVER)
    client = clients(store)
    first, second = client.transact(
        [create(OldAgent(endpoint_id="acme-prod", agent_uuid="a")), create(NewAgent(partition_key=ACME, agent_uuid="b"))]
    )
    assert (first.version, second.version) == (1, 1)
    client.transact([patch(first, OldAgent.uses.set(4)), patch(second, NewAgent.uses.set(5))])
    agree(store)
    assert [agent.uses for agent in store.query(OldAgent.of_endpoint, endpoint_id="acme-prod")] == [4, 5]


def test_a_transaction_writes_items_of_no_move_as_well() -> None:
    class Tally(Entity, table=Table("tallies", hash="name")):
        name: Attr[str]
        count: Attr[int] = field(0)
        key = Key("{name}")

    store = opened()
    store.ensure_tables(spec_of(Tally).table)
    move_to(store, Phase.DUAL_WRITE)
    client = clients(store)
    client.create(Tally(name="agents"))
    agent = OldAgent(endpoint_id="acme-prod", agent_uuid="a")
    client.transact([create(agent), patch(Tally.key(name="agents"), Tally.count.add(1))])
    assert store.get(Tally, name="agents").count == 1
    agree(store)


def test_before_a_move_only_the_old_side_is_written_and_after_it_only_the_new_one() -> None:
    store = opened()
    client = clients(store)
    client.create(OldAgent(endpoint_id="acme-prod", agent_uuid="a", name="old"))
    assert client.get(NewAgent, partition_key=ACME, agent_uuid="a").title == "old"
    with pytest.raises(MoveIncomplete):
        client.create(NewAgent(partition_key=ACME, agent_uuid="b"))
    assert raw(store, new_agents) == []
    move_to(store, Phase.CLEAN_UP)
    client = clients(store)
    client.create(NewAgent(partition_key=ACME, agent_uuid="b"))
    assert [item["agent_uuid"]["S"] for item in raw(store, old_agents)] == ["a"]
    for use in (
        lambda: client.get(OldAgent, endpoint_id="acme-prod", agent_uuid="a"),
        lambda: client.put(OldAgent(endpoint_id="acme-prod", agent_uuid="c")),
        lambda: list(client.query(OldAgent.of_endpoint, endpoint_id="acme-prod")),
    ):
        with pytest.raises(MoveClosed):
            use()


@pytest.mark.parametrize("phase", list(Phase)[: Phase.CLOSING.order])
def test_new_agents_are_read_in_every_phase(phase: Phase) -> None:
    store = opened()
    for uuid, updated in (("a", 3), ("b", 2), ("c", 1)):
        store.put(OldAgent(endpoint_id="acme-prod", agent_uuid=uuid, name=uuid * 2, updated_at=updated))
    move_to(store, phase)
    if phase.complete:
        for agent in store.export(OldAgent):
            store.put(to_new(agent).model_copy(update={"version": 0}))
    client = clients(store)
    assert client.get(NewAgent, partition_key=ACME, agent_uuid="a").title == "aa"
    assert client.find(NewAgent, partition_key=ACME, agent_uuid="z") is None
    assert client.get(NewAgent, partition_key=ACME, agent_uuid="b", project=[NewAgent.title]) == {"title": "bb"}
    refs = [NewAgent.key(partition_key=ACME, agent_uuid=uuid) for uuid in "zca"]
    assert [agent and agent.title for agent in client.batch_get(refs)] == [None, "cc", "aa"]
    assert [agent.title for agent in client.query(NewAgent.by_update, partition_key=ACME)] == ["cc", "bb", "aa"]
    assert [agent.title for agent in client.query(NewAgent.by_update, partition_key=ACME, newest_first=True, limit=1)] == ["aa"]
    page = client.page(NewAgent.of_partition, partition_key=ACME, limit=2)
    assert [agent.title for agent in page] == ["aa", "bb"]
    assert [agent.title for agent in client.page(NewAgent.of_partition, partition_key=ACME, limit=2, cursor=page.next)] == ["cc"]
    assert client.count(NewAgent.of_partition, partition_key=ACME) == 3
    assert [agent.name for agent in client.query(OldAgent.by_update, endpoint_id="acme-prod")] == ["cc", "bb", "aa"]


def test_a_client_with_an_older_phase_is_fenced_off_and_catches_up() -> None:
    store = opened()
    move_to(store, Phase.DUAL_WRITE)
    client = clients(store)
    agent = client.create(OldAgent(endpoint_id="acme-prod", agent_uuid="a"))
    # The change of the phase waits for the lease of the client, or until it is over: the clock of the store has moved.
    before = store.setup.clock()
    move_to(store, Phase.BACKFILL)
    assert store.setup.clock() > before
    stale = client.setup.moves.views  # type: ignore[union-attr]
    stale._read_at = store.setup.ticks()
    client.patch(agent, OldAgent.uses.set(1))
    assert stale.of(agents_move, agents_move.stages[0]).phase is Phase.BACKFILL
    agree(store)


def test_attributes_that_only_one_side_has_are_kept_and_read_in_every_phase() -> None:
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
    store = opened()
    store.put(OldAgent(endpoint_id="acme-prod", agent_uuid="a", notes=["old"]))
    move_to(store, Phase.DUAL_WRITE, move)
    client = clients(store, move)
    client.patch(NewAgent, NewAgent.notes.append("new"), partition_key=ACME, agent_uuid="a")
    client.patch(OldAgent, OldAgent.uses.add(1), endpoint_id="acme-prod", agent_uuid="a")
    client.patch(NewAgent, NewAgent.uses.add(1), partition_key=ACME, agent_uuid="a")
    new = client.get(NewAgent, partition_key=ACME, agent_uuid="a")
    assert (new.notes, new.uses) == (["new"], 2)
    assert [agent.notes for agent in client.query(NewAgent.of_partition, partition_key=ACME)] == [["new"]]
    assert client.get(OldAgent, endpoint_id="acme-prod", agent_uuid="a").notes == ["old"]


def test_a_write_under_way_holds_up_the_news_that_its_process_knows_the_next_phase() -> None:
    store = opened()
    moving = Moving([agents_move])
    client = store.moving(moving)
    client.put(OldAgent(endpoint_id="acme-prod", agent_uuid="a"))
    begun = moving.views.begin()
    store.drive(enter_phase(agents_move, agents_move.stages[0], Phase.DUAL_WRITE, store.setup))
    store.drive(moving.views.current(store.setup, anew=True))
    (process,) = store.drive(read_processes(store.setup))
    assert process.epochs == {f"{agents_move.state_key}#all": -1}
    moving.views.end(begun)
    store.drive(moving.views.current(store.setup, anew=True))
    (process,) = store.drive(read_processes(store.setup))
    assert process.epochs == {f"{agents_move.state_key}#all": 1}


def test_phases_that_were_read_late_do_not_replace_newer_ones() -> None:
    store = opened()
    move_to(store, Phase.DUAL_WRITE)
    views = Moving([agents_move]).views
    # Two threads read the phases; the one that began first is answered, and goes on last.
    slow: Any = views.current(store.setup, anew=True)
    step = next(slow)
    step = slow.send(store.transport.call(step.operation, step.payload))
    answered = store.transport.call(step.operation, step.payload)
    move_to(store, Phase.BACKFILL)
    store.drive(views.current(store.setup, anew=True))
    slow.send(answered)
    slow.close()
    assert views.of(agents_move, agents_move.stages[0]).phase is Phase.BACKFILL
