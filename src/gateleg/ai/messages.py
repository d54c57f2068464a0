"""Messages to a model, the tools it may call, and its calls. Plain values that pydantic reads and writes as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import orjson
from pydantic import ConfigDict, Discriminator, TypeAdapter

from gateleg.ai.errors import BadArguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

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
            found = orjson.loads(self.text or "{}")
        except orjson.JSONDecodeError as error:
            raise BadArguments(f"The arguments of the call to {self.name} are not JSON: {error}.") from None
        if not isinstance(found, dict):
            raise BadArguments(f"The arguments of the call to {self.name} are not an object.")
        return found

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
