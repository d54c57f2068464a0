"""Parse e-mail: header, body, and attachments as sections."""

from __future__ import annotations

import email
import email.policy
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.errors import UnreadableDocument
from gateleg.apps.rag.parsing.document import clean, reason_of
from gateleg.apps.rag.parsing.web_page import read_html
from gateleg.errors import GatelegError

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import EmailMessage

    from gateleg.apps.rag.parsing.document import DocumentBuilder

    #: Parses an attachment into the document: content, name, builder, and nesting depth of messages.
    ReadPart = Callable[[bytes, str, DocumentBuilder, int], None]

_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_MOST_PARTS = 200
_DEEPEST = 3


def read_mail(content: bytes, builder: DocumentBuilder, read_part: ReadPart, depth: int = 0) -> None:
    """Parse a message. `read_part` parses its attachments; one that cannot be read becomes a warning."""
    try:
        message: EmailMessage = email.message_from_bytes(content, policy=email.policy.default)
        facts = {name: " ".join(str(message[name]).split()) for name in _HEADERS if message[name] is not None}
        body = message.get_body(("plain", "html"))
        parts = list(message.iter_attachments()) if message.is_multipart() else []
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError) as error:
        raise UnreadableDocument(f"The message is damaged: {reason_of(error)}.") from None
    if depth == 0:
        builder.title = facts.get("Subject")
        builder.properties |= {name.lower(): value[:500] for name, value in facts.items()}
    builder.heading(1 + depth, facts.get("Subject") or "Message")
    for name, value in facts.items():
        builder.row(f"{name}: {clean(value)}")
    builder.add("\n")
    if body is not None:
        _write_body(body, builder)
    for number, part in enumerate(parts[:_MOST_PARTS], start=1):
        _write_attachment(part, number, builder, read_part, depth)
    if len(parts) > _MOST_PARTS:
        builder.warn(f"The message has {len(parts)} attachments; the first {_MOST_PARTS} were read.")


def _write_body(body: Any, builder: DocumentBuilder) -> None:
    payload = body.get_payload(decode=True) or b""
    if body.get_content_type() == "text/html":
        title, language = builder.title, builder.language
        read_html(payload, builder)
        builder.title, builder.language = title, language
        return
    try:
        text = payload.decode(body.get_content_charset() or "utf-8", "replace")
    except LookupError:
        text = payload.decode("utf-8", "replace")
    builder.add(clean(text).strip() + "\n\n")


def _write_attachment(part: Any, number: int, builder: DocumentBuilder, read_part: ReadPart, depth: int) -> None:
    name = part.get_filename() or f"attachment {number}"
    if depth >= _DEEPEST:
        builder.warn(f"{name} was skipped: messages are nested too deeply.")
        return
    inner = part.get_payload()
    payload = inner[0].as_bytes() if part.get_content_type() == "message/rfc822" and inner else part.get_payload(decode=True) or b""
    if not payload:
        return
    builder.heading(2 + depth, f"Attachment: {name}")
    try:
        read_part(payload, name, builder, depth + 1)
    except GatelegError as error:
        builder.warn(f"{name} was skipped: {error.message}")
    builder.add("\n")
