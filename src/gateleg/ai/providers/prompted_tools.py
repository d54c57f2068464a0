"""Tools for models without tool support: the prompt describes the tools, and the model replies in JSON with a call or a text. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import orjson

from gateleg.ai.chat_requests import AnswerSchema
from gateleg.ai.errors import NotOffered
from gateleg.ai.messages import Assistant, Attachment, Message, System, Tool, ToolResult, User, kind_of, with_texts
from gateleg.ai.replies import CallDelta, Delta, ReplyBuilder

if TYPE_CHECKING:
    from gateleg.ai.chat_requests import ChatRequest
    from gateleg.ai.replies import Reply

_ANSWER = re.compile(r'\s*\{\s*"answer"\s*:\s*"')
_CALL = re.compile(r'\s*\{\s*"tool"\s*:\s*"(?P<name>[^"\\]*)"\s*,\s*"arguments"\s*:\s*')
#: Complete characters and escapes of a JSON string.
_TEXT = re.compile(r'(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
#: The first half of a surrogate pair at the end.
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}$")


def prompt_tools(request: ChatRequest) -> ChatRequest:
    """The same request without tools: the instructions describe them, and the shape restricts the reply."""
    for file in request.files:
        if isinstance(file, Attachment) and kind_of(file) == "text":
            continue
        raise NotOffered(
            f"The local model accepts only text, but the file {file.name!r} is {file.media_type}.", fix="Choose another model."
        )
    history = tuple(_without_calls(message) for message in request.messages)
    tools = [tool for tool in request.tools if request.tool_choice in ("auto", "required", tool.name)]
    if not tools or request.tool_choice == "none":
        return replace(request, messages=history, tools=(), tool_choice="auto")
    free = request.tool_choice == "auto"
    messages = (System(_instructions(tools, free)), *history)
    return replace(request, messages=messages, tools=(), tool_choice="auto", shape=AnswerSchema("call", _schema(tools, free)))


def parse_tool_reply(request: ChatRequest, reply: Reply) -> Reply:
    """The reply to such a request, with its tool call."""
    if not has_prompted_tools(request):
        return reply
    speech, builder = ToolReplyParser(request), ReplyBuilder()
    for delta in (*speech.feed(reply.text), *speech.rest()):
        builder.add(delta)
    whole = builder.whole(reply.finish, reply.usage, reply.model)
    return replace(whole, reasoning=reply.reasoning, cached=reply.cached)


def has_prompted_tools(request: ChatRequest) -> bool:
    """Whether the reply to a request is JSON with a call or a text."""
    return bool(request.tools) and request.tool_choice != "none"


class ToolReplyParser:
    """Separates text from tool calls in JSON that is still being streamed."""

    def __init__(self, request: ChatRequest) -> None:
        self._made = sum(len(message.calls) for message in request.messages if isinstance(message, Assistant))
        self._raw = ""
        self._part: Literal["unknown", "answer", "arguments", "over"] = "unknown"
        #: in arguments: nesting depth, and whether inside a string
        self._depth = 0
        self._quoted = False
        self._escaped = False

    def feed(self, text: str) -> list[Delta]:
        """The pieces that are known so far."""
        self._raw += text
        if self._part == "unknown":
            return self._begin()
        if self._part == "answer":
            return self._answer()
        return self._arguments() if self._part == "arguments" else []

    def rest(self) -> list[Delta]:
        """The remaining pieces at the end: the reply may be JSON of another form, or not JSON."""
        if self._part != "unknown" or not self._raw:
            return []
        try:
            answer = orjson.loads(self._raw)
        except orjson.JSONDecodeError:
            return [Delta(text=self._raw)]
        if not isinstance(answer, dict):
            return [Delta(text=self._raw)]
        if "tool" in answer:
            return [self._call(str(answer["tool"]), orjson.dumps(answer.get("arguments") or {}).decode())]
        return [Delta(text=str(answer["answer"]))] if answer.get("answer") else []

    def _begin(self) -> list[Delta]:
        if begun := _ANSWER.match(self._raw):
            self._part, self._raw = "answer", self._raw[begun.end() :]
            return self._answer()
        if begun := _CALL.match(self._raw):
            self._part, self._raw = "arguments", self._raw[begun.end() :]
            return [self._call(begun["name"]), *self._arguments()]
        return []

    def _call(self, name: str, text: str = "") -> Delta:
        return Delta(call=CallDelta(0, f"call_{self._made}", name, text))

    def _answer(self) -> list[Delta]:
        """The text so far. Incomplete escapes and surrogate pairs wait for the rest."""
        whole = _TEXT.match(self._raw)
        assert whole is not None
        text, self._raw = whole[0], self._raw[whole.end() :]
        if self._raw.startswith('"'):
            self._part = "over"
        elif half := _HALF.search(text):
            text, self._raw = text[: half.start()], text[half.start() :] + self._raw
        return [Delta(text=json.loads(f'"{text}"', strict=False))] if text else []

    def _arguments(self) -> list[Delta]:
        """The arguments as they are written, up to their closing bracket."""
        end = len(self._raw)
        for place, character in enumerate(self._raw):
            if self._quoted:
                self._quoted = self._escaped or character != '"'
                self._escaped = not self._escaped and character == "\\"
                continue
            self._quoted = character == '"'
            self._depth += (character in "{[") - (character in "}]")
            if character in "}]" and self._depth <= 0:
                self._part, end = "over", place + (self._depth == 0)
                break
        text, self._raw = self._raw[:end], ""
        return [Delta(call=CallDelta(0, text=text))] if text else []


def _without_calls(message: Message) -> Message:
    """Calls, their results and text files as text."""
    if isinstance(message, User) and message.files:
        return User(with_texts(message))
    if isinstance(message, ToolResult):
        return User(f"The tool {message.name} {'failed' if message.failed else 'answered'}: {message.text}")
    if isinstance(message, Assistant) and message.calls:
        calls = [orjson.dumps({"tool": call.name, "arguments": call.tolerant}).decode() for call in message.calls]
        return Assistant("\n".join(filter(None, [message.text, *calls])))
    return message


def _instructions(tools: list[Tool], free: bool) -> str:
    lines = [f"- {tool.name}: {tool.description} Arguments: {orjson.dumps(tool.parameters).decode()}" for tool in tools]
    how = 'Call a tool with {"tool": name, "arguments": {...}}' + (', or answer the user with {"answer": text}.' if free else ".")
    return "\n".join(["You have these tools:", *lines, how])


def _schema(tools: list[Tool], free: bool) -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    choices: list[dict[str, Any]] = []
    for tool in tools:
        arguments = _own(tool)
        definitions |= arguments.pop("$defs", {})
        choices.append(_object(tool={"const": tool.name}, arguments=arguments))
    if free:
        choices.append(_object(answer={"type": "string"}))
    schema: dict[str, Any] = {"anyOf": choices} if len(choices) > 1 else choices[0]
    return schema | ({"$defs": definitions} if definitions else {})


def _object(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


def _own(tool: Tool) -> dict[str, Any]:
    """A tool's schema with unique names of definitions, because all definitions end up in one place."""
    text = orjson.dumps(tool.parameters).replace(b'"#/$defs/', f'"#/$defs/{tool.name}.'.encode())
    schema: dict[str, Any] = orjson.loads(text)
    if "$defs" in schema:
        schema["$defs"] = {f"{tool.name}.{name}": value for name, value in schema["$defs"].items()}
    return schema
