"""The interfaces of providers, and `Script`, a provider of prepared replies for tests and demonstrations."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from gateleg.ai.errors import AiError, ModelRefused
from gateleg.ai.replies import CallDelta, Delta, Reply, Usage, estimate
from gateleg.ai.steps import EmitPiece, completed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from gateleg.ai.chat_requests import ChatRequest, Purpose
    from gateleg.ai.media import MediaOutput, MediaRequest, MediaState
    from gateleg.ai.messages import Attachment, UploadedFile
    from gateleg.ai.replies import ReplyBuilder, TokenCount
    from gateleg.ai.setup import CallDeadline
    from gateleg.ai.steps import Flow
#: A text, a whole reply, an error to raise, or a function that decides.
Line = str | Reply | AiError | Callable[["ChatRequest"], "str | Reply"]


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors, one row for each text, and their usage."""

    vectors: NDArray[np.float32]
    usage: Usage


@dataclass(frozen=True, slots=True)
class Reranked:
    """Scores, one for each text, and their usage."""

    scores: tuple[float, ...]
    usage: Usage


class RerankProvider(Protocol):
    """Runs a reranker. A flow is one attempt; failures are `AiError`s."""

    #: the maximum number of texts in a call
    batch: int

    def rerank(self, query: str, texts: Sequence[str], deadline: CallDeadline) -> Flow[Reranked]:
        """The scores of at most `batch` texts."""
        ...


class ChatProvider(Protocol):
    """Runs a chat model. A flow is one attempt; failures are `AiError`s."""

    def reply(self, request: ChatRequest, deadline: CallDeadline) -> Flow[Reply]:
        """The whole reply."""
        ...

    def stream(self, request: ChatRequest, deadline: CallDeadline, builder: ReplyBuilder) -> Flow[Reply]:
        """Stream the reply: each piece is added to `builder` and yielded with `EmitPiece`. Returns the whole reply."""
        ...

    def count(self, text: str, deadline: CallDeadline) -> Flow[TokenCount]:
        """Count the tokens of a text."""
        ...


class MediaProvider(Protocol):
    """Runs a model that generates images, video or sound. A flow is one attempt; failures are `AiError`s."""

    def submit(self, request: MediaRequest, deadline: CallDeadline) -> Flow[MediaState]:
        """Submit a request."""
        ...

    def poll(self, id: str, deadline: CallDeadline) -> Flow[MediaState]:
        """The current state of a job."""
        ...

    def fetch(self, output: MediaOutput, deadline: CallDeadline) -> Flow[Attachment]:
        """The content of an output."""
        ...


@runtime_checkable
class FileProvider(Protocol):
    """A provider of chat models that also stores files."""

    def upload(self, file: Attachment, deadline: CallDeadline) -> Flow[UploadedFile]:
        """Upload a file."""
        ...

    def forget(self, upload: UploadedFile, deadline: CallDeadline) -> Flow[None]:
        """Delete a file."""
        ...


class EmbeddingsProvider(Protocol):
    """Runs an embedding model. A flow is one attempt; failures are `AiError`s."""

    #: how many tokens of a text are read, if known; the rest is cut off
    max_tokens: int | None
    #: the maximum number of texts in a call
    batch: int
    #: the length of a vector, if known in advance
    dimensions: int | None
    #: what vectors depend on besides the model, for the cache key
    variant: str

    def embed(self, texts: Sequence[str], purpose: Purpose, deadline: CallDeadline) -> Flow[Embedded]:
        """The vectors of at most `batch` texts."""
        ...

    def count(self, texts: Sequence[str], deadline: CallDeadline) -> Flow[list[TokenCount]]:
        """Count the tokens of texts."""
        ...


class Script:
    """Returns its lines in order, one for each call. `requests` has the requests; a call after the last line raises an error.

    Use it with `models.chat_with(Script(["Hello", Reply(calls=...)]))`. A stream yields a line word by word.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self.requests: list[ChatRequest] = []
        self._lines = list(lines)
        self._lock = threading.Lock()

    def reply(self, request: ChatRequest, deadline: CallDeadline) -> Flow[Reply]:
        """The next line."""
        yield from ()
        return self._next(request)

    def stream(self, request: ChatRequest, deadline: CallDeadline, builder: ReplyBuilder) -> Flow[Reply]:
        """The next line, word by word."""
        reply = self._next(request)
        pieces = [Delta(text=word) for word in re.findall(r"\s*\S+|\s+$", reply.text)]
        pieces += [Delta(call=CallDelta(number, call.id, call.name, call.text, call.signature)) for number, call in enumerate(reply.calls)]
        for piece in pieces:
            builder.add(piece)
            yield EmitPiece(piece)
        return reply

    def count(self, text: str, deadline: CallDeadline) -> Flow[TokenCount]:
        """Estimate the tokens of a text."""
        return completed(estimate(text))

    def _next(self, request: ChatRequest) -> Reply:
        with self._lock:
            self.requests.append(request)
            if not self._lines:
                raise ModelRefused("The script has no line left.", fix="Add a line for every call.")
            line = self._lines.pop(0)
        if isinstance(line, AiError):
            raise line
        said = line(request) if callable(line) else line
        if isinstance(said, Reply):
            return said
        tokens = sum(estimate(message.text).tokens for message in request.messages)
        return Reply(said, usage=Usage(tokens, estimate(said).tokens), model="script")
