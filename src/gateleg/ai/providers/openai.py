"""OpenAI's chat completions and embeddings, an API that many servers implement: vLLM, llama.cpp, LM Studio, OpenRouter, ..."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from gateleg.ai.errors import NotOffered
from gateleg.ai.messages import (
    Assistant,
    ToolCall,
    ToolResult,
    UploadedFile,
    User,
    check_upload_provider,
    data_url,
    encoded,
    file_error,
    kind_of,
    with_texts,
)
from gateleg.ai.provider import Embedded
from gateleg.ai.providers.remote import ApiRequest, ChatDialect, EmbeddingsDialect, RemoteChat, matrix, read, send
from gateleg.ai.replies import CallDelta, Delta, Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.ai.chat_requests import ChatRequest, Purpose
    from gateleg.ai.messages import Attachment, Message, Tool
    from gateleg.ai.replies import Finish
    from gateleg.ai.setup import CallDeadline
    from gateleg.ai.steps import Flow

USUAL = "https://api.openai.com/v1"
_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_FINISHES: dict[str, Finish] = {"length": "length", "tool_calls": "tools", "function_call": "tools", "content_filter": "filtered"}


class OpenAIDialect(ChatDialect, EmbeddingsDialect):
    """Builds and parses chat completions. `limit` is the endpoint's name for the maximum number of output tokens."""

    def __init__(self, limit: str = "max_tokens", default_limit: int | None = None) -> None:
        self.limit = limit
        self.default_limit = default_limit

    def build_request(self, model: str, request: ChatRequest, stream: bool) -> ApiRequest:
        """A request for a chat completion."""
        check_upload_provider(request, "openai")
        body: dict[str, Any] = {"model": model, "messages": [_message(message) for message in request.messages], "stream": stream}
        if stream:
            body["stream_options"] = {"include_usage": True}
        limit = request.max_tokens or self.default_limit
        options = {"temperature": request.temperature, self.limit: limit, "seed": request.seed, "stop": list(request.stop) or None}
        body |= {name: value for name, value in options.items() if value is not None}
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            named = request.tool_choice not in ("auto", "none", "required")
            body["tool_choice"] = {"type": "function", "function": {"name": request.tool_choice}} if named else request.tool_choice
        if request.shape is not None:
            shape = {"name": request.shape.name, "schema": request.shape.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        return ApiRequest("/chat/completions", body)

    def reply(self, body: dict[str, Any], request: ChatRequest) -> Reply:
        """Parse a whole reply."""
        choice = body["choices"][0]
        message = choice["message"]
        calls = tuple(
            ToolCall(call.get("id") or f"call_{number}", call["function"]["name"], _arguments(call["function"].get("arguments")))
            for number, call in enumerate(message.get("tool_calls") or ())
        )
        return Reply(
            text=message.get("content") or message.get("refusal") or "",
            calls=calls,
            finish=_finish(choice.get("finish_reason"), bool(calls), bool(message.get("refusal"))),
            usage=_usage(body.get("usage")),
            model=body.get("model") or "",
            reasoning=message.get("reasoning_content") or message.get("reasoning") or "",
        )

    def reader(self, request: ChatRequest) -> OpenAIReader:
        """A reader for the chunks of a completion."""
        return OpenAIReader()

    def embed(self, model: str, texts: Sequence[str], dimensions: int | None, purpose: Purpose) -> ApiRequest:
        """A request for embeddings."""
        body: dict[str, Any] = {"model": model, "input": list(texts), "encoding_format": "float"}
        return ApiRequest("/embeddings", body | ({"dimensions": dimensions} if dimensions is not None else {}))

    def embedded(self, body: dict[str, Any], count: int) -> Embedded:
        """The vectors of a response, ordered by index."""
        rows = sorted(body["data"], key=lambda row: row["index"])
        return Embedded(matrix([row["embedding"] for row in rows], count), _usage(body.get("usage")))


class OpenAIChat(RemoteChat):
    """A model behind an OpenAI-compatible endpoint, which also stores files."""

    def upload(self, file: Attachment, deadline: CallDeadline) -> Flow[UploadedFile]:
        """Upload a file to the provider."""
        form = self.endpoint.form("/files", {"purpose": "vision" if kind_of(file) == "image" else "user_data"}, file)
        body = yield from send(self.endpoint, form, deadline)
        return UploadedFile("openai", read(lambda: str(body["id"])), file.media_type, file.name)

    def forget(self, upload: UploadedFile, deadline: CallDeadline) -> Flow[None]:
        """Delete an uploaded file at the provider."""
        yield from send(self.endpoint, self.endpoint.request(f"/files/{quote(upload.id, safe='')}", method="DELETE"), deadline)


class OpenAIReader:
    """Reads the chunks of one completion."""

    def __init__(self) -> None:
        self.finish: Finish | None = None
        self.usage = Usage()
        self.model = ""

    def read(self, event: dict[str, Any]) -> list[Delta]:
        """The pieces in a chunk. The last chunk has the usage and no choice."""
        self.model = event.get("model") or self.model
        if event.get("usage"):
            self.usage = _usage(event["usage"])
        pieces: list[Delta] = []
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            text = delta.get("content") or delta.get("refusal") or ""
            reasoning = delta.get("reasoning_content") or delta.get("reasoning") or ""
            if text or reasoning:
                pieces.append(Delta(text=text, reasoning=reasoning))
            pieces += [_call_delta(number, call) for number, call in enumerate(delta.get("tool_calls") or ())]
            if choice.get("finish_reason"):
                self.finish = _finish(choice["finish_reason"])
        return pieces


def _message(message: Message) -> dict[str, Any]:
    if isinstance(message, ToolResult):
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if isinstance(message, Assistant) and message.calls:
        calls = [{"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}} for call in message.calls]
        return {"role": "assistant", "content": message.text or None, "tool_calls": calls}
    if isinstance(message, User) and message.files:
        return {"role": "user", "content": _parts(message)}
    return {"role": message.role, "content": message.text}


def _parts(message: User) -> list[dict[str, Any]]:
    """The files of a message, then its text. Text files become part of the text."""
    text = with_texts(message)
    parts = [_part(file) for file in message.files if isinstance(file, UploadedFile) or kind_of(file) != "text"]
    return [*parts, {"type": "text", "text": text}] if text else parts


def _part(file: Attachment | UploadedFile) -> dict[str, Any]:
    kind = kind_of(file)
    if isinstance(file, UploadedFile):
        if kind == "image":
            raise NotOffered(
                "Chat completions do not accept uploaded images.", fix="Send it as an Attachment, or use openai-responses:MODEL."
            )
        return {"type": "file", "file": {"file_id": file.id}}
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": data_url(file)}}
    if kind == "pdf":
        return {"type": "file", "file": {"filename": file.name or "file.pdf", "file_data": data_url(file)}}
    if file.media_type in _SOUNDS:
        return {"type": "input_audio", "input_audio": {"data": encoded(file), "format": _SOUNDS[file.media_type]}}
    raise file_error(file, "OpenAI's chat completions", "images, PDF, WAV, MP3 and texts")


def _tool(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}


def _arguments(value: Any) -> str:
    """Arguments are JSON text; some servers send the object itself."""
    if isinstance(value, dict):
        return orjson.dumps(value).decode()
    return str(value or "{}")


def _call_delta(number: int, call: dict[str, Any]) -> Delta:
    function = call.get("function") or {}
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else _arguments(arguments) if arguments else ""
    return Delta(call=CallDelta(call.get("index", number), call.get("id") or "", function.get("name") or "", text))


def _finish(reason: str | None, calls: bool = False, refused: bool = False) -> Finish:
    if refused:
        return "filtered"
    return _FINISHES.get(reason or "", "tools" if calls else "stop")


def _usage(counts: dict[str, Any] | None) -> Usage:
    if not counts:
        return Usage()
    cached = (counts.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return Usage(input=counts.get("prompt_tokens") or 0, output=counts.get("completion_tokens") or 0, cached=cached)
