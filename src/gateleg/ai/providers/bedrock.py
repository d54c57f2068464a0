"""Amazon Bedrock: the Converse API for chat, InvokeModel for embeddings.

Requests are signed with the credentials that botocore finds, if it is installed; otherwise with those of the environment.
"""

from __future__ import annotations

import os
import re
import time
from base64 import b64encode
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import orjson

from gateleg.ai.error_translation import ServiceError, read_error
from gateleg.ai.errors import InvalidModelRequest, ModelAccessDenied, NotOffered
from gateleg.ai.messages import Assistant, ToolCall, ToolResult, UploadedFile, User, file_error
from gateleg.ai.provider import Embedded
from gateleg.ai.providers.remote import ApiRequest, ChatDialect, EmbeddingsDialect, Endpoint, RemoteEmbeddings, matrix, turns_of
from gateleg.ai.replies import CallDelta, Delta, Reply, Usage
from gateleg.ai.steps import Offload
from gateleg.net import Chain, Credentials, NoCredentials, amazon, is_throttled, region_of_chain
from gateleg.net.aws import sign
from gateleg.net.http import EventStream

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.ai.chat_requests import ChatRequest, Purpose
    from gateleg.ai.messages import Message
    from gateleg.ai.replies import Finish
    from gateleg.ai.steps import Flow
    from gateleg.net.http import HttpRequest

_FINISHES: dict[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tools",
    "guardrail_intervened": "filtered",
    "content_filtered": "filtered",
}
_STATUSES = {
    "ServiceUnavailableException": 503,
    "InternalServerException": 500,
    "ModelNotReadyException": 503,
    "ModelTimeoutException": 504,
    "ModelErrorException": 500,
    "ModelStreamErrorException": 500,
    "ValidationException": 400,
    "ResourceNotFoundException": 404,
    "AccessDeniedException": 403,
    "UnrecognizedClientException": 403,
    "ExpiredTokenException": 403,
}
#: The content block and format of a file, by media type.
_BLOCKS = {
    "image/png": ("image", "png"),
    "image/jpeg": ("image", "jpeg"),
    "image/gif": ("image", "gif"),
    "image/webp": ("image", "webp"),
    "application/pdf": ("document", "pdf"),
    "text/csv": ("document", "csv"),
    "text/html": ("document", "html"),
    "text/markdown": ("document", "md"),
    "text/plain": ("document", "txt"),
    "application/msword": ("document", "doc"),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ("document", "docx"),
    "application/vnd.ms-excel": ("document", "xls"),
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ("document", "xlsx"),
    "video/mp4": ("video", "mp4"),
    "video/quicktime": ("video", "mov"),
    "video/webm": ("video", "webm"),
    "video/x-matroska": ("video", "mkv"),
}
#: Characters that the name of a document must not contain.
_UNNAMED = re.compile(r"[^A-Za-z0-9()\[\]-]+")
_INPUTS: dict[Purpose, str] = {"document": "search_document", "query": "search_query"}
#: An API key of Bedrock, which botocore reads from this variable too; it replaces the signature.
_KEY_VARIABLE = "AWS_BEARER_TOKEN_BEDROCK"
#: The URL of another endpoint, such as one inside a private network; the first that is set counts, as for botocore.
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL")
_ADVICE = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or AWS_PROFILE) and AWS_REGION in the environment of the host."


@cache
def _chain() -> Chain:
    """One chain for all models: it caches credentials, and renews them."""
    return Chain()


class BedrockEndpoint(Endpoint):
    """Bedrock in a region, or behind a URL. What blocks, such as finding credentials, is work for the driver."""

    def __init__(self, place: str | None) -> None:
        addressed = place if place is not None and "://" in place else None
        self._region = None if addressed is not None else place
        #: whether the environment of the host, or Amazon, says where requests go: an address may be a tenant's
        self._trusted = addressed is None
        super().__init__(addressed or next((url.rstrip("/") for name in _ENDPOINT_VARIABLES if (url := os.environ.get(name))), ""))

    def authenticate(self, request: HttpRequest) -> Flow[HttpRequest]:
        """The request with the address of the region, signed."""
        if self._region is None:
            self._region = (yield Offload(region_of_chain)) or ("us-east-1" if self.url else None)
        if self._region is None:
            raise _no_region()
        if not self.url:
            request = replace(request, url=amazon(self._region, "bedrock-runtime").origin + request.url)
        key = os.environ.get(_KEY_VARIABLE)
        if key and self._trusted:
            return replace(request, headers=request.headers | {"authorization": f"Bearer {key}"})
        credentials: Credentials | None = _chain().current()
        if credentials is None:
            credentials = yield Offload(_load_credentials)
        content = {name: value for name, value in request.headers.items() if name == "content-type"}
        signed = sign(
            request.method,
            request.address,
            request.target,
            content,
            request.body,
            credentials=cast("Credentials", credentials),
            region=self._region,
            service="bedrock",
            second=time.time(),
        )
        return replace(request, headers=request.headers | signed)

    def refused(self, code: str) -> None:
        """Look for credentials again if they have expired."""
        if code == "ExpiredTokenException":
            _chain().expire()


def check_credentials(place: str | None) -> None:
    """Raise `ModelAccessDenied` if no region or no credentials are found."""
    if not BedrockEndpoint(place).url and place is None and region_of_chain() is None:
        raise _no_region()
    if not os.environ.get(_KEY_VARIABLE):
        _load_credentials()


class ConverseDialect(ChatDialect):
    """Builds and parses Converse. It has no seed. A structure is requested as a tool that must be called."""

    def build_request(self, model: str, request: ChatRequest, stream: bool) -> ApiRequest:
        """A request to converse."""
        options = {"maxTokens": request.max_tokens, "temperature": request.temperature, "stopSequences": list(request.stop) or None}
        body: dict[str, Any] = {"messages": turns_of(request.turns, _blocks)}
        body["inferenceConfig"] = {name: value for name, value in options.items() if value is not None}
        if request.system:
            body["system"] = [{"text": request.system}]
        if request.shape is not None:
            spec = {"name": request.shape.name, "description": "Returns the answer.", "inputSchema": {"json": request.shape.schema}}
            body["toolConfig"] = {"tools": [{"toolSpec": spec}], "toolChoice": {"tool": {"name": request.shape.name}}}
        elif request.tools and request.tool_choice != "none":
            specs = [
                {"name": tool.name, "description": tool.description or tool.name, "inputSchema": {"json": tool.parameters}}
                for tool in request.tools
            ]
            kinds: dict[str, dict[str, Any]] = {"auto": {"auto": {}}, "required": {"any": {}}}
            choice = kinds.get(request.tool_choice) or {"tool": {"name": request.tool_choice}}
            body["toolConfig"] = {"tools": [{"toolSpec": spec} for spec in specs], "toolChoice": choice}
        return ApiRequest(f"{_path(model)}/converse{'-stream' if stream else ''}", body)

    def reply(self, body: dict[str, Any], request: ChatRequest) -> Reply:
        """Parse a whole reply. It does not name the model."""
        blocks = body["output"]["message"]["content"]
        uses = [block["toolUse"] for block in blocks if "toolUse" in block]
        finish, usage = _finish(body["stopReason"], request.shape is not None), _usage(body["usage"])
        if request.shape is not None and uses:
            return Reply(orjson.dumps(uses[0]["input"]).decode(), (), finish, usage)
        calls = tuple(ToolCall(use["toolUseId"], use["name"], orjson.dumps(use["input"]).decode()) for use in uses)
        thought = "".join(
            block["reasoningContent"].get("reasoningText", {}).get("text", "") for block in blocks if "reasoningContent" in block
        )
        return Reply("".join(block.get("text", "") for block in blocks), calls, finish, usage, reasoning=thought)

    def framing(self) -> EventStream:
        """Streams are messages of Amazon's event streams."""
        return EventStream()

    def reader(self, request: ChatRequest) -> ConverseReader:
        """A reader for the events of a stream."""
        return ConverseReader(shaped=request.shape is not None)

    def error(self, status: int, headers: Mapping[str, str], body: bytes) -> ServiceError:
        """Parse an error."""
        return _read_error(status, headers, body)


class ConverseReader:
    """Reads the events of one reply."""

    def __init__(self, shaped: bool) -> None:
        self.finish: Finish | None = None
        self.usage = Usage()
        self.model = ""
        self._shaped = shaped
        self._calls: dict[int, int] = {}

    def read(self, event: dict[str, Any]) -> list[Delta]:
        """The pieces in an event."""
        if "contentBlockStart" in event and "toolUse" in event["contentBlockStart"]["start"] and not self._shaped:
            started = event["contentBlockStart"]
            number = self._calls[started["contentBlockIndex"]] = len(self._calls)
            return [Delta(call=CallDelta(number, started["start"]["toolUse"]["toolUseId"], started["start"]["toolUse"]["name"]))]
        if "contentBlockDelta" in event:
            return self._delta(event["contentBlockDelta"]["contentBlockIndex"], event["contentBlockDelta"]["delta"])
        if "messageStop" in event:
            self.finish = _finish(event["messageStop"]["stopReason"], self._shaped)
        if "metadata" in event:
            self.usage = _usage(event["metadata"]["usage"])
        return []

    def _delta(self, index: int, delta: dict[str, Any]) -> list[Delta]:
        if "toolUse" in delta:
            text = delta["toolUse"]["input"]
            return [Delta(text=text)] if self._shaped else [Delta(call=CallDelta(self._calls[index], text=text))]
        if "reasoningContent" in delta:
            return [Delta(reasoning=delta["reasoningContent"].get("text", ""))]
        return [Delta(text=delta["text"])] if delta.get("text") and not self._shaped else []


class BedrockEmbeddings(RemoteEmbeddings):
    """An embedding model of Amazon, which embeds one text in a call, or of Cohere."""

    def __init__(self, model: str, endpoint: Endpoint, dimensions: int | None = None) -> None:
        if "titan-embed" not in model and "cohere.embed" not in model:
            raise NotOffered(f"{model} is not a supported embedding model.", fix="Use one of amazon.titan-embed or cohere.embed.")
        titan = "titan-embed" in model
        super().__init__(model, endpoint, TitanDialect() if titan else CohereDialect(), dimensions=dimensions, batch=1 if titan else 96)


class TitanDialect(EmbeddingsDialect):
    """Builds and parses InvokeModel for Amazon's embedding models."""

    def embed(self, model: str, texts: Sequence[str], dimensions: int | None, purpose: Purpose) -> ApiRequest:
        """A request for the vector of a text."""
        return ApiRequest(f"{_path(model)}/invoke", {"inputText": texts[0]} | ({"dimensions": dimensions} if dimensions else {}))

    def embedded(self, body: dict[str, Any], count: int) -> Embedded:
        """The vector of a response."""
        return Embedded(matrix([body["embedding"]], count), Usage(input=body.get("inputTextTokenCount") or 0))

    def error(self, status: int, headers: Mapping[str, str], body: bytes) -> ServiceError:
        """Parse an error."""
        return _read_error(status, headers, body)


class CohereDialect(EmbeddingsDialect):
    """Builds and parses InvokeModel for Cohere's embedding models."""

    def embed(self, model: str, texts: Sequence[str], dimensions: int | None, purpose: Purpose) -> ApiRequest:
        """A request for the vectors of texts."""
        body = {"texts": list(texts), "input_type": _INPUTS[purpose], "truncate": "END"}
        return ApiRequest(f"{_path(model)}/invoke", body | ({"output_dimension": dimensions} if dimensions else {}))

    def embedded(self, body: dict[str, Any], count: int) -> Embedded:
        """The vectors of a response."""
        rows = body["embeddings"]
        return Embedded(matrix(rows["float"] if isinstance(rows, dict) else rows, count), Usage())

    def error(self, status: int, headers: Mapping[str, str], body: bytes) -> ServiceError:
        """Parse an error."""
        return _read_error(status, headers, body)


def _no_region() -> ModelAccessDenied:
    return ModelAccessDenied("No AWS region is configured.", fix=_ADVICE)


def _load_credentials() -> Credentials:
    try:
        return _chain().load()
    except NoCredentials as error:
        raise ModelAccessDenied(error.message, fix=_ADVICE) from error


def _path(model: str) -> str:
    return f"/model/{quote(model, safe='')}"


def _read_error(status: int, headers: Mapping[str, str], body: bytes) -> ServiceError:
    """The error of a response, whose code is in a header, or of an event."""
    error = read_error(status, headers, body)
    stated = headers.get("x-amzn-errortype", "").partition(":")[0].rpartition("#")[2]
    code = stated or error.code
    name = code[:1].upper() + code[1:]
    own_status = 429 if is_throttled(name) else _STATUSES.get(name) or error.status
    message = error.message or str(_member(body, "Message"))
    return replace(error, status=own_status, code=code, message=message)


def _member(body: bytes, name: str) -> Any:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    return (content.get(name) if isinstance(content, dict) else None) or ""


def _blocks(message: Message) -> list[dict[str, Any]]:
    if isinstance(message, ToolResult):
        result = {"toolUseId": message.call_id, "content": [{"text": message.text}], "status": "error" if message.failed else "success"}
        return [{"toolResult": result}]
    blocks: list[dict[str, Any]] = _files(message) if isinstance(message, User) else []
    blocks += [{"text": message.text}] if message.text.strip() else []
    if isinstance(message, Assistant):
        blocks += [{"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.tolerant}} for call in message.calls]
    return blocks


def _files(message: User) -> list[dict[str, Any]]:
    """The files of a message. Documents need unique names of a few kinds of characters, and a text beside them."""
    blocks: list[dict[str, Any]] = []
    for number, file in enumerate(message.files, start=1):
        kind = _BLOCKS.get(file.media_type)
        if kind is None or isinstance(file, UploadedFile):
            raise file_error(file, "Bedrock", "images, PDF, Office documents, texts and video")
        block: dict[str, Any] = {"format": kind[1], "source": {"bytes": b64encode(file.data).decode()}}
        if kind[0] == "document":
            stem = _UNNAMED.sub(" ", file.name.rpartition(".")[0] or file.name).strip()
            block["name"] = f"{stem[:180] or 'Document'} {number}"
        blocks.append({kind[0]: block})
    if any("document" in block for block in blocks) and not message.text.strip():
        raise InvalidModelRequest("Bedrock accepts documents only together with a text.", fix="Say in the message what to do with them.")
    return blocks


def _finish(reason: str, shaped: bool) -> Finish:
    finish = _FINISHES.get(reason, "stop")
    return "stop" if shaped and finish == "tools" else finish


def _usage(counts: dict[str, Any]) -> Usage:
    read, written = counts.get("cacheReadInputTokens") or 0, counts.get("cacheWriteInputTokens") or 0
    return Usage(counts["inputTokens"] + read + written, counts["outputTokens"], read)
