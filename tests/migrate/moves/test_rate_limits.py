"""How fast a pass goes beside others: limits of capacity units, and what clients notice. Pauses move the clock."""

from __future__ import annotations

from typing import Any

import pytest

from gateleg.migrate import MoveOptions, Moving, Phase, RateLimits
from gateleg.migrate.moves.steps import advance
from gateleg.store import Store
from tests.migrate.moves.layouts import OldAgent, Time, agents_move, new_agents, opened, raw

(STAGE,) = agents_move.stages
ITEMS = 40


class Distant:
    """A transport whose answers take a while."""

    def __init__(self, transport: Any, clock: Time, seconds: float) -> None:
        self._transport, self._clock, self.seconds = transport, clock, seconds

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        self._clock.sleep(self.seconds)
        reply: dict[str, Any] = self._transport.call(operation, request, timeout=timeout)
        return reply

    def close(self) -> None:
        """Another store closes it."""


@pytest.fixture
def store() -> Store:
    store = opened()
    store.batch_write([OldAgent(endpoint_id="acme-prod", agent_uuid=f"{n:03d}") for n in range(ITEMS)], check_version=False)
    store.drive(advance(agents_move, STAGE, Phase.DUAL_WRITE, store.setup))
    return store


def backfill(store: Store, limits: RateLimits, segments: int = 2, **options: Any) -> float:
    """Seconds of the clock that a backfill takes."""
    began = store.setup.ticks()
    store.drive(advance(agents_move, STAGE, Phase.BACKFILL, store.setup, MoveOptions(segments=segments, limits=limits, **options)))
    assert len(raw(store, new_agents)) == ITEMS
    return store.setup.ticks() - began


def test_without_a_limit_a_backfill_does_not_wait(store: Store) -> None:
    assert backfill(store, RateLimits(page_size=5)) < 1


@pytest.mark.parametrize(
    ("limits", "least"),
    # A copy and the check of its old item cost four write units; a page of five small items is read for at least one unit.
    [(RateLimits(write_units=16, page_size=5), ITEMS * 4 / 16), (RateLimits(read_units=2, page_size=5), ITEMS / 5 / 2)],
    ids=["write", "read"],
)
def test_a_backfill_uses_no_more_units_in_a_second_than_it_may(store: Store, limits: RateLimits, least: float) -> None:
    assert least * 0.9 <= backfill(store, limits) < least * 2


@pytest.mark.parametrize(("seconds", "waits"), [(0.001, False), (0.5, True)], ids=["quick", "slow"])
def test_a_backfill_makes_way_while_clients_have_to_wait(store: Store, seconds: float, waits: bool) -> None:
    clock: Any = store.setup.clock
    client = Store(Distant(store.transport, clock, seconds), clock=clock, ticks=clock, sleep=clock.sleep).moving(
        Moving([agents_move], refresh=0.5)
    )
    elapsed = 0.0

    def read(task: str, segments: list[Any]) -> None:
        """Between two pages, a client reads for more than a second."""
        nonlocal elapsed
        began = clock()
        while clock() - began < 1.2:
            client.get(OldAgent, endpoint_id="acme-prod", agent_uuid="001")
            clock.sleep(0.1)
        elapsed += clock() - began

    rested = backfill(store, RateLimits(latency=0.1, page_size=5), segments=1, watch=read) - elapsed
    assert (rested > 3) is waits


def test_a_backfill_makes_way_while_its_own_requests_take_long(store: Store) -> None:
    clock: Any = store.setup.clock
    slow = Store(Distant(store.transport, clock, 0.05), clock=clock, ticks=clock, sleep=clock.sleep)
    unhurried = backfill(slow, RateLimits(latency=0.01, page_size=5))
    assert unhurried > 2 * (ITEMS / 5) * 0.05 * 4
