"""Google's Gemini API, through its SDK."""

from __future__ import annotations

import io
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.ai.errors import ModelRefused, ModelTimedOut
from gateleg.ai.messages import Assistant, ToolCall, ToolResult, UploadedFile, User
from gateleg.ai.providers.attachments import check_upload_provider, file_error, kind_of, text_of
from gateleg.ai.providers.error_responses import error_for, redact_key
from gateleg.ai.providers.openai import matrix
from gateleg.ai.providers.protocol import Embedded
from gateleg.ai.providers.sdk import call_sdk, import_sdk
from gateleg.ai.providers.token_estimates import estimate
from gateleg.ai.providers.turns import turns_of
from gateleg.ai.replies import CallDelta, Delta, Reply, Usage
from gateleg.ai.steps import Offload, completed
from gateleg.net import retry_after

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gateleg.ai.chat_requests import ChatRequest, Purpose
    from gateleg.ai.errors import AiError
    from gateleg.ai.messages import Attachment, Message
    from gateleg.ai.replies import Finish, TokenCount
    from gateleg.ai.retry_policy import CallDeadline
    from gateleg.ai.steps import Flow

USUAL = "https://generativelanguage.googleapis.com"
#: Seconds between polls of a file that is being processed.
_PROCESSING = 1.0
_FINISHES: dict[str, Finish] = {"STOP": "stop", "MAX_TOKENS": "length"}
_TASKS: dict[Purpose, str] = {"document": "RETRIEVAL_DOCUMENT", "query": "RETRIEVAL_QUERY"}


class GeminiClient:
    """The SDK's client, created at first use. Nothing is read from the environment."""

    def __init__(self, key: str, url: str | None) -> None:
        self._genai = import_sdk("google.genai", "gemini")
        self._errors = import_sdk("google.genai.errors", "gemini")
        self._client: Any = None
        self._key = key
        self._url = url
        self._lock = threading.Lock()

    def models(self, seconds: float) -> tuple[Any, dict[str, Any]]:
        """The client's models, and the options of a call with this timeout."""
        return self._connected().models, {"timeout": max(1, int(seconds * 1000))}

    def files(self, seconds: float) -> tuple[Any, dict[str, Any]]:
        """The client's files, and the options of a call with this timeout."""
        return self._connected().files, {"timeout": max(1, int(seconds * 1000))}

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                options = {"retry_options": {"attempts": 1}} | ({"base_url": self._url} if self._url else {})
                self._client = self._genai.Client(api_key=self._key, vertexai=False, http_options=options)
                weakref.finalize(self, self._client.close)
            return self._client

    def failure(self, error: Any) -> AiError | None:
        """The error for an exception of the SDK."""
        if not isinstance(error, self._errors.APIError):
            return None
        headers = getattr(error.response, "headers", None) or {}
        message = redact_key(str(error.message or ""), self._key)
        # A wrong key is answered with 400.
        status = 401 if "api key not valid" in message.lower() else int(error.code or 500)
        return error_for(status, str(error.status or ""), message, retry_after({name.lower(): value for name, value in headers.items()}))


class GeminiSdk:
    """A chat model of Google."""

    def __init__(self, model: str, client: GeminiClient) -> None:
        self.model = model
        self.client = client
        self.failure = client.failure

    def call(self, request: ChatRequest, seconds: float) -> dict[str, Any]:
        """Request a whole reply."""
        models, options = self.client.models(seconds)
        answer = models.generate_content(model=self.model, contents=_contents(request), config=config(request) | {"http_options": options})
        return _plain(answer)

    def events(self, request: ChatRequest, seconds: float) -> Iterator[dict[str, Any]]:
        """Stream the events of a reply."""
        models, options = self.client.models(seconds)
        contents, settings = _contents(request), config(request) | {"http_options": options}
        for event in models.generate_content_stream(model=self.model, contents=contents, config=settings):
            yield _plain(event)

    def reply(self, body: dict[str, Any], request: ChatRequest) -> Reply:
        """Parse a whole reply, as a stream of one event."""
        from gateleg.ai.replies import ReplyBuilder

        reader, builder = self.reader(request), ReplyBuilder()
        for delta in reader.read(body):
            builder.add(delta)
        return builder.whole(reader.finish or "stop", reader.usage, reader.model or self.model)

    def upload(self, file: Attachment, seconds: float) -> UploadedFile:
        """Upload a file to the provider, which keeps it for two days. A video is available once it is processed."""
        files, options = self.client.files(seconds)
        config = {"mime_type": file.media_type, "display_name": file.name or None, "http_options": options}
        kept = files.upload(file=io.BytesIO(file.data), config={name: value for name, value in config.items() if value is not None})
        ends = time.monotonic() + seconds
        while str(getattr(kept.state, "name", kept.state)) == "PROCESSING":
            if time.monotonic() > ends:
                raise ModelTimedOut("The file was uploaded, but is still being processed.")
            time.sleep(_PROCESSING)
            kept = files.get(name=kept.name, config={"http_options": options})
        if str(getattr(kept.state, "name", kept.state)) == "FAILED":
            raise ModelRefused("The service could not process the file.", fix="Check that the media type matches the content.")
        return UploadedFile("gemini", kept.uri, file.media_type, file.name)

    def forget(self, upload: UploadedFile, seconds: float) -> None:
        """Delete an uploaded file at the provider."""
        files, options = self.client.files(seconds)
        files.delete(name=f"files/{upload.id.rpartition('/')[2]}", config={"http_options": options})

    def reader(self, request: ChatRequest) -> GeminiReader:
        """A reader for the events of a stream."""
        return GeminiReader()


class GeminiReader:
    """Reads the events of one reply."""

    def __init__(self) -> None:
        self.finish: Finish | None = None
        self.usage = Usage()
        self.model = ""
        self._calls = 0

    def read(self, event: dict[str, Any]) -> list[Delta]:
        """The pieces in an event. A blocked reply has no candidate."""
        self.model = event.get("model_version") or self.model
        if event.get("usage_metadata"):
            self.usage = _usage(event["usage_metadata"])
        if (event.get("prompt_feedback") or {}).get("block_reason"):
            self.finish = "filtered"
        pieces: list[Delta] = []
        for candidate in (event.get("candidates") or ())[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                pieces += self._part(part)
            if candidate.get("finish_reason"):
                self.finish = _FINISHES.get(candidate["finish_reason"], "filtered")
        return pieces

    def _part(self, part: dict[str, Any]) -> list[Delta]:
        call = part.get("function_call")
        if call:
            number, self._calls = self._calls, self._calls + 1
            text = orjson.dumps(call.get("args") or {}).decode()
            return [
                Delta(call=CallDelta(number, call.get("id") or f"call_{number}", call["name"], text, part.get("thought_signature") or ""))
            ]
        if not part.get("text"):
            return []
        return [Delta(reasoning=part["text"])] if part.get("thought") else [Delta(text=part["text"])]


class GeminiEmbeddings:
    """An embedding model of Google."""

    max_tokens: int | None = None
    batch = 100

    def __init__(self, model: str, client: GeminiClient, dimensions: int | None = None) -> None:
        self.model = model
        self.client = client
        self.dimensions = dimensions
        self.variant = str(dimensions or "")

    def embed(self, texts: Sequence[str], purpose: Purpose, deadline: CallDeadline) -> Flow[Embedded]:
        """The vectors of texts."""

        def call() -> list[list[float]]:
            models, options = self.client.models(deadline.wait())
            settings: dict[str, Any] = {"task_type": _TASKS[purpose], "http_options": options}
            if self.dimensions is not None:
                settings["output_dimensionality"] = self.dimensions
            answer = models.embed_content(model=self.model, contents=[text or " " for text in texts], config=settings)
            return [embedding.values for embedding in answer.embeddings or ()]

        rows = yield Offload(lambda: call_sdk(self.client.failure, call))
        return Embedded(matrix(rows, len(texts)), Usage())

    def count(self, texts: Sequence[str], deadline: CallDeadline) -> Flow[list[TokenCount]]:
        """Estimate the tokens of texts."""
        return completed([estimate(text) for text in texts])


def config(request: ChatRequest) -> dict[str, Any]:
    """The configuration of a call."""
    options = {
        "system_instruction": request.system or None,
        "temperature": request.temperature,
        "max_output_tokens": request.max_tokens,
        "stop_sequences": list(request.stop) or None,
        "seed": request.seed,
    }
    found: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    # Tools are run by the caller, never by the SDK.
    found["automatic_function_calling"] = {"disable": True}
    if request.tools:
        declared = [
            {"name": tool.name, "description": tool.description, "parameters_json_schema": tool.parameters} for tool in request.tools
        ]
        modes: dict[str, dict[str, Any]] = {"auto": {"mode": "AUTO"}, "none": {"mode": "NONE"}, "required": {"mode": "ANY"}}
        choice = modes.get(request.tool_choice) or {"mode": "ANY", "allowed_function_names": [request.tool_choice]}
        found |= {"tools": [{"function_declarations": declared}], "tool_config": {"function_calling_config": choice}}
    if request.shape is not None:
        found |= {"response_mime_type": "application/json", "response_json_schema": request.shape.schema}
    return found


def _contents(request: ChatRequest) -> list[dict[str, Any]]:
    check_upload_provider(request, "gemini")
    return turns_of(request.turns, _parts, member="parts", model="model")


def _parts(message: Message) -> list[dict[str, Any]]:
    if isinstance(message, ToolResult):
        response = {"error" if message.failed else "result": message.text}
        return [{"function_response": {"id": message.call_id, "name": message.name, "response": response}}]
    parts: list[dict[str, Any]] = [_file(file) for file in message.files] if isinstance(message, User) else []
    parts += [{"text": message.text}] if message.text else []
    if isinstance(message, Assistant):
        parts += [_call(call) for call in message.calls]
    return parts


def _file(file: Attachment | UploadedFile) -> dict[str, Any]:
    if isinstance(file, UploadedFile):
        return {"file_data": {"file_uri": file.id, "mime_type": file.media_type}}
    if kind_of(file) == "other":
        raise file_error(file, "Gemini", "images, sound, video, PDF and texts")
    if kind_of(file) == "text":
        return {"text": text_of(file)}
    return {"inline_data": {"mime_type": file.media_type, "data": file.data}}


def _call(call: ToolCall) -> dict[str, Any]:
    written: dict[str, Any] = {"function_call": {"id": call.id, "name": call.name, "args": call.tolerant}}
    return written | ({"thought_signature": call.signature} if call.signature else {})


def _plain(answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer.model_dump(mode="json", exclude_none=True)
    return found


def _usage(found: dict[str, Any]) -> Usage:
    written = (found.get("candidates_token_count") or 0) + (found.get("thoughts_token_count") or 0)
    return Usage(found.get("prompt_token_count") or 0, written, found.get("cached_content_token_count") or 0)
