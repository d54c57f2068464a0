"""How tables of facts look: aligned columns for people, JSON for programs."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console
    from rich.table import Table as Grid

#: the width of output that goes to no terminal
_WIDTH = 120
_CELL = 40


def console() -> Console:
    """Where people read. Its width is the terminal's, or wide enough for a log."""
    from rich.console import Console

    plain = Console(highlight=False, markup=False, emoji=False)
    if plain.is_terminal or "COLUMNS" in os.environ:
        return plain
    return Console(highlight=False, markup=False, emoji=False, width=_WIDTH)


def grid(*heads: str) -> Grid:
    """A table without a frame."""
    from rich import box
    from rich.table import Table as Grid

    table = Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, overflow="fold")
    return table


def print_json(value: Any) -> None:
    """One JSON document."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def print_rows(rows: Sequence[Mapping[str, Any]], first: Sequence[str] = ()) -> None:
    """Rows of values, one line each: as many columns as fit, the `first` before the others; what is left out is counted."""
    from rich import box
    from rich.table import Table as Grid

    out = console()
    names = [*first, *dict.fromkeys(name for row in rows for name in row if name not in first)]
    widths = {name: min(_CELL, max(len(name), *(len(_cell(row.get(name))) for row in rows))) for name in names}
    shown: list[str] = []
    room = out.width
    for name in names:
        if shown and room < widths[name] + 2:
            break
        shown.append(name)
        room -= widths[name] + 2
    table = Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in shown:
        table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=_CELL)
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in shown))
    out.print(table)
    left = len(names) - len(shown)
    if left:
        out.print(f"{left} more {'attribute' if left == 1 else 'attributes'}: {', '.join(names[len(shown) :])} (--json shows all)")


def _cell(value: Any) -> str:
    """A value on one line."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.replace("\n", "↵")
    return json.dumps(value, ensure_ascii=False, default=str)
