"""`AsyncModels`: chat and embedding models, awaited."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from pydantic import BaseModel

from gateleg.ai.chat import ChatCalls
from gateleg.ai.chat_requests import chat_request
from gateleg.ai.error_translation import LIMIT, translated_errors
from gateleg.ai.errors import InvalidModelRequest
from gateleg.ai.factories import open_chat, open_embeddings, open_media, open_reranker
from gateleg.ai.setup import setup_from
from gateleg.ai.steps import EmitPiece, Offload, Open, Receive, StoreOperation
from gateleg.ai.synchronous import Models, check_recordable
from gateleg.net.http import AsyncClient
from gateleg.store.flow import Pause

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
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
    from gateleg.ai.protocol import AsyncChat, AsyncEmbeddings, AsyncMedia, AsyncRerank
    from gateleg.ai.providers.protocol import ChatProvider
    from gateleg.ai.replies import Delta, Reply, Structured, TokenCount, Usage
    from gateleg.ai.reranking import Reranking
    from gateleg.ai.settings import ModelSettings
    from gateleg.ai.spending import Account, Ending
    from gateleg.ai.steps import Flow, Step
    from gateleg.net import Retries
    from gateleg.store import AsyncStore
    from gateleg.store.operations import Operation

R = TypeVar("R")
M = TypeVar("M", bound=BaseModel)
#: Threads for work that computes or blocks; the event loop's own threads are left to others. They are started on demand.
_THREADS = 32


class AsyncModels:
    """Models by address, awaited. The same methods as `Models`, with the same arguments and results.

    Endpoints are awaited on the event loop; work that computes or blocks (local embeddings) runs in separate threads.
    """

    def __init__(
        self,
        settings: ModelSettings | None = None,
        *,
        store: AsyncStore | None = None,
        meter: Meter | None = None,
        retries: Retries | None = None,
        account: Account | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._setup = setup_from(settings, retries, meter, account)
        self._store = store
        check_recordable(self._setup, store)
        self._sleep = sleep
        self._client = AsyncClient(LIMIT)
        self._shared = _Shared()

    def chat(self, address: str | None = None, *, key: str | None = None, cache: bool = False) -> AsyncChat:
        """A chat model; by default the one of the settings, which is local. `cache` stores its replies."""
        return _AsyncChat(self, open_chat(address or self._setup.settings.chat, self._setup, key, cache=self._cached(cache)))

    def chat_with(self, provider: ChatProvider, name: str = "local:own") -> AsyncChat:
        """A chat model of your own provider, under a name of your choice, such as a script in tests."""
        from gateleg.ai.addresses import parse_model_address

        return _AsyncChat(self, ChatCalls(parse_model_address(name), provider, self._setup))

    def embeddings(self, address: str | None = None, **options: Unpack[EmbeddingOptions]) -> AsyncEmbeddings:
        """An embedding model; by default the one of the settings, which is local."""
        wanted = self._cached(options.get("cache", self._store is not None))
        return _AsyncEmbeddings(self, open_embeddings(address or self._setup.settings.embeddings, self._setup, options, cache=wanted))

    def billed_to(self, account: Account) -> AsyncModels:
        """The same models, with calls recorded for an account and limited by its spend caps."""
        check_recordable(self._setup.billed_to(account), self._store)
        found = copy(self)
        found._setup = self._setup.billed_to(account)
        return found

    async def book(self, model: str, usage: Usage, ending: Ending = "answered") -> None:
        """Record a call that was made without these models, such as by an SDK of your own, under the name of its model."""
        if self._setup.spending is not None:
            await self.run(self._setup.spending.book(model, usage, ending))

    async def settle_lost(self, subject: str | None = None) -> int:
        """Record the calls of the application that were never ended, because their process was killed; returns their number.

        Those for a subject, such as a run that is answered again, at once; others when no call can last that long.
        """
        return 0 if self._setup.spending is None else await self.run(self._setup.spending.settle_lost(subject=subject))

    def for_threads(self) -> Models:
        """The same models for blocking code in threads. Operations of the store run on this event loop."""
        loop = asyncio.get_running_loop()
        store = None if self._store is None else _LoopStore(self._store, loop)
        return self._shared.blocking().with_setup(self._setup, store, partial(_check_thread, loop))

    def reranker(self, address: str, *, key: str | None = None) -> AsyncRerank:
        """A model that scores how relevant texts are to a query. There is no local one."""
        return _AsyncRerank(self, open_reranker(address, self._setup, key))

    def media(self, address: str, *, key: str | None = None) -> AsyncMedia:
        """A model that generates images, video or sound. Its jobs are stored."""
        if self._store is None:
            raise InvalidModelRequest("Media jobs need a store.", fix="Pass one: AsyncModels(store=...).")
        return _AsyncMedia(self, open_media(address, self._setup, key))

    def usage(self) -> dict[str, Usage]:
        """The usage so far, by model address."""
        return self._setup.meter.totals()

    async def run(self, flow: Flow[R]) -> R:
        """Run a flow to its result."""
        try:
            step = next(flow)
            while True:
                reply, error = await self._attempt(step)
                step = flow.send(reply) if error is None else flow.throw(error)
        except StopIteration as end:
            result: R = end.value
            return result
        finally:
            flow.close()
            await self._settle_left()

    async def iterate(self, flow: Flow[Any]) -> AsyncGenerator[Delta, None]:
        """Run a flow and yield its pieces."""
        try:
            step = next(flow)
            while True:
                if isinstance(step, EmitPiece):
                    yield step.delta
                    step = flow.send(None)
                else:
                    reply, error = await self._attempt(step)
                    step = flow.send(reply) if error is None else flow.throw(error)
        except StopIteration:
            return
        finally:
            flow.close()
            await self._settle_left()

    async def _attempt(self, step: Step) -> tuple[Any, Exception | None]:
        """The result of a step, or its error. The caller passes it to the flow, which must not end inside a coroutine."""
        try:
            return await self._perform(step), None
        except Exception as error:
            return None, error

    async def _perform(self, step: Step) -> Any:
        match step:
            case Open(request, timeouts, until):
                with translated_errors():
                    return await self._client.open(request, timeouts, until)
            case Receive(opened, seconds):
                with translated_errors():
                    return await opened.receive(seconds)  # type: ignore[attr-defined]
            case Offload(call):
                return await asyncio.get_running_loop().run_in_executor(self._executor(), call)
            case StoreOperation(operation):
                assert self._store is not None
                return await self._store.run(operation)
            case Pause(seconds):
                return await self._sleep(seconds)
            case EmitPiece():
                return None

    async def _settle_left(self) -> None:
        """Record the calls that were cancelled."""
        spending = self._setup.spending
        if spending is not None and spending.left:
            await self.run(spending.settle_left())

    def _executor(self) -> ThreadPoolExecutor:
        return self._shared.executor()

    def _cached(self, wanted: bool) -> bool:
        if wanted and self._store is None:
            raise InvalidModelRequest("Caching needs a store.", fix="Pass one: AsyncModels(store=...).")
        return wanted

    async def close(self) -> None:
        """Close connections and threads. The store stays open."""
        await self._client.close()
        self._shared.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


class _Shared:
    """Shared by the models of several accounts: threads for blocking work, and the connections of the models in threads."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._blocking: Models | None = None

    def executor(self) -> ThreadPoolExecutor:
        """The threads, created at first use."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="gateleg-ai")
        return self._threads

    def blocking(self) -> Models:
        """Blocking models, which share one pool of connections."""
        if self._blocking is None:
            self._blocking = Models()
        return self._blocking

    def close(self) -> None:
        """Close threads and connections."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None
        if self._blocking is not None:
            self._blocking.close()


class _LoopStore:
    """A store for threads, whose operations run on an event loop."""

    def __init__(self, store: AsyncStore, loop: asyncio.AbstractEventLoop) -> None:
        self._store = store
        self._loop = loop

    def run(self, operation: Operation[R]) -> R:
        """Run an operation and wait for its result."""
        return asyncio.run_coroutine_threadsafe(self._carried(operation), self._loop).result()

    async def _carried(self, operation: Operation[R]) -> R:
        return await self._store.run(operation)


def _check_thread(loop: asyncio.AbstractEventLoop) -> None:
    """Refuse calls on the event loop itself: they would deadlock."""
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        return
    if running is loop:
        raise InvalidModelRequest(
            "Models for threads were called on the event loop.", fix="Call them in a thread: await asyncio.to_thread(...)."
        )


class _AsyncChat:
    def __init__(self, models: AsyncModels, answering: ChatCalls) -> None:
        self._models = models
        self._answering = answering

    @property
    def model(self) -> str:
        return str(self._answering.address)

    async def reply(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> Reply:
        return await self._models.run(self._answering.reply(chat_request(messages, options)))

    def stream(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> AsyncGenerator[Delta, None]:
        return self._models.iterate(self._answering.stream(chat_request(messages, options)))

    async def structured(
        self, model: type[M], messages: Iterable[Message], *, repairs: int = 2, **options: Unpack[AskOptions]
    ) -> Structured[M]:
        return await self._models.run(self._answering.structured(model, messages, options, repairs))

    async def upload(self, file: Attachment) -> UploadedFile:
        return await self._models.run(self._answering.upload(file))

    async def forget(self, upload: UploadedFile) -> None:
        await self._models.run(self._answering.forget(upload))

    async def count(self, text: str) -> TokenCount:
        return await self._models.run(self._answering.count(text))


class _AsyncEmbeddings:
    def __init__(self, models: AsyncModels, embedding: Embedding) -> None:
        self._models = models
        self._embedding = embedding

    @property
    def model(self) -> str:
        return str(self._embedding.address)

    @property
    def max_tokens(self) -> int | None:
        return self._embedding.provider.max_tokens

    async def embed(self, texts: Sequence[str], *, purpose: Purpose = "document", timeout: float | None = None) -> NDArray[np.float32]:
        return await self._models.run(self._embedding.embed(texts, purpose, timeout))

    async def dimensions(self) -> int:
        return await self._models.run(self._embedding.dimensions())

    async def count(self, texts: Sequence[str]) -> list[TokenCount]:
        return await self._models.run(self._embedding.count(texts))


class _AsyncMedia:
    def __init__(self, models: AsyncModels, generation: Generation) -> None:
        self._models = models
        self._generation = generation

    @property
    def model(self) -> str:
        return str(self._generation.address)

    def estimate(self, request: MediaRequest) -> Usage:
        return self._generation.estimate(request)

    async def submit(self, request: MediaRequest, *, token: str) -> MediaJob:
        return await self._models.run(self._generation.submit(request, token))

    async def poll(self, token: str) -> MediaJob:
        return await self._models.run(self._generation.poll(token))

    async def wait(self, token: str, *, every: float = 5.0) -> MediaJob:
        return await self._models.run(self._generation.wait(token, every))

    async def fetch(self, job: MediaJob, number: int = 0) -> Attachment:
        return await self._models.run(self._generation.fetch(job.outputs[number]))


class _AsyncRerank:
    def __init__(self, models: AsyncModels, reranking: Reranking) -> None:
        self._models = models
        self._reranking = reranking

    @property
    def model(self) -> str:
        return str(self._reranking.address)

    async def scores(self, query: str, texts: Sequence[str], *, timeout: float | None = None) -> list[float]:
        return await self._models.run(self._reranking.scores(query, texts, timeout))
