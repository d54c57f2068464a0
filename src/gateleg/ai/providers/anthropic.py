"""Anthropic's Messages API, through its SDK."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.ai.messages import Assistant, ToolCall, ToolResult, UploadedFile, User
from gateleg.ai.providers.attachments import check_upload_provider, encoded, file_error, kind_of, text_of
from gateleg.ai.providers.error_responses import error_for, redact_key
from gateleg.ai.providers.sdk import import_sdk
from gateleg.ai.providers.turns import turns_of
from gateleg.ai.replies import CallDelta, Delta, Reply, Usage
from gateleg.net import retry_after

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.ai.chat_requests import ChatRequest
    from gateleg.ai.errors import AiError
    from gateleg.ai.messages import Attachment, Message
    from gateleg.ai.replies import Finish

USUAL = "https://api.anthropic.com"
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
_STATUSES = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504, "invalid_request_error": 400}


class AnthropicSdk:
    """A model of Anthropic. It has no seed. A structure is requested as a tool that must be called."""

    def __init__(self, model: str, key: str, url: str | None) -> None:
        self.model = model
        self._module = import_sdk("anthropic", "anthropic")
        self._client: Any = None
        self._key = key
        self._url = url or USUAL
        self._lock = threading.Lock()

    def call(self, request: ChatRequest, seconds: float) -> dict[str, Any]:
        """Request a whole reply."""
        body: dict[str, Any] = (
            self._connected().messages.create(**build_request(self.model, request), timeout=seconds).model_dump(mode="json")
        )
        return body

    def events(self, request: ChatRequest, seconds: float) -> Iterator[dict[str, Any]]:
        """Stream the events of a reply."""
        with self._connected().messages.create(**build_request(self.model, request), stream=True, timeout=seconds) as stream:
            for event in stream:
                yield event.model_dump(mode="json")

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
        """A reader for the events of a stream."""
        return AnthropicReader(shaped=request.shape is not None)

    def upload(self, file: Attachment, seconds: float) -> UploadedFile:
        """Upload a file to the provider."""
        kept = self._connected().beta.files.upload(
            file=(file.name or "file", file.data, file.media_type), extra_headers=_FILES, timeout=seconds
        )
        return UploadedFile("anthropic", kept.id, file.media_type, file.name)

    def forget(self, upload: UploadedFile, seconds: float) -> None:
        """Delete an uploaded file at the provider."""
        self._connected().beta.files.delete(upload.id, extra_headers=_FILES, timeout=seconds)

    def failure(self, error: Any) -> AiError | None:
        """The error for an exception of the SDK."""
        if not isinstance(error, self._module.APIStatusError):
            return None
        kind = str(getattr(error, "type", "") or "")
        status = error.status_code if error.status_code >= 400 else _STATUSES.get(kind, 500)
        message = redact_key(str(getattr(error, "api_message", None) or ""), self._key)
        return error_for(status, kind, message, retry_after(error.response.headers))

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._module.Anthropic(api_key=self._key, base_url=self._url, max_retries=0)
                weakref.finalize(self, self._client.close)
            return self._client


class AnthropicReader:
    """Reads the events of one reply."""

    def __init__(self, shaped: bool) -> None:
        self.finish: Finish | None = None
        self.usage = Usage()
        self.model = ""
        self._shaped = shaped
        self._used: dict[str, Any] = {}
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

    def _count(self, found: dict[str, Any]) -> None:
        """Counts are cumulative, and the last event may omit some."""
        self._used |= {name: value for name, value in found.items() if value is not None}
        self.usage = _usage(self._used)


def build_request(model: str, request: ChatRequest) -> dict[str, Any]:
    """The arguments of an SDK call."""
    check_upload_provider(request, "anthropic")
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens or _DEFAULT_LIMIT,
        "messages": turns_of(request.turns, _blocks),
    }
    if any(isinstance(file, UploadedFile) for file in request.files):
        body["extra_headers"] = _FILES
    if request.system:
        body["system"] = request.system
    if request.stop:
        body["stop_sequences"] = list(request.stop)
    if request.temperature is not None:
        # The SDK dropped this argument; models that support it still accept it, from 0 to 1.
        body["extra_body"] = {"temperature": min(request.temperature, 1.0)}
    if request.shape is not None:
        body["tools"] = [{"name": request.shape.name, "description": "Returns the answer.", "input_schema": request.shape.schema}]
        body["tool_choice"] = {"type": "tool", "name": request.shape.name}
    elif request.tools:
        body["tools"] = [{"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in request.tools]
        kinds = {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}
        body["tool_choice"] = kinds.get(request.tool_choice) or {"type": "tool", "name": request.tool_choice}
    return body


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


def _usage(found: dict[str, Any]) -> Usage:
    read, written = found.get("cache_read_input_tokens") or 0, found.get("cache_creation_input_tokens") or 0
    return Usage((found.get("input_tokens") or 0) + read + written, found.get("output_tokens") or 0, read)
