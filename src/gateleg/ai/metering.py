"""Usage of models: sums of tokens and cost."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gateleg.ai.replies import NOTHING, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Meter"]


class Meter:
    """Counts calls and usage by model. Any number of threads may use one; `listen` is called with every usage as it comes."""

    def __init__(self, listen: Callable[[str, Usage], None] | None = None) -> None:
        self._listen = listen
        self._lock = threading.Lock()
        self._totals: dict[str, Usage] = {}

    def add(self, model: str, usage: Usage) -> None:
        """Note what a call has taken."""
        with self._lock:
            self._totals[model] = self._totals.get(model, NOTHING) + usage
        if self._listen is not None:
            self._listen(model, usage)

    def totals(self) -> dict[str, Usage]:
        """What has been taken so far, by the model's address. A cost of None: there were calls that no price is known for."""
        with self._lock:
            return dict(self._totals)

    def reset(self) -> dict[str, Usage]:
        """Begin again at nothing; what was counted until now."""
        with self._lock:
            totals, self._totals = self._totals, {}
            return totals
