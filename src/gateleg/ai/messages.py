"""Messages to a model, the tools it may call, its calls and files. Plain values that pydantic reads and writes as JSON."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import orjson
from pydantic import ConfigDict, Discriminator, TypeAdapter

from gateleg.ai.errors import BadArguments, InvalidModelRequest, NotOffered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

    from gateleg.ai.chat_requests import ChatRequest

__all__ = [
    "Assistant",
    "Attachment",
    "Message",
    "System",
    "Tool",
    "ToolCall",
    "ToolResult",
    "UploadedFile",
    "User",
    "dump_messages",
    "load_messages",
]
FileKind = Literal["image", "audio", "video", "pdf", "text", "other"]
_TEXTS = frozenset({"application/json", "application/xml", "application/yaml", "application/toml"})
#: Tokens of an image, for estimates: providers count images by size, and bill at most about this many.
_IMAGE_TOKENS = 1_600
#: Bytes per token of a document, a recording or a film; an overestimate.
_BYTES_FOR_A_TOKEN = 16


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call requested by the model."""

    #: the provider's id of this call, which the result must repeat
    id: str
    name: str
    #: the arguments as the model wrote them, normally JSON
    text: str = "{}"
    #: opaque data that the provider needs when the call is sent back
    signature: str = ""

    @property
    def arguments(self) -> dict[str, Any]:
        """The parsed arguments. Raises `BadArguments` if the model did not write a JSON object."""
        try:
            arguments = orjson.loads(self.text or "{}")
        except orjson.JSONDecodeError as error:
            raise BadArguments(f"The arguments of the call to {self.name} are not JSON: {error}.") from None
        if not isinstance(arguments, dict):
            raise BadArguments(f"The arguments of the call to {self.name} are not an object.")
        return arguments

    @property
    def tolerant(self) -> dict[str, Any]:
        """The parsed arguments, or the raw text as `text` if it is not an object. For providers that accept only objects."""
        try:
            return self.arguments
        except BadArguments:
            return {"text": self.text}


@dataclass(frozen=True, slots=True)
class System:
    """Instructions to the model, before the conversation."""

    text: str
    role: Literal["system"] = field(default="system", kw_only=True)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file sent with a message: an image, a document, a recording."""

    #: such as image/png, application/pdf or text/markdown
    media_type: str
    data: bytes = field(repr=False)
    name: str = ""

    __pydantic_config__ = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file that was uploaded to a provider (`chat.upload`), to refer to in messages. Other providers do not have it."""

    provider: str
    #: the provider's id of the file
    id: str
    media_type: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class User:
    """A message of a person, with its files."""

    text: str
    files: tuple[Attachment | UploadedFile, ...] = ()
    role: Literal["user"] = field(default="user", kw_only=True)


@dataclass(frozen=True, slots=True)
class Assistant:
    """A message of the model, with its tool calls."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    role: Literal["assistant"] = field(default="assistant", kw_only=True)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call."""

    call_id: str
    name: str
    text: str
    #: whether the tool failed; `text` says why
    failed: bool = False
    role: Literal["tool"] = field(default="tool", kw_only=True)


Message = System | User | Assistant | ToolResult
_messages: TypeAdapter[list[Message]] = TypeAdapter(list[Annotated[Message, Discriminator("role")]])


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call: a name, a description, and the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})

    @classmethod
    def of(cls, model: type[BaseModel], name: str, description: str = "") -> Tool:
        """A tool whose arguments are a pydantic model. The model's docstring is the default description."""
        return cls(name, description or (model.__doc__ or "").strip(), model.model_json_schema())


def dump_messages(messages: Sequence[Message]) -> bytes:
    """Messages as JSON."""
    return _messages.dump_json(list(messages))


def load_messages(data: bytes | str) -> list[Message]:
    """Messages from JSON. Raises pydantic's `ValidationError` if it is not valid."""
    return _messages.validate_json(data)


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
