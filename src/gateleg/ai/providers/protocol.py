"""What every provider offers to the logic of this room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from gateleg.ai.asking import ChatRequest, Purpose
    from gateleg.ai.media import MediaOutput, MediaRequest, MediaState
    from gateleg.ai.messages import Attachment, UploadedFile
    from gateleg.ai.replies import Gathering, Reply, TokenCount, Usage
    from gateleg.ai.retry_policy import Deadline
    from gateleg.ai.steps import Flow


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors, one row for each text, and what they took."""

    vectors: NDArray[np.float32]
    usage: Usage


@dataclass(frozen=True, slots=True)
class Reranked:
    """Scores, one for each text, and what they took."""

    scores: tuple[float, ...]
    usage: Usage


class RerankProvider(Protocol):
    """Runs a reranker. A flow is one attempt; failures are `AiError`s."""

    #: texts that one call takes
    batch: int

    def rerank(self, query: str, texts: Sequence[str], deadline: Deadline) -> Flow[Reranked]:
        """The scores of at most `batch` texts."""
        ...


class ChatProvider(Protocol):
    """Runs a chat model. A flow is one attempt; failures are `AiError`s."""

    def reply(self, request: ChatRequest, deadline: Deadline) -> Flow[Reply]:
        """The answer as a whole."""
        ...

    def stream(self, request: ChatRequest, deadline: Deadline, gathering: Gathering) -> Flow[Reply]:
        """The answer piece by piece: each is added to the gathering and said. Ends with the whole."""
        ...

    def count(self, text: str, deadline: Deadline) -> Flow[TokenCount]:
        """How long a text is."""
        ...


class MediaProvider(Protocol):
    """Runs a model that makes pictures, films or sound. A flow is one attempt; failures are `AiError`s."""

    def submit(self, request: MediaRequest, deadline: Deadline) -> Flow[MediaState]:
        """Ask for something to be made."""
        ...

    def poll(self, id: str, deadline: Deadline) -> Flow[MediaState]:
        """How far it is."""
        ...

    def fetch(self, output: MediaOutput, deadline: Deadline) -> Flow[Attachment]:
        """What was made."""
        ...


@runtime_checkable
class FileProvider(Protocol):
    """A provider of chat models that also keeps files, to be named in messages."""

    def upload(self, file: Attachment, deadline: Deadline) -> Flow[UploadedFile]:
        """Keep a file."""
        ...

    def forget(self, upload: UploadedFile, deadline: Deadline) -> Flow[None]:
        """Delete a file."""
        ...


class EmbeddingsProvider(Protocol):
    """Runs an embedding model. A flow is one attempt; failures are `AiError`s."""

    #: tokens of a text that are looked at, where known; the rest is cut off
    max_tokens: int | None
    #: texts that one call takes
    batch: int
    #: the length of a vector, where it is known before the first
    dimensions: int | None
    #: what the vectors depend on besides the model, for the cache
    variant: str

    def embed(self, texts: Sequence[str], purpose: Purpose, deadline: Deadline) -> Flow[Embedded]:
        """The vectors of at most `batch` texts."""
        ...

    def count(self, texts: Sequence[str], deadline: Deadline) -> Flow[list[TokenCount]]:
        """How long texts are."""
        ...
