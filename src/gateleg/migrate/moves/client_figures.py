"""How clients fare while items move: what their processes report with their leases, every few seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.migrate.moves.phase_views import read_processes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.migrate.moves.declaration import KeyMove
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

#: seconds between two looks at what processes report
LOOK = 1.0


@dataclass(frozen=True)
class Figures:
    """Reads and writes of items that move: how many, how many of them failed, and the seconds that they took."""

    requests: int = 0
    failures: int = 0
    seconds: float = 0.0

    def __add__(self, other: Figures) -> Figures:
        return Figures(self.requests + other.requests, self.failures + other.failures, self.seconds + other.seconds)

    def __sub__(self, other: Figures) -> Figures:
        return Figures(self.requests - other.requests, self.failures - other.failures, self.seconds - other.seconds)

    @property
    def average(self) -> float:
        """The seconds that one takes."""
        return self.seconds / self.requests if self.requests else 0.0


def read_figures(move: KeyMove, setup: Setup) -> Flow[dict[str, Figures]]:
    """The figures of each process that knows a move, since it began."""
    processes = yield from read_processes(setup)
    return {one.process: Figures(one.requests, one.failures, one.seconds) for one in processes if move.state_key in one.moves}


def since(before: Mapping[str, Figures], now: Mapping[str, Figures]) -> Figures:
    """What all processes together have done between two looks."""
    return sum((figures - before.get(process, Figures()) for process, figures in now.items()), Figures())


class ClientLatency:
    """The seconds that requests of clients take on average, looked up at most once a second."""

    def __init__(self, move: KeyMove, setup: Setup) -> None:
        self._move = move
        self._setup = setup
        self._looked: float | None = None
        self._before: dict[str, Figures] = {}
        self._average = 0.0

    def current(self) -> Flow[float]:
        """The average between the last two reports; 0 while nobody has asked for anything."""
        now = self._setup.ticks()
        if self._looked is not None and now - self._looked < LOOK:
            return self._average
        found = yield from read_figures(self._move, self._setup)
        done = since(self._before, found) if self._looked is not None else Figures()
        # Processes report every few seconds: until the next report, the last average is what is known.
        if done.requests or self._looked is None or not found:
            self._average = done.average
        self._looked, self._before = now, found
        return self._average
