"""Reads the rows of a spreadsheet: XLSX, XLS, ODS, or CSV with commas, semicolons or tabs."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

from gateleg.apps.delphi.conversations.csv_reader import open_text, records
from gateleg.apps.delphi.errors import UnreadableFile

if TYPE_CHECKING:
    from pathlib import Path

#: The first bytes of XLS files, and a part that newer workbooks contain.
_OLD = bytes.fromhex("d0cf11e0a1b11ae1")
_PARTS = {"xl/workbook.xml", "xl/workbook.bin", "content.xml"}


def is_workbook(path: Path) -> bool:
    """Whether a file is a workbook rather than text, judged by its content."""
    with path.open("rb") as file:
        if file.read(len(_OLD)) == _OLD:
            return True
    if not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return not _PARTS.isdisjoint(archive.namelist())
    except (zipfile.BadZipFile, OSError):
        return False


def sheet_rows(path: Path) -> list[tuple[int, list[str]]]:
    """The rows that are not empty, each with its line number. Of a workbook, the first sheet that is not empty is read."""
    try:
        workbook = is_workbook(path)
    except OSError as error:
        raise UnreadableFile(f"{path.name} cannot be opened: {error.strerror}.", fix="Check its path and permissions.") from None
    if workbook:
        return _workbook_rows(path)
    with open_text(path) as file:
        return [(line, row) for line, row in records(file, path.name) if any(cell.strip() for cell in row)]


def _workbook_rows(path: Path) -> list[tuple[int, list[str]]]:
    import python_calamine

    save = "Save it as XLSX without a password, or as CSV; nothing was loaded."
    try:
        book = python_calamine.CalamineWorkbook.from_path(path)
        for name in book.sheet_names:
            rows = [[_cell_text(cell) for cell in row] for row in book.get_sheet_by_name(name).to_python(skip_empty_area=False)]
            if found := [(line, row) for line, row in enumerate(rows, 1) if any(cell.strip() for cell in row)]:
                return found
    except python_calamine.PasswordError:
        raise UnreadableFile(f"{path.name} is protected by a password.", fix=save) from None
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise UnreadableFile(f"{path.name} is a broken workbook: {error}.", fix=save) from None
    raise UnreadableFile(f"{path.name} has no rows.", fix="Use one row per person and one column per statement.")


def _cell_text(value: object) -> str:
    """The text of a cell, with whole numbers without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)
