"""Notifications within a process: to workers when a job becomes claimable, to followers when a job changes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Notifier:
    """Calls its listeners with the name of a queue in which a job became claimable, or the id of a job that changed. Thread-safe."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[str], object]] = []
        self._lock = threading.Lock()

    def listen(self, listener: Callable[[str], object]) -> Callable[[], None]:
        """Add a listener, and return a function that removes it."""
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
