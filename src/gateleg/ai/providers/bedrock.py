"""Amazon Bedrock, through botocore: the Converse API for chat, InvokeModel for embeddings. botocore finds the credentials."""

from __future__ import annotations

import re
import threading
import weakref
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.ai.errors import InvalidModelRequest, NotOffered
from gateleg.ai.messages import Assistant, ToolCall, ToolResult, UploadedFile, User
from gateleg.ai.providers.attachments import file_error
from gateleg.ai.providers.error_responses import error_for
from gateleg.ai.providers.openai import matrix
from gateleg.ai.providers.protocol import Embedded
from gateleg.ai.providers.sdk import call_sdk, import_sdk
from gateleg.ai.providers.token_estimates import estimate
from gateleg.ai.providers.turns import turns_of
from gateleg.ai.replies import CallDelta, Delta, Reply, Usage
from gateleg.ai.steps import Offload, completed
from gateleg.net import is_throttled, retry_after

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gateleg.ai.chat_requests import ChatRequest, Purpose
    from gateleg.ai.errors import AiError
    from gateleg.ai.messages import Message
    from gateleg.ai.replies import Finish, TokenCount
    from gateleg.ai.retry_policy import CallDeadline
    from gateleg.ai.steps import Flow

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
    "AiErrorException": 500,
    "modelStreamErrorException": 500,
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


#: A botocore session is not thread-safe; a client is.
_making = threading.Lock()


@cache
def _session() -> Any:
    """One session for all clients: it loads large service descriptions, once."""
    return import_sdk("botocore.session", "aws").get_session()


class BedrockClient:
    """A client of botocore, created at first use."""

    def __init__(self, place: str | None, connect: float, silence: float) -> None:
        self._config = import_sdk("botocore.config", "aws")
        self._errors = import_sdk("botocore.exceptions", "aws")
        self._place = place or ""
        self._timeouts = {"connect_timeout": connect, "read_timeout": silence}
        self._client: Any = None

    def connected(self) -> Any:
        """The client. The place is a region, or the URL of a custom endpoint."""
        with _making:
            if self._client is None:
                session = _session()
                endpoint = self._place if "://" in self._place else None
                region = (None if endpoint else self._place) or session.get_config_variable("region") or ("us-east-1" if endpoint else None)
                config = self._config.Config(retries={"total_max_attempts": 1, "mode": "standard"}, **self._timeouts)
                self._client = session.create_client("bedrock-runtime", region_name=region, endpoint_url=endpoint, config=config)
                weakref.finalize(self, self._client.close)
            return self._client

    def failure(self, error: Any) -> AiError | None:
        """The error for an exception of botocore."""
        if isinstance(error, self._errors.NoCredentialsError | self._errors.NoRegionError | self._errors.PartialCredentialsError):
            advice = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or AWS_PROFILE) and AWS_REGION in the environment of the host."
            return error_for(403, type(error).__name__, f"{error} {advice}")
        if not isinstance(error, self._errors.ClientError):
            return None
        told_code = str(error.response.get("Error", {}).get("Code", ""))
        told_status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
        code = told_code[:1].upper() + told_code[1:]
        status = (
            429 if is_throttled(code) else _STATUSES.get(code) or _STATUSES.get(told_code) or (told_status if told_status >= 400 else 400)
        )
        headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
        return error_for(status, told_code, str(error.response.get("Error", {}).get("Message", "")), retry_after(headers))


class BedrockSdk:
    """A chat model behind the Converse API. It has no seed. A structure is requested as a tool that must be called."""

    def __init__(self, model: str, client: BedrockClient) -> None:
        self.model = model
        self.client = client
        self.failure = client.failure

    def call(self, request: ChatRequest, seconds: float) -> dict[str, Any]:
        """Request a whole reply."""
        found: dict[str, Any] = self.client.connected().converse(**build_request(self.model, request))
        return found

    def events(self, request: ChatRequest, seconds: float) -> Iterator[dict[str, Any]]:
        """Stream the events of a reply."""
        stream = self.client.connected().converse_stream(**build_request(self.model, request))["stream"]
        try:
            yield from stream
        finally:
            stream.close()

    def reply(self, body: dict[str, Any], request: ChatRequest) -> Reply:
        """Parse a whole reply."""
        blocks = body["output"]["message"]["content"]
        uses = [block["toolUse"] for block in blocks if "toolUse" in block]
        finish, usage = _finish(body["stopReason"], request.shape is not None), _usage(body["usage"])
        if request.shape is not None and uses:
            return Reply(orjson.dumps(uses[0]["input"]).decode(), (), finish, usage, self.model)
        calls = tuple(ToolCall(use["toolUseId"], use["name"], orjson.dumps(use["input"]).decode()) for use in uses)
        thought = "".join(
            block["reasoningContent"].get("reasoningText", {}).get("text", "") for block in blocks if "reasoningContent" in block
        )
        return Reply("".join(block.get("text", "") for block in blocks), calls, finish, usage, self.model, thought)

    def reader(self, request: ChatRequest) -> BedrockReader:
        """A reader for the events of a stream."""
        return BedrockReader(shaped=request.shape is not None)


class BedrockReader:
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


class BedrockEmbeddings:
    """An embedding model of Amazon or Cohere."""

    max_tokens: int | None = None

    def __init__(self, model: str, client: BedrockClient, dimensions: int | None = None) -> None:
        self.model = model
        self.client = client
        self.dimensions = dimensions
        self.variant = str(dimensions or "")
        if "titan-embed" not in model and "cohere.embed" not in model:
            raise NotOffered(f"{model} is not a supported embedding model.", fix="Use one of amazon.titan-embed or cohere.embed.")
        self._titan = "titan-embed" in model
        self.batch = 1 if self._titan else 96

    def embed(self, texts: Sequence[str], purpose: Purpose, deadline: CallDeadline) -> Flow[Embedded]:
        """The vectors of some texts."""
        body = self._body([text or " " for text in texts], purpose)

        def call() -> dict[str, Any]:
            answer = self.client.connected().invoke_model(modelId=self.model, body=orjson.dumps(body), contentType="application/json")
            found: dict[str, Any] = orjson.loads(answer["body"].read())
            return found

        found = yield Offload(lambda: call_sdk(self.client.failure, call))
        return call_sdk(self.client.failure, lambda: self._read(found, len(texts)))

    def count(self, texts: Sequence[str], deadline: CallDeadline) -> Flow[list[TokenCount]]:
        """Estimate the tokens of texts."""
        return completed([estimate(text) for text in texts])

    def _body(self, texts: list[str], purpose: Purpose) -> dict[str, Any]:
        if self._titan:
            return {"inputText": texts[0]} | ({"dimensions": self.dimensions} if self.dimensions else {})
        body = {"texts": texts, "input_type": _INPUTS[purpose], "truncate": "END"}
        return body | ({"output_dimension": self.dimensions} if self.dimensions else {})

    def _read(self, found: dict[str, Any], count: int) -> Embedded:
        if self._titan:
            return Embedded(matrix([found["embedding"]], count), Usage(input=found.get("inputTextTokenCount") or 0))
        rows = found["embeddings"]
        return Embedded(matrix(rows["float"] if isinstance(rows, dict) else rows, count), Usage())


def build_request(model: str, request: ChatRequest) -> dict[str, Any]:
    """The arguments of a call."""
    options = {"maxTokens": request.max_tokens, "temperature": request.temperature, "stopSequences": list(request.stop) or None}
    body: dict[str, Any] = {"modelId": model, "messages": turns_of(request.turns, _blocks)}
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
    return body


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
        block: dict[str, Any] = {"format": kind[1], "source": {"bytes": file.data}}
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


def _usage(found: dict[str, Any]) -> Usage:
    read, written = found.get("cacheReadInputTokens") or 0, found.get("cacheWriteInputTokens") or 0
    return Usage(found["inputTokens"] + read + written, found["outputTokens"], read)
