"""Files in messages: their kind, and how they are written into a request. Pure."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Literal

from gateleg.ai.errors import InvalidModelRequest, NotOffered
from gateleg.ai.messages import Attachment, UploadedFile

if TYPE_CHECKING:
    from gateleg.ai.chat_requests import ChatRequest
    from gateleg.ai.messages import User

FileKind = Literal["image", "audio", "video", "pdf", "text", "other"]
_TEXTS = frozenset({"application/json", "application/xml", "application/yaml", "application/toml"})
#: Tokens of an image, for estimates: providers count images by size, and bill at most about this many.
_IMAGE_TOKENS = 1_600
#: Bytes per token of a document, a recording or a film; an overestimate.
_BYTES_FOR_A_TOKEN = 16


def kind_of(file: Attachment | UploadedFile) -> FileKind:
    """The kind of a file, by media type."""
    general = file.media_type.partition("/")[0]
    if general in ("image", "audio", "video"):
        return general  # type: ignore[return-value]
    if file.media_type == "application/pdf":
        return "pdf"
    return "text" if general == "text" or file.media_type in _TEXTS else "other"


def encoded(file: Attachment) -> str:
    """The content in base64."""
    return base64.b64encode(file.data).decode()


def data_url(file: Attachment) -> str:
    """The content as a data URL."""
    return f"data:{file.media_type};base64,{encoded(file)}"


def text_of(file: Attachment) -> str:
    """The content of a text file, with its name, for providers that accept text only as part of the message."""
    try:
        text = file.data.decode()
    except UnicodeDecodeError:
        raise InvalidModelRequest(f"The file {file.name!r} is not text in UTF-8, as {file.media_type} says.") from None
    return f"File {file.name or 'without a name'}:\n{text}"


def with_texts(message: User) -> str:
    """The text of a message, followed by its text files."""
    texts = [text_of(file) for file in message.files if isinstance(file, Attachment) and kind_of(file) == "text"]
    return "\n\n".join(filter(None, [*texts, message.text]))


def file_error(file: Attachment | UploadedFile, who: str, takes: str) -> NotOffered:
    """The error for a file that a provider does not accept."""
    named = f" {file.name!r}" if file.name else ""
    what = f"{who} takes {takes} in messages, and the file{named} is {file.media_type}."
    return NotOffered(what, fix="Choose another model, or convert the file.")


def check_upload_provider(request: ChatRequest, provider: str) -> None:
    """Refuse files that were uploaded to another provider."""
    for file in request.files:
        if isinstance(file, UploadedFile) and file.provider != provider:
            raise InvalidModelRequest(
                f"The file {file.name or file.id!r} was uploaded to {file.provider}, but the message is sent to {provider}.",
                fix="Upload it there too, or send it as an Attachment.",
            )


def estimated_tokens(file: Attachment | UploadedFile) -> int:
    """A conservative estimate of the tokens of a file."""
    if kind_of(file) == "image" or isinstance(file, UploadedFile):
        return _IMAGE_TOKENS
    return max(1, len(file.data) // (4 if kind_of(file) == "text" else _BYTES_FOR_A_TOKEN))
