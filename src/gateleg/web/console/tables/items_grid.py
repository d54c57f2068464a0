"""Items as a grid whose rows open them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.web.console.cells import Column, Row, ago_cell, id_cell, link_cell, meta_cell, mono_cell, tag_cell
from gateleg.web.console.grid import Grid
from gateleg.web.console.ids import shortened
from gateleg.web.console.markup import tag
from gateleg.web.console.tables.grids import grid_of, item_address, key_words, moment_of
from gateleg.web.console.tables.references import addresses, references

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gateleg.model import Item, Spec, Table
    from gateleg.web.console.cells import Cell
    from gateleg.web.console.tables.grids import ItemCell, ItemGrid, ItemRow

#: Further columns are only on the item's own page.
_COLUMNS = 12


def items_grid(
    table: Table,
    items: Sequence[Item],
    spec: Spec[Any] | None = None,
    *,
    tables: Sequence[Table] = (),
    complete: bool = False,
    on_choose: Callable[[list[str]], None] | None = None,
) -> Grid:
    """The grid of some items. A row's id is the item's key, as in the address.

    A `complete` list can be sorted and filtered in place. References to items of `tables` are links.
    """
    shown = grid_of(table, items, spec)
    columns = _columns(shown)
    known = references(spec, tables) if spec is not None else {}
    rows = [
        Row(
            row.key,
            _cells(shown.columns, row, known, addresses(spec, item, known) if spec is not None else {}),
            item_address(table.name, row.key),
            f"item {key_words(table, item)}",
        )
        for row, item in zip(shown.rows, items, strict=True)
    ]
    grid = Grid(f"Items of {table.name}", columns, rows, complete=complete, on_choose=on_choose)
    if len(shown.columns) > _COLUMNS:
        left = ", ".join(shown.columns[_COLUMNS:])
        tag("p", f"Further attributes, on the page of each item: {left}", "meta more-columns")
    return grid


def _columns(shown: ItemGrid) -> list[Column]:
    """The columns. Phones show the first ones, and states."""
    return [
        Column(str(number), name, right=_numbers(shown.rows, number), desk=number > 4 and not _states(shown.rows, number))
        for number, name in enumerate(shown.columns[:_COLUMNS])
    ]


def _cells(columns: Sequence[str], row: ItemRow, known: Mapping[str, Spec[Any]], links: Mapping[str, str]) -> dict[str, Cell]:
    drawn = {str(number): _drawn(cell, number, row.label) for number, cell in enumerate(row.cells[:_COLUMNS])}
    for number, name in enumerate(columns[:_COLUMNS]):
        if name not in links:
            continue
        text = shortened(row.cells[number].text)
        # The first text is the link to the item itself.
        drawn[str(number)] = link_cell(text, links[name]) if number else [text, link_cell(known[name].name, links[name])]
    return drawn


def _numbers(rows: Sequence[Any], number: int) -> bool:
    """Whether a column holds only numbers."""
    cells = [row.cells[number] for row in rows if row.cells[number].text]
    return bool(cells) and all(cell.look == "number" for cell in cells)


def _states(rows: Sequence[ItemRow], number: int) -> bool:
    """Whether a column holds states."""
    return any(row.cells[number].look == "state" for row in rows)


def _drawn(cell: ItemCell, number: int, label: str) -> Cell:
    if number == 0:
        # The first cell is the link to the item.
        return (shortened(cell.text, 60) if cell.look == "code" else cell.text) or label
    if not cell.text:
        return None
    if cell.look == "state":
        return tag_cell(cell.text)
    if cell.look == "time":
        return ago_cell(moment_of(cell.text))
    if cell.look == "code" and len(cell.text) == 36 and cell.text.count("-") == 4:
        return id_cell(cell.text)
    if cell.look == "code":
        return mono_cell(cell.title or cell.text)
    return meta_cell(cell.title or cell.text) if cell.look == "dim" else cell.text
