"""Steps of a move that were cut short at any request, and what those do that come after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gateleg.migrate import Moving, Phase
from gateleg.migrate.moves.control import read_state
from gateleg.migrate.moves.steps import MoveOptions, advance, go_back
from gateleg.store.transports import ServiceError
from tests.migrate.moves.layouts import PARTITIONS, OldAgent, agents_move, new_agents, old_agents, opened, raw

if TYPE_CHECKING:
    from gateleg.store import Store
    from gateleg.store.flow import Flow

ENDPOINT = next(iter(PARTITIONS))
ALL = agents_move.stages[0]
ONE = MoveOptions(segments=2, force=True)


class Killed(Exception):
    """The operator is gone."""


def filled(number: int = 3) -> Store:
    """A store with some old agents."""
    store = opened()
    agents = [OldAgent(endpoint_id=ENDPOINT, agent_uuid=f"{n:03d}", name=f"agent {n}", version=n + 1) for n in range(number)]
    store.batch_write(agents, check_version=False)
    return store


def cut(flow: Flow[Any], steps: int) -> Flow[Any]:
    """A flow that ends after so many steps, as if the process had been killed."""
    try:
        step = next(flow)
        for _ in range(steps):
            try:
                reply = yield step
            except ServiceError as error:
                step = flow.throw(error)
            else:
                step = flow.send(reply)
    except StopIteration as end:
        return end.value
    flow.close()
    raise Killed


def interrupted(store: Store, flow: Flow[Any], steps: int) -> bool:
    """Run a flow for some steps; whether it was cut short."""
    try:
        store.drive(cut(flow, steps))
    except Killed:
        return True
    return False


def to(store: Store, phase: Phase) -> None:
    """Bring the stage forward to a phase."""
    store.drive(advance(agents_move, ALL, phase, store.setup, ONE))


def back(store: Store, phase: Phase = Phase.OFF) -> Flow[Any]:
    """The way back."""
    return go_back(agents_move, ALL, phase, store.setup, ONE)


@pytest.mark.parametrize("forward", [False, True], ids=["back", "forward-and-back"])
def test_a_way_back_from_the_clean_up_that_is_cut_anywhere_restores_every_item(forward: bool) -> None:
    store = filled()
    before = raw(store, old_agents)
    steps = 0
    while True:
        to(store, Phase.CLEAN_UP)
        assert not raw(store, old_agents)
        short = interrupted(store, back(store, Phase.CUT_OVER), steps)
        if forward:
            to(store, Phase.CLEAN_UP)
            assert not raw(store, old_agents)
        store.drive(back(store))
        assert raw(store, old_agents) == before, steps
        assert not raw(store, new_agents), steps
        if not short:
            break
        steps += 5


def test_a_way_back_to_the_beginning_that_is_cut_anywhere_leaves_nothing_that_stops_the_next_attempt() -> None:
    store = filled()
    steps = 0
    while True:
        to(store, Phase.DUAL_WRITE)
        to(store, Phase.VERIFY)
        short = interrupted(store, back(store), steps)
        if store.drive(read_state(agents_move, ALL, store.setup)).phase is Phase.OFF:
            # Written and deleted while nothing was copied.
            client = store.moving(Moving([agents_move]))
            client.put(OldAgent(endpoint_id=ENDPOINT, agent_uuid=f"new-{steps}", name="new"), check_version=False)
            gone = next(iter(store.export(OldAgent)))
            client.delete(gone)
        to(store, Phase.CUT_OVER)
        assert store.drive(read_state(agents_move, ALL, store.setup)).phase is Phase.CUT_OVER, steps
        store.drive(back(store))
        if not short:
            break
        steps += 5
