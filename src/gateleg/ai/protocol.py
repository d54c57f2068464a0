"""The protocols of chat and embedding models, sync and async. Applications depend on these; `Models` and `AsyncModels` provide them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, Unpack

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from gateleg.ai.chat_requests import AskOptions, Purpose
    from gateleg.ai.media import MediaJob, MediaRequest
    from gateleg.ai.messages import Attachment, Message, UploadedFile
    from gateleg.ai.replies import Delta, Reply, Structured, TokenCount, Usage

M = TypeVar("M", bound=BaseModel)


class Chat(Protocol):
    """A model that answers messages."""

    @property
    def model(self) -> str:
        """Its address, such as `local:smollm2`."""
        ...

    def reply(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> Reply:
        """The whole reply."""
        ...

    def stream(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> Generator[Delta, None, None]:
        """Stream the reply piece by piece; the last piece has the whole reply. To cancel, close the iterator."""
        ...

    def structured(self, model: type[M], messages: Iterable[Message], *, repairs: int = 2, **options: Unpack[AskOptions]) -> Structured[M]:
        """A reply validated as a pydantic model. An invalid reply is sent back with its problems up to `repairs` times; then
        `BadStructure`.
        """
        ...

    def upload(self, file: Attachment) -> UploadedFile:
        """Upload a file to the provider, to refer to it in messages. Raises `NotOffered` if the provider does not store files."""
        ...

    def forget(self, upload: UploadedFile) -> None:
        """Delete an uploaded file at the provider."""
        ...

    def count(self, text: str) -> TokenCount:
        """Count the tokens of a text for this model."""
        ...


class Embeddings(Protocol):
    """A model that turns texts into vectors."""

    @property
    def model(self) -> str:
        """Its address, such as `local:minilm`."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """How many tokens of a text the model reads, if known; the rest is ignored."""
        ...

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document", timeout: float | None = None) -> NDArray[np.float32]:
        """One unit vector for each text, in order. `timeout` limits each batch, in seconds."""
        ...

    def dimensions(self) -> int:
        """The length of a vector. If it is unknown, a remote model is asked for one vector."""
        ...

    def count(self, texts: Sequence[str]) -> list[TokenCount]:
        """Count the tokens of texts for this model."""
        ...


class AsyncChat(Protocol):
    """A model that answers messages, awaited."""

    @property
    def model(self) -> str:
        """Its address."""
        ...

    async def reply(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> Reply:
        """The whole reply."""
        ...

    def stream(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> AsyncGenerator[Delta, None]:
        """Stream the reply piece by piece; the last piece has the whole reply. To cancel, cancel the task or close the iterator."""
        ...

    async def structured(
        self, model: type[M], messages: Iterable[Message], *, repairs: int = 2, **options: Unpack[AskOptions]
    ) -> Structured[M]:
        """A reply validated as a pydantic model."""
        ...

    async def upload(self, file: Attachment) -> UploadedFile:
        """Upload a file to the provider, to refer to it in messages. Raises `NotOffered` if the provider does not store files."""
        ...

    async def forget(self, upload: UploadedFile) -> None:
        """Delete an uploaded file at the provider."""
        ...

    async def count(self, text: str) -> TokenCount:
        """Count the tokens of a text for this model."""
        ...


class AsyncEmbeddings(Protocol):
    """A model that turns texts into vectors, awaited."""

    @property
    def model(self) -> str:
        """Its address."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """How many tokens of a text the model reads, if known."""
        ...

    async def embed(self, texts: Sequence[str], *, purpose: Purpose = "document", timeout: float | None = None) -> NDArray[np.float32]:
        """One unit vector for each text, in order."""
        ...

    async def dimensions(self) -> int:
        """The length of a vector."""
        ...

    async def count(self, texts: Sequence[str]) -> list[TokenCount]:
        """Count the tokens of texts for this model."""
        ...


class Media(Protocol):
    """A model that generates images, video or sound: submit, poll, fetch."""

    @property
    def model(self) -> str:
        """Its address."""
        ...

    def estimate(self, request: MediaRequest) -> Usage:
        """The estimated usage and cost of a request. The cost is None if no price is known."""
        ...

    def submit(self, request: MediaRequest, *, token: str) -> MediaJob:
        """Submit a request. If the token was used before, nothing is submitted and its job is returned."""
        ...

    def poll(self, token: str) -> MediaJob:
        """The current state of a job."""
        ...

    def wait(self, token: str, *, every: float = 5.0) -> MediaJob:
        """Poll until the job has succeeded. Raises `ContentRefused` or `MediaFailed` otherwise."""
        ...

    def fetch(self, job: MediaJob, number: int = 0) -> Attachment:
        """The content of one output."""
        ...


class AsyncMedia(Protocol):
    """A model that generates images, video or sound, awaited: submit, poll, fetch."""

    @property
    def model(self) -> str:
        """Its address."""
        ...

    def estimate(self, request: MediaRequest) -> Usage:
        """The estimated usage and cost of a request. The cost is None if no price is known."""
        ...

    async def submit(self, request: MediaRequest, *, token: str) -> MediaJob:
        """Submit a request. If the token was used before, nothing is submitted and its job is returned."""
        ...

    async def poll(self, token: str) -> MediaJob:
        """The current state of a job."""
        ...

    async def wait(self, token: str, *, every: float = 5.0) -> MediaJob:
        """Poll until the job has succeeded. Raises `ContentRefused` or `MediaFailed` otherwise."""
        ...

    async def fetch(self, job: MediaJob, number: int = 0) -> Attachment:
        """The content of one output."""
        ...


class Rerank(Protocol):
    """A model that scores how relevant texts are to a query."""

    @property
    def model(self) -> str:
        """Its address."""
        ...

    def scores(self, query: str, texts: Sequence[str], *, timeout: float | None = None) -> list[float]:
        """A score for each text, in order: higher is more relevant. Scores of different models are not comparable."""
        ...


class AsyncRerank(Protocol):
    """A model that scores how relevant texts are to a query, awaited."""

    @property
    def model(self) -> str:
        """Its address."""
        ...

    async def scores(self, query: str, texts: Sequence[str], *, timeout: float | None = None) -> list[float]:
        """A score for each text, in order: higher is more relevant. Scores of different models are not comparable."""
        ...
