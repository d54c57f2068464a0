"""The result of a parser: the text of a file, with the positions of its pages, lines and headings. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import asdict, dataclass, field
from typing import Any

from gateleg.apps.rag.chunking import Heading
from gateleg.apps.rag.errors import DocumentTooLarge

#: Maximum boxes of a chunk, because an item's size is limited.
_MOST_BOXES = 300


@dataclass(frozen=True, slots=True)
class Page:
    """A page, slide or sheet: its range [start, end) in the text."""

    #: counted from 1
    number: int
    start: int
    end: int
    #: in points
    width: float = 0.0
    height: float = 0.0
    #: the confidence of OCR, 0 to 1; None for a page with embedded text
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page: its range in the text, and its box in points from the top left corner."""

    start: int
    end: int
    page: int
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The text of a file, with its structure and properties."""

    text: str
    #: detected from the content
    content_type: str
    pages: tuple[Page, ...] = ()
    lines: tuple[Line, ...] = ()
    headings: tuple[Heading, ...] = ()
    title: str | None = None
    #: ISO 639-1; None if it could not be detected
    language: str | None = None
    #: parts that were skipped, as messages for users
    warnings: tuple[str, ...] = ()
    #: metadata of the file: author, date, sender
    properties: dict[str, str] = field(default_factory=dict)

    def page_of(self, position: int) -> int | None:
        """The number of the page that contains a character; None for a document without pages."""
        place = bisect_right(self.pages, position, key=lambda page: page.start)
        return self.pages[max(0, place - 1)].number if self.pages else None

    def page_starts_of(self, start: int, end: int) -> list[list[int]] | None:
        """`[page, start]` of each page that begins within the range, except empty pages; None if there is none."""
        first = bisect_right(self.pages, start, key=lambda page: page.start)
        last = bisect_left(self.pages, end, key=lambda page: page.start)
        return [[page.number, page.start] for page in self.pages[first:last] if page.end > page.start] or None

    def boxes_of(self, start: int, end: int) -> list[list[float]] | None:
        """The boxes `[page, left, top, right, bottom]` of the lines in the range; None if there are none."""
        first = bisect_right(self.lines, start, key=lambda line: line.end)
        last = bisect_left(self.lines, end, key=lambda line: line.start)
        found = [[float(one.page), one.left, one.top, one.right, one.bottom] for one in self.lines[first:last][:_MOST_BOXES]]
        return found or None

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON for `from_json`. Lines and headings are lists, to save space."""
        small = {name: getattr(self, name) for name in ("text", "content_type", "title", "language", "properties")}
        return small | {
            "warnings": list(self.warnings),
            "pages": [asdict(page) for page in self.pages],
            "lines": [[one.start, one.end, one.page, one.left, one.top, one.right, one.bottom] for one in self.lines],
            "headings": [[one.start, one.level, one.title] for one in self.headings],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ParsedDocument:
        """Read the output of `to_json`."""
        return cls(
            **value
            | {
                "warnings": tuple(value["warnings"]),
                "pages": tuple(Page(**page) for page in value["pages"]),
                "lines": tuple(Line(*one) for one in value["lines"]),
                "headings": tuple(Heading(*one) for one in value["headings"]),
            }
        )


@dataclass(frozen=True, slots=True)
class ParseBounds:
    """The limits for parsing a document."""

    seconds: float = 120.0
    memory: int = 1_500_000_000
    pages: int = 5_000
    characters: int = 20_000_000
    #: whether scanned pages and images are read by OCR
    ocr: bool = True


class DocumentBuilder:
    """Builds a document from paragraphs, headings and pages in order."""

    def __init__(self, content_type: str, bounds: ParseBounds) -> None:
        self.content_type = content_type
        self.bounds = bounds
        self.title: str | None = None
        self.language: str | None = None
        self.properties: dict[str, str] = {}
        self.warnings: list[str] = []
        self._parts: list[str] = []
        self._length = 0
        self._pages: list[Page] = []
        self._lines: list[Line] = []
        self._headings: list[Heading] = []

    @property
    def length(self) -> int:
        """The number of characters so far."""
        return self._length

    def add(self, text: str) -> int:
        """Append text unchanged, and return its start."""
        start = self._length
        self._parts.append(text)
        self._length += len(text)
        if self._length > self.bounds.characters:
            raise DocumentTooLarge(f"The document has more than {self.bounds.characters:,} characters of text.")
        return start

    def paragraph(self, text: str) -> None:
        """Append a paragraph, unless it is empty."""
        text = clean(text).strip()
        if text:
            self.add(f"{text}\n\n")

    def row(self, text: str) -> None:
        """Append a line, unless it is empty."""
        text = clean(text).strip()
        if text:
            self.add(f"{text}\n")

    def heading(self, level: int, title: str) -> None:
        """Append a heading to the text and record it."""
        words = " ".join(clean(title).split())
        if words:
            self._headings.append(Heading(self._length, max(1, min(6, level)), words[:200]))
            self.add(f"{words}\n\n")

    def mark_heading(self, start: int, level: int, title: str) -> None:
        """Record a heading within text that was or will be added."""
        self._headings.append(Heading(start, level, title))

    def line(self, line: Line) -> None:
        """Record the box of a line that was added."""
        self._lines.append(line)

    def begin_page(self, number: int, width: float = 0.0, height: float = 0.0) -> None:
        if number > self.bounds.pages:
            raise DocumentTooLarge(f"The document has more than {self.bounds.pages:,} pages.")
        self._pages.append(Page(number, self._length, self._length, width, height))

    def end_page(self, confidence: float | None = None) -> None:
        """End the page. For a scan, `confidence` is that of OCR."""
        page = self._pages[-1]
        self._pages[-1] = Page(page.number, page.start, self._length, page.width, page.height, confidence)

    def warn(self, message: str) -> None:
        """Record a skipped part. Only the first hundred warnings are kept."""
        if len(self.warnings) < 100:
            self.warnings.append(message)

    def finish(self) -> ParsedDocument:
        from gateleg.apps.rag.parsing.language import guess_language

        text = "".join(self._parts)
        first = self._headings[0].title if self._headings else None
        return ParsedDocument(
            text,
            self.content_type,
            tuple(self._pages),
            tuple(self._lines),
            tuple(self._headings),
            (self.title or first or "").strip()[:300] or None,
            self.language or guess_language(text),
            tuple(self.warnings),
            self.properties,
        )


def reason_of(error: BaseException, most: int = 200) -> str:
    """The error message of a library, formatted as the end of a sentence."""
    return " ".join(str(error).split())[:most].rstrip(" .") or type(error).__name__


#: Replacements of ligatures by letters, and invisible characters to remove.
_REPLACED = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\xa0": " ", "\xad": None, "\0": None}
    | dict.fromkeys("\u200b\u200c\u2060\ufeff\x02\ufffe\uffff")
)


def clean(text: str) -> str:
    """Replace ligatures, remove invisible characters, and replace lone surrogates, which cannot be stored."""
    return text.translate(_REPLACED).replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()
