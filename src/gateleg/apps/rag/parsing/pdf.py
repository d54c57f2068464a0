"""Parse PDF: the text of each page, with the boxes of its lines. Scanned pages are read by OCR (`scans`)."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.errors import DocumentTooLarge, EncryptedDocument, UnreadableDocument
from gateleg.apps.rag.parsing.document import Line, clean, reason_of

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.apps.rag.parsing.document import DocumentBuilder

#: A page with fewer letters than this is treated as a scan.
_FEW = 10
#: The share of the time limit after which no further page is read by OCR.
_OCR_SHARE = 0.7
#: Device units per point, for boxes with two decimals.
_UNITS = 100
#: Characters with which pdfium marks a word that is hyphenated at the end of a line.
_HYPHENS = ("\x02", "\ufffe", "\xad")


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float


def read_pdf(path: Path, builder: DocumentBuilder, started: float | None = None) -> None:
    """Parse the pages of a PDF. `started` is the start time of parsing, by `time.monotonic`."""
    import pypdfium2

    started = time.monotonic() if started is None else started
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise EncryptedDocument("The PDF is protected by a password.") from None
        raise UnreadableDocument(f"The PDF is damaged: {reason_of(error)}.") from None
    with document:
        count = len(document)
        if count > builder.bounds.pages:
            raise DocumentTooLarge(f"The PDF has {count:,} pages; {builder.bounds.pages:,} are allowed.")
        facts = document.get_metadata_dict(skip_empty=True)
        builder.title = clean(facts.get("Title", "")).strip() or None
        builder.properties |= {name.lower(): facts[name][:500] for name in ("Author", "Subject", "CreationDate") if name in facts}
        reader = _PageReader(builder, started + builder.bounds.seconds * _OCR_SHARE)
        for number in range(1, count + 1):
            try:
                page = document[number - 1]
            except pypdfium2.PdfiumError:
                builder.warn(f"Page {number} is damaged and was skipped.")
                continue
            reader.read(page, number)
            page.close()
        reader.close()


class _PageReader:
    """Reads pages one after the other, and keeps the OCR engine open."""

    def __init__(self, builder: DocumentBuilder, ocr_until: float) -> None:
        self.builder = builder
        self.ocr_until = ocr_until
        self._scanner: Any = None

    def read(self, page: Any, number: int) -> None:
        width, height = page.get_size()
        self.builder.begin_page(number, round(width, 2), round(height, 2))
        confidence = None
        text = page.get_textpage()
        lines = _lines(page, text)
        text.close()
        if sum(letter.isalnum() for line, _ in lines for letter in line) < _FEW and _has_pictures(page):
            seen = self._scan(page, number)
            if seen is not None:
                lines, confidence = seen
        self._write(lines, number)
        self.builder.end_page(confidence)

    def close(self) -> None:
        if self._scanner is not None:
            self._scanner.close()

    def _scan(self, page: Any, number: int) -> tuple[list[tuple[str, _Box | None]], float] | None:
        from gateleg.apps.rag.parsing.scans import Scanner, render_scale

        if not self.builder.bounds.ocr:
            self.builder.warn(f"Page {number} is an image and was skipped: OCR is switched off.")
            return None
        if time.monotonic() > self.ocr_until:
            self.builder.warn(f"Page {number} is an image and was skipped: the time limit for the document was reached.")
            return None
        if self._scanner is None:
            self._scanner = Scanner()
        scale = render_scale(*page.get_size())
        image = page.render(scale=scale, grayscale=True).to_pil()
        scan = self._scanner.read(image, max(0.1, self.ocr_until - time.monotonic()))
        if not scan.complete:
            self.builder.warn(f"Page {number} is an image and was read only in part: the time limit for the document was reached.")
        lines = [(line.text, _Box(*(round(side / scale, 2) for side in line.box))) for line in scan.lines]
        return list(lines), scan.confidence

    def _write(self, lines: list[tuple[str, _Box | None]], number: int) -> None:
        """Write the lines of a page, with an empty line between paragraphs."""
        builder = self.builder
        before: _Box | None = None
        divided = False
        for text, box in lines:
            plain = clean(text).strip()
            if not plain:
                continue
            if before is not None and not divided:
                builder.add("\n\n" if box is not None and _is_apart(before, box) else "\n")
            start = builder.add(plain)
            if box is not None:
                builder.line(Line(start, builder.length, number, box.left, box.top, box.right, box.bottom))
            before, divided = box or before, text.rstrip().endswith(_HYPHENS)
        builder.add("\n\n")


def _is_apart(before: _Box, box: _Box) -> bool:
    """Whether a line begins a paragraph: it has more space above it than usual, or is in another column."""
    height = max(box.bottom - box.top, before.bottom - before.top, 1.0)
    return box.top - before.bottom > 0.8 * height or box.top < before.top - height


def _lines(page: Any, text: Any) -> list[tuple[str, _Box | None]]:
    """The lines of a page with their boxes."""
    count = text.count_chars()
    letters = _letters(text, count)
    found: list[tuple[str, _Box | None]] = []
    start = 0
    for place in range(count + 1):
        if place < count and letters[place] not in "\r\n":
            continue
        if place > start:
            found.append(("".join(letters[start:place]), _box(page, text, start, place - start)))
        start = place + 1
    return found


def _letters(text: Any, count: int) -> list[str]:
    """One string for each character that pdfium counts; the whole text may have a different length."""
    from pypdfium2 import raw

    whole = text.get_text_range(0, count) if count else ""
    if len(whole) == count:
        return list(whole)
    return [chr(code) if (code := raw.FPDFText_GetUnicode(text, place)) < 0x110000 else "" for place in range(count)]


def _box(page: Any, text: Any, start: int, count: int) -> _Box | None:
    """The bounding box of a range of characters, in points from the top left corner of the displayed page."""
    rects = [text.get_rect(place) for place in range(text.count_rects(start, count))]
    if not rects:
        return None
    corners = [_shown(page, x, y) for left, bottom, right, top in rects for x, y in ((left, bottom), (right, top))]
    across, down = [x for x, _ in corners], [y for _, y in corners]
    return _Box(min(across), min(down), max(across), max(down))


def _shown(page: Any, x: float, y: float) -> tuple[float, float]:
    """Convert page coordinates to those of the displayed page, with its rotation and crop box."""
    from pypdfium2 import raw

    across, down = ctypes.c_int(), ctypes.c_int()
    width, height = (int(side * _UNITS) for side in page.get_size())
    raw.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, across, down)
    return across.value / _UNITS, down.value / _UNITS


def _has_pictures(page: Any) -> bool:
    from pypdfium2 import raw

    return any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_PATH], max_depth=3))
