"""Print tables of values: aligned columns for people, JSON for programs.

Progress of a slow command: a bar for each step on a terminal.

Failures of commands: one line on standard error, and an exit status for scripts.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console

    from gateleg.model import Item

__all__ = ["Steps"]


#: the width of output that does not go to a terminal
_WIDTH = 120
_CELL = 40
#: between two columns
_GAP = 3


def console() -> Console:
    """A console for people, as wide as the terminal, or 120 columns if the output does not go to a terminal."""
    from rich.console import Console

    plain = Console(highlight=False, markup=False, emoji=False)
    if plain.is_terminal or "COLUMNS" in os.environ:
        return plain
    return Console(highlight=False, markup=False, emoji=False, width=_WIDTH)


def count(number: int, noun: str) -> str:
    """A count with its noun: "1 item", "2,000 items"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def print_json(value: Any) -> None:
    """Print one JSON document."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def print_items(items: Sequence[Item], **members: Any) -> None:
    """Print one JSON document with items as plain JSON, and further members. Numbers keep all their digits."""
    from gateleg.ops.plain_json import plain_text

    lines = ",\n".join(f"    {plain_text(item)}" for item in items)
    rest = "".join(f",\n  {json.dumps(name)}: {json.dumps(value)}" for name, value in members.items())
    typer.echo('{\n  "items": [' + (f"\n{lines}\n  " if items else "") + f"]{rest}\n}}")


def print_rows(rows: Sequence[Mapping[str, str]], first: Sequence[str] = (), title: str | None = None, *, whole: bool = False) -> None:
    """Print rows, one line each, with as many columns as fit, those in `first` before the others. Omitted columns are named below.

    Long values are truncated. With `whole`, output to a file or another program is complete.
    """
    from rich import box
    from rich.table import Table as Grid

    out = console()
    names = [*first, *dict.fromkeys(name for row in rows for name in row if name not in first)]
    longest = {name: max(len(name), *(len(row.get(name, "")) for row in rows)) if rows else len(name) for name in names}
    widths = {name: min(_CELL, length) for name, length in longest.items()}
    if whole and not out.is_terminal:
        widths = longest
        out.width = sum(width + _GAP for width in widths.values())
    shown: list[str] = []
    room = out.width
    for name in names:
        if not shown or room >= widths[name] + _GAP:
            shown.append(name)
            room -= widths[name] + _GAP
    table = Grid(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", title=title, title_justify="left", title_style="bold"
    )
    for name in shown:
        table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=widths[name])
    for row in rows:
        table.add_row(*(row.get(name, "") for name in shown))
    out.print(table)
    left = [name for name in names if name not in shown]
    if left:
        out.print(f"Not shown: {', '.join(left)} (--json shows all)", style="dim")


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


#: The command could not do its work.
FAILED = 1
#: The arguments are invalid; also the status for an unknown option.
MISUSED = 2


def fail(message: str, status: int = FAILED) -> NoReturn:
    """Print the message to standard error and end the command."""
    from gateleg.store.errors import without_credentials

    typer.echo(f"gateleg: {without_credentials(message)}", err=True)
    raise typer.Exit(status)
