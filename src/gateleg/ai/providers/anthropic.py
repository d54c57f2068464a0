"""Anthropic's Messages API."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from gateleg.ai.error_translation import ServiceError, read_error
from gateleg.ai.messages import (
    Assistant,
    ToolCall,
    ToolResult,
    UploadedFile,
    User,
    check_upload_provider,
    encoded,
    file_error,
    kind_of,
    text_of,
)
from gateleg.ai.providers.remote import ApiRequest, ChatDialect, Endpoint, RemoteChat, read, send, turns_of
from gateleg.ai.replies import CallDelta, Delta, Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.ai.chat_requests import ChatRequest
    from gateleg.ai.messages import Attachment, Message
    from gateleg.ai.replies import Finish
    from gateleg.ai.setup import CallDeadline
    from gateleg.ai.steps import Flow

USUAL = "https://api.anthropic.com"
#: The version of the API that this module speaks. The key is a bearer token, as the official SDK of this version sends it.
_VERSION = {"anthropic-version": "2026-10-21"}
#: The API requires a maximum number of output tokens.
_DEFAULT_LIMIT = 4096
#: The beta header for uploaded files.
_FILES = {"anthropic-beta": "files-api-2025-04-14"}
_FINISHES: dict[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tools",
    "refusal": "filtered",
}
#: Statuses of errors in the middle of a stream, whose own status is 200.
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "gateway_timeout_error": 504,
    "overloaded_error": 529,
}


def anthropic_endpoint(url: str, key: str) -> Endpoint:
    """An endpoint that speaks the Messages API."""
    return Endpoint(url, key, headers=_VERSION)


class AnthropicDialect(ChatDialect):
    """Builds and parses messages. The API has no seed. A structure is requested as a tool that must be called."""

    def build_request(self, model: str, request: ChatRequest, stream: bool) -> ApiRequest:
        """A request for a message."""
        check_upload_provider(request, "anthropic")
        body: dict[str, Any] = {
            "model": model,
            "max_tokens": request.max_tokens or _DEFAULT_LIMIT,
            "messages": turns_of(request.turns, _blocks),
        }
        if stream:
            body["stream"] = True
        if request.system:
            body["system"] = request.system
        if request.stop:
            body["stop_sequences"] = list(request.stop)
        if request.temperature is not None:
            body["temperature"] = min(request.temperature, 1.0)
        if request.shape is not None:
            body["tools"] = [{"name": request.shape.name, "description": "Returns the answer.", "input_schema": request.shape.schema}]
            body["tool_choice"] = {"type": "tool", "name": request.shape.name}
        elif request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in request.tools
            ]
            kinds = {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}
            body["tool_choice"] = kinds.get(request.tool_choice) or {"type": "tool", "name": request.tool_choice}
        uploads = any(isinstance(file, UploadedFile) for file in request.files)
        return ApiRequest("/v1/messages", body, headers=_FILES if uploads else {})

    def reply(self, body: dict[str, Any], request: ChatRequest) -> Reply:
        """Parse a whole reply."""
        blocks = body["content"]
        uses = [block for block in blocks if block["type"] == "tool_use"]
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        if request.shape is not None and uses:
            return Reply(orjson.dumps(uses[0]["input"]).decode(), (), _finish(body, shaped=True), _usage(body["usage"]), body["model"])
        calls = tuple(ToolCall(use["id"], use["name"], orjson.dumps(use["input"]).decode()) for use in uses)
        thought = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
        return Reply(text, calls, _finish(body), _usage(body["usage"]), body["model"], thought)

    def reader(self, request: ChatRequest) -> AnthropicReader:
        """A reader for the events of a message."""
        return AnthropicReader(shaped=request.shape is not None)

    def error(self, status: int, headers: Mapping[str, str], body: bytes) -> ServiceError:
        """Parse an error. One in a stream has only a type."""
        error = read_error(status, headers, body)
        return replace(error, status=_STATUSES.get(error.code, 500)) if status == 200 else error


class AnthropicChat(RemoteChat):
    """A model of Anthropic, which also stores files."""

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        super().__init__(model, endpoint, AnthropicDialect())

    def upload(self, file: Attachment, deadline: CallDeadline) -> Flow[UploadedFile]:
        """Upload a file to the provider."""
        form = self.endpoint.form("/v1/files", {}, file, headers=_FILES)
        body = yield from send(self.endpoint, form, deadline, self.dialect)
        return UploadedFile("anthropic", read(lambda: str(body["id"])), file.media_type, file.name)

    def forget(self, upload: UploadedFile, deadline: CallDeadline) -> Flow[None]:
        """Delete an uploaded file at the provider."""
        request = self.endpoint.request(f"/v1/files/{quote(upload.id, safe='')}", method="DELETE", headers=_FILES)
        yield from send(self.endpoint, request, deadline, self.dialect)


class AnthropicReader:
    """Reads the events of one reply."""

    def __init__(self, shaped: bool) -> None:
        self.finish: Finish | None = None
        self.usage = Usage()
        self.model = ""
        self._shaped = shaped
        self._counts: dict[str, Any] = {}
        #: index of the tool call by content block
        self._calls: dict[int, int] = {}

    def read(self, event: dict[str, Any]) -> list[Delta]:
        """The pieces in an event."""
        match event["type"]:
            case "message_start":
                self.model = event["message"]["model"]
                self._count(event["message"]["usage"])
            case "content_block_start" if event["content_block"]["type"] == "tool_use" and not self._shaped:
                number = self._calls[event["index"]] = len(self._calls)
                return [Delta(call=CallDelta(number, event["content_block"]["id"], event["content_block"]["name"]))]
            case "content_block_delta":
                return self._delta(event["index"], event["delta"])
            case "message_delta":
                self.finish = _finish(event["delta"], self._shaped)
                self._count(event.get("usage") or {})
        return []

    def _delta(self, index: int, delta: dict[str, Any]) -> list[Delta]:
        match delta["type"]:
            case "text_delta":
                return [] if self._shaped else [Delta(text=delta["text"])]
            case "thinking_delta":
                return [Delta(reasoning=delta["thinking"])]
            case "input_json_delta" if delta["partial_json"]:
                text = delta["partial_json"]
                return [Delta(text=text)] if self._shaped else [Delta(call=CallDelta(self._calls[index], text=text))]
        return []

    def _count(self, counts: dict[str, Any]) -> None:
        """Counts are cumulative, and the last event may omit some."""
        self._counts |= {name: value for name, value in counts.items() if value is not None}
        self.usage = _usage(self._counts)


def _blocks(message: Message) -> list[dict[str, Any]]:
    if isinstance(message, ToolResult):
        return [{"type": "tool_result", "tool_use_id": message.call_id, "content": message.text, "is_error": message.failed}]
    blocks: list[dict[str, Any]] = [_file(file) for file in message.files] if isinstance(message, User) else []
    blocks += [{"type": "text", "text": message.text}] if message.text.strip() else []
    if isinstance(message, Assistant):
        blocks += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.tolerant} for call in message.calls]
    return blocks


def _file(file: Attachment | UploadedFile) -> dict[str, Any]:
    kind = kind_of(file)
    if kind not in ("image", "pdf", "text"):
        raise file_error(file, "Anthropic", "images, PDF and texts")
    source: dict[str, Any]
    if isinstance(file, UploadedFile):
        source = {"type": "file", "file_id": file.id}
    elif kind == "text":
        source = {"type": "text", "media_type": "text/plain", "data": text_of(file)}
    else:
        source = {"type": "base64", "media_type": file.media_type, "data": encoded(file)}
    titled = {"title": file.name} if file.name and kind != "image" else {}
    return {"type": "image" if kind == "image" else "document", "source": source} | titled


def _finish(body: dict[str, Any], shaped: bool = False) -> Finish:
    finish = _FINISHES.get(body.get("stop_reason") or "", "stop")
    return "stop" if shaped and finish == "tools" else finish


def _usage(counts: dict[str, Any]) -> Usage:
    read, written = counts.get("cache_read_input_tokens") or 0, counts.get("cache_creation_input_tokens") or 0
    return Usage((counts.get("input_tokens") or 0) + read + written, counts.get("output_tokens") or 0, read)
