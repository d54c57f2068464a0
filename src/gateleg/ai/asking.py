"""Requests to a model as values, validated before anything is sent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from gateleg.ai.errors import BadAsk
from gateleg.ai.messages import Assistant, Attachment, Message, System, Tool, ToolResult, UploadedFile, User

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9][a-z0-9.+-]*")
#: What a text is to be found by, or what it is to find. Some models embed the two differently.
Purpose = Literal["document", "query"]


class AskOptions(TypedDict, total=False):
    """How a model is to answer. What is left out is up to the model."""

    tools: Sequence[Tool]
    #: `auto`, `none`, `required`, or the name of the tool that must be called
    tool_choice: str
    #: 0 for the likeliest words, up to 2
    temperature: float
    max_tokens: int
    #: the same seed and the same ask give the same answer, where the provider keeps to that; local models do
    seed: int
    #: texts that end the answer; they are not part of it
    stop: Sequence[str]
    #: seconds for the whole call, with all attempts
    timeout: float


@dataclass(frozen=True, slots=True)
class Shape:
    """The structure that an answer must have: a name and a JSON schema."""

    name: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of a chat model."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    timeout: float | None = None
    shape: Shape | None = None

    @property
    def system(self) -> str:
        """All system messages together, for providers that take them apart from the others."""
        return "\n\n".join(message.text for message in self.messages if isinstance(message, System))

    @property
    def files(self) -> tuple[Attachment | UploadedFile, ...]:
        """The files of all messages."""
        return tuple(file for message in self.messages if isinstance(message, User) for file in message.files)

    @property
    def turns(self) -> tuple[Message, ...]:
        """The messages without the system's."""
        return tuple(message for message in self.messages if not isinstance(message, System))


def asked_of(messages: Iterable[Message], options: AskOptions, shape: Shape | None = None) -> Asked:
    """The ask that a caller describes; `BadAsk` for one that makes no sense."""
    asked = Asked(
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
    for problem in _problems(asked):
        raise BadAsk(problem)
    return asked


def _stops(stop: Sequence[str]) -> tuple[str, ...]:
    return (stop,) if isinstance(stop, str) else tuple(stop)


def _problems(asked: Asked) -> Iterable[str]:
    if not asked.turns:
        yield "There is no message to answer."
    if asked.temperature is not None and not 0 <= asked.temperature <= 2:
        yield f"The temperature {asked.temperature} is not between 0 and 2."
    if asked.max_tokens is not None and asked.max_tokens < 1:
        yield f"max_tokens is {asked.max_tokens}; it must be at least 1."
    if asked.timeout is not None and asked.timeout <= 0:
        yield f"The timeout of {asked.timeout} seconds leaves no time."
    if not all(asked.stop):
        yield "An empty text cannot stop an answer."
    yield from _tool_problems(asked)
    yield from _result_problems(asked)
    for file in asked.files:
        yield from file_problems(file)
    for message in asked.messages:
        if not _is_unicode(message.text):
            yield "A message contains half of a surrogate pair, which is not valid text."


def _tool_problems(asked: Asked) -> Iterable[str]:
    names = [tool.name for tool in asked.tools]
    for name in names:
        if not _TOOL_NAME.fullmatch(name):
            yield f"{name!r} cannot name a tool: letters, digits, _ and -, at most 64."
    if len(set(names)) < len(names):
        yield "Two tools have the same name."
    if asked.tool_choice not in ("auto", "none", *names) and not (asked.tool_choice == "required" and names):
        yield f"The tool choice {asked.tool_choice!r} is not auto, none, required or the name of a tool."


def file_problems(file: Attachment | UploadedFile) -> Iterable[str]:
    """What is wrong with a file, whoever it goes to."""
    if not _MEDIA_TYPE.fullmatch(file.media_type):
        yield f"{file.media_type!r} is not a media type such as image/png."
    if isinstance(file, Attachment) and not file.data:
        yield f"The file {file.name!r} is empty."
    if not file.name.isprintable():
        yield f"{file.name!r} cannot name a file."


def _result_problems(asked: Asked) -> Iterable[str]:
    """A provider refuses a result whose call it does not see."""
    called: set[str] = set()
    for message in asked.messages:
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
