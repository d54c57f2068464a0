"""The child's end of its connection to its parent."""

from __future__ import annotations

import socket
import threading


class Connection:
    """The child's connection to its parent: lines in both directions. Any thread may send."""

    def __init__(self, channel: int) -> None:
        self._socket = socket.socket(fileno=channel)
        self._lines = self._socket.makefile("rb")
        self._lock = threading.Lock()

    def receive(self) -> bytes:
        """The next line of the parent; empty if it has closed the connection."""
        return self._lines.readline()

    def send(self, content: bytes) -> None:
        """Send a line, which must contain no line break."""
        with self._lock:
            self._socket.sendall(content)
            self._socket.sendall(b"\n")
