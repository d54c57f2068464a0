"""Parse the text of Rich Text Format. Interprets only characters, paragraphs, table cells, and groups that are not text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gateleg.apps.rag.errors import UnreadableDocument
from gateleg.apps.rag.parsing.document import clean

if TYPE_CHECKING:
    from gateleg.apps.rag.parsing.document import DocumentBuilder

_TOKEN = re.compile(rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|([^\\{}\r\n]+)|[\r\n]+|\\", re.DOTALL)
_BREAKS = {"par": "\n\n", "line": "\n", "row": "\n", "sect": "\n\n", "page": "\n\n", "tab": "\t", "cell": " | ", "nestcell": " | "}
_SIGNS = {"emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”"}
#: Groups that do not contain text of the document.
_OTHER = frozenset(
    re.split(
        r"\s+",
        "fonttbl colortbl stylesheet info pict object header headerl headerr headerf footer footerl footerr footerf themedata "
        "colorschememapping datastore latentstyles listtable listoverridetable rsidtbl generator xmlnstbl fldinst bkmkstart bkmkend "
        "annotation atnid atnauthor filetbl revtbl",
    )
)
_DEEPEST = 2_000


@dataclass(frozen=True, slots=True)
class _Group:
    """The state within a pair of braces."""

    hidden: bool = False
    #: number of fallback characters after a \\u
    fallback: int = 1


def read_rtf(content: bytes, builder: DocumentBuilder) -> None:
    """Parse a document in Rich Text Format."""
    if not content.startswith(b"{\\rtf"):
        raise UnreadableDocument("The file does not begin with the signature of Rich Text Format.")
    builder.add(re.sub(r"\n{3,}", "\n\n", clean(rtf_text(content))).strip() + "\n")


def rtf_text(content: bytes) -> str:
    """The text, with empty lines between paragraphs."""
    stack: list[_Group] = []
    group, encoding, skip, place = _Group(), "cp1252", 0, 0
    found: list[str] = []
    while (match := _TOKEN.match(content, place)) is not None:
        place = match.end()
        word, number, code, sign, brace, text = match.groups()
        if brace == b"{":
            if len(stack) >= _DEEPEST:
                raise UnreadableDocument("The Rich Text Format is nested too deeply.")
            stack.append(group)
            skip = 0
        elif brace == b"}":
            group, skip = (stack.pop() if stack else group), 0
        elif word is not None:
            name, value = word.decode(), int(number) if number else None
            if name == "bin":
                place += max(0, value or 0)
            elif name == "ansicpg" and value:
                encoding = _encoding(value)
            elif name == "uc" and value is not None:
                group = replace(group, fallback=max(0, min(value, 10)))
            elif name in _OTHER:
                group = replace(group, hidden=True)
            elif name == "u" and value is not None:
                skip = group.fallback
                found += [] if group.hidden else [chr(value % 65_536)]
            elif not group.hidden:
                found.append(_BREAKS.get(name) or _SIGNS.get(name, ""))
        elif sign == b"*":
            group = replace(group, hidden=True)
        elif skip and (code is not None or text is not None):
            cut = min(skip, 1 if code is not None else len(text))
            skip -= cut
            if text is not None and not group.hidden:
                found.append(text[cut:].decode(encoding, "replace"))
        elif not group.hidden:
            found.append(_plain(code, sign, text, encoding))
    # Characters outside the basic multilingual plane are written as surrogate pairs.
    return "".join(found).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _plain(code: bytes | None, sign: bytes | None, text: bytes | None, encoding: str) -> str:
    if code is not None:
        return bytes([int(code, 16)]).decode(encoding, "replace")
    if sign is not None:
        return {b"~": " ", b"_": "-", b"\n": "\n\n", b"\r": "\n\n"}.get(sign, sign.decode("latin-1") if sign in b"\\{}" else "")
    return "" if text is None else text.decode(encoding, "replace")


def _encoding(page: int) -> str:
    try:
        "".encode(f"cp{page}")
    except LookupError:
        return "cp1252"
    return f"cp{page}"
