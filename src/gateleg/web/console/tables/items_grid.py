"""Items on a page, as a grid whose rows open them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.web.console.cells import Column, Row, ago_cell, id_cell, meta_cell, mono_cell
from gateleg.web.console.grid import Grid
from gateleg.web.console.ids import shortened
from gateleg.web.console.markup import tag
from gateleg.web.console.tables.grids import grid_of, item_address, key_words, moment_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.model import Item, Spec, Table
    from gateleg.web.console.cells import Cell as Drawn
    from gateleg.web.console.tables.grids import Cell

#: More columns than this are on the item's own page.
_COLUMNS = 12


def items_grid(
    table: Table,
    items: Sequence[Item],
    spec: Spec[Any] | None = None,
    *,
    complete: bool = False,
    on_choose: Callable[[list[str]], None] | None = None,
) -> Grid:
    """The grid of some items. A row's id is the item's key, as an address holds it.

    One that is `complete` can be sorted and filtered in place.
    """
    shown = grid_of(table, items, spec)
    columns = [
        Column(str(number), name, right=_numbers(shown.rows, number), desk=number > 4)
        for number, name in enumerate(shown.columns[:_COLUMNS])
    ]
    rows = [
        Row(
            row.key,
            {str(number): _drawn(cell, number, row.label) for number, cell in enumerate(row.cells[:_COLUMNS])},
            item_address(table.name, row.key),
            f"item {key_words(table, item)}",
        )
        for row, item in zip(shown.rows, items, strict=True)
    ]
    grid = Grid(f"Items of {table.name}", columns, rows, complete=complete, on_choose=on_choose)
    if len(shown.columns) > _COLUMNS:
        left = ", ".join(shown.columns[_COLUMNS:])
        tag("p", f"{len(shown.columns) - _COLUMNS} more columns are on the page of each item: {left}.", "meta more-columns")
    return grid


def _numbers(rows: Sequence[Any], number: int) -> bool:
    """Whether a column holds numbers only."""
    cells = [row.cells[number] for row in rows if row.cells[number].text]
    return bool(cells) and all(cell.look == "number" for cell in cells)


def _drawn(cell: Cell, number: int, label: str) -> Drawn:
    if number == 0:
        # The first cell is the link to the item.
        return shortened(cell.text, 60) or label
    if not cell.text:
        return None
    if cell.look == "time":
        return ago_cell(moment_of(cell.text))
    if cell.look == "code" and len(cell.text) == 36 and cell.text.count("-") == 4:
        return id_cell(cell.text)
    if cell.look == "code":
        return mono_cell(cell.title or cell.text)
    return meta_cell(cell.title or cell.text) if cell.look == "dim" else cell.text
