"""A move from its beginning to its end and back, step by step."""

from __future__ import annotations

import pytest

from gateleg.migrate import KeyMove, MoveStage, Moving, Phase, RateLimits
from gateleg.migrate.errors import MoveClosed, Paused, PhaseRefused, RolloutHalted
from gateleg.migrate.moves.control import read_state, set_paused
from gateleg.migrate.moves.copies import read_errors
from gateleg.migrate.moves.steps import MoveOptions, advance, go_back, sample, verification, verify
from gateleg.migrate.moves.tables import Checkpoint
from gateleg.store import Store
from tests.migrate.moves.layouts import (
    ACME,
    PARTITIONS,
    NewAgent,
    OldAgent,
    Partition,
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

ALL = agents_move.stages[0]


def filled(number: int = 30) -> Store:
    """A store with old agents of both tenants."""
    store = opened()
    endpoints = list(PARTITIONS)
    agents = [
        OldAgent(endpoint_id=endpoints[n % 2], agent_uuid=f"{n:03d}", name=f"agent {n}", version=n + 1, uses=n) for n in range(number)
    ]
    store.batch_write(agents, check_version=False)
    return store


def go(store: Store, until: Phase, move: KeyMove = agents_move, stage: MoveStage = ALL, options: MoveOptions | None = None) -> Phase:
    """Advance, and say where the stage is."""
    phase: Phase = store.drive(advance(move, stage, until, store.setup, options or MoveOptions(force=True))).phase
    return phase


def test_a_move_goes_to_its_end() -> None:
    store = filled()
    before = raw(store, old_agents)
    pages: list[int] = []
    options = MoveOptions(segments=3, limits=RateLimits(page_size=4), watch=lambda task, all: pages.append(len(all)), by="ann", force=True)
    assert go(store, Phase.CUT_OVER, options=options) is Phase.CUT_OVER
    assert raw(store, old_agents) == before
    assert {agent.agent_uuid: to_old(agent) for agent in store.export(NewAgent)} == {one.agent_uuid: one for one in store.export(OldAgent)}
    assert set(pages) == {3}
    found = store.drive(verification(agents_move, ALL, store.setup))
    assert (found.old, found.new, found.same_sum, found.compared, found.wrong, found.holds) == (30, 30, True, 60, 0, True)
    assert go(store, Phase.CLEAN_UP) is Phase.CLEAN_UP
    assert raw(store, old_agents) == []
    assert len(raw(store, new_agents)) == 30


@pytest.mark.parametrize("phase", list(Phase)[1:])
def test_the_way_back_from_every_phase_leads_to_the_exact_state(phase: Phase) -> None:
    store = filled(10)
    before = raw(store, old_agents)
    go(store, phase)
    assert store.drive(go_back(agents_move, ALL, Phase.OFF, store.setup)).phase is Phase.OFF
    assert raw(store, old_agents) == before
    assert raw(store, new_agents) == []
    # And it can begin again.
    assert go(store, Phase.DUAL_READ) is Phase.DUAL_READ


def test_what_was_written_on_the_new_side_alone_is_restored_on_the_old_one() -> None:
    store = filled(4)
    go(store, Phase.CLEAN_UP)
    client = clients(store)
    client.create(NewAgent(partition_key=ACME, agent_uuid="z", title="late"))
    client.patch(NewAgent, NewAgent.title.set("changed"), partition_key=ACME, agent_uuid="000")
    client.delete(NewAgent.key(partition_key=ACME, agent_uuid="002"))
    store.drive(go_back(agents_move, ALL, Phase.CUT_OVER, store.setup))
    client = clients(store)
    found = {agent.agent_uuid: agent.name for agent in client.query(OldAgent.of_endpoint, endpoint_id="acme-prod")}
    assert found == {"000": "changed", "z": "late"}
    assert store.drive(verify(agents_move, ALL, store.setup)).holds


def test_a_backfill_neither_overwrites_nor_resurrects() -> None:
    store = filled(6)
    move_to(store, Phase.BACKFILL)
    client = clients(store)
    client.patch(OldAgent, OldAgent.name.set("newer"), endpoint_id="acme-prod", agent_uuid="000")
    client.delete(OldAgent.key(endpoint_id="acme-prod", agent_uuid="002"))
    go(store, Phase.BACKFILL)
    assert store.get(NewAgent, partition_key=ACME, agent_uuid="000").title == "newer"
    assert store.find(NewAgent, partition_key=ACME, agent_uuid="002") is None
    progress = store.query(Checkpoint.of_pass, move=agents_move.state_key, stage="all", task="backfill")
    assert sum(one.written for one in progress) == 4


def test_a_pass_that_was_interrupted_goes_on_where_it_stopped() -> None:
    store = filled(20)
    move_to(store, Phase.BACKFILL)

    class Killed(Exception):
        pass

    def kill(task: str, segments: list[Checkpoint]) -> None:
        if sum(one.seen for one in segments) >= 8:
            raise Killed

    with pytest.raises(Killed):
        go(store, Phase.BACKFILL, options=MoveOptions(segments=2, limits=RateLimits(page_size=4), watch=kill))
    done = len(raw(store, new_agents))
    assert 8 <= done < 20
    go(store, Phase.BACKFILL)
    progress = list(store.query(Checkpoint.of_pass, move=agents_move.state_key, stage="all", task="backfill"))
    assert sum(one.seen for one in progress) == 20
    assert [one.segments for one in progress] == [2, 2]
    assert len(raw(store, new_agents)) == 20


def test_a_paused_stage_stops_and_goes_on() -> None:
    store = filled(4)
    move_to(store, Phase.BACKFILL)
    store.drive(set_paused(agents_move, ALL, True, store.setup))
    with pytest.raises(Paused):
        go(store, Phase.DUAL_READ)
    assert raw(store, new_agents) == []
    store.drive(set_paused(agents_move, ALL, False, store.setup))
    assert go(store, Phase.DUAL_READ) is Phase.DUAL_READ


def test_items_that_cannot_be_moved_are_listed_and_tried_again() -> None:
    store = filled(3)
    store.put(OldAgent(endpoint_id="unknown-prod", agent_uuid="x"))
    with pytest.raises(PhaseRefused, match="unknown-prod"):
        go(store, Phase.DUAL_READ)
    (error,) = store.drive(read_errors(agents_move, ALL, store.setup))
    assert (error.reason, error.side) == ("inconvertible", "old")
    store.delete(OldAgent.key(endpoint_id="unknown-prod", agent_uuid="x"))
    assert go(store, Phase.DUAL_READ) is Phase.DUAL_READ


def test_a_difference_is_named_and_keeps_the_new_side_from_being_read() -> None:
    store = filled(5)
    go(store, Phase.BACKFILL)
    # Somebody who knows nothing of the move.
    store.patch(OldAgent, OldAgent.name.set("unaware"), endpoint_id="acme-prod", agent_uuid="000")
    store.delete(OldAgent.key(endpoint_id="acme-prod", agent_uuid="002"))
    store.delete(NewAgent.key(partition_key=ACME, agent_uuid="004"))
    with pytest.raises(PhaseRefused):
        go(store, Phase.DUAL_READ)
    errors = store.drive(read_errors(agents_move, ALL, store.setup))
    assert sorted((error.side, error.reason) for error in errors) == [
        ("new", "differs"),
        ("new", "surplus"),
        ("old", "differs"),
        ("old", "missing"),
    ]
    assert any("title" in error.why for error in errors)
    found = store.drive(verification(agents_move, ALL, store.setup))
    assert (found.old, found.new, found.same_sum, found.holds) == (4, 4, False, False)


def test_a_dry_run_shows_before_and_after_and_writes_nothing() -> None:
    store = filled(3)
    store.put(OldAgent(endpoint_id="unknown-prod", agent_uuid="x"))
    found = store.drive(sample(agents_move, ALL, store.setup, 10))
    assert len(found) == 4
    assert sum("error" in one for one in found) == 1
    (one,) = [one for one in found if one["before"]["agent_uuid"]["S"] == "000"]
    assert one["after"]["partition_key"] == {"S": "aws-prod#acme"}
    assert raw(store, new_agents) == []


def test_stages_move_one_after_another() -> None:
    pilot, rest = MoveStage.tenants("pilot", "acme-prod"), MoveStage("rest")
    move = KeyMove("agents", OldAgent, NewAgent, to_new, to_old, old_key=old_key, stages=(pilot, rest), patterns=agents_move.patterns)
    store = filled(6)
    go(store, Phase.CUT_OVER, move, pilot)
    assert {item["partition_key"]["S"] for item in raw(store, new_agents)} == {"aws-prod#acme"}
    client = clients(store, move)
    client.create(OldAgent(endpoint_id="globex-prod", agent_uuid="y"))
    client.create(NewAgent(partition_key=ACME, agent_uuid="z"))
    assert client.get(NewAgent, partition_key=PARTITIONS["globex-prod"], agent_uuid="y").agent_uuid == "y"
    assert store.find(OldAgent, endpoint_id="acme-prod", agent_uuid="z") is not None
    assert store.find(NewAgent, partition_key=PARTITIONS["globex-prod"], agent_uuid="y") is None
    with pytest.raises(PhaseRefused, match="all stages"):
        go(store, Phase.CLOSING, move, pilot)
    go(store, Phase.CUT_OVER, move, rest)
    assert len(raw(store, new_agents)) == 8
    # The way back of one stage leaves the other alone.
    store.drive(go_back(move, pilot, Phase.OFF, store.setup))
    assert {item["partition_key"]["S"] for item in raw(store, new_agents)} == {"aws-prod#globex"}


def test_the_old_entity_is_not_closed_while_it_is_used() -> None:
    store = filled(2)
    go(store, Phase.CUT_OVER)
    client = clients(store)
    client.get(OldAgent, endpoint_id="acme-prod", agent_uuid="000")
    store.setup.clock.sleep(3)  # type: ignore[attr-defined]
    client.get(OldAgent, endpoint_id="acme-prod", agent_uuid="000")
    with pytest.raises(PhaseRefused, match="used OldAgent"):
        go(store, Phase.CLOSING, options=MoveOptions())
    assert store.drive(read_state(agents_move, ALL, store.setup)).phase is Phase.CUT_OVER
    store.setup.clock.sleep(120)  # type: ignore[attr-defined]
    assert go(store, Phase.CLEAN_UP, options=MoveOptions()) is Phase.CLEAN_UP
    with pytest.raises(MoveClosed):
        clients(store).get(OldAgent, endpoint_id="acme-prod", agent_uuid="000")


def test_reads_find_a_difference_while_both_sides_are_read_and_stop_the_move(caplog: pytest.LogCaptureFixture) -> None:
    store = filled(4)
    go(store, Phase.DUAL_READ)
    client = store.moving(Moving([agents_move], compare=1.0))
    assert client.get(NewAgent, partition_key=ACME, agent_uuid="000").title == "agent 0"
    assert store.drive(read_errors(agents_move, ALL, store.setup)) == []
    # Somebody who knows nothing of the move.
    store.patch(OldAgent, OldAgent.name.set("unaware"), endpoint_id="acme-prod", agent_uuid="000")
    client.get(NewAgent, partition_key=ACME, agent_uuid="000")
    assert "differ" in caplog.text
    (error,) = store.drive(read_errors(agents_move, ALL, store.setup))
    assert error.reason == "differs"
    with pytest.raises(PhaseRefused, match="items differ"):
        go(store, Phase.CUT_OVER)


def test_a_roll_out_is_halted_when_writes_of_clients_fail_or_take_long() -> None:
    store = filled(2)
    moving = Moving([agents_move])
    client, looks = store.moving(moving), 0

    def look() -> None:
        """What clients do while they are watched: most requests are slow, and some fail."""
        nonlocal looks
        looks += 1
        for number in range(30):
            moving.views.note_request(0.5, failed=number == 0 and looks > 100)
        client.get(OldAgent, endpoint_id="acme-prod", agent_uuid="000")

    def sleep(seconds: float) -> None:
        store.setup.clock.sleep(seconds)  # type: ignore[attr-defined]
        look()

    watched = Store(store.transport, clock=store.setup.clock, ticks=store.setup.ticks, sleep=sleep)
    go(watched, Phase.DUAL_WRITE, options=MoveOptions(soak=5, most_seconds=1.0))
    with pytest.raises(RolloutHalted, match=r"0\.48\d seconds"):
        go(watched, Phase.BACKFILL, options=MoveOptions(soak=5, most_seconds=0.1))
    looks = 100
    with pytest.raises(RolloutHalted, match="requests of clients failed"):
        go(watched, Phase.DUAL_READ, options=MoveOptions(soak=5))


def test_a_stage_goes_to_its_end_and_back_as_often_as_somebody_likes() -> None:
    store = filled(6)
    before = raw(store, old_agents)
    for _ in range(2):
        go(store, Phase.CLEAN_UP)
        assert raw(store, old_agents) == []
        store.drive(go_back(agents_move, ALL, Phase.CUT_OVER, store.setup))
        assert raw(store, old_agents) == before
    assert store.drive(go_back(agents_move, ALL, Phase.OFF, store.setup)).phase is Phase.OFF
    assert (raw(store, old_agents), raw(store, new_agents)) == (before, [])


def test_the_old_entity_stays_closed_while_an_item_cannot_be_restored() -> None:
    store = filled(2)
    go(store, Phase.CLEAN_UP)
    # Nothing says which endpoint this tenant had.
    store.put(NewAgent(partition_key=Partition("aws-prod", "stranger"), agent_uuid="x"))
    with pytest.raises(PhaseRefused, match="stranger"):
        store.drive(go_back(agents_move, ALL, Phase.CUT_OVER, store.setup))
    assert store.drive(read_state(agents_move, ALL, store.setup)).phase is Phase.CLOSING
    store.delete(NewAgent.key(partition_key=Partition("aws-prod", "stranger"), agent_uuid="x"))
    assert store.drive(go_back(agents_move, ALL, Phase.CUT_OVER, store.setup)).phase is Phase.CUT_OVER
    assert len(raw(store, old_agents)) == 2
