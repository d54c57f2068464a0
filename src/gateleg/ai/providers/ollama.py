"""Ollama's own API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from gateleg.ai.errors import NotOffered
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
    with_texts,
)
from gateleg.ai.provider import Embedded
from gateleg.ai.providers.remote import ApiRequest, ChatDialect, EmbeddingsDialect, RemoteChat, matrix, request_json
from gateleg.ai.replies import CallDelta, Delta, Reply, Usage
from gateleg.net.http import JsonLines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.ai.chat_requests import ChatRequest, Purpose
    from gateleg.ai.messages import Message
    from gateleg.ai.providers.remote import Endpoint
    from gateleg.ai.replies import Finish
    from gateleg.ai.setup import CallDeadline
    from gateleg.ai.steps import Flow

USUAL = "http://127.0.0.1:11434"


class OllamaDialect(ChatDialect, EmbeddingsDialect):
    """Builds and parses `/api/chat` and `/api/embed`."""

    def build_request(self, model: str, request: ChatRequest, stream: bool) -> ApiRequest:
        """A chat request."""
        if request.tool_choice not in ("auto", "none"):
            raise NotOffered("Ollama does not support tool_choice.", fix="Use tool_choice='auto'.")
        check_upload_provider(request, "ollama")
        body: dict[str, Any] = {"model": model, "messages": [_message(message) for message in request.messages], "stream": stream}
        options = {
            "temperature": request.temperature,
            "num_predict": request.max_tokens,
            "seed": request.seed,
            "stop": list(request.stop) or None,
        }
        body["options"] = {name: value for name, value in options.items() if value is not None}
        if request.tools and request.tool_choice == "auto":
            body["tools"] = [
                {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}
                for tool in request.tools
            ]
        if request.shape is not None:
            body["format"] = request.shape.schema
        return ApiRequest("/api/chat", body)

    def reply(self, body: dict[str, Any], request: ChatRequest) -> Reply:
        """Parse a whole reply."""
        message = body["message"]
        calls = tuple(ToolCall(*_call(call, number)) for number, call in enumerate(message.get("tool_calls") or ()))
        return Reply(
            text=message.get("content") or "",
            calls=calls,
            finish="tools" if calls else _finish(body),
            usage=_usage(body),
            model=body.get("model") or "",
            reasoning=message.get("thinking") or "",
        )

    def framing(self) -> JsonLines:
        """Streams are lines of JSON."""
        return JsonLines()

    def reader(self, request: ChatRequest) -> OllamaReader:
        """A reader for the lines of a reply."""
        return OllamaReader()

    def embed(self, model: str, texts: Sequence[str], dimensions: int | None, purpose: Purpose) -> ApiRequest:
        """A request for embeddings."""
        body: dict[str, Any] = {"model": model, "input": list(texts), "truncate": True}
        return ApiRequest("/api/embed", body | ({"dimensions": dimensions} if dimensions is not None else {}))

    def embedded(self, body: dict[str, Any], count: int) -> Embedded:
        """The vectors of a response."""
        return Embedded(matrix(body["embeddings"], count), Usage(input=body.get("prompt_eval_count") or 0))


class OllamaChat(RemoteChat):
    """A model of Ollama. Before sending images, it asks the server whether the model supports them."""

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        super().__init__(model, endpoint, OllamaDialect())
        self._abilities: frozenset[str] | None = None

    def prepare(self, request: ChatRequest, deadline: CallDeadline) -> Flow[None]:
        """Refuse images for a model without vision. Servers before 0.6.4 do not report it, and get the images anyway."""
        if not any(kind_of(file) == "image" for file in request.files):
            return
        if self._abilities is None:
            body = yield from request_json(self.endpoint, ApiRequest("/api/show", {"model": self.model}), deadline)
            self._abilities = frozenset(map(str, body.get("capabilities") or ("vision",)))
        if "vision" not in self._abilities:
            raise NotOffered(
                f"The model {self.model} does not accept images.",
                fix="Choose a model with vision; `ollama show MODEL` lists its capabilities.",
            )


class OllamaReader:
    """Reads the lines of one reply."""

    def __init__(self) -> None:
        self.finish: Finish | None = None
        self.usage = Usage()
        self.model = ""
        self._calls = 0

    def read(self, event: dict[str, Any]) -> list[Delta]:
        """The pieces in a line. A tool call comes in one piece; the last line has the counts."""
        self.model = event.get("model") or self.model
        message = event.get("message") or {}
        pieces = []
        if message.get("content") or message.get("thinking"):
            pieces.append(Delta(text=message.get("content") or "", reasoning=message.get("thinking") or ""))
        for call in message.get("tool_calls") or ():
            pieces.append(Delta(call=CallDelta(self._calls, *_call(call, self._calls))))
            self._calls += 1
        if event.get("done"):
            self.finish, self.usage = _finish(event), _usage(event)
        return pieces


def _message(message: Message) -> dict[str, Any]:
    if isinstance(message, ToolResult):
        return {"role": "tool", "tool_name": message.name, "content": message.text}
    written: dict[str, Any] = {"role": message.role, "content": message.text}
    if isinstance(message, User) and message.files:
        written = {"role": "user", "content": with_texts(message)} | _images(message)
    if isinstance(message, Assistant) and message.calls:
        written["tool_calls"] = [{"function": {"name": call.name, "arguments": call.tolerant}} for call in message.calls]
    return written


def _images(message: User) -> dict[str, list[str]]:
    images: list[str] = []
    for file in message.files:
        if isinstance(file, UploadedFile) or kind_of(file) not in ("image", "text"):
            raise file_error(file, "Ollama", "images and texts")
        if kind_of(file) == "image":
            images.append(encoded(file))
    return {"images": images} if images else {}


def _call(call: dict[str, Any], number: int) -> tuple[str, str, str]:
    """A call's id, name and arguments. Older servers send no id."""
    function = call["function"]
    return call.get("id") or f"call_{number}", function["name"], orjson.dumps(function.get("arguments") or {}).decode()


def _finish(body: dict[str, Any]) -> Finish:
    return "length" if body.get("done_reason") == "length" else "stop"


def _usage(body: dict[str, Any]) -> Usage:
    return Usage(input=body.get("prompt_eval_count") or 0, output=body.get("eval_count") or 0)
