"""Usage of models: sums of tokens and cost."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gateleg.ai.replies import NOTHING, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Meter"]


class Meter:
    """Counts calls and usage by model. Thread-safe; `listen` is called with every usage."""

    def __init__(self, listen: Callable[[str, Usage], None] | None = None) -> None:
        self._listen = listen
        self._lock = threading.Lock()
        self._totals: dict[str, Usage] = {}

    def add(self, model: str, usage: Usage) -> None:
        """Add the usage of a call."""
        with self._lock:
            self._totals[model] = self._totals.get(model, NOTHING) + usage
        if self._listen is not None:
            self._listen(model, usage)

    def totals(self) -> dict[str, Usage]:
        """The usage so far, by model address. A cost of None means that there were calls without a known price."""
        with self._lock:
            return dict(self._totals)

    def reset(self) -> dict[str, Usage]:
        """Reset to zero. Returns the totals until now."""
        with self._lock:
            totals, self._totals = self._totals, {}
            return totals
