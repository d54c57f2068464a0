"""Telling workers of the same process that there is something to do."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Bell:
    """Calls its listeners with a queue's name whenever a job becomes ready there. Any thread may ring."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[str], None]] = []
        self._lock = threading.Lock()

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Add a listener; the answer takes it away again."""
        with self._lock:
            self._listeners.append(listener)

        def stop() -> None:
            with self._lock:
                self._listeners.remove(listener)

        return stop

    def ring(self, queue: str) -> None:
        """Tell all listeners."""
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener(queue)
