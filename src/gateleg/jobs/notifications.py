"""Notifications within a process: to workers when a job becomes ready, to followers when a job changes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Notifier:
    """Calls its listeners with a name: of a queue where a job became ready, or of a job that changed. Any thread may notify."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[str], object]] = []
        self._lock = threading.Lock()

    def listen(self, listener: Callable[[str], object]) -> Callable[[], None]:
        """Add a listener; returns a function that removes it."""
        with self._lock:
            self._listeners.append(listener)

        def stop() -> None:
            with self._lock:
                self._listeners.remove(listener)

        return stop

    def notify(self, name: str) -> None:
        """Call all listeners."""
        if self._listeners:
            with self._lock:
                listeners = list(self._listeners)
            for listener in listeners:
                listener(name)
