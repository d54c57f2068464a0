"""Converts requests of OpenAI's chat completions to questions to agents. Pure, except for files."""

import base64
import binascii
import re
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field

from gateleg.ai import Assistant, Message, System, ToolCall, ToolResult, User
from gateleg.ai.messages import dump_messages
from gateleg.apps.agents.errors import BadCompletion

_DATA = re.compile(r"data:(?P<type>[a-z]+/[a-z0-9.+-]+);base64,(?P<data>.*)", re.DOTALL)


class CompletionRequest(BaseModel):
    """A request of OpenAI's chat completions. Options without an effect here are accepted."""

    model_config = ConfigDict(extra="allow")

    model: str
    messages: list[dict[str, Any]]
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    stop: str | list[str] | None = None
    n: int | None = None
    user: str | None = None
    response_format: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options of the model."""
        most = self.max_completion_tokens or self.max_tokens
        found = {"temperature": self.temperature, "max_tokens": most, "seed": self.seed}
        stop = [self.stop] if isinstance(self.stop, str) else self.stop
        return {name: value for name, value in {**found, "stop": stop}.items() if value is not None}

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON schema that the answer must have."""
        kind = (self.response_format or {}).get("type", "text")
        if kind == "json_schema":
            schema = ((self.response_format or {}).get("json_schema") or {}).get("schema")
            if not isinstance(schema, dict):
                raise BadCompletion("response_format.json_schema has no schema.")
            return schema
        return {"type": "object"} if kind == "json_object" else None

    def check(self) -> None:
        """Raise `BadCompletion` for options that agents do not support."""
        if self.n not in (None, 1):
            raise BadCompletion(f"n is {self.n}, but agents return one answer.")
        if self.tools:
            raise BadCompletion("The request has tools, but agents have their own.", fix="Add tools to the agent's configuration.")


class FilePart(BaseModel):
    """A file in a message."""

    media_type: str
    data: bytes
    name: str = ""


class Conversation(BaseModel):
    """The last message of a conversation, and its history."""

    question: str
    files: list[FilePart]
    history: list[dict[str, Any]]


def conversation_of(messages: list[dict[str, Any]]) -> Conversation:
    """The question and its history. Raises `BadCompletion`."""
    if not messages or messages[-1].get("role") != "user":
        raise BadCompletion("`messages` must end with a message of the role `user`.")
    text, files = _content(messages[-1].get("content"))
    if not text:
        raise BadCompletion("The last message has no text.")
    history = [_message(one) for one in messages[:-1]]
    _check_results(history)
    return Conversation(question=text, files=files, history=orjson.loads(dump_messages(history)))


def _check_results(history: list[Message]) -> None:
    """Raise for results without an earlier call: a provider would refuse the whole conversation."""
    called: set[str] = set()
    for message in history:
        if isinstance(message, Assistant):
            called |= {call.id for call in message.calls}
        elif isinstance(message, ToolResult) and message.call_id not in called:
            raise BadCompletion(
                f"A tool message has the result of the call {message.call_id!r}, which no earlier message made.",
                fix="Send the assistant's message with its tool_calls before their results, or omit the results.",
            )


def _message(given: dict[str, Any]) -> Message:
    text, files = _content(given.get("content"))
    role = given.get("role")
    if files and role != "user":
        raise BadCompletion(f"A message of the role {role!r} has a file.")
    if files:
        raise BadCompletion("An earlier message has a file; only the last message may have files.")
    match role:
        case "system" | "developer":
            return System(text)
        case "user":
            return User(text)
        case "assistant":
            return Assistant(text, tuple(_call(one) for one in given.get("tool_calls") or ()))
        case "tool":
            return ToolResult(str(given.get("tool_call_id") or ""), str(given.get("name") or "tool"), text)
    raise BadCompletion(f"The role {role!r} is unknown.")


def _call(given: dict[str, Any]) -> ToolCall:
    function = given.get("function") or {}
    return ToolCall(str(given.get("id") or ""), str(function.get("name") or ""), str(function.get("arguments") or "{}"))


def _content(content: Any) -> tuple[str, list[FilePart]]:
    """The text and the files of a message."""
    if content is None or isinstance(content, str):
        return content or "", []
    if not isinstance(content, list):
        raise BadCompletion("The content of a message is neither text nor a list of parts.")
    texts: list[str] = []
    files: list[FilePart] = []
    for part in content:
        kind: Literal["text", "image_url", "file"] | Any = part.get("type") if isinstance(part, dict) else None
        if kind == "text":
            texts.append(str(part.get("text") or ""))
        elif kind == "image_url":
            files.append(_file(str((part.get("image_url") or {}).get("url") or ""), ""))
        elif kind == "file":
            given = part.get("file") or {}
            files.append(_file(str(given.get("file_data") or ""), str(given.get("filename") or "")))
        else:
            raise BadCompletion(f"A part of a message has the type {kind!r}; supported types are text, image_url and file.")
    return "\n".join(texts), files


def _file(url: str, name: str) -> FilePart:
    found = _DATA.fullmatch(url)
    if found is None:
        raise BadCompletion("A file is not a data URL in base64.", fix="Send its content: data:image/png;base64,...")
    try:
        data = base64.b64decode(found["data"], validate=True)
    except binascii.Error:
        raise BadCompletion("A file is not in base64.") from None
    return FilePart(media_type=found["type"], data=data, name=name)
