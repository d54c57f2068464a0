"""The candidates for an answer in a passage: sentences, table rows, lines and code, each with the headings above it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from gateleg.apps.rag.answering.blocks import MARKDOWN_HEADING, Block, blocks_of, is_row, lines_of, starts_in_code
from gateleg.apps.rag.answering.code_blocks import LONGEST as _LONGEST_CODE
from gateleg.apps.rag.answering.code_blocks import code_snippets
from gateleg.apps.rag.answering.injection import is_injection
from gateleg.apps.rag.answering.plain_text import to_plain_text, without_code
from gateleg.apps.rag.chunking.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gateleg.apps.rag.searching.results import SearchHit

_SHORTEST, _LONGEST, _FEWEST_WORDS = 20, 600, 4
#: The minimum share of letters, digits and spaces in a sentence, and the length from which it needs no full stop.
_LETTERS, _SPEAKS_FOR_ITSELF = 0.8, 80
_NOT_PROSE = ("#", "|", "```", "from ", "import ", "def ", "class ", "{", "<", "$ ", "@", ">>> ")
#: Signs of source code. A sentence that quotes code has at most one.
_CODE_LIKE = re.compile(r"->|=>|==|\)\s*:|\{\*\*|[\w)\]]\s=\s|\w\(\w*=|\breturn [\w{\[(]+(?= |$)")
#: The marker of a list item or a block quote.
_MARKER = re.compile(r"\s*(?:>\s*)*(?:[-*+](?=\s)|•|\d{1,3}[.)](?=\s))?\s*")
_ENDS = (".", "!", "?", "…", "。", "！", "？")
#: Characters that may follow the end of a sentence.
_CLOSING = "*_`\"'”’»)]"
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")
#: `name: value`.
_PAIR = re.compile(r"[\w .\[\]()/%-]{1,60}: \S[^\n]*")
#: A run-in heading, in bold: `**Opening hours.** The house is ...`.
_RUN_IN = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(\*\*|__)(?P<title>[^*\n]{2,80}?)(?:[.!]\1|\1\.)\s+(?=[^\W\d_a-z]|[`*\d])")
#: The salutation of a letter: a separate line, or the words before the first comma.
_SALUTATION = re.compile(
    r"\s*(?:(?:dear|hello|hi|hey|hallo)(?:[ \t]+[\w.'’-]+){1,4}[,!]\s+|"
    r"(?:dear|hello|hi|hey|good (?:morning|afternoon|evening|day)|greetings|to whom it may concern|hallo|liebe[rs]?|sehr geehrte[rs]?|"
    r"guten (?:morgen|tag|abend)|bonjour|bonsoir|chère?s?|cher|madame|monsieur|hola|estimad[oa]s?|querid[oa]s?|buongiorno|gentile|"
    r"car[aeio]|beste|geachte)\b(?:[ \t]+[\w.'’-]+){0,6}[ \t]*[,!:][ \t]*(?:\n\s*|$))",
    re.IGNORECASE,
)
_MAIL_HEADER = re.compile(r"\s*From: [^\n]+\n(?:(?:To|Cc|Date|Subject): [^\n]+\n?)+")
_LONGEST_HEADING, _LONGEST_TOP_LINE, _LONGEST_AROUND, _LONGEST_WHOLE = 80, 40, 2_000, 200
#: The path of a list element in data: `sensors[2].`.
_ELEMENT = re.compile(r"[^\s:]*\[\d+\]\.")

Kind = Literal["sentence", "row", "header", "line", "code", "command", "announced"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence, row, line or piece of code of a hit, the header of a message, or a sentence with the code that it introduces."""

    #: the number of the hit, from 1
    number: int
    text: str
    #: position in the document's extracted text
    start: int
    end: int
    page: int | None = None
    kind: Kind = "sentence"
    #: the document's name and the headings above
    context: str = ""
    #: up to two preceding sentences of its paragraph
    before: str = ""
    document_id: str = ""
    #: the exact characters [start, end)
    quote: str = ""
    #: for code: the passage around it
    passage: str = ""
    #: the score of its hit divided by that of the best hit, 0 to 1
    relative_score: float = 1.0
    #: the document's name and the headings of its section
    path: str = ""

    @property
    def heading(self) -> str:
        """The innermost heading above it; empty if there is none."""
        return self.context.rpartition(" > ")[2] if " > " in self.context else ""

    @property
    def text_to_embed(self) -> str:
        """The text to embed: code alone has little meaning, so its headings are added."""
        return f"{self.headings}: {self.text}" if self.passage and self.headings else self.text

    @property
    def headings(self) -> str:
        """The headings above it, without the document's name."""
        return self.context.partition(" > ")[2]


def candidates_of(hits: Sequence[SearchHit]) -> list[Candidate]:
    """The candidates of all hits, in order, without instructions to a model."""
    best = max((hit.score for hit in hits), default=0.0)
    passages = (_Passage(number, hit, hit.score / best if best > 0 else 1.0) for number, hit in enumerate(hits, 1))
    return [one for passage in passages for one in passage.candidates() if not is_injection(one.text)]


def context_of(hit: SearchHit) -> str:
    """The name of a hit's document and the headings above the hit."""
    return " > ".join(filter(None, (_plain_name(hit), hit.heading)))


def _plain_name(hit: SearchHit) -> str:
    return re.sub(r"[_-]+", " ", PurePosixPath(hit.document_name).stem)


class _Passage:
    """A hit, read block by block."""

    def __init__(self, number: int, hit: SearchHit, relative_score: float = 1.0) -> None:
        self.number = number
        self.hit = hit
        self.relative_score = relative_score
        self.name = _plain_name(hit)
        self.path = hit.heading.split(" > ") if hit.heading else []
        #: run-in headings and questions that apply only to the current block
        self.above: tuple[str, ...] = ()
        #: the code directly below the current block
        self.code: Block | None = None

    def candidates(self) -> Iterator[Candidate]:
        within = starts_in_code(self.hit.text, self.hit.start == 0)
        for block, following in pairwise([*blocks_of(self.hit.text, in_code=within), None]):
            if block is None:
                continue
            if block.kind == "code":
                yield from self._of_code(block)
            elif not self._enter_heading(self.hit.text[block.start : block.end]):
                self.code = following if following is not None and following.kind == "code" else None
                yield from self._of_block(self._below_top_line(block))

    def _of_code(self, block: Block) -> Iterator[Candidate]:
        """The commands and paragraphs of a code block."""
        self.above = ()
        for one in code_snippets(self.hit.text, block):
            yield self._candidate(one.start, one.end, one.text, one.kind, passage=self.hit.text[:_LONGEST_AROUND])

    def _enter_heading(self, block: str) -> bool:
        """Whether a block is a heading; if so, update the headings for the blocks that follow."""
        line = block.strip()
        if "\n" in line:
            return False
        marked = MARKDOWN_HEADING.match(line)
        if marked is not None:
            self.path = [*self.path[: len(marked[1]) - 1], to_plain_text(marked[2])]
            return True
        if self.hit.heading and line in self.hit.heading.split(" > "):
            return True
        plain = to_plain_text(line[_marker(line) :])
        if _is_heading(plain) and not any(letter.isdigit() for letter in plain) and len(plain.split()) <= _FEWEST_WORDS:
            self.path = [*self.path[:1], plain]
            return True
        return False

    def _below_top_line(self, block: Block) -> Block:
        """Remove the first line of a block if it is a heading without an empty line below it."""
        text = self.hit.text[block.start : block.end]
        top, _, rest = text.partition("\n")
        plain = to_plain_text(top[_marker(top) :])
        if not rest or len(plain) > _LONGEST_TOP_LINE or not _is_heading(plain) or is_row(top.strip()):
            return block
        first = rest[slice(*next(sentences(rest)))].strip()
        if not rest[:1].isupper() or not is_prose(to_plain_text(first)) or not first.rstrip(_CLOSING).endswith(_ENDS):
            return block
        self.path = [*self.path[:1], plain]
        return Block(block.start + len(top) + 1, block.end, block.kind)

    def _of_block(self, block: Block) -> Iterator[Candidate]:
        """The rows of a block, and the sentences between them."""
        text = self.hit.text
        if _is_record(text[block.start : block.end]):
            yield from self._of_record(block)
            return
        first = block.start
        for line in lines_of(text, block):
            if line.kind == "text":
                continue
            yield from self._of_prose(first, line.start)
            if line.kind == "row":
                yield self._candidate(line.start, line.end, to_plain_text(text[line.start : line.end]), "row")
            first = line.end
        yield from self._of_prose(first, block.end)

    def _of_record(self, block: Block) -> Iterator[Candidate]:
        """A record of data as a candidate, and each element of its lists, with the record's first fields before it."""
        text = self.hit.text
        kind: Kind = "header" if _MAIL_HEADER.fullmatch(text, block.start, block.end) else "row"
        place = block.start
        whole = ""
        for path, group in groupby(text[block.start : block.end].splitlines(keepends=True), key=_element):
            lines = list(group)
            end = place + sum(map(len, lines))
            plain = "; ".join(to_plain_text(line.strip().removeprefix(path)) for line in lines if line.strip())
            if plain:
                yield self._candidate(place, end, plain, kind, whole)
            whole = whole if path else plain[:_LONGEST_WHOLE]
            place = end

    def _of_prose(self, start: int, end: int) -> Iterator[Candidate]:
        before: list[str] = []
        self.above = ()
        salutation = _SALUTATION.match(self.hit.text, start, end)
        start = salutation.end() if salutation is not None else start
        for first, last in sentences(self.hit.text, start, end):
            text = self.hit.text[first:last]
            title = _RUN_IN.match(self.hit.text, first, end)
            if title is not None and title.end() >= last:
                self.above = (to_plain_text(title["title"]),)
                continue
            bare = to_plain_text(text[_marker(text) :])
            if self._is_cut(first, last, bare):
                pass
            elif bare.rstrip(_CLOSING).endswith("?"):
                # A question is not an answer, but the text after it may be.
                self.above = (*self.above[:1], bare)
            elif bare.endswith(":") and last == end:
                yield from self._with_code(first, bare, " ".join(before[-2:]))
            elif is_prose(bare, to_plain_text(without_code(text[_marker(text) :]))) and not _is_list_of_lines(text):
                yield self._candidate(first, last, bare, "sentence", " ".join(before[-2:]))
                if last == end:
                    yield from self._with_code(first, bare, " ".join(before[-2:]))
            elif not _is_wrapped(text):
                yield from self._of_lines(first, last)
            before.append(bare)

    def _with_code(self, start: int, bare: str, before: str) -> Iterator[Candidate]:
        """A sentence together with the code that it introduces, which is incomplete without it."""
        if self.code is None or self.code.end - self.code.start > _LONGEST_CODE or len(bare.split()) < _FEWEST_WORDS:
            return
        lines = self.hit.text[self.code.start : self.code.end].strip().splitlines()[1:]
        left_out = ("```", "~~~", "from ", "import ")
        shown = [line.removeprefix("$ ").rstrip() for line in lines if not line.startswith(left_out) and line.strip()]
        if shown:
            yield self._candidate(start, self.code.end, "\n".join([bare, *shown]), "announced", before)

    def _is_cut(self, start: int, end: int, bare: str) -> bool:
        """Whether the chunk boundary cuts off a sentence, which is then complete in the neighbouring chunk."""
        text = self.hit.text
        if start == 0 and self.hit.start > 0 and bare[:1].islower():
            return True
        return end == len(text) and text[-1:].isalnum() and len(bare) >= _SPEAKS_FOR_ITSELF and not _is_list_of_lines(text[start:end])

    def _of_lines(self, start: int, end: int) -> Iterator[Candidate]:
        """Lines without full stops, as on signs, forms and scanned pages."""
        place = start
        lines = self.hit.text[start:end].splitlines(keepends=True)
        for line in lines:
            bare = to_plain_text(line[_marker(line) :])
            if _is_line(bare):
                others = " ".join(to_plain_text(other) for other in lines[:2] if other is not line)
                yield self._candidate(place, place + len(line), bare, "line", others[:200])
            place += len(line)

    def _candidate(self, start: int, end: int, text: str, kind: Kind, before: str = "", passage: str = "") -> Candidate:
        raw = self.hit.text[start:end]
        begin = _marker(raw) if kind not in ("row", "header") and not passage else len(raw) - len(raw.lstrip())
        quote = raw[begin:].rstrip()
        place = self.hit.start + start + begin
        return Candidate(
            self.number,
            text,
            place,
            place + len(quote),
            self.hit.page_at(place),
            kind,
            " > ".join([self.name, *self.path, *self.above]),
            before,
            self.hit.document_id,
            quote,
            passage,
            self.relative_score,
            " > ".join([self.name, *self.path]),
        )


def _is_heading(line: str) -> bool:
    """Whether a line may be a heading: short, capitalized, and without punctuation at its end."""
    return len(line) <= _LONGEST_HEADING and line[:1].isupper() and ":" not in line and not line.endswith((*_ENDS, ";", ","))


def _is_record(block: str) -> bool:
    """Whether a block is a record of data: several lines of the form `name: value`."""
    lines = block.strip().splitlines()
    named = all(_PAIR.fullmatch(line.strip()) and not is_row(line.strip()) and not _ITEM.match(line) for line in lines)
    return named and 2 <= len(lines) <= 40 and len(block) <= _LONGEST


def _element(line: str) -> str:
    """The path of the list element that a line of data belongs to: `sensors[2].` of `sensors[2].kind: thermometer`."""
    found = _ELEMENT.match(line.strip())
    return found[0] if found else ""


def _is_list_of_lines(text: str) -> bool:
    """Whether a text consists of separate lines, and not of a sentence that wraps."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if len(lines) < 2 or lines[-1].rstrip(_CLOSING).endswith(_ENDS):
        return False
    return all(line[0].isupper() or line[0].isdigit() for line in lines[1:])


def _marker(text: str) -> int:
    found = _MARKER.match(text)
    return found.end() if found else 0


def _is_wrapped(text: str) -> bool:
    """Whether a text is one sentence that wraps over several lines."""
    lines = text.strip().splitlines()
    return len(lines) > 1 and lines[-1].rstrip(_CLOSING).endswith(_ENDS) and any(line.lstrip()[:1].islower() for line in lines[1:])


def is_prose(text: str, without_spans: str | None = None) -> bool:
    """Whether a text is a sentence, and not a heading, a table row, a line of code or a fragment. `without_spans` is the text without code
    spans."""
    if without_spans is not None and len(text) <= _LONGEST and is_prose(without_spans):
        return True
    if not _SHORTEST <= len(text) <= _LONGEST or len(text.split()) < _FEWEST_WORDS or text.startswith(_NOT_PROSE):
        return False
    letters = sum(letter.isalnum() or letter.isspace() for letter in text)
    ended = text.rstrip(_CLOSING).endswith(_ENDS)
    if letters < _LETTERS * len(text) or text.count("|") >= 2 or len(_CODE_LIKE.findall(text)) >= 2:
        return False
    return ended or len(text) >= _SPEAKS_FOR_ITSELF


def _is_line(text: str) -> bool:
    if not 6 <= len(text) <= _LONGEST or len(text.split()) < 2 or text.startswith(_NOT_PROSE):
        return False
    letters = sum(letter.isalnum() or letter.isspace() for letter in text)
    return letters >= _LETTERS * len(text) and text.count("|") < 2
