"""`LogView`: the lines of a log on a page, scrolled to the end."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

from nicegui.element import Element

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs.tables import LogEntry

#: The maximum number of lines on a page.
MAX_LINES = 2000


class LogView(Element, component="static/log.js"):
    """The end of a log. `first` is the number of the first line given, counted from 0."""

    def __init__(self, lines: Sequence[LogEntry], first: int = 0, *, empty: str = "No log lines yet.") -> None:
        super().__init__()
        self._seen = first + len(lines)
        self.props["initial"] = drawn_lines(lines, first)
        self.props["empty"] = empty
        self.props["most"] = MAX_LINES

    def show(self, lines: Sequence[LogEntry], first: int = 0) -> None:
        """Append the new lines."""
        fresh = drawn_lines(lines, first)[max(0, self._seen - first) :]
        if fresh:
            self._seen += len(fresh)
            self.run_method("push", fresh)


def drawn_lines(lines: Sequence[LogEntry], first: int = 0) -> list[dict[str, Any]]:
    """Lines in the form that the browser draws, numbered from 1."""
    return [
        {
            "number": first + at + 1,
            "at": line.timestamp.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": line.level,
            "text": line.message,
        }
        for at, line in enumerate(lines)
    ]
