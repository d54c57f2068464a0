"""Workbooks as spreadsheet programs save them, as small as can be."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/xl/workbook.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/worksheets/sheet1.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{0}</Relationships>'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def write_xlsx(path: Path, rows: Sequence[Sequence[str | int | None]]) -> Path:
    """A workbook with one sheet."""
    lines = "".join(
        f'<row r="{number}">{"".join(_cell(value, number, place) for place, value in enumerate(row))}</row>'
        for number, row in enumerate(rows, 1)
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr(
            "_rels/.rels", _RELATIONS.format(f'<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>')
        )
        sheets = '<sheets><sheet name="Answers" sheetId="1" r:id="r1"/></sheets>'
        archive.writestr("xl/workbook.xml", f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">{sheets}</workbook>')
        sheet = f'<Relationship Id="r1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        archive.writestr("xl/_rels/workbook.xml.rels", _RELATIONS.format(sheet))
        archive.writestr("xl/worksheets/sheet1.xml", f'<worksheet xmlns="{_MAIN}"><sheetData>{lines}</sheetData></worksheet>')
    return path


def _cell(value: str | int | None, row: int, column: int) -> str:
    place = f"{chr(ord('A') + column)}{row}"
    if value is None:
        return ""
    if isinstance(value, int):
        return f'<c r="{place}"><v>{value}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
