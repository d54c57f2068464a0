"""Models behind an HTTP endpoint: the part that all APIs share. A dialect knows how one API writes requests, replies and errors."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import orjson

from gateleg.ai.error_translation import model_error, read_error, translate_service_error, translated_errors
from gateleg.ai.errors import AiError, InvalidModelResponse, ModelUnreachable
from gateleg.ai.provider import Reranked
from gateleg.ai.replies import Usage, estimate
from gateleg.ai.steps import EmitPiece, Receive, completed
from gateleg.net.http import HttpRequest, ServerSentEvents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from gateleg.ai.chat_requests import ChatRequest, Purpose
    from gateleg.ai.error_translation import ServiceError
    from gateleg.ai.messages import Attachment, Message
    from gateleg.ai.provider import Embedded
    from gateleg.ai.replies import Delta, Finish, Reply, ReplyBuilder, TokenCount
    from gateleg.ai.setup import CallDeadline
    from gateleg.ai.steps import Flow, Opened
    from gateleg.net.http import Framing

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request in the words of an API: a path, a JSON body, and the headers that only this request needs."""

    path: str
    body: dict[str, Any] | None = None
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)


class StreamReader(Protocol):
    """Reads the events of one reply."""

    finish: Finish | None
    usage: Usage
    model: str

    def read(self, event: dict[str, Any]) -> list[Delta]:
        """The pieces in an event."""
        ...


class ErrorDialect(Protocol):
    """How an API writes errors. Pure: no I/O."""

    def error(self, status: int, headers: Mapping[str, str], body: bytes) -> ServiceError:
        """Parse an error: of a response, or with status 200 of an event in a stream."""
        return read_error(status, headers, body)


class ChatDialect(ErrorDialect, Protocol):
    """How an API writes chat requests and replies. Pure: no I/O."""

    def build_request(self, model: str, request: ChatRequest, stream: bool) -> ApiRequest:
        """The API's form of a chat request."""
        ...

    def reply(self, body: dict[str, Any], request: ChatRequest) -> Reply:
        """Parse a whole reply."""
        ...

    def framing(self) -> Framing:
        """How a stream is split into events: server-sent events, unless the API has another form."""
        return ServerSentEvents()

    def reader(self, request: ChatRequest) -> StreamReader:
        """A reader for the events of a stream."""
        ...


class EmbeddingsDialect(ErrorDialect, Protocol):
    """How an API writes embeddings requests. Pure: no I/O."""

    def embed(self, model: str, texts: Sequence[str], dimensions: int | None, purpose: Purpose) -> ApiRequest:
        """The API's form of an embeddings request."""
        ...

    def embedded(self, body: dict[str, Any], count: int) -> Embedded:
        """The vectors of a response."""
        ...


class Endpoint:
    """The URL of a service and its authentication: a key in `key_header`, and headers that every request has."""

    def __init__(
        self, url: str, key: str | None = None, *, key_header: str = "authorization", headers: Mapping[str, str] | None = None
    ) -> None:
        self.url = url
        self.key = key
        prefix = "Bearer " if key_header == "authorization" else ""
        #: what authenticates a request
        self.authentication = {key_header: prefix + key} if key else {}
        self._headers = {"user-agent": "gateleg", **self.authentication, **(headers or {})}

    def request(
        self, path: str, body: dict[str, Any] | None = None, method: str = "POST", headers: dict[str, str] | None = None
    ) -> HttpRequest:
        """A request with a JSON body, or without a body."""
        data = b"" if body is None else orjson.dumps(body)
        kind = {} if body is None else {"content-type": "application/json"}
        return HttpRequest(self.url + path, data, kind | self._headers | (headers or {}), method)

    def api_request(self, request: ApiRequest) -> HttpRequest:
        """A request in the words of an API, as HTTP."""
        return self.request(request.path, request.body, request.method, request.headers)

    def form(
        self, path: str, fields: dict[str, str], file: Attachment, name: str = "file", headers: dict[str, str] | None = None
    ) -> HttpRequest:
        """A multipart request with a file and form fields."""
        boundary = secrets.token_hex(16)
        file_name = (file.name or "file").replace('"', "_").encode("ascii", "replace").decode()
        parts = [f'--{boundary}\r\ncontent-disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in fields.items()]
        parts.append(f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"; filename="{file_name}"\r\n')
        parts.append(f"content-type: {file.media_type}\r\n\r\n")
        data = "".join(parts).encode() + file.data + f"\r\n--{boundary}--\r\n".encode()
        kind = {"content-type": f"multipart/form-data; boundary={boundary}"}
        return HttpRequest(self.url + path, data, kind | self._headers | (headers or {}))

    def authenticate(self, request: HttpRequest) -> Flow[HttpRequest]:
        """The request as it is sent. Endpoints whose requests are signed need their content and the time for that."""
        return completed(request)

    def refused(self, code: str) -> None:
        """Called with the code of an error response, which may say that credentials have expired."""

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r})"


class RemoteChat:
    """A chat model behind an endpoint."""

    def __init__(self, model: str, endpoint: Endpoint, dialect: ChatDialect) -> None:
        self.model = model
        self.endpoint = endpoint
        self.dialect = dialect

    def reply(self, request: ChatRequest, deadline: CallDeadline) -> Flow[Reply]:
        yield from self.prepare(request, deadline)
        body = yield from request_json(self.endpoint, self.dialect.build_request(self.model, request, stream=False), deadline, self.dialect)
        if body.get("error"):
            raise self._stated_error(body)
        reply = read(lambda: self.dialect.reply(body, request))
        return reply if reply.model else replace(reply, model=self.model)

    def stream(self, request: ChatRequest, deadline: CallDeadline, builder: ReplyBuilder) -> Flow[Reply]:
        """Stream the reply piece by piece."""
        reader, framing = self.dialect.reader(request), self.dialect.framing()
        yield from self.prepare(request, deadline)
        sent = self.endpoint.api_request(self.dialect.build_request(self.model, request, stream=True))
        opened = yield from _open(self.endpoint, sent, deadline)
        try:
            if opened.status != 200:
                raise _service_error(self.endpoint, self.dialect, opened, (yield from read_body(opened, deadline)))
            data = b"-"
            while data:
                data = yield Receive(opened, deadline.wait())
                for event in _events(framing, data):
                    if event.get("error"):
                        raise self._stated_error(event)
                    for delta in read(partial(reader.read, event)):
                        builder.add(delta)
                        yield EmitPiece(delta)
        finally:
            opened.close()
        if reader.finish is None:
            raise ModelUnreachable("The stream ended before the reply was complete.")
        return builder.whole(reader.finish, reader.usage, reader.model or self.model)

    def prepare(self, request: ChatRequest, deadline: CallDeadline) -> Flow[None]:
        """Check whether the model supports a request, if the endpoint can tell."""
        return completed(None)

    def count(self, text: str, deadline: CallDeadline) -> Flow[TokenCount]:
        """Estimate the tokens of a text."""
        return completed(estimate(text))

    def _stated_error(self, body: dict[str, Any]) -> AiError:
        """The error in an event, or in a response whose status says nothing of it."""
        return translate_service_error(self.dialect.error(200, {}, orjson.dumps(body)), self.endpoint.key)


class RemoteEmbeddings:
    """An embedding model behind an endpoint. Some models expect a prefix that depends on the purpose of a text."""

    max_tokens: int | None = None

    def __init__(
        self,
        model: str,
        endpoint: Endpoint,
        dialect: EmbeddingsDialect,
        *,
        dimensions: int | None = None,
        prefixes: dict[Purpose, str] | None = None,
        batch: int = 128,
    ) -> None:
        self.model = model
        self.endpoint = endpoint
        self.dialect = dialect
        self.dimensions = dimensions
        self.prefixes = prefixes or {}
        self.batch = batch
        self.variant = f"{dimensions or ''}{self.prefixes or ''}"

    def embed(self, texts: Sequence[str], purpose: Purpose, deadline: CallDeadline) -> Flow[Embedded]:
        """The vectors of texts."""
        before = self.prefixes.get(purpose, "")
        # Services refuse empty texts.
        request = self.dialect.embed(self.model, [before + text or " " for text in texts], self.dimensions, purpose)
        answer = yield from request_json(self.endpoint, request, deadline, self.dialect)
        return read(lambda: self.dialect.embedded(answer, len(texts)))

    def count(self, texts: Sequence[str], deadline: CallDeadline) -> Flow[list[TokenCount]]:
        """Estimate the tokens of texts."""
        return completed([estimate(text) for text in texts])


class RemoteReranker:
    """A model behind the `/rerank` API of Cohere and Jina, which many servers implement (vLLM, llama.cpp, LocalAI)."""

    #: the maximum number of texts in a call, as documented by the services
    batch = 1000

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self.model = model
        self.endpoint = endpoint

    def rerank(self, query: str, texts: Sequence[str], deadline: CallDeadline) -> Flow[Reranked]:
        """The scores of texts, in order."""
        # Services refuse empty texts, but every text needs a score.
        body = {"model": self.model, "query": query, "documents": [text or " " for text in texts], "top_n": len(texts)}
        answer = yield from request_json(self.endpoint, ApiRequest("/rerank", body), deadline)
        return read(lambda: Reranked(_scores(answer, len(texts)), _rerank_usage(answer)))


class _CommonErrors(ErrorDialect):
    """Errors in the forms that most services use."""


COMMON_ERRORS: ErrorDialect = _CommonErrors()


def request_json(
    endpoint: Endpoint, request: ApiRequest, deadline: CallDeadline, errors: ErrorDialect = COMMON_ERRORS
) -> Flow[dict[str, Any]]:
    """The JSON object of the response to a request in the words of an API."""
    return (yield from send(endpoint, endpoint.api_request(request), deadline, errors))


def send(endpoint: Endpoint, request: HttpRequest, deadline: CallDeadline, errors: ErrorDialect = COMMON_ERRORS) -> Flow[dict[str, Any]]:
    """The JSON object of the response to any request."""
    return (yield from exchange(endpoint, request, deadline, errors))[1]


def exchange(
    endpoint: Endpoint, request: HttpRequest, deadline: CallDeadline, errors: ErrorDialect = COMMON_ERRORS
) -> Flow[tuple[dict[str, str], dict[str, Any]]]:
    """The headers and the JSON object of the response to a request."""
    opened = yield from _open(endpoint, request, deadline)
    try:
        data = yield from read_body(opened, deadline)
    finally:
        opened.close()
    if not 200 <= opened.status < 300:
        raise _service_error(endpoint, errors, opened, data)
    try:
        content = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise InvalidModelResponse(f"The response of {endpoint.url} is not JSON.") from None
    if not isinstance(content, dict):
        raise InvalidModelResponse(f"The response of {endpoint.url} is not a JSON object.")
    return opened.headers, content


def read_body(opened: Opened, deadline: CallDeadline) -> Flow[bytes]:
    """The whole body of a response."""
    pieces: list[bytes] = []
    while piece := (yield Receive(opened, deadline.wait())):
        pieces.append(piece)
    return b"".join(pieces)


def read(reading: Callable[[], T]) -> T:
    """Run a parser. A response that lacks documented members raises `InvalidModelResponse`."""
    try:
        return reading()
    except AiError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        bad = InvalidModelResponse(f"The response does not have the documented form: {type(error).__name__}: {error}.")
        bad.public = InvalidModelResponse.said
        raise bad from error


def matrix(rows: list[list[float]], count: int) -> NDArray[np.float32]:
    """Vectors as an array. Raises `InvalidModelResponse` if their number is wrong or their lengths differ."""
    # Imported here, because chat does without it.
    import numpy as np

    if len(rows) != count:
        raise InvalidModelResponse(f"The response has {len(rows)} vectors for {count} texts.")
    try:
        vectors = np.asarray(rows, dtype=np.float32)
    except ValueError:
        raise InvalidModelResponse("The vectors of the response differ in length, or are not numbers.") from None
    if vectors.ndim != 2 or not vectors.shape[1] or not np.isfinite(vectors).all():
        raise InvalidModelResponse("The vectors of the response are empty, or contain values that are not numbers.")
    return vectors


def turns_of(
    messages: Iterable[Message], blocks: Callable[[Message], list[dict[str, Any]]], *, member: str = "content", model: str = "assistant"
) -> list[dict[str, Any]]:
    """The messages as turns of content blocks; `member` holds the blocks, and `model` is the role of the model.

    Consecutive messages of a role are one turn: the APIs require roles to alternate, and all tool results of a turn to be together.
    """
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = model if message.role == "assistant" else "user"
        if not turns or turns[-1]["role"] != role:
            turns.append({"role": role, member: []})
        turns[-1][member] += blocks(message)
    return [turn for turn in turns if turn[member]]


def _open(endpoint: Endpoint, request: HttpRequest, deadline: CallDeadline) -> Flow[Opened]:
    opened: Opened = yield deadline.opening((yield from endpoint.authenticate(request)))
    return opened


def _service_error(endpoint: Endpoint, errors: ErrorDialect, opened: Opened, data: bytes) -> AiError:
    error = errors.error(opened.status, opened.headers, data)
    endpoint.refused(error.code)
    return translate_service_error(error, endpoint.key)


def _events(framing: Framing, data: bytes) -> Iterator[dict[str, Any]]:
    """The events that are complete, then what is wrong with the next one; `data` is empty at the end of the stream."""
    with translated_errors():
        events = framing.feed(data) if data else framing.end()
    yield from events
    if framing.failure is not None:
        raise model_error(framing.failure)


def _scores(body: dict[str, Any], count: int) -> tuple[float, ...]:
    scores = {int(result["index"]): float(result["relevance_score"]) for result in body["results"]}
    if sorted(scores) != list(range(count)) or not all(map(math.isfinite, scores.values())):
        raise InvalidModelResponse(f"The response has scores for {len(scores)} texts, but {count} were sent.")
    return tuple(scores[index] for index in range(count))


def _rerank_usage(body: dict[str, Any]) -> Usage:
    """Cohere bills searches, Jina tokens."""
    searches = ((body.get("meta") or {}).get("billed_units") or {}).get("search_units")
    tokens = (body.get("usage") or {}).get("total_tokens")
    return Usage() if searches is None and tokens is None else Usage(input=int(tokens or 0), requests=int(searches or 1))
