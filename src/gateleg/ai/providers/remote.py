"""Models behind an HTTP endpoint: the part that all APIs share."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import orjson

from gateleg.ai.error_translation import translated_errors
from gateleg.ai.errors import InvalidModelResponse, ModelUnreachable
from gateleg.ai.providers.error_responses import parse_error_response
from gateleg.ai.providers.token_estimates import estimate
from gateleg.ai.steps import EmitPiece, Receive, completed
from gateleg.net.http import HttpRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.ai.chat_requests import ChatRequest, Purpose
    from gateleg.ai.messages import Attachment
    from gateleg.ai.providers.protocol import Embedded
    from gateleg.ai.replies import Delta, Finish, Reply, ReplyBuilder, TokenCount, Usage
    from gateleg.ai.retry_policy import CallDeadline
    from gateleg.ai.steps import Flow, Opened
    from gateleg.net.http import Framing

T = TypeVar("T")


class StreamReader(Protocol):
    """Reads the events of one reply."""

    finish: Finish | None
    usage: Usage
    model: str

    def read(self, event: dict[str, Any]) -> list[Delta]:
        """The pieces in an event."""
        ...


class ChatDialect(Protocol):
    """How an API writes requests and replies. Pure: no I/O."""

    def build_request(self, model: str, request: ChatRequest, stream: bool) -> tuple[str, dict[str, Any]]:
        """The path and body of a chat request."""
        ...

    def reply(self, body: dict[str, Any]) -> Reply:
        """Parse a whole reply."""
        ...

    def framing(self) -> Framing:
        """How a stream is split into events."""
        ...

    def reader(self) -> StreamReader:
        """A reader for the events of a stream."""
        ...


class EmbeddingsDialect(Protocol):
    """How an API writes embeddings requests. Pure: no I/O."""

    def embed(self, model: str, texts: Sequence[str], dimensions: int | None) -> tuple[str, dict[str, Any]]:
        """The path and body of an embeddings request."""
        ...

    def embedded(self, body: dict[str, Any], count: int) -> Embedded:
        """The vectors of a response."""
        ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The URL of a service and its authentication."""

    url: str
    key: str | None = None

    def request(
        self, path: str, body: dict[str, Any] | None = None, method: str = "POST", headers: dict[str, str] | None = None
    ) -> HttpRequest:
        """A request with a JSON body, or without a body."""
        data = b"" if body is None else orjson.dumps(body)
        kind = {} if body is None else {"content-type": "application/json"}
        return HttpRequest(self.url + path, data, kind | self._headers() | (headers or {}), method)

    def form(self, path: str, fields: dict[str, str], file: Attachment, name: str = "file") -> HttpRequest:
        """A multipart request with a file and form fields."""
        boundary = secrets.token_hex(16)
        called = (file.name or "file").replace('"', "_").encode("ascii", "replace").decode()
        parts = [f'--{boundary}\r\ncontent-disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in fields.items()]
        parts.append(f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"; filename="{called}"\r\n')
        parts.append(f"content-type: {file.media_type}\r\n\r\n")
        data = "".join(parts).encode() + file.data + f"\r\n--{boundary}--\r\n".encode()
        return HttpRequest(self.url + path, data, {"content-type": f"multipart/form-data; boundary={boundary}"} | self._headers())

    @property
    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"} if self.key else {}

    def _headers(self) -> dict[str, str]:
        return {"user-agent": "gateleg"} | self.bearer

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
        body = yield from post_json(self.endpoint, *self.dialect.build_request(self.model, request, stream=False), deadline)
        return read(lambda: self.dialect.reply(body))

    def stream(self, request: ChatRequest, deadline: CallDeadline, builder: ReplyBuilder) -> Flow[Reply]:
        """Stream the reply piece by piece."""
        reader, framing = self.dialect.reader(), self.dialect.framing()
        yield from self.prepare(request, deadline)
        opened: Opened = yield deadline.opening(self.endpoint.request(*self.dialect.build_request(self.model, request, stream=True)))
        try:
            if opened.status != 200:
                raise parse_error_response(opened.status, opened.headers, (yield from read_body(opened, deadline)), self.endpoint.key)
            data = b"-"
            while data:
                data = yield Receive(opened, deadline.wait())
                for event in _events(framing, data):
                    if "error" in event:
                        raise parse_error_response(500, {}, orjson.dumps(event), self.endpoint.key)
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


class RemoteEmbeddings:
    """An embedding model behind an endpoint. Some models expect a prefix that depends on the purpose of a text."""

    max_tokens: int | None = None
    batch = 128

    def __init__(
        self,
        model: str,
        endpoint: Endpoint,
        dialect: EmbeddingsDialect,
        *,
        dimensions: int | None = None,
        prefixes: dict[Purpose, str] | None = None,
    ) -> None:
        self.model = model
        self.endpoint = endpoint
        self.dialect = dialect
        self.dimensions = dimensions
        self.prefixes = prefixes or {}
        self.variant = f"{dimensions or ''}{self.prefixes or ''}"

    def embed(self, texts: Sequence[str], purpose: Purpose, deadline: CallDeadline) -> Flow[Embedded]:
        """The vectors of texts."""
        before = self.prefixes.get(purpose, "")
        # Services refuse empty texts.
        path, body = self.dialect.embed(self.model, [before + text or " " for text in texts], self.dimensions)
        answer = yield from post_json(self.endpoint, path, body, deadline)
        return read(lambda: self.dialect.embedded(answer, len(texts)))

    def count(self, texts: Sequence[str], deadline: CallDeadline) -> Flow[list[TokenCount]]:
        """Estimate the tokens of texts."""
        return completed([estimate(text) for text in texts])


def post_json(endpoint: Endpoint, path: str, body: dict[str, Any], deadline: CallDeadline) -> Flow[dict[str, Any]]:
    """The JSON object of the response to a JSON request."""
    return (yield from send(endpoint, endpoint.request(path, body), deadline))


def send(endpoint: Endpoint, request: HttpRequest, deadline: CallDeadline) -> Flow[dict[str, Any]]:
    """The JSON object of the response to any request."""
    opened: Opened = yield deadline.opening(request)
    try:
        data = yield from read_body(opened, deadline)
    finally:
        opened.close()
    if not 200 <= opened.status < 300:
        raise parse_error_response(opened.status, opened.headers, data, endpoint.key)
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise InvalidModelResponse(f"The response of {endpoint.url} is not JSON.") from None
    if not isinstance(found, dict):
        raise InvalidModelResponse(f"The response of {endpoint.url} is not a JSON object.")
    return found


def read_body(opened: Opened, deadline: CallDeadline) -> Flow[bytes]:
    """The whole body of a response."""
    pieces: list[bytes] = []
    while piece := (yield Receive(opened, deadline.wait())):
        pieces.append(piece)
    return b"".join(pieces)


def _events(framing: Framing, data: bytes) -> list[dict[str, Any]]:
    """The events that are complete; `data` is empty at the end of the stream."""
    with translated_errors():
        return framing.feed(data) if data else framing.end()


def read(reading: Callable[[], T]) -> T:
    """Run a parser. A response that lacks documented members raises `InvalidModelResponse`."""
    try:
        return reading()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        bad = InvalidModelResponse(f"The response does not have the documented form: {type(error).__name__}: {error}.")
        bad.public = InvalidModelResponse.said
        raise bad from error
