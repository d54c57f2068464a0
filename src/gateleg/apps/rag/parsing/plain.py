"""Parse plain text, Markdown and source code."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from gateleg.apps.rag.chunking import find_headings
from gateleg.apps.rag.parsing.document import clean
from gateleg.apps.rag.parsing.markdown_tables import spell_out_tables

if TYPE_CHECKING:
    from gateleg.apps.rag.parsing.document import DocumentBuilder

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FRONT = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
_TITLE = re.compile(r"^title:\s*(.+?)\s*$", re.MULTILINE)
#: Definitions at the left margin, in most programming languages.
_DEFINITION = re.compile(
    r"^(?:export\s+|pub(?:\([^)]*\))?\s+|public\s+|private\s+|static\s+|abstract\s+|async\s+|default\s+)*"
    r"(?:def|class|function|fn|func|struct|enum|trait|interface|impl|type|module|namespace)\s+(?P<name>\w[\w.]*)",
    re.MULTILINE,
)


def decode_text(content: bytes) -> tuple[str, str]:
    """Decode text, and return it with its encoding: by byte order mark, as UTF-16 if it has many zeros, as UTF-8, or as Windows-1252."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content.decode(encoding, "replace"), encoding
    head = content[:4096]
    if head.count(0) * 3 > len(head):
        encoding = "utf-16-le" if head[1::2].count(0) >= head[::2].count(0) else "utf-16-be"
        return content.decode(encoding, "replace"), encoding
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        # A few invalid bytes do not make it another encoding.
        if _is_mostly_utf8(content, error.start):
            return content.decode("utf-8", "replace"), "utf-8"
    return content.decode("cp1252", "replace"), "windows-1252"


def _is_mostly_utf8(content: bytes, first: int) -> bool:
    high = sum(byte >= 0x80 for byte in content[:100_000])
    wrong = content[:100_000].decode("utf-8", "replace").count("\ufffd")
    return first > 0 and wrong * 10 < high


def read_plain(content: bytes, builder: DocumentBuilder) -> None:
    """Add plain text unchanged."""
    text, encoding = decode_text(content)
    if encoding == "windows-1252":
        builder.warn("The text is not valid UTF-8 and was read as Windows-1252.")
    builder.add(clean(text))


def read_markdown(content: bytes, builder: DocumentBuilder) -> None:
    """Parse Markdown with its headings, and with table rows that name their columns. Front matter is removed, except the title."""
    text = clean(decode_text(content)[0])
    front = _FRONT.match(text)
    if front is not None:
        title = _TITLE.search(front[1])
        builder.title = None if title is None else title[1].strip("\"'")
        text = text[front.end() :]
    text = spell_out_tables(text)
    for heading in find_headings(text):
        builder.mark_heading(heading.start, heading.level, heading.title)
    builder.add(text)


def read_code(content: bytes, builder: DocumentBuilder) -> None:
    """Add source code unchanged, with its definitions as headings."""
    text = clean(decode_text(content)[0])
    for match in _DEFINITION.finditer(text):
        builder.mark_heading(match.start(), 1, match["name"])
    builder.language = "en"
    builder.add(text)
