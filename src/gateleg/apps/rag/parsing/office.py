"""Office documents: DOCX with its tables, PPTX with its notes, and spreadsheets."""

from __future__ import annotations

import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.errors import DocumentTooLarge, EncryptedDocument, UnreadableDocument
from gateleg.apps.rag.parsing.document import reason_of
from gateleg.apps.rag.parsing.tabular import write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateleg.apps.rag.parsing.document import DocumentBuilder

#: Bytes that all parts of a document may unpack to, and one of its texts.
_UNPACKED, _PART = 1_000_000_000, 200_000_000
#: How deep tables lie in tables, and shapes in groups.
_DEEPEST = 8


def check_archive(path: Path) -> None:
    """Refuse an office document that unpacks to more than any person writes, before it is unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = [entry.file_size for entry in archive.infolist()]
            texts = [entry.file_size for entry in archive.infolist() if entry.filename.endswith((".xml", ".rels"))]
            encrypted = any(entry.flag_bits & 1 for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UnreadableDocument(f"The file is a damaged archive: {reason_of(error)}.") from None
    if encrypted:
        raise EncryptedDocument("The file can only be opened with a password.")
    if sum(sizes) > _UNPACKED or max(texts, default=0) > _PART:
        raise DocumentTooLarge("Unpacked, the file is larger than documents are.")


@contextmanager
def _reading() -> Iterator[None]:
    """Errors of libraries that meet a broken file as one error. They raise whatever they stumble over."""
    from gateleg.errors import GatelegError

    try:
        yield
    except (GatelegError, MemoryError):
        raise
    except Exception as error:
        raise UnreadableDocument(f"The file is broken: {type(error).__name__}: {reason_of(error)}.") from None


def read_docx(path: Path, builder: DocumentBuilder) -> None:
    """Paragraphs, headings and tables in their order."""
    import docx

    check_archive(path)
    with _reading():
        document = docx.Document(str(path))
        builder.title = document.core_properties.title or None
        if document.core_properties.author:
            builder.properties["author"] = document.core_properties.author[:500]
        for block in document.iter_inner_content():
            _write_block(block, builder, 0)


def _write_block(block: Any, builder: DocumentBuilder, depth: int) -> None:
    if hasattr(block, "rows"):
        if depth < _DEEPEST:
            write_rows(_table_rows(block), builder)
            builder.add("\n")
        return
    style = str(getattr(block.style, "name", None) or "")
    if style.startswith("Heading") and style[-1:].isdigit():
        builder.heading(int(style[-1]), block.text)
    elif style == "Title":
        builder.heading(1, block.text)
        builder.title = builder.title or block.text.strip() or None
    elif style.startswith("List"):
        builder.row(f"- {block.text}" if block.text.strip() else "")
    else:
        builder.paragraph(block.text)


def _table_rows(table: Any) -> Iterator[list[str]]:
    for row in table.rows:
        cells: list[Any] = []
        for cell in row.cells:
            # A merged cell is listed once for each column that it covers.
            if not cells or cell._tc is not cells[-1]._tc:
                cells.append(cell)
        yield [_cell_text(cell, 0) for cell in cells]


def _cell_text(cell: Any, depth: int) -> str:
    """The text of a cell, with that of tables within it."""
    inner = [] if depth >= _DEEPEST else [_cell_text(one, depth + 1) for table in cell.tables for row in table.rows for one in row.cells]
    return " ".join([cell.text, *inner])


def read_pptx(path: Path, builder: DocumentBuilder) -> None:
    """Slides as pages: title, texts and tables, then the notes."""
    import pptx

    check_archive(path)
    with _reading():
        deck = pptx.Presentation(str(path))
        builder.title = deck.core_properties.title or None
        width, height = (side / 12_700 for side in (deck.slide_width or 0, deck.slide_height or 0))
        for number, slide in enumerate(deck.slides, start=1):
            builder.begin_page(number, width, height)
            title = slide.shapes.title
            if title is not None and title.text_frame.text.strip():
                builder.heading(1, title.text_frame.text)
            for shape in slide.shapes:
                if title is None or shape.shape_id != title.shape_id:
                    _write_shape(shape, builder, 0)
            if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
                notes = slide.notes_slide.notes_text_frame.text.strip()
                builder.paragraph(f"Notes: {notes}" if notes else "")
            builder.end_page()


def _write_shape(shape: Any, builder: DocumentBuilder, depth: int) -> None:
    if getattr(shape, "has_table", False) and shape.has_table:
        write_rows(([cell.text for cell in row.cells] for row in shape.table.rows), builder)
        builder.add("\n")
    elif shape.has_text_frame:
        builder.paragraph("\n".join(line.text for line in shape.text_frame.paragraphs))
    elif hasattr(shape, "shapes") and depth < _DEEPEST:
        for inner in shape.shapes:
            _write_shape(inner, builder, depth + 1)


def read_sheets(path: Path, builder: DocumentBuilder, *, zipped: bool = True) -> None:
    """Sheets as pages, each with its name as heading. Rows name their columns."""
    import python_calamine

    if zipped:
        check_archive(path)
    try:
        book = python_calamine.CalamineWorkbook.from_path(path)
    except python_calamine.PasswordError:
        raise EncryptedDocument("The spreadsheet can only be opened with a password.") from None
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise UnreadableDocument(f"The spreadsheet is broken: {reason_of(error)}.") from None
    with _reading():
        for number, name in enumerate(book.sheet_names, start=1):
            builder.begin_page(number)
            rows = book.get_sheet_by_name(name).to_python(skip_empty_area=True)
            if rows:
                builder.heading(1, name)
                write_rows(([_shown(cell) for cell in row] for row in rows), builder)
                builder.add("\n")
            builder.end_page()


def _shown(value: Any) -> str:
    """A cell as a person sees it: whole numbers without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)
