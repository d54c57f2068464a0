"""Rows of a table as text: each names its columns, so that it can be found, quoted and understood without the top of its table. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def row_lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """`Column: value; Column: value` for each row below the first, where the first has names; else its cells with bars between them."""
    titles: list[str] | None = None
    for number, cells in enumerate(rows):
        values = [" ".join(cell.split()) for cell in cells]
        if number == 0 and _names_columns(values):
            titles = values
            yield " | ".join(values)
        elif titles is not None:
            yield "; ".join(f"{title}: {value}" if title else value for title, value in _paired(titles, values) if value)
        else:
            yield " | ".join(value for value in values if value)


def _names_columns(values: Sequence[str]) -> bool:
    filled = [value for value in values if value]
    return len(filled) >= 2 and len(set(filled)) == len(filled) and not any(_is_number(value) or len(value) > 60 for value in filled)


def _is_number(value: str) -> bool:
    return value.replace(".", "").replace(",", "").replace("-", "").replace("%", "").strip().isdigit()


def _paired(titles: Sequence[str], values: Sequence[str]) -> Iterator[tuple[str, str]]:
    for place, value in enumerate(values):
        yield (titles[place] if place < len(titles) else ""), value
