"""Print tables of values: aligned columns for people, JSON for programs."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from gateleg.model import Item

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
