"""A migration is paused in every phase: within a pass, between two phases, and before its other parts."""

from collections.abc import Callable
from typing import Any

import pytest

from gateleg.migrate import Migration, Migrator, MoveOptions, Phase
from gateleg.migrate.errors import MigrationRefused, Paused
from gateleg.migrate.migrator import MigrationCallbacks
from gateleg.store import Store
from tests.migrate.moves.layouts import OldAgent, agents_move, new_agents, raw
from tests.migrate.test_migrator import filled

move = Migration(1, "agents-by-tenant", moves=(agents_move,))


def migrator(store: Store, one: Migration, options: MoveOptions | None = None, step: Callable[[str], None] = lambda text: None) -> Migrator:
    return Migrator(
        store, "shop", [one], by="ann", options=options or MoveOptions(segments=2, force=True), report=MigrationCallbacks(step=step)
    )


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.CLEAN_UP])
def test_no_phase_is_entered_after_a_pause(phase: Phase) -> None:
    store = filled()
    one = migrator(store, move)
    one.apply(until=phase)
    one.pause(1)
    with pytest.raises(Paused):
        one.apply(until=Phase.CLEAN_UP)
    assert one.status()[0].stages[0]["phase"] == phase
    one.pause(1, paused=False)
    one.apply(until=Phase.CLEAN_UP)
    assert (one.status()[0].stages[0]["phase"], len(raw(store, new_agents))) == ("clean-up", 5)


def test_the_way_back_is_paused_too() -> None:
    store = filled()
    one = migrator(store, move)
    one.apply()
    one.pause(1)
    with pytest.raises(Paused):
        one.rollback(1)
    assert one.status()[0].stages[0]["phase"] == "cut-over"
    one.pause(1, paused=False)
    one.rollback(1)
    assert (one.status()[0].state, raw(store, new_agents)) == ("rolled-back", [])


def test_a_pause_ends_the_watch_over_clients() -> None:
    store = filled()
    sleep, one = store.setup, migrator(store, move, MoveOptions(soak=1e9))
    paused: list[float] = []

    def pause_now(seconds: float) -> None:
        if not paused and seconds == 1.0:
            paused.append(seconds)
            one.pause(1)

    other = Store(store.transport, clock=sleep.clock, ticks=sleep.ticks, sleep=pause_now, random=sleep.random)
    with pytest.raises(Paused):
        migrator(other, move, MoveOptions(soak=1e9)).apply()
    assert one.status()[0].stages[0]["phase"] == "dual-write"


def test_the_parts_of_a_migration_without_moves_are_paused_as_well() -> None:
    store = filled()
    ran: list[str] = []

    def step(text: str) -> None:
        if text == "rewriting OldAgent":
            migrator(store, parts).pause(1)

    parts = Migration(1, "parts", rewrites=(OldAgent,), apply=lambda _: ran.append("apply"))
    with pytest.raises(MigrationRefused, match="has not begun"):
        migrator(store, parts).pause(1)
    with pytest.raises(Paused, match="0001 parts is paused"):
        migrator(store, parts, step=step).apply()
    assert (ran, migrator(store, parts).status()[0].paused) == ([], True)
    migrator(store, parts).pause(1, paused=False)
    migrator(store, parts).apply()
    assert ran == ["apply"]


def test_a_stage_that_does_not_exist_is_refused() -> None:
    one: Any = migrator(filled(), move)
    for act in (one.pause, one.rollback, one.repeat):
        with pytest.raises(MigrationRefused, match="no stage 'pilot'"):
            act(1, stage="pilot")
    with pytest.raises(MigrationRefused, match="no stage 'pilot'"):
        one.apply(stage="pilot")
