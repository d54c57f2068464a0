"""The protocols of chat and embedding models, sync and async. Applications depend on these; `Models` and `AsyncModels` provide them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, Unpack

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from gateleg.ai.asking import AskOptions, Purpose
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
        """The answer as a whole."""
        ...

    def stream(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> Generator[Delta, None, None]:
        """The answer piece by piece; the last piece has the whole reply. Stop iterating, and close the iterator, to give it up."""
        ...

    def structured(self, model: type[M], messages: Iterable[Message], *, repairs: int = 2, **options: Unpack[AskOptions]) -> Structured[M]:
        """An answer that a pydantic model accepts. A model that misses is told why, up to `repairs` times; then `BadStructure`."""
        ...

    def upload(self, file: Attachment) -> UploadedFile:
        """Keep a file at the provider, to name it in messages; `NotOffered` where there is no such thing."""
        ...

    def forget(self, upload: UploadedFile) -> None:
        """Have the provider delete a file."""
        ...

    def count(self, text: str) -> TokenCount:
        """How many tokens a text has for this model."""
        ...


class Embeddings(Protocol):
    """A model that turns texts into vectors."""

    @property
    def model(self) -> str:
        """Its address, such as `local:minilm`."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """How many tokens of a text are looked at, where that is known; the rest makes no difference."""
        ...

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document", timeout: float | None = None) -> NDArray[np.float32]:
        """One row of length 1 for each text, in order. `timeout` bounds each batch, in seconds."""
        ...

    def dimensions(self) -> int:
        """The length of a row; a remote model is asked for one vector if it is not known."""
        ...

    def count(self, texts: Sequence[str]) -> list[TokenCount]:
        """How many tokens texts have for this model."""
        ...


class AsyncChat(Protocol):
    """A model that answers messages, awaited."""

    @property
    def model(self) -> str:
        """Its address."""
        ...

    async def reply(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> Reply:
        """The answer as a whole."""
        ...

    def stream(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> AsyncGenerator[Delta, None]:
        """The answer piece by piece; the last piece has the whole reply. Cancel the task, or close the iterator, to give it up."""
        ...

    async def structured(
        self, model: type[M], messages: Iterable[Message], *, repairs: int = 2, **options: Unpack[AskOptions]
    ) -> Structured[M]:
        """An answer that a pydantic model accepts."""
        ...

    async def upload(self, file: Attachment) -> UploadedFile:
        """Keep a file at the provider, to name it in messages; `NotOffered` where there is no such thing."""
        ...

    async def forget(self, upload: UploadedFile) -> None:
        """Have the provider delete a file."""
        ...

    async def count(self, text: str) -> TokenCount:
        """How many tokens a text has for this model."""
        ...


class AsyncEmbeddings(Protocol):
    """A model that turns texts into vectors, awaited."""

    @property
    def model(self) -> str:
        """Its address."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """How many tokens of a text are looked at, where that is known."""
        ...

    async def embed(self, texts: Sequence[str], *, purpose: Purpose = "document", timeout: float | None = None) -> NDArray[np.float32]:
        """One row of length 1 for each text, in order."""
        ...

    async def dimensions(self) -> int:
        """The length of a row."""
        ...

    async def count(self, texts: Sequence[str]) -> list[TokenCount]:
        """How many tokens texts have for this model."""
        ...


class Media(Protocol):
    """A model that makes pictures, films or sound: submit, poll, fetch."""

    @property
    def model(self) -> str:
        """Its address."""
        ...

    def estimate(self, request: MediaRequest) -> Usage:
        """What a request is estimated to use and to cost; a cost of None: no price is known."""
        ...

    def submit(self, request: MediaRequest, *, token: str) -> MediaJob:
        """Have something made. A token that was used before gives the job that it was used for, and submits nothing."""
        ...

    def poll(self, token: str) -> MediaJob:
        """How far it is."""
        ...

    def wait(self, token: str, *, every: float = 5.0) -> MediaJob:
        """Poll until it is made; `ContentRefused` or `MediaFailed` if it is not."""
        ...

    def fetch(self, job: MediaJob, number: int = 0) -> Attachment:
        """One of the things that were made."""
        ...


class AsyncMedia(Protocol):
    """A model that makes pictures, films or sound, awaited: submit, poll, fetch."""

    @property
    def model(self) -> str:
        """Its address."""
        ...

    def estimate(self, request: MediaRequest) -> Usage:
        """What a request is estimated to use and to cost; a cost of None: no price is known."""
        ...

    async def submit(self, request: MediaRequest, *, token: str) -> MediaJob:
        """Have something made. A token that was used before gives the job that it was used for, and submits nothing."""
        ...

    async def poll(self, token: str) -> MediaJob:
        """How far it is."""
        ...

    async def wait(self, token: str, *, every: float = 5.0) -> MediaJob:
        """Poll until it is made; `ContentRefused` or `MediaFailed` if it is not."""
        ...

    async def fetch(self, job: MediaJob, number: int = 0) -> Attachment:
        """One of the things that were made."""
        ...


class Rerank(Protocol):
    """A model that scores how well texts answer a query."""

    @property
    def model(self) -> str:
        """Its address."""
        ...

    def scores(self, query: str, texts: Sequence[str], *, timeout: float | None = None) -> list[float]:
        """A score for each text, in order: the higher, the better. Scores of different models do not compare."""
        ...


class AsyncRerank(Protocol):
    """A model that scores how well texts answer a query, awaited."""

    @property
    def model(self) -> str:
        """Its address."""
        ...

    async def scores(self, query: str, texts: Sequence[str], *, timeout: float | None = None) -> list[float]:
        """A score for each text, in order: the higher, the better. Scores of different models do not compare."""
        ...
