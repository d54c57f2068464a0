"""Google's Gemini API."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.ai.error_translation import ServiceError, read_error
from gateleg.ai.errors import InvalidModelResponse, ModelRefused
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
from gateleg.ai.provider import Embedded
from gateleg.ai.providers.remote import (
    ApiRequest,
    ChatDialect,
    EmbeddingsDialect,
    Endpoint,
    RemoteChat,
    exchange,
    matrix,
    read,
    send,
    turns_of,
)
from gateleg.ai.replies import CallDelta, Delta, ReplyBuilder, Usage
from gateleg.net.http import HttpRequest
from gateleg.store.flow import Pause

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.ai.chat_requests import ChatRequest, Purpose
    from gateleg.ai.messages import Attachment, Message
    from gateleg.ai.replies import Finish, Reply
    from gateleg.ai.setup import CallDeadline
    from gateleg.ai.steps import Flow

USUAL = "https://generativelanguage.googleapis.com"
_API = "/v1"
#: The maximum number of texts in a call of embeddings.
BATCH = 100
#: Seconds between polls of a file that is being processed.
_PROCESSING = 1.0
_SECONDS = re.compile(r"(\d{1,6}(?:\.\d+)?)s")
_FINISHES: dict[str, Finish] = {"STOP": "stop", "MAX_TOKENS": "length"}
_TASKS: dict[Purpose, str] = {"document": "RETRIEVAL_DOCUMENT", "query": "RETRIEVAL_QUERY"}


def gemini_endpoint(url: str, key: str) -> Endpoint:
    """An endpoint that speaks the Gemini API."""
    return Endpoint(url, key, key_header="x-goog-api-key")


class GeminiDialect(ChatDialect, EmbeddingsDialect):
    """Builds and parses generated contents and embeddings."""

    def build_request(self, model: str, request: ChatRequest, stream: bool) -> ApiRequest:
        """A request for generated content."""
        check_upload_provider(request, "gemini")
        options = {
            "temperature": request.temperature,
            "maxOutputTokens": request.max_tokens,
            "stopSequences": list(request.stop) or None,
            "seed": request.seed,
        }
        generation: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        if request.shape is not None:
            generation |= {"responseMimeType": "application/json", "responseJsonSchema": request.shape.schema}
        body: dict[str, Any] = {"contents": turns_of(request.turns, _parts, member="parts", model="model"), "generationConfig": generation}
        if request.system:
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        if request.tools:
            declared = [
                {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters} for tool in request.tools
            ]
            modes: dict[str, dict[str, Any]] = {"auto": {"mode": "AUTO"}, "none": {"mode": "NONE"}, "required": {"mode": "ANY"}}
            choice = modes.get(request.tool_choice) or {"mode": "ANY", "allowedFunctionNames": [request.tool_choice]}
            body |= {"tools": [{"functionDeclarations": declared}], "toolConfig": {"functionCallingConfig": choice}}
        verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return ApiRequest(f"{_API}/{_resource(model)}:{verb}", body)

    def reply(self, body: dict[str, Any], request: ChatRequest) -> Reply:
        """Parse a whole reply, as a stream of one event."""
        if "candidates" not in body and "promptFeedback" not in body:
            raise InvalidModelResponse("The response has no candidate.")
        reader, builder = self.reader(request), ReplyBuilder()
        for delta in reader.read(body):
            builder.add(delta)
        return builder.whole(reader.finish or "stop", reader.usage, reader.model)

    def reader(self, request: ChatRequest) -> GeminiReader:
        """A reader for the events of a stream."""
        return GeminiReader()

    def error(self, status: int, headers: Mapping[str, str], body: bytes) -> ServiceError:
        """Parse an error. Its code is a status in words; the pause to make is among its details, not in a header."""
        error = read_error(status, headers, body)
        try:
            content = orjson.loads(body)
        except orjson.JSONDecodeError:
            return error
        # A stream that was not asked for as events is a list.
        content = content[0] if isinstance(content, list) and content else content
        described = content.get("error") if isinstance(content, dict) else None
        if not isinstance(described, dict):
            return error
        message = str(described.get("message") or "")
        # A wrong key is answered with 400.
        status = 401 if "api key not valid" in message.lower() else error.status
        wait = error.retry_after if error.retry_after is not None else _retry_delay(described.get("details"))
        return replace(error, status=status, code=str(described.get("status") or error.code), message=message, retry_after=wait)

    def embed(self, model: str, texts: Sequence[str], dimensions: int | None, purpose: Purpose) -> ApiRequest:
        """A request for embeddings."""
        options = {"taskType": _TASKS[purpose]} | ({} if dimensions is None else {"outputDimensionality": dimensions})
        requests = [{"model": _resource(model), "content": {"parts": [{"text": text}]}} | options for text in texts]
        return ApiRequest(f"{_API}/{_resource(model)}:batchEmbedContents", {"requests": requests})

    def embedded(self, body: dict[str, Any], count: int) -> Embedded:
        """The vectors of a response."""
        return Embedded(matrix([embedding["values"] for embedding in body.get("embeddings") or ()], count), Usage())


class GeminiChat(RemoteChat):
    """A chat model of Google, which also stores files."""

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        super().__init__(model, endpoint, GeminiDialect())

    def upload(self, file: Attachment, deadline: CallDeadline) -> Flow[UploadedFile]:
        """Upload a file to the provider, which keeps it for two days. A video is available once it is processed."""
        described = {"mimeType": file.media_type} | ({"displayName": file.name} if file.name else {})
        begun = self.endpoint.request(
            f"/upload{_API}/files",
            {"file": described},
            headers={
                "x-goog-upload-protocol": "resumable",
                "x-goog-upload-command": "start",
                "x-goog-upload-header-content-length": str(len(file.data)),
                "x-goog-upload-header-content-type": file.media_type,
            },
        )
        headers, _ = yield from exchange(self.endpoint, begun, deadline, self.dialect)
        # The address is a secret of its own, and the key is not sent to it.
        place = headers.get("x-goog-upload-url", "")
        if not place.startswith(("http://", "https://")):
            raise InvalidModelResponse("The response does not say where the file is to be uploaded.")
        command = {"content-type": file.media_type, "x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0"}
        body = yield from send(self.endpoint, HttpRequest(place, file.data, {"user-agent": "gateleg"} | command), deadline, self.dialect)
        name, uri, state = read(lambda: _kept(body["file"]))
        while state == "PROCESSING":
            deadline.left()
            yield Pause(_PROCESSING)
            body = yield from send(self.endpoint, self.endpoint.request(f"{_API}/{name}", method="GET"), deadline, self.dialect)
            name, uri, state = read(partial(_kept, body))
        if state == "FAILED":
            raise ModelRefused("The service could not process the file.", fix="Check that the media type matches the content.")
        return UploadedFile("gemini", uri, file.media_type, file.name)

    def forget(self, upload: UploadedFile, deadline: CallDeadline) -> Flow[None]:
        """Delete an uploaded file at the provider."""
        request = self.endpoint.request(f"{_API}/files/{upload.id.rpartition('/')[2]}", method="DELETE")
        yield from send(self.endpoint, request, deadline, self.dialect)


class GeminiReader:
    """Reads the events of one reply."""

    def __init__(self) -> None:
        self.finish: Finish | None = None
        self.usage = Usage()
        self.model = ""
        self._calls = 0

    def read(self, event: dict[str, Any]) -> list[Delta]:
        """The pieces in an event. A blocked reply has no candidate."""
        self.model = event.get("modelVersion") or self.model
        if event.get("usageMetadata"):
            self.usage = _usage(event["usageMetadata"])
        if (event.get("promptFeedback") or {}).get("blockReason"):
            self.finish = "filtered"
        pieces: list[Delta] = []
        for candidate in (event.get("candidates") or ())[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                pieces += self._part(part)
            if candidate.get("finishReason"):
                self.finish = _FINISHES.get(candidate["finishReason"], "filtered")
        return pieces

    def _part(self, part: dict[str, Any]) -> list[Delta]:
        call = part.get("functionCall")
        if call:
            number, self._calls = self._calls, self._calls + 1
            text = orjson.dumps(call.get("args") or {}).decode()
            return [
                Delta(call=CallDelta(number, call.get("id") or f"call_{number}", call["name"], text, part.get("thoughtSignature") or ""))
            ]
        if not part.get("text"):
            return []
        return [Delta(reasoning=part["text"])] if part.get("thought") else [Delta(text=part["text"])]


def _resource(model: str) -> str:
    """The name of a model in paths. Tuned models have one of their own kind."""
    return model if "/" in model else f"models/{model}"


def _parts(message: Message) -> list[dict[str, Any]]:
    if isinstance(message, ToolResult):
        response = {"error" if message.failed else "result": message.text}
        return [{"functionResponse": {"id": message.call_id, "name": message.name, "response": response}}]
    parts: list[dict[str, Any]] = [_file(file) for file in message.files] if isinstance(message, User) else []
    parts += [{"text": message.text}] if message.text else []
    if isinstance(message, Assistant):
        parts += [_call(call) for call in message.calls]
    return parts


def _file(file: Attachment | UploadedFile) -> dict[str, Any]:
    if isinstance(file, UploadedFile):
        return {"fileData": {"fileUri": file.id, "mimeType": file.media_type}}
    if kind_of(file) == "other":
        raise file_error(file, "Gemini", "images, sound, video, PDF and texts")
    if kind_of(file) == "text":
        return {"text": text_of(file)}
    return {"inlineData": {"mimeType": file.media_type, "data": encoded(file)}}


def _call(call: ToolCall) -> dict[str, Any]:
    part: dict[str, Any] = {"functionCall": {"id": call.id, "name": call.name, "args": call.tolerant}}
    return part | ({"thoughtSignature": call.signature} if call.signature else {})


def _kept(file: dict[str, Any]) -> tuple[str, str, str]:
    """The name, address and state of an uploaded file."""
    return str(file["name"]), str(file["uri"]), str(file.get("state") or "")


def _retry_delay(details: Any) -> float | None:
    """The seconds to wait, from a `RetryInfo` such as `{"retryDelay": "7.5s"}`."""
    delays = [detail["retryDelay"] for detail in details if isinstance(detail, dict) and "retryDelay" in detail] if details else []
    delay = _SECONDS.fullmatch(str(delays[0])) if delays else None
    return None if delay is None else float(delay[1])


def _usage(counts: dict[str, Any]) -> Usage:
    written = (counts.get("candidatesTokenCount") or 0) + (counts.get("thoughtsTokenCount") or 0)
    return Usage(counts.get("promptTokenCount") or 0, written, counts.get("cachedContentTokenCount") or 0)
