"""OpenAI's newer Responses API. Nothing is stored there: each request contains the whole conversation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.ai.error_translation import ServiceError, read_error, translate_service_error
from gateleg.ai.errors import NotOffered
from gateleg.ai.messages import (
    Assistant,
    ToolCall,
    ToolResult,
    UploadedFile,
    User,
    check_upload_provider,
    data_url,
    file_error,
    kind_of,
    with_texts,
)
from gateleg.ai.providers.remote import ApiRequest, ChatDialect
from gateleg.ai.replies import CallDelta, Delta, ReplyBuilder, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.ai.chat_requests import ChatRequest
    from gateleg.ai.messages import Attachment, Message
    from gateleg.ai.replies import Finish, Reply

#: Statuses for error codes in a response whose own status is 200.
_STATUSES = {"rate_limit_exceeded": 429, "server_error": 500, "vector_store_timeout": 504}


class ResponsesDialect(ChatDialect):
    """Builds and parses `/responses`. With `reasoning`, models return their encrypted reasoning before a tool call."""

    def __init__(self, *, reasoning: bool = False) -> None:
        self.reasoning = reasoning

    def build_request(self, model: str, request: ChatRequest, stream: bool) -> ApiRequest:
        """A request for a response."""
        check_upload_provider(request, "openai")
        if request.stop:
            raise NotOffered("The Responses API does not support stop sequences.", fix="Omit stop, or use openai:MODEL.")
        items = [item for message in request.turns for item in _items(message)]
        body: dict[str, Any] = {"model": model, "input": items, "stream": stream, "store": False}
        options = {"instructions": request.system or None, "temperature": request.temperature, "max_output_tokens": request.max_tokens}
        body |= {name: value for name, value in options.items() if value is not None}
        if self.reasoning:
            body["include"] = ["reasoning.encrypted_content"]
        if request.tools:
            body["tools"] = [
                {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters, "strict": False}
                for tool in request.tools
            ]
            named = request.tool_choice not in ("auto", "none", "required")
            body["tool_choice"] = {"type": "function", "name": request.tool_choice} if named else request.tool_choice
        if request.shape is not None:
            shape = {"type": "json_schema", "name": request.shape.name, "schema": request.shape.schema, "strict": False}
            body["text"] = {"format": shape}
        return ApiRequest("/responses", body)

    def reply(self, body: dict[str, Any], request: ChatRequest) -> Reply:
        """Parse a whole reply, as a stream of its items."""
        reader, builder = self.reader(request), ReplyBuilder()
        for number, item in enumerate(body["output"]):
            for delta in reader.item(number, item):
                builder.add(delta)
        reader.end(body)
        return builder.whole(reader.finish or "stop", reader.usage, reader.model)

    def error(self, status: int, headers: Mapping[str, str], body: bytes) -> ServiceError:
        """Parse an error. One in a stream has only a code."""
        return _failure(body) if status == 200 else read_error(status, headers, body)

    def reader(self, request: ChatRequest) -> ResponsesReader:
        """A reader for the events of a stream."""
        return ResponsesReader()


class ResponsesReader:
    """Reads the events of one reply."""

    def __init__(self) -> None:
        self.finish: Finish | None = None
        self.usage = Usage()
        self.model = ""
        self._refused = False
        #: index of the tool call by output item
        self._calls: dict[int, int] = {}
        #: reasoning items, as they are sent back with the next call
        self._thought = ""

    def read(self, event: dict[str, Any]) -> list[Delta]:
        """The pieces in an event."""
        match event.get("type"):
            case "response.output_text.delta":
                return [Delta(text=event["delta"])]
            case "response.refusal.delta":
                self._refused = True
                return [Delta(text=event["delta"])]
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return [Delta(reasoning=event["delta"])]
            case "response.output_item.added" if event["item"]["type"] == "function_call":
                return [self._call(event["output_index"], event["item"] | {"arguments": ""})]
            case "response.function_call_arguments.delta":
                return [Delta(call=CallDelta(self._calls[event["output_index"]], text=event["delta"]))]
            case "response.output_item.done" if event["item"]["type"] == "reasoning":
                self._keep(event["item"])
            case "response.completed" | "response.incomplete" | "response.failed":
                self.end(event["response"])
            case "error":
                raise translate_service_error(_failure(orjson.dumps(event)))
        return []

    def item(self, number: int, item: dict[str, Any]) -> list[Delta]:
        """The pieces of a complete item."""
        match item["type"]:
            case "message":
                return [self._part(part) for part in item["content"]]
            case "function_call":
                return [self._call(number, item)]
            case "reasoning":
                self._keep(item)
                return [Delta(reasoning=part["text"]) for part in item.get("summary") or () if part.get("text")]
        return []

    def end(self, body: dict[str, Any]) -> None:
        """The end of a reply: finish reason and usage."""
        self.model = body.get("model") or self.model
        self.usage = _usage(body.get("usage"))
        if body.get("status") == "failed":
            raise translate_service_error(_failure(orjson.dumps(body)))
        reason = (body.get("incomplete_details") or {}).get("reason")
        filtered = self._refused or reason == "content_filter"
        self.finish = "filtered" if filtered else "length" if reason else "tools" if self._calls else "stop"

    def _part(self, part: dict[str, Any]) -> Delta:
        if part["type"] == "refusal":
            self._refused = True
            return Delta(text=part["refusal"])
        return Delta(text=part.get("text") or "")

    def _call(self, number: int, item: dict[str, Any]) -> Delta:
        call = self._calls[number] = len(self._calls)
        thought, self._thought = self._thought, ""
        return Delta(call=CallDelta(call, item["call_id"], item["name"], item.get("arguments") or "", thought))

    def _keep(self, item: dict[str, Any]) -> None:
        if item.get("encrypted_content"):
            thought = {"type": "reasoning", "summary": item.get("summary") or [], "encrypted_content": item["encrypted_content"]}
            self._thought = orjson.dumps(thought | ({"id": item["id"]} if item.get("id") else {})).decode()


def _items(message: Message) -> list[dict[str, Any]]:
    if isinstance(message, ToolResult):
        return [{"type": "function_call_output", "call_id": message.call_id, "output": message.text}]
    if isinstance(message, Assistant):
        said = [{"role": "assistant", "content": [{"type": "output_text", "text": message.text}]}] if message.text else []
        return [*said, *(item for call in message.calls for item in _call_items(call))]
    if isinstance(message, User):
        files = [_file(file) for file in message.files if isinstance(file, UploadedFile) or kind_of(file) != "text"]
        text = with_texts(message)
        return [{"role": "user", "content": [*files, *([{"type": "input_text", "text": text}] if text or not files else [])]}]
    return []


def _call_items(call: ToolCall) -> list[dict[str, Any]]:
    thought = [orjson.loads(call.signature)] if call.signature.startswith("{") else []
    return [*thought, {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.text}]


def _file(file: Attachment | UploadedFile) -> dict[str, Any]:
    kind = kind_of(file)
    if isinstance(file, UploadedFile):
        return {"type": "input_image" if kind == "image" else "input_file", "file_id": file.id}
    if kind == "image":
        return {"type": "input_image", "image_url": data_url(file)}
    if kind == "pdf":
        return {"type": "input_file", "filename": file.name or "file.pdf", "file_data": data_url(file)}
    raise file_error(file, "OpenAI's Responses API", "images, PDF and texts")


def _failure(body: bytes) -> ServiceError:
    """The error of an event, or of a response that failed."""
    error = read_error(200, {}, body)
    return replace(error, status=_STATUSES.get(error.code, error.status))


def _usage(counts: dict[str, Any] | None) -> Usage:
    if not counts:
        return Usage()
    cached = (counts.get("input_tokens_details") or {}).get("cached_tokens") or 0
    return Usage(input=counts.get("input_tokens") or 0, output=counts.get("output_tokens") or 0, cached=cached)
