"""What a parser makes of a file: its text, with the places of pages, lines and headings in it. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import asdict, dataclass, field
from typing import Any

from gateleg.apps.rag.chunking import Heading
from gateleg.apps.rag.errors import DocumentTooLarge

#: Boxes of one chunk, which an item has room for.
_MOST_BOXES = 300


@dataclass(frozen=True, slots=True)
class Page:
    """A page, slide or sheet: the characters [start, end) of the text."""

    #: counted from 1
    number: int
    start: int
    end: int
    #: points
    width: float = 0.0
    height: float = 0.0
    #: how sure the reader of a scanned page was, 0 to 1; None for a page that has text of its own
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page, and its box in points from the top left corner."""

    start: int
    end: int
    page: int
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The text of a file, and what is known of it."""

    text: str
    #: what its content is, whatever it is called
    content_type: str
    pages: tuple[Page, ...] = ()
    lines: tuple[Line, ...] = ()
    headings: tuple[Heading, ...] = ()
    title: str | None = None
    #: ISO 639-1; None where too few words give it away
    language: str | None = None
    #: what was left out or could not be read, for people
    warnings: tuple[str, ...] = ()
    #: what the file says of itself: author, date, sender
    properties: dict[str, str] = field(default_factory=dict)

    def page_of(self, position: int) -> int | None:
        """The number of the page that a character lies on; None for a document without pages."""
        place = bisect_right(self.pages, position, key=lambda page: page.start)
        return self.pages[max(0, place - 1)].number if self.pages else None

    def page_starts_of(self, start: int, end: int) -> list[list[int]] | None:
        """`[page, start]` of the pages that begin within some characters and have any of them; None where none does."""
        first = bisect_right(self.pages, start, key=lambda page: page.start)
        last = bisect_left(self.pages, end, key=lambda page: page.start)
        return [[page.number, page.start] for page in self.pages[first:last] if page.end > page.start] or None

    def boxes_of(self, start: int, end: int) -> list[list[float]] | None:
        """The boxes `[page, left, top, right, bottom]` of the lines that some characters lie on; None where lines have no places."""
        first = bisect_right(self.lines, start, key=lambda line: line.end)
        last = bisect_left(self.lines, end, key=lambda line: line.start)
        found = [[float(one.page), one.left, one.top, one.right, one.bottom] for one in self.lines[first:last][:_MOST_BOXES]]
        return found or None

    def to_json(self) -> dict[str, Any]:
        """As JSON, which another process reads with `from_json`. Lines and headings are lists, as there may be very many."""
        small = {name: getattr(self, name) for name in ("text", "content_type", "title", "language", "properties")}
        return small | {
            "warnings": list(self.warnings),
            "pages": [asdict(page) for page in self.pages],
            "lines": [[one.start, one.end, one.page, one.left, one.top, one.right, one.bottom] for one in self.lines],
            "headings": [[one.start, one.level, one.title] for one in self.headings],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ParsedDocument:
        """What `to_json` wrote."""
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
    """What a document may hold, and what reading it may cost."""

    seconds: float = 120.0
    memory: int = 1_500_000_000
    pages: int = 5_000
    characters: int = 20_000_000
    #: whether pages that are pictures are read
    ocr: bool = True


class DocumentBuilder:
    """A document in the making: paragraphs, headings and pages in order."""

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
        """How many characters there are by now."""
        return self._length

    def add(self, text: str) -> int:
        """Append text as it is; where it begins."""
        start = self._length
        self._parts.append(text)
        self._length += len(text)
        if self._length > self.bounds.characters:
            raise DocumentTooLarge(f"The document has more than {self.bounds.characters:,} characters of text.")
        return start

    def paragraph(self, text: str) -> None:
        """Append a paragraph; an empty one is left out."""
        text = clean(text).strip()
        if text:
            self.add(f"{text}\n\n")

    def row(self, text: str) -> None:
        """Append a line; an empty one is left out."""
        text = clean(text).strip()
        if text:
            self.add(f"{text}\n")

    def heading(self, level: int, title: str) -> None:
        """Append a heading, which stands in the text as well."""
        words = " ".join(clean(title).split())
        if words:
            self._headings.append(Heading(self._length, max(1, min(6, level)), words[:200]))
            self.add(f"{words}\n\n")

    def mark_heading(self, start: int, level: int, title: str) -> None:
        """Say that there is a heading in what was added."""
        self._headings.append(Heading(start, level, title))

    def line(self, line: Line) -> None:
        """Say where a line that was added lies on its page."""
        self._lines.append(line)

    def begin_page(self, number: int, width: float = 0.0, height: float = 0.0) -> None:
        """Begin a page, which ends where the next one begins."""
        if number > self.bounds.pages:
            raise DocumentTooLarge(f"The document has more than {self.bounds.pages:,} pages.")
        self._pages.append(Page(number, self._length, self._length, width, height))

    def end_page(self, confidence: float | None = None) -> None:
        """End the page; with how sure its reader was, if it is a scan."""
        page = self._pages[-1]
        self._pages[-1] = Page(page.number, page.start, self._length, page.width, page.height, confidence)

    def warn(self, message: str) -> None:
        """Note what was left out. The first hundred notes are kept."""
        if len(self.warnings) < 100:
            self.warnings.append(message)

    def finish(self) -> ParsedDocument:
        """The document."""
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
    """What a library says about a broken file, as the end of a sentence of ours."""
    return " ".join(str(error).split())[:most].rstrip(" .") or type(error).__name__


#: Ligatures are letters to a search; what is invisible is nothing.
_REPLACED = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\xa0": " ", "\xad": None, "\0": None}
    | dict.fromkeys("\u200b\u200c\u2060\ufeff\x02\ufffe\uffff")
)


def clean(text: str) -> str:
    """Text without invisible characters, with letters in place of ligatures, and without halves of characters that cannot be stored."""
    return text.translate(_REPLACED).replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()
