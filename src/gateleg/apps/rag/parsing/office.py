"""Parse office documents: DOCX with tables, PPTX with notes, and spreadsheets."""

from __future__ import annotations

import zipfile
from contextlib import contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.errors import DocumentTooLarge, EncryptedDocument, UnreadableDocument
from gateleg.apps.rag.parsing.document import reason_of
from gateleg.apps.rag.parsing.tabular import write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateleg.apps.rag.parsing.document import DocumentBuilder

#: Maximum uncompressed bytes of all parts of a document, and of one XML part.
_UNPACKED, _PART = 1_000_000_000, 200_000_000
#: The namespace of Word's elements, in lxml's notation.
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
#: Maximum nesting depth of tables and of grouped shapes.
_DEEPEST = 8


def check_archive(path: Path) -> None:
    """Refuse a zip bomb: an office document whose uncompressed size exceeds the limits."""
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = [entry.file_size for entry in archive.infolist()]
            texts = [entry.file_size for entry in archive.infolist() if entry.filename.endswith((".xml", ".rels"))]
            encrypted = any(entry.flag_bits & 1 for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UnreadableDocument(f"The file is a damaged archive: {reason_of(error)}.") from None
    if encrypted:
        raise EncryptedDocument("The file is protected by a password.")
    if sum(sizes) > _UNPACKED or max(texts, default=0) > _PART:
        raise DocumentTooLarge(f"The file unpacks to {sum(sizes):,} bytes; {_UNPACKED:,} are allowed, and {_PART:,} in one part.")


@contextmanager
def _reading() -> Iterator[None]:
    """Convert arbitrary exceptions of libraries that parse a damaged file to `UnreadableDocument`."""
    from gateleg.errors import GatelegError

    try:
        yield
    except (GatelegError, MemoryError):
        raise
    except Exception as error:
        raise UnreadableDocument(f"The file is damaged: {type(error).__name__}: {reason_of(error)}.") from None


def read_docx(path: Path, builder: DocumentBuilder) -> None:
    """Parse paragraphs, headings and tables, in order."""
    import docx

    check_archive(path)
    with _reading():
        document = docx.Document(str(path))
        builder.title = document.core_properties.title or None
        if document.core_properties.author:
            builder.properties["author"] = document.core_properties.author[:500]
        for block in _blocks(document.element.body, document):
            _write_block(block, builder)
        for note in _footnotes(document):
            builder.paragraph(note)


def _blocks(parent: Any, document: Any) -> Iterator[Any]:
    """The paragraphs and tables of a body, in order, including those in content controls such as cover pages and forms."""
    from docx.table import Table
    from docx.text.paragraph import Paragraph

    for element in parent:
        match element.tag.rpartition("}")[2] if isinstance(element.tag, str) else None:
            case "p":
                yield Paragraph(element, document)
            case "tbl":
                yield Table(element, document)
            case "sdt" | "sdtContent" | "customXml" | "ins" | "moveTo":
                yield from _blocks(element, document)


def _write_block(block: Any, builder: DocumentBuilder) -> None:
    if hasattr(block, "rows"):
        write_rows(_table_rows(block), builder)
        builder.add("\n")
        return
    text = _text(block._p)
    style = str(getattr(block.style, "name", None) or "")
    if style.startswith("Heading") and style[-1:].isdigit():
        builder.heading(int(style[-1]), text)
    elif style == "Title":
        builder.heading(1, text)
        builder.title = builder.title or text.strip() or None
    elif style.startswith("List"):
        builder.row(f"- {text}" if text.strip() else "")
    else:
        builder.paragraph(text)
    for box in block._p.iter(f"{_WORD}txbxContent"):
        if not _is_copy(box):
            builder.paragraph("\n".join(_text(paragraph) for paragraph in box.iter(f"{_WORD}p")))


def _text(paragraph: Any) -> str:
    """The text of a paragraph with all tracked changes accepted, without text boxes."""
    pieces = []
    for node in paragraph.iter(*(f"{_WORD}{name}" for name in ("t", "tab", "br", "cr", "noBreakHyphen"))):
        kind = node.tag.removeprefix(_WORD)
        above = [one for one in takewhile(lambda one: one is not paragraph, node.iterancestors()) if isinstance(one.tag, str)]
        hidden = any(one.tag.removeprefix(_WORD) in ("del", "moveFrom", "txbxContent", "tabs") for one in above)
        if not hidden:
            pieces.append({"tab": "\t", "noBreakHyphen": "-", "t": node.text or ""}.get(kind, "\n"))
    return "".join(pieces)


def _is_copy(box: Any) -> bool:
    """Whether a text box is the fallback copy for older programs."""
    return any(isinstance(one.tag, str) and one.tag.endswith("}Fallback") for one in box.iterancestors())


def _footnotes(document: Any) -> Iterator[str]:
    """Footnotes and endnotes, with their numbers."""
    from docx.oxml import parse_xml

    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if kind in ("footnotes", "endnotes") and not relation.is_external:
            for note in parse_xml(relation.target_part.blob):
                number = next((value for name, value in note.items() if name.endswith("}id")), "")
                text = " ".join(_text(paragraph) for paragraph in note.iter(f"{_WORD}p")).strip()
                if text:
                    yield f"{kind[:-1].capitalize()} {number}: {text}"


def _table_rows(table: Any) -> Iterator[list[str]]:
    for row in table.rows:
        cells = list(row.cells)
        # A merged cell is listed once for each column that it covers. Its text is kept only in the first column.
        again = [place > 0 and cell._tc is cells[place - 1]._tc for place, cell in enumerate(cells)]
        yield ["" if repeated else _cell_text(cell, 0) for cell, repeated in zip(cells, again, strict=True)]


def _cell_text(cell: Any, depth: int) -> str:
    """The text of a cell, including nested tables."""
    inner = [] if depth >= _DEEPEST else [_cell_text(one, depth + 1) for table in cell.tables for row in table.rows for one in row.cells]
    return " ".join([*(_text(one._p) for one in _blocks(cell._tc, cell) if not hasattr(one, "rows")), *inner])


def read_pptx(path: Path, builder: DocumentBuilder) -> None:
    """Parse slides as pages: title, texts and tables, then the notes."""
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
    """Parse sheets as pages, each with its name as heading. Rows name their columns."""
    import python_calamine

    if zipped:
        check_archive(path)
    try:
        book = python_calamine.CalamineWorkbook.from_path(path)
    except python_calamine.PasswordError:
        raise EncryptedDocument("The spreadsheet is protected by a password.") from None
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise UnreadableDocument(f"The spreadsheet is damaged: {reason_of(error)}.") from None
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
    """Format a cell, with whole numbers without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)
