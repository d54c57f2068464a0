"""Parse a file of any supported format in the current process. For untrusted files, use `parse`, which runs in a process with limits."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from gateleg.apps.rag.errors import EmptyDocument, EncryptedDocument, UnreadableDocument, UnsupportedDocument
from gateleg.apps.rag.parsing.document import DocumentBuilder, ParseBounds
from gateleg.apps.rag.parsing.mail import read_mail
from gateleg.apps.rag.parsing.office import read_docx, read_pptx, read_sheets
from gateleg.apps.rag.parsing.pdf import read_pdf
from gateleg.apps.rag.parsing.plain import read_code, read_markdown, read_plain
from gateleg.apps.rag.parsing.rtf import read_rtf
from gateleg.apps.rag.parsing.scans import read_picture
from gateleg.apps.rag.parsing.tabular import read_csv, read_json, read_xml
from gateleg.apps.rag.parsing.web_page import read_html

if TYPE_CHECKING:
    from gateleg.apps.rag.parsing.document import ParsedDocument

_BY_CONTENT = {
    "text/html": read_html,
    "application/rtf": read_rtf,
    "application/json": read_json,
    "text/csv": read_csv,
    "application/xml": read_xml,
}
#: Office formats by file extension.
_OFFICE = {"docx": "Word document", "pptx": "presentation", "xlsx": "spreadsheet"}
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
#: The signature of legacy office files; of these, only spreadsheets are supported.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: The name of a stream in a legacy file that contains an encrypted office document.
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
#: File extensions of text formats that cannot be detected from the content.
_MARKDOWN = frozenset({"md", "markdown", "mdown", "mkd"})
_CODE = {
    "py": "python", "js": "javascript", "mjs": "javascript", "jsx": "javascript", "ts": "typescript", "tsx": "typescript", "java": "java",
    "c": "c", "h": "c", "cc": "c++", "cpp": "c++", "hpp": "c++", "cs": "csharp", "go": "go", "rs": "rust", "rb": "ruby", "php": "php",
    "swift": "swift", "kt": "kotlin", "scala": "scala", "sh": "shellscript", "sql": "sql", "r": "r", "lua": "lua", "pl": "perl",
    "css": "css",
}  # fmt: skip


def parse_here(path: Path, name: str, bounds: ParseBounds | None = None, kind: str | None = None) -> ParsedDocument:
    """Parse a file. Its format is detected from the content; the name only distinguishes text formats. Raises `DocumentRefused`.

    `kind` is the result of `content_type`, if the caller already has it.
    """
    bounds = bounds or ParseBounds()
    started = time.monotonic()
    if path.stat().st_size == 0:
        raise EmptyDocument("The file is empty.")
    builder = DocumentBuilder(kind or content_type(path, name), bounds)
    _read(path, name, builder, 0, started)
    document = builder.finish()
    if not document.text.strip():
        noted = f" {document.warnings[0]}" if document.warnings else ""
        raise EmptyDocument(f"The file contains no text.{noted}")
    return document


def content_type(path: Path, name: str) -> str:
    """Detect the content type of a file. The name decides between text formats that look alike."""
    # Imported here, because a process that gets the type from its caller starts in half the time without it.
    from gateleg.objects import sniff_file

    found = sniff_file(path)
    ending = PurePath(name.lower()).suffix.removeprefix(".")
    if found in ("text/plain", "text/csv", "message/rfc822") and ending in _MARKDOWN:
        return "text/markdown"
    if found in ("text/plain", "text/csv", "text/html", "message/rfc822") and ending in _CODE:
        return f"text/x-{_CODE[ending]}"
    if found in ("text/plain", "application/json") and ending in ("jsonl", "ndjson"):
        return "application/x-ndjson"
    if found == "text/csv" and ending in ("txt", "log", "yaml", "yml", "toml", "ini", "rst", "text"):
        return "text/plain"
    if found == "text/plain" and ending in ("csv", "tsv"):
        return "text/csv"
    if found == "application/octet-stream":
        with path.open("rb") as file:
            return "application/vnd.ms-office" if file.read(8) == _OLE else found
    return found


def _read(path: Path, name: str, builder: DocumentBuilder, depth: int, started: float) -> None:
    kind = content_type(path, name) if depth else builder.content_type
    match kind:
        case "application/pdf":
            read_pdf(path, builder, started)
        case "application/vnd.openxmlformats-officedocument.wordprocessingml.document":
            read_docx(path, builder)
        case "application/vnd.openxmlformats-officedocument.presentationml.presentation":
            read_pptx(path, builder)
        case "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":
            read_sheets(path, builder)
        case "application/vnd.ms-office":
            _read_legacy_office(path, builder)
        case _ if kind in _PICTURES:
            if not builder.bounds.ocr:
                raise UnsupportedDocument("The file is an image, and OCR is switched off.")
            read_picture(path, builder)
        case "message/rfc822":
            read_mail(path.read_bytes(), builder, _read_part, depth)
        case "application/zip" if (named := _OFFICE.get(PurePath(name.lower()).suffix.removeprefix("."))) is not None:
            raise UnreadableDocument(f"The file has the extension of a {named}, but its parts are missing or damaged.")
        case _:
            _read_text(path.read_bytes(), kind, builder)


def _read_text(content: bytes, kind: str, builder: DocumentBuilder) -> None:
    if kind in _BY_CONTENT:
        _BY_CONTENT[kind](content, builder)
    elif kind == "application/x-ndjson":
        read_json(content, builder)
    elif kind == "text/markdown":
        read_markdown(content, builder)
    elif kind.startswith("text/x-"):
        read_code(content, builder)
    elif kind == "text/plain":
        read_plain(content, builder)
    elif kind == "image/svg+xml":
        read_xml(content, builder)
    else:
        raise UnsupportedDocument(f"Files of the type {kind} are not supported.")


def _read_legacy_office(path: Path, builder: DocumentBuilder) -> None:
    if _ENCRYPTED_STREAM in path.read_bytes():
        raise EncryptedDocument("The office document is protected by a password.")
    try:
        read_sheets(path, builder, zipped=False)
    except UnreadableDocument:
        raise UnsupportedDocument(
            "The file has a legacy office format.", fix="Save it as DOCX, PPTX, XLSX or PDF, and upload the new file."
        ) from None


def _read_part(content: bytes, name: str, builder: DocumentBuilder, depth: int) -> None:
    """Parse an attachment. Its pages are not recorded, because they are not pages of the message."""
    inner = DocumentBuilder("", builder.bounds)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part"
        path.write_bytes(content)
        _read(path, name, inner, depth, time.monotonic())
    found = inner.finish()
    start = builder.add(found.text.strip() + "\n")
    offset = len(found.text) - len(found.text.lstrip())
    for heading in found.headings:
        builder.mark_heading(start + max(0, heading.start - offset), min(6, heading.level + 2 + depth), heading.title)
    for warning in found.warnings:
        builder.warn(f"{name}: {warning}")
