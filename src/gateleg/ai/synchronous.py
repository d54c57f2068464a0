"""`Models`: chat and embedding models, sync."""

from __future__ import annotations

import time
from copy import copy
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, Unpack

from pydantic import BaseModel

from gateleg.ai.chat import ChatCalls
from gateleg.ai.chat_requests import chat_request
from gateleg.ai.error_translation import LIMIT, translated_errors
from gateleg.ai.errors import InvalidModelRequest
from gateleg.ai.factories import open_chat, open_embeddings, open_media, open_reranker
from gateleg.ai.setup import setup_from
from gateleg.ai.steps import EmitPiece, Offload, Open, Receive, StoreOperation
from gateleg.net.http import Client
from gateleg.store.flow import Pause

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from types import TracebackType

    import numpy as np
    from numpy.typing import NDArray

    from gateleg.ai.chat_requests import AskOptions, Purpose
    from gateleg.ai.embedding import Embedding
    from gateleg.ai.factories import EmbeddingOptions
    from gateleg.ai.media import MediaJob, MediaRequest
    from gateleg.ai.media_jobs import Generation
    from gateleg.ai.messages import Attachment, Message, UploadedFile
    from gateleg.ai.metering import Meter
    from gateleg.ai.protocol import Chat, Embeddings, Media, Rerank
    from gateleg.ai.providers.protocol import ChatProvider
    from gateleg.ai.replies import Delta, Reply, Structured, TokenCount, Usage
    from gateleg.ai.reranking import Reranking
    from gateleg.ai.settings import ModelSettings
    from gateleg.ai.setup import ModelSetup
    from gateleg.ai.spending import Account, Ending
    from gateleg.ai.steps import Flow, Step
    from gateleg.net import Retries
    from gateleg.store.operations import Operation

R = TypeVar("R")
M = TypeVar("M", bound=BaseModel)


class Carrier(Protocol):
    """Runs operations of a store: a `Store`, or one that delegates to an event loop."""

    def run(self, operation: Operation[R], /) -> R:
        """Run an operation."""
        ...


class Models:
    """Models by address. Any number of threads may share one.

    With a `store`, vectors are cached there, and replies of chats with `cache=True` (`store.ensure_tables(*MODEL_TABLES)`). With an
    `account`, usage is recorded there, and calls are limited by the spend caps of the settings.
    """

    def __init__(
        self,
        settings: ModelSettings | None = None,
        *,
        store: Carrier | None = None,
        meter: Meter | None = None,
        retries: Retries | None = None,
        account: Account | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._setup = setup_from(settings, retries, meter, account)
        self._store = store
        check_recordable(self._setup, store)
        self._sleep = sleep
        self._client = Client(LIMIT)
        self._check: Callable[[], None] = _nothing

    def chat(self, address: str | None = None, *, key: str | None = None, cache: bool = False) -> Chat:
        """A chat model; by default the one of the settings, which is local. `cache` stores its replies."""
        return _Chat(self, open_chat(address or self._setup.settings.chat, self._setup, key, cache=self._cached(cache)))

    def chat_with(self, provider: ChatProvider, name: str = "local:own") -> Chat:
        """A chat model of your own provider, under a name of your choice, such as a script in tests."""
        from gateleg.ai.addresses import parse_model_address

        return _Chat(self, ChatCalls(parse_model_address(name), provider, self._setup))

    def embeddings(self, address: str | None = None, **options: Unpack[EmbeddingOptions]) -> Embeddings:
        """An embedding model; by default the one of the settings, which is local."""
        wanted = options.get("cache", self._store is not None)
        return _Embeddings(
            self, open_embeddings(address or self._setup.settings.embeddings, self._setup, options, cache=self._cached(wanted))
        )

    def billed_to(self, account: Account) -> Models:
        """The same models, with calls recorded for an account and limited by its spend caps."""
        check_recordable(self._setup.billed_to(account), self._store)
        found = copy(self)
        found._setup = self._setup.billed_to(account)
        return found

    def book(self, model: str, usage: Usage, ending: Ending = "answered") -> None:
        """Record a call that was made without these models, such as by an SDK of your own, under the name of its model."""
        if self._setup.spending is not None:
            self.run(self._setup.spending.book(model, usage, ending))

    def settle_lost(self, subject: str | None = None) -> int:
        """Record the calls of the application that were never ended, because their process was killed; returns their number.

        Those for a subject, such as a run that is answered again, at once; others when no call can last that long.
        """
        return 0 if self._setup.spending is None else self.run(self._setup.spending.settle_lost(subject=subject))

    def with_setup(self, setup: ModelSetup, store: Carrier | None, check: Callable[[], None]) -> Models:
        """The same connections with another setup and store. `check` is called before each call."""
        found = copy(self)
        found._setup, found._store, found._check = setup, store, check
        return found

    def reranker(self, address: str, *, key: str | None = None) -> Rerank:
        """A model that scores how relevant texts are to a query. There is no local one."""
        return _Rerank(self, open_reranker(address, self._setup, key))

    def media(self, address: str, *, key: str | None = None) -> Media:
        """A model that generates images, video or sound. Its jobs are stored."""
        if self._store is None:
            raise InvalidModelRequest("Media jobs need a store.", fix="Pass one: Models(store=...).")
        return _Media(self, open_media(address, self._setup, key))

    def usage(self) -> dict[str, Usage]:
        """The usage so far, by model address."""
        return self._setup.meter.totals()

    def run(self, flow: Flow[R]) -> R:
        """Run a flow to its result."""
        self._check()
        try:
            step = next(flow)
            while True:
                step = self._advance(flow, step)
        except StopIteration as end:
            result: R = end.value
            return result
        finally:
            flow.close()
            self._settle_left()

    def iterate(self, flow: Flow[Any]) -> Generator[Delta, None, None]:
        """Run a flow and yield its pieces."""
        self._check()
        try:
            step = next(flow)
            while True:
                if isinstance(step, EmitPiece):
                    yield step.delta
                    step = flow.send(None)
                else:
                    step = self._advance(flow, step)
        except StopIteration:
            return
        finally:
            flow.close()
            self._settle_left()

    def _advance(self, flow: Flow[Any], step: Step) -> Step:
        try:
            reply = self._perform(step)
        except Exception as error:
            return flow.throw(error)
        return flow.send(reply)

    def _perform(self, step: Step) -> Any:
        match step:
            case Open(request, timeouts, until):
                with translated_errors():
                    return self._client.open(request, timeouts, until)
            case Receive(opened, seconds):
                with translated_errors():
                    return opened.receive(seconds)  # type: ignore[attr-defined]
            case Offload(call):
                return call()
            case StoreOperation(operation):
                assert self._store is not None
                return self._store.run(operation)
            case Pause(seconds):
                return self._sleep(seconds)
            case EmitPiece():
                return None

    def _settle_left(self) -> None:
        """Record the calls that were cancelled."""
        spending = self._setup.spending
        if spending is not None and spending.left:
            self.run(spending.settle_left())

    def _cached(self, wanted: bool) -> bool:
        if wanted and self._store is None:
            raise InvalidModelRequest("Caching needs a store.", fix="Pass one: Models(store=...).")
        return wanted

    def close(self) -> None:
        """Close connections. The store stays open."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def check_recordable(setup: ModelSetup, store: object) -> None:
    """Refuse an account without a store to record its usage in."""
    if setup.spending is not None and store is None:
        raise InvalidModelRequest("Recording usage needs a store.", fix="Pass one with the account: Models(store=..., account=...).")


def _nothing() -> None:
    """The check of models that may be called in any thread."""


class _Chat:
    def __init__(self, models: Models, answering: ChatCalls) -> None:
        self._models = models
        self._answering = answering

    @property
    def model(self) -> str:
        return str(self._answering.address)

    def reply(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> Reply:
        return self._models.run(self._answering.reply(chat_request(messages, options)))

    def stream(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> Generator[Delta, None, None]:
        return self._models.iterate(self._answering.stream(chat_request(messages, options)))

    def structured(self, model: type[M], messages: Iterable[Message], *, repairs: int = 2, **options: Unpack[AskOptions]) -> Structured[M]:
        return self._models.run(self._answering.structured(model, messages, options, repairs))

    def upload(self, file: Attachment) -> UploadedFile:
        return self._models.run(self._answering.upload(file))

    def forget(self, upload: UploadedFile) -> None:
        self._models.run(self._answering.forget(upload))

    def count(self, text: str) -> TokenCount:
        return self._models.run(self._answering.count(text))


class _Embeddings:
    def __init__(self, models: Models, embedding: Embedding) -> None:
        self._models = models
        self._embedding = embedding

    @property
    def model(self) -> str:
        return str(self._embedding.address)

    @property
    def max_tokens(self) -> int | None:
        return self._embedding.provider.max_tokens

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document", timeout: float | None = None) -> NDArray[np.float32]:
        return self._models.run(self._embedding.embed(texts, purpose, timeout))

    def dimensions(self) -> int:
        return self._models.run(self._embedding.dimensions())

    def count(self, texts: Sequence[str]) -> list[TokenCount]:
        return self._models.run(self._embedding.count(texts))


class _Media:
    def __init__(self, models: Models, generation: Generation) -> None:
        self._models = models
        self._generation = generation

    @property
    def model(self) -> str:
        return str(self._generation.address)

    def estimate(self, request: MediaRequest) -> Usage:
        return self._generation.estimate(request)

    def submit(self, request: MediaRequest, *, token: str) -> MediaJob:
        return self._models.run(self._generation.submit(request, token))

    def poll(self, token: str) -> MediaJob:
        return self._models.run(self._generation.poll(token))

    def wait(self, token: str, *, every: float = 5.0) -> MediaJob:
        return self._models.run(self._generation.wait(token, every))

    def fetch(self, job: MediaJob, number: int = 0) -> Attachment:
        return self._models.run(self._generation.fetch(job.outputs[number]))


class _Rerank:
    def __init__(self, models: Models, reranking: Reranking) -> None:
        self._models = models
        self._reranking = reranking

    @property
    def model(self) -> str:
        return str(self._reranking.address)

    def scores(self, query: str, texts: Sequence[str], *, timeout: float | None = None) -> list[float]:
        return self._models.run(self._reranking.scores(query, texts, timeout))
