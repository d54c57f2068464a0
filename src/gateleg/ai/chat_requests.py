"""Requests to a model as values, validated before anything is sent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from gateleg.ai.errors import InvalidModelRequest
from gateleg.ai.messages import Assistant, Attachment, Message, System, Tool, ToolResult, UploadedFile, User

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["AskOptions", "Purpose"]

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9][a-z0-9.+-]*")
#: Whether a text is embedded for an index or as a search query. Some models embed the two differently.
Purpose = Literal["document", "query"]


class AskOptions(TypedDict, total=False):
    """Options of a chat request. The model's own defaults apply to those that are not set."""

    tools: Sequence[Tool]
    #: `auto`, `none`, `required`, or the name of the tool that must be called
    tool_choice: str
    #: 0 for the likeliest words, up to 2
    temperature: float
    max_tokens: int
    #: the same seed and request give the same answer if the provider supports it; local models do
    seed: int
    #: stop sequences: they end the answer and are not part of it
    stop: Sequence[str]
    #: seconds for the whole call, including retries
    timeout: float


@dataclass(frozen=True, slots=True)
class AnswerSchema:
    """The structure that an answer must have: a name and a JSON schema."""

    name: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A validated request to a chat model."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    timeout: float | None = None
    shape: AnswerSchema | None = None

    @property
    def system(self) -> str:
        """All system messages joined, for providers that take the system prompt separately."""
        return "\n\n".join(message.text for message in self.messages if isinstance(message, System))

    @property
    def files(self) -> tuple[Attachment | UploadedFile, ...]:
        """The files of all messages."""
        return tuple(file for message in self.messages if isinstance(message, User) for file in message.files)

    @property
    def turns(self) -> tuple[Message, ...]:
        """The messages except the system messages."""
        return tuple(message for message in self.messages if not isinstance(message, System))


def chat_request(messages: Iterable[Message], options: AskOptions, shape: AnswerSchema | None = None) -> ChatRequest:
    """Build and validate a chat request. Raises `InvalidModelRequest` for an invalid one."""
    request = ChatRequest(
        messages=tuple(messages),
        tools=tuple(options.get("tools", ())),
        tool_choice=options.get("tool_choice", "auto"),
        temperature=options.get("temperature"),
        max_tokens=options.get("max_tokens"),
        seed=options.get("seed"),
        stop=_stops(options.get("stop", ())),
        timeout=options.get("timeout"),
        shape=shape,
    )
    for problem in _problems(request):
        raise InvalidModelRequest(problem)
    return request


def _stops(stop: Sequence[str]) -> tuple[str, ...]:
    return (stop,) if isinstance(stop, str) else tuple(stop)


def _problems(request: ChatRequest) -> Iterable[str]:
    if not request.turns:
        yield "There is no message to answer."
    if request.temperature is not None and not 0 <= request.temperature <= 2:
        yield f"The temperature {request.temperature} is not between 0 and 2."
    if request.max_tokens is not None and request.max_tokens < 1:
        yield f"max_tokens is {request.max_tokens}; it must be at least 1."
    if request.timeout is not None and request.timeout <= 0:
        yield f"The timeout of {request.timeout} seconds must be positive."
    if not all(request.stop):
        yield "A stop sequence is empty."
    yield from _tool_problems(request)
    yield from _result_problems(request)
    for file in request.files:
        yield from file_problems(file)
    for message in request.messages:
        if not _is_unicode(message.text):
            yield "A message contains half of a surrogate pair, which is not valid text."


def _tool_problems(request: ChatRequest) -> Iterable[str]:
    names = [tool.name for tool in request.tools]
    for name in names:
        if not _TOOL_NAME.fullmatch(name):
            yield f"{name!r} cannot name a tool: letters, digits, _ and -, at most 64."
    if len(set(names)) < len(names):
        yield "Two tools have the same name."
    if request.tool_choice not in ("auto", "none", *names) and not (request.tool_choice == "required" and names):
        yield f"The tool choice {request.tool_choice!r} is not auto, none, required or the name of a tool."


def file_problems(file: Attachment | UploadedFile) -> Iterable[str]:
    """Problems of a file that do not depend on the provider."""
    if not _MEDIA_TYPE.fullmatch(file.media_type):
        yield f"{file.media_type!r} is not a media type such as image/png."
    if isinstance(file, Attachment) and not file.data:
        yield f"The file {file.name!r} is empty."
    if not file.name.isprintable():
        yield f"{file.name!r} cannot name a file."


def _result_problems(request: ChatRequest) -> Iterable[str]:
    """Tool results without their call, which providers refuse."""
    called: set[str] = set()
    for message in request.messages:
        if isinstance(message, Assistant):
            called |= {call.id for call in message.calls}
        elif isinstance(message, ToolResult) and message.call_id not in called:
            yield f"There is a result for the tool call {message.call_id!r}, but no message that makes the call."


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
