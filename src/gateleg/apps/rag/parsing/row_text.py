"""Table rows as text. Each row names its columns, so that it can be found, quoted and understood without the table's header. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def row_lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Convert rows to `Column: value; Column: value` below a header row; without a header, join the cells by bars.

    Rows with one cell above the header are titles. After an empty row, a row that fills other columns is the header of the next table, and
    a row that fills less than half of the columns is not part of the table.
    """
    titles: list[str] = []
    begins = True
    for cells in rows:
        values = [" ".join(cell.split()) for cell in cells]
        filled = _filled(values)
        if not filled:
            begins = True
            yield ""
        elif begins and _names_columns(values) and filled != _filled(titles):
            titles, begins = values, False
            yield " | ".join(values)
        elif titles and not (begins and 2 * len(filled) < len(_filled(titles))):
            begins = False
            yield "; ".join(f"{title}: {value}" if title else value for title, value in _paired(titles, values) if value)
        else:
            begins = begins and len(filled) == 1
            yield " | ".join(value for value in values if value)


def _filled(values: Sequence[str]) -> set[int]:
    return {place for place, value in enumerate(values) if value}


def _names_columns(values: Sequence[str]) -> bool:
    filled = [value for value in values if value]
    return len(filled) >= 2 and len(set(filled)) == len(filled) and not any(_is_number(value) or len(value) > 60 for value in filled)


def _is_number(value: str) -> bool:
    return value.replace(".", "").replace(",", "").replace("-", "").replace("%", "").strip().isdigit()


def _paired(titles: Sequence[str], values: Sequence[str]) -> Iterator[tuple[str, str]]:
    for place, value in enumerate(values):
        yield (titles[place] if place < len(titles) else ""), value
