"""What of a passage may answer: sentences, rows of tables, and other lines, each with the headings that it stands below. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from gateleg.apps.rag.answering.injection import speaks_to_a_model
from gateleg.apps.rag.chunking.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gateleg.apps.rag.searching.results import SearchHit

_SHORTEST, _LONGEST, _FEWEST_WORDS = 20, 600, 4
#: The part of a sentence that is letters, digits and spaces, and the length from which it needs no full stop.
_LETTERS, _SPEAKS_FOR_ITSELF = 0.8, 80
_NOT_PROSE = ("#", "|", "```", "from ", "import ", "def ", "class ", "{", "<")
#: The mark of an item of a list.
_MARKER = re.compile(r"\s*(?:[-*•+]|\d{1,3}[.)](?=\s))?\s*")
_ENDS = (".", "!", "?", "…", "。", "！", "？")
#: `Column: value; Column: value`, as tables are written, and `name: value`.
_CELL = r"[^:;|\n]{1,60}: [^\n;]+"
_ROW = re.compile(rf"{_CELL}(?:; {_CELL})+")
_PAIR = re.compile(r"[\w .\[\]()/%-]{1,60}: \S[^\n]*")
_MARKDOWN_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.+?)\s*#*$")
_LONGEST_HEADING = 80

Kind = Literal["sentence", "row", "line"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence, row or line of a hit."""

    #: the number of the hit, from 1
    number: int
    text: str
    #: of the document's extracted text
    start: int
    end: int
    page: int | None = None
    kind: Kind = "sentence"
    #: the document's name, and the headings above
    context: str = ""
    #: the sentences before it in its paragraph, two at most
    before: str = ""
    document_id: str = ""


def candidates_of(hits: Sequence[SearchHit]) -> list[Candidate]:
    """What may answer, of all hits, in order. Instructions to a model are left out."""
    return [one for number, hit in enumerate(hits, 1) for one in _Passage(number, hit).candidates() if not speaks_to_a_model(one.text)]


def context_of(hit: SearchHit) -> str:
    """The name of a hit's document, and the headings above it."""
    return " > ".join(filter(None, (_plain_name(hit), hit.heading)))


def _plain_name(hit: SearchHit) -> str:
    return re.sub(r"[_-]+", " ", PurePosixPath(hit.document_name).stem)


class _Passage:
    """A hit, walked through block by block."""

    def __init__(self, number: int, hit: SearchHit) -> None:
        self.number = number
        self.hit = hit
        self.name = _plain_name(hit)
        self.path = hit.heading.split(" > ") if hit.heading else []

    def candidates(self) -> Iterator[Candidate]:
        for start, end in _blocks(self.hit.text):
            block = self.hit.text[start:end]
            if self._enter_heading(block):
                continue
            if _is_record(block):
                yield self._candidate(start, end, "; ".join(line.strip() for line in block.strip().splitlines()), "row")
                continue
            yield from self._of_block(start, end)

    def _enter_heading(self, block: str) -> bool:
        """Whether a block is a heading; the headings above what follows are then others."""
        line = block.strip()
        if "\n" in line:
            return False
        marked = _MARKDOWN_HEADING.match(line)
        if marked is not None:
            self.path = [*self.path[: len(marked[1]) - 1], marked[2]]
            return True
        if self.hit.heading and line in self.hit.heading.split(" > "):
            return True
        plain = len(line) <= _LONGEST_HEADING and line[:1].isupper() and not line.endswith((*_ENDS, ":", ";", ",")) and ":" not in line
        if plain and not any(letter.isdigit() for letter in line) and len(line.split()) <= _FEWEST_WORDS:
            self.path = [*self.path[:1], line]
            return True
        return False

    def _of_block(self, start: int, end: int) -> Iterator[Candidate]:
        """The rows of a block, and the sentences of what lies between them."""
        text = self.hit.text
        first = place = start
        for line in text[start:end].splitlines(keepends=True):
            if _ROW.fullmatch(line.strip()):
                yield from self._of_prose(first, place)
                yield self._candidate(place, place + len(line), " ".join(line.split()), "row")
                first = place + len(line)
            place += len(line)
        yield from self._of_prose(first, end)

    def _of_prose(self, start: int, end: int) -> Iterator[Candidate]:
        before: list[str] = []
        for first, last in sentences(self.hit.text, start, end):
            text = self.hit.text[first:last]
            bare = " ".join(text[_marker(text) :].split())
            if is_prose(bare) and not _is_list_of_lines(text):
                yield self._candidate(first, last, bare, "sentence", " ".join(before[-2:]))
            else:
                yield from self._of_lines(first, last)
            before.append(bare)

    def _of_lines(self, start: int, end: int) -> Iterator[Candidate]:
        """Lines without full stops, as on signs, forms and scanned pages."""
        place = start
        lines = self.hit.text[start:end].splitlines(keepends=True)
        for line in lines:
            bare = " ".join(line[_marker(line) :].split())
            if _is_line(bare):
                others = " ".join(" ".join(other.split()) for other in lines[:2] if other is not line)
                yield self._candidate(place, place + len(line), bare, "line", others[:200])
            place += len(line)

    def _candidate(self, start: int, end: int, text: str, kind: Kind, before: str = "") -> Candidate:
        raw = self.hit.text[start:end]
        begin = start + (_marker(raw) if kind != "row" else len(raw) - len(raw.lstrip()))
        place = self.hit.start + begin
        return Candidate(
            self.number,
            text,
            place,
            self.hit.start + start + len(raw.rstrip()),
            self.hit.page_at(place),
            kind,
            " > ".join([self.name, *self.path]),
            before,
            self.hit.document_id,
        )


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Ranges between empty lines; a Markdown heading is a block of its own."""
    place = first = 0
    for line in text.splitlines(keepends=True):
        following = place + len(line)
        alone = _MARKDOWN_HEADING.match(line.rstrip()) is not None
        if alone or not line.strip():
            if first < place:
                yield first, place
            if alone:
                yield place, following
            first = following
        place = following
    if first < len(text):
        yield first, len(text)


def _is_record(block: str) -> bool:
    """Whether a block is an entry of some data: several lines, each of which names its value."""
    lines = block.strip().splitlines()
    named = all(_PAIR.fullmatch(line.strip()) and not _ROW.fullmatch(line.strip()) for line in lines)
    return named and 2 <= len(lines) <= 40 and len(block) <= _LONGEST


def _is_list_of_lines(text: str) -> bool:
    """Whether a text is several lines that say something each, and not a sentence that was broken at the margin."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if len(lines) < 2 or lines[-1].rstrip("\"'”’»)]").endswith(_ENDS):
        return False
    return all(line[0].isupper() or line[0].isdigit() for line in lines[1:])


def _marker(text: str) -> int:
    found = _MARKER.match(text)
    return found.end() if found else 0


def is_prose(text: str) -> bool:
    """Whether a text reads as a sentence: not a heading, a row of a table, a line of code or a fragment."""
    if not _SHORTEST <= len(text) <= _LONGEST or len(text.split()) < _FEWEST_WORDS or text.startswith(_NOT_PROSE):
        return False
    letters = sum(letter.isalnum() or letter.isspace() for letter in text)
    ended = text.rstrip("*_`\"'”’»)]").endswith(_ENDS)
    return letters >= _LETTERS * len(text) and text.count("|") < 2 and (ended or len(text) >= _SPEAKS_FOR_ITSELF)


def _is_line(text: str) -> bool:
    if not 6 <= len(text) <= _LONGEST or len(text.split()) < 2 or text.startswith(_NOT_PROSE):
        return False
    letters = sum(letter.isalnum() or letter.isspace() for letter in text)
    return letters >= _LETTERS * len(text) and text.count("|") < 2
