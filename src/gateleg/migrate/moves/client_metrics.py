"""Metrics of clients while items are moved, which their processes report with their leases every few seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.migrate.moves.phase_views import read_processes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.migrate.moves.declaration import KeyMove
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

#: interval for reading the reports of processes
POLL_SECONDS = 1.0


@dataclass(frozen=True)
class ClientMetrics:
    """Reads and writes of items that are being moved: their number, how many failed, and their total duration in seconds."""

    requests: int = 0
    failures: int = 0
    seconds: float = 0.0

    def __add__(self, other: ClientMetrics) -> ClientMetrics:
        return ClientMetrics(self.requests + other.requests, self.failures + other.failures, self.seconds + other.seconds)

    def __sub__(self, other: ClientMetrics) -> ClientMetrics:
        return ClientMetrics(self.requests - other.requests, self.failures - other.failures, self.seconds - other.seconds)

    @property
    def average(self) -> float:
        """Average duration of a request in seconds."""
        return self.seconds / self.requests if self.requests else 0.0


def read_client_metrics(move: KeyMove, setup: Setup) -> Flow[dict[str, ClientMetrics]]:
    """The metrics of each process that knows a move, since its start."""
    processes = yield from read_processes(setup)
    return {one.process: ClientMetrics(one.requests, one.failures, one.seconds) for one in processes if move.state_key in one.moves}


def since(before: Mapping[str, ClientMetrics], now: Mapping[str, ClientMetrics]) -> ClientMetrics:
    """The sum over all processes between two reports."""
    return sum((figures - before.get(process, ClientMetrics()) for process, figures in now.items()), ClientMetrics())


class ClientLatency:
    """The average duration of client requests, updated at most once a second."""

    def __init__(self, move: KeyMove, setup: Setup) -> None:
        self._move = move
        self._setup = setup
        self._looked: float | None = None
        self._before: dict[str, ClientMetrics] = {}
        self._average = 0.0

    def current(self) -> Flow[float]:
        """The average between the last two reports; 0 without requests."""
        now = self._setup.ticks()
        if self._looked is not None and now - self._looked < POLL_SECONDS:
            return self._average
        found = yield from read_client_metrics(self._move, self._setup)
        done = since(self._before, found) if self._looked is not None else ClientMetrics()
        # Processes report every few seconds: until the next report, the last average stands.
        if done.requests or self._looked is None or not found:
            self._average = done.average
        self._looked, self._before = now, found
        return self._average
