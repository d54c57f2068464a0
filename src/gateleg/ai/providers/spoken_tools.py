"""Tools for models without tool support: tools are described in text, and the answer is JSON with a call or a text. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.ai.asking import Shape
from gateleg.ai.errors import NotOffered
from gateleg.ai.messages import Assistant, Message, System, Tool, ToolCall, ToolResult, User

if TYPE_CHECKING:
    from gateleg.ai.asking import Asked
    from gateleg.ai.replies import Reply


def spoken(asked: Asked) -> Asked:
    """The same ask without tools: they are in the instructions, and what may be answered is in the shape."""
    for file in asked.files:
        raise NotOffered(f"The local model takes text alone, and the file {file.name!r} is {file.media_type}.", fix="Choose another model.")
    history = tuple(_told(message) for message in asked.messages)
    tools = [tool for tool in asked.tools if asked.tool_choice in ("auto", "required", tool.name)]
    if not tools or asked.tool_choice == "none":
        return replace(asked, messages=history, tools=(), tool_choice="auto")
    free = asked.tool_choice == "auto"
    messages = (System(_instructions(tools, free)), *history)
    return replace(asked, messages=messages, tools=(), tool_choice="auto", shape=Shape("call", _schema(tools, free)))


def heard(asked: Asked, reply: Reply) -> Reply:
    """The reply to a spoken ask, with the call that it makes. JSON that was cut off stays as it is."""
    if not asked.tools or asked.tool_choice == "none":
        return reply
    try:
        found = orjson.loads(reply.text)
    except orjson.JSONDecodeError:
        return reply
    if not isinstance(found, dict) or "tool" not in found:
        return replace(reply, text=str(found.get("answer", "")) if isinstance(found, dict) else reply.text)
    made = sum(len(message.calls) for message in asked.messages if isinstance(message, Assistant))
    call = ToolCall(f"call_{made}", str(found["tool"]), orjson.dumps(found.get("arguments") or {}).decode())
    return replace(reply, text="", calls=(call,), finish="tools")


def _told(message: Message) -> Message:
    """Calls and their results in words."""
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
    """A tool's schema with names of definitions that no other tool has, as they all come to lie in one place."""
    text = orjson.dumps(tool.parameters).replace(b'"#/$defs/', f'"#/$defs/{tool.name}.'.encode())
    schema: dict[str, Any] = orjson.loads(text)
    if "$defs" in schema:
        schema["$defs"] = {f"{tool.name}.{name}": value for name, value in schema["$defs"].items()}
    return schema
