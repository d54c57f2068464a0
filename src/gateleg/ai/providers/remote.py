"""Models behind an HTTP endpoint: what is the same for every dialect."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import orjson

from gateleg.ai.errors import BadAnswer, ModelUnreachable
from gateleg.ai.failures import failures
from gateleg.ai.providers.counting import estimate
from gateleg.ai.providers.refusals import refusal
from gateleg.ai.steps import Receive, Say, at_once
from gateleg.net.http import HttpRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.ai.asking import ChatRequest, Purpose
    from gateleg.ai.messages import Attachment
    from gateleg.ai.providers.protocol import Embedded
    from gateleg.ai.replies import Delta, Finish, Gathering, Reply, TokenCount, Usage
    from gateleg.ai.retry_policy import Deadline
    from gateleg.ai.steps import Flow, Opened
    from gateleg.net.http import Framing

T = TypeVar("T")


class StreamReader(Protocol):
    """Reads the events of one answer."""

    finish: Finish | None
    usage: Usage
    model: str

    def read(self, event: dict[str, Any]) -> list[Delta]:
        """The pieces in an event."""
        ...


class ChatDialect(Protocol):
    """How an endpoint writes asks and answers. Pure: no I/O."""

    def ask(self, model: str, request: ChatRequest, stream: bool) -> tuple[str, dict[str, Any]]:
        """The path and the body of a chat request."""
        ...

    def reply(self, body: dict[str, Any]) -> Reply:
        """A whole answer."""
        ...

    def framing(self) -> Framing:
        """How the events of a stream are told apart."""
        ...

    def reader(self) -> StreamReader:
        """What reads them."""
        ...


class EmbeddingsDialect(Protocol):
    """How an endpoint is asked for vectors. Pure: no I/O."""

    def embed(self, model: str, texts: Sequence[str], dimensions: int | None) -> tuple[str, dict[str, Any]]:
        """The path and the body of a request for vectors."""
        ...

    def embedded(self, body: dict[str, Any], count: int) -> Embedded:
        """The vectors of an answer."""
        ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a service is and how it knows who asks."""

    url: str
    key: str | None = None

    def request(
        self, path: str, body: dict[str, Any] | None = None, method: str = "POST", headers: dict[str, str] | None = None
    ) -> HttpRequest:
        """A request with a JSON body, or without any."""
        data = b"" if body is None else orjson.dumps(body)
        kind = {} if body is None else {"content-type": "application/json"}
        return HttpRequest(self.url + path, data, kind | self._headers() | (headers or {}), method)

    def form(self, path: str, fields: dict[str, str], file: Attachment, name: str = "file") -> HttpRequest:
        """A request with a file and the fields of a form."""
        boundary = secrets.token_hex(16)
        called = (file.name or "file").replace('"', "_").encode("ascii", "replace").decode()
        parts = [f'--{boundary}\r\ncontent-disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in fields.items()]
        parts.append(f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"; filename="{called}"\r\n')
        parts.append(f"content-type: {file.media_type}\r\n\r\n")
        data = "".join(parts).encode() + file.data + f"\r\n--{boundary}--\r\n".encode()
        return HttpRequest(self.url + path, data, {"content-type": f"multipart/form-data; boundary={boundary}"} | self._headers())

    @property
    def bearer(self) -> dict[str, str]:
        """The header that proves who asks."""
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

    def reply(self, request: ChatRequest, deadline: Deadline) -> Flow[Reply]:
        """The answer as a whole."""
        yield from self.prepare(request, deadline)
        body = yield from exchange(self.endpoint, *self.dialect.ask(self.model, request, stream=False), deadline)
        return read(lambda: self.dialect.reply(body))

    def stream(self, request: ChatRequest, deadline: Deadline, gathering: Gathering) -> Flow[Reply]:
        """The answer piece by piece."""
        reader, framing = self.dialect.reader(), self.dialect.framing()
        yield from self.prepare(request, deadline)
        opened: Opened = yield deadline.opening(self.endpoint.request(*self.dialect.ask(self.model, request, stream=True)))
        try:
            if opened.status != 200:
                raise refusal(opened.status, opened.headers, (yield from whole_body(opened, deadline)), self.endpoint.key)
            data = b"-"
            while data:
                data = yield Receive(opened, deadline.wait())
                for event in _events(framing, data):
                    if "error" in event:
                        raise refusal(500, {}, orjson.dumps(event), self.endpoint.key)
                    for delta in read(partial(reader.read, event)):
                        gathering.add(delta)
                        yield Say(delta)
        finally:
            opened.close()
        if reader.finish is None:
            raise ModelUnreachable("The stream ended before the answer did.")
        return gathering.whole(reader.finish, reader.usage, reader.model or self.model)

    def prepare(self, request: ChatRequest, deadline: Deadline) -> Flow[None]:
        """Find out whether the model can take an ask, where the endpoint tells."""
        return at_once(None)

    def count(self, text: str, deadline: Deadline) -> Flow[TokenCount]:
        """How long a text is: an estimate."""
        return at_once(estimate(text))


class RemoteEmbeddings:
    """An embedding model behind an endpoint. Some models want a text told apart by its purpose with a few words before it."""

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

    def embed(self, texts: Sequence[str], purpose: Purpose, deadline: Deadline) -> Flow[Embedded]:
        """The vectors of some texts."""
        before = self.prefixes.get(purpose, "")
        # Services refuse a text of nothing.
        path, body = self.dialect.embed(self.model, [before + text or " " for text in texts], self.dimensions)
        answer = yield from exchange(self.endpoint, path, body, deadline)
        return read(lambda: self.dialect.embedded(answer, len(texts)))

    def count(self, texts: Sequence[str], deadline: Deadline) -> Flow[list[TokenCount]]:
        """How long texts are: estimates."""
        return at_once([estimate(text) for text in texts])


def exchange(endpoint: Endpoint, path: str, body: dict[str, Any], deadline: Deadline) -> Flow[dict[str, Any]]:
    """The JSON object that answers a request."""
    return (yield from answered(endpoint, endpoint.request(path, body), deadline))


def answered(endpoint: Endpoint, request: HttpRequest, deadline: Deadline) -> Flow[dict[str, Any]]:
    """The JSON object that answers any request to an endpoint."""
    opened: Opened = yield deadline.opening(request)
    try:
        data = yield from whole_body(opened, deadline)
    finally:
        opened.close()
    if not 200 <= opened.status < 300:
        raise refusal(opened.status, opened.headers, data, endpoint.key)
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise BadAnswer(f"The answer of {endpoint.url} is not JSON.") from None
    if not isinstance(found, dict):
        raise BadAnswer(f"The answer of {endpoint.url} is not a JSON object.")
    return found


def whole_body(opened: Opened, deadline: Deadline) -> Flow[bytes]:
    """All of an answer."""
    pieces: list[bytes] = []
    while piece := (yield Receive(opened, deadline.wait())):
        pieces.append(piece)
    return b"".join(pieces)


def _events(framing: Framing, data: bytes) -> list[dict[str, Any]]:
    """The events that are whole now; at the end of the stream there is no data."""
    with failures():
        return framing.feed(data) if data else framing.end()


def read(reading: Callable[[], T]) -> T:
    """What a dialect reads; an answer that lacks what it documents is a bad one."""
    try:
        return reading()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        bad = BadAnswer(f"The answer is not of the documented form: {type(error).__name__}: {error}.")
        bad.public = BadAnswer.said
        raise bad from error
