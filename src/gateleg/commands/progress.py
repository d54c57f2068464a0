"""Progress of a slow command: a bar for each step on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Steps"]


class Steps:
    """Shows the progress of steps: `with Steps({"reading": "Reading the files"}) as report: report("reading", 0.5)`.

    A step is complete when the next one starts, and the last one at the end of the block, unless an error is raised.
    """

    def __init__(self, titles: Mapping[str, str]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._bars = Progress(*columns, console=Console(stderr=True))
        self._titles = titles
        self._step = ""

    def __enter__(self) -> Callable[[str, float], None]:
        self._bars.start()
        return self._report

    def __exit__(self, *failure: object) -> None:
        if failure[0] is None:
            self._finish()
        self._bars.stop()

    def _report(self, step: str, done: float) -> None:
        if step != self._step:
            self._finish()
            self._step = step
            self._bars.add_task(self._titles.get(step, step), total=1.0)
        self._bars.update(self._bars.task_ids[-1], completed=done)

    def _finish(self) -> None:
        if self._bars.task_ids:
            self._bars.update(self._bars.task_ids[-1], completed=1.0)
