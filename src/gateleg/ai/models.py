"""`Models` and `AsyncModels`, and the models that they open: the flows of each kind, called or awaited.

Each method is made from the flow of the same name, so its parameters and documentation are written once. `called` and `awaited` differ in
type only as a type checker needs it: it cannot derive an awaited method from a called one.
"""

from __future__ import annotations

import asyncio
import time
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack

from gateleg.ai.addresses import parse_model_address
from gateleg.ai.chat import ChatFlows
from gateleg.ai.drivers import AsyncDriver, Driver, LoopStore, check_recordable, check_thread
from gateleg.ai.embeddings import EmbeddingFlows, RerankFlows
from gateleg.ai.errors import InvalidModelRequest
from gateleg.ai.factories import open_chat, open_embeddings, open_media, open_reranker, problems_of
from gateleg.ai.media import MediaFlows
from gateleg.ai.setup import setup_from
from gateleg.store.verbs import describe

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator

    from gateleg.ai.drivers import OperationRunner
    from gateleg.ai.errors import AiError
    from gateleg.ai.factories import EmbeddingOptions
    from gateleg.ai.media import MediaRequest
    from gateleg.ai.provider import ChatProvider
    from gateleg.ai.replies import Delta, Meter, Usage
    from gateleg.ai.settings import ModelSettings
    from gateleg.ai.setup import ModelSetup
    from gateleg.ai.spending import Account, Ending
    from gateleg.ai.steps import Flow
    from gateleg.net import Retries
    from gateleg.store import AsyncStore

P = ParamSpec("P")
R = TypeVar("R")
DriverT = TypeVar("DriverT", bound=Driver | AsyncDriver)
FlowsT = TypeVar("FlowsT", bound=ChatFlows | EmbeddingFlows | MediaFlows | RerankFlows)
ChatT = TypeVar("ChatT")
EmbeddingsT = TypeVar("EmbeddingsT")
MediaT = TypeVar("MediaT")
RerankT = TypeVar("RerankT")


class Facade(Generic[DriverT, FlowsT]):
    """A model of any kind: its flows, and the driver that runs them."""

    def __init__(self, driver: DriverT, flows: FlowsT) -> None:
        self._driver = driver
        self._flows = flows

    @property
    def model(self) -> str:
        """Its address, such as `local:smollm2`."""
        return str(self._flows.address)


def called(flow: Callable[Concatenate[FlowsT, P], Flow[R]]) -> Callable[Concatenate[Facade[Driver, FlowsT], P], R]:
    """A method that runs a flow and returns its result."""

    def method(self: Facade[Driver, FlowsT], /, *args: P.args, **options: P.kwargs) -> R:
        return self._driver.run(flow(self._flows, *args, **options))

    return describe(method, flow, fills=1)


def awaited(
    flow: Callable[Concatenate[FlowsT, P], Flow[R]],
) -> Callable[Concatenate[Facade[AsyncDriver, FlowsT], P], Coroutine[Any, Any, R]]:
    """A method that runs a flow and returns its result, awaited."""

    async def method(self: Facade[AsyncDriver, FlowsT], /, *args: P.args, **options: P.kwargs) -> R:
        return await self._driver.run(flow(self._flows, *args, **options))

    return describe(method, flow, fills=1)


def iterated(
    flow: Callable[Concatenate[FlowsT, P], Flow[None]],
) -> Callable[Concatenate[Facade[Driver, FlowsT], P], Generator[Delta, None, None]]:
    """A method that yields the pieces of a flow."""

    def method(self: Facade[Driver, FlowsT], /, *args: P.args, **options: P.kwargs) -> Generator[Delta, None, None]:
        return self._driver.iterate(flow(self._flows, *args, **options))

    return describe(method, flow, fills=1, result="Generator[Delta, None, None]")


def async_iterated(
    flow: Callable[Concatenate[FlowsT, P], Flow[None]],
) -> Callable[Concatenate[Facade[AsyncDriver, FlowsT], P], AsyncGenerator[Delta, None]]:
    """A method that yields the pieces of a flow, awaited."""

    def method(self: Facade[AsyncDriver, FlowsT], /, *args: P.args, **options: P.kwargs) -> AsyncGenerator[Delta, None]:
        return self._driver.iterate(flow(self._flows, *args, **options))

    return describe(method, flow, fills=1, result="AsyncGenerator[Delta, None]")


class Chat(Facade[Driver, ChatFlows]):
    """A model that answers messages."""

    reply = called(ChatFlows.reply)
    stream = iterated(ChatFlows.stream)
    structured = called(ChatFlows.structured)
    upload = called(ChatFlows.upload)
    forget = called(ChatFlows.forget)
    count = called(ChatFlows.count)


class AsyncChat(Facade[AsyncDriver, ChatFlows]):
    """A model that answers messages, awaited."""

    reply = awaited(ChatFlows.reply)
    stream = async_iterated(ChatFlows.stream)
    structured = awaited(ChatFlows.structured)
    upload = awaited(ChatFlows.upload)
    forget = awaited(ChatFlows.forget)
    count = awaited(ChatFlows.count)


class EmbeddingsFacade(Facade[DriverT, EmbeddingFlows]):
    """What embedding models tell without a call."""

    @property
    def max_tokens(self) -> int | None:
        """How many tokens of a text the model reads, if known; the rest is ignored."""
        return self._flows.provider.max_tokens


class Embeddings(EmbeddingsFacade[Driver]):
    """A model that turns texts into vectors."""

    embed = called(EmbeddingFlows.embed)
    dimensions = called(EmbeddingFlows.dimensions)
    count = called(EmbeddingFlows.count)


class AsyncEmbeddings(EmbeddingsFacade[AsyncDriver]):
    """A model that turns texts into vectors, awaited."""

    embed = awaited(EmbeddingFlows.embed)
    dimensions = awaited(EmbeddingFlows.dimensions)
    count = awaited(EmbeddingFlows.count)


class MediaFacade(Facade[DriverT, MediaFlows]):
    """What media models tell without a call."""

    def estimate(self, request: MediaRequest) -> Usage:
        """The estimated usage and cost of a request. The cost is None if no price is known."""
        return self._flows.estimate(request)


class Media(MediaFacade[Driver]):
    """A model that generates images, video or sound: submit, poll, fetch."""

    submit = called(MediaFlows.submit)
    poll = called(MediaFlows.poll)
    wait = called(MediaFlows.wait)
    fetch = called(MediaFlows.fetch)


class AsyncMedia(MediaFacade[AsyncDriver]):
    """A model that generates images, video or sound, awaited: submit, poll, fetch."""

    submit = awaited(MediaFlows.submit)
    poll = awaited(MediaFlows.poll)
    wait = awaited(MediaFlows.wait)
    fetch = awaited(MediaFlows.fetch)


class Rerank(Facade[Driver, RerankFlows]):
    """A model that scores how relevant texts are to a query."""

    scores = called(RerankFlows.scores)


class AsyncRerank(Facade[AsyncDriver, RerankFlows]):
    """A model that scores how relevant texts are to a query, awaited."""

    scores = awaited(RerankFlows.scores)


class ModelsFacade(Generic[ChatT, EmbeddingsT, MediaT, RerankT]):
    """Opens models by address: what `Models` and `AsyncModels` share."""

    _setup: ModelSetup
    _store: Any
    _chat: Callable[[Any, ChatFlows], ChatT]
    _embeddings: Callable[[Any, EmbeddingFlows], EmbeddingsT]
    _media: Callable[[Any, MediaFlows], MediaT]
    _rerank: Callable[[Any, RerankFlows], RerankT]

    def chat(self, address: str | None = None, *, key: str | None = None, cache: bool = False) -> ChatT:
        """A chat model; by default the one of the settings, which is local. `cache` stores its replies."""
        self._require_store(cache, "Caching needs a store.")
        return type(self)._chat(self, open_chat(address or self._setup.settings.chat, self._setup, key, cache=cache))

    def chat_with(self, provider: ChatProvider, name: str = "local:own") -> ChatT:
        """A chat model of your own provider, under a name of your choice, such as a script in tests."""
        return type(self)._chat(self, ChatFlows(parse_model_address(name), provider, self._setup))

    def embeddings(self, address: str | None = None, **options: Unpack[EmbeddingOptions]) -> EmbeddingsT:
        """An embedding model; by default the one of the settings, which is local."""
        cache = options.get("cache", self._store is not None)
        self._require_store(cache, "Caching needs a store.")
        flows = open_embeddings(address or self._setup.settings.embeddings, self._setup, options, cache=cache)
        return type(self)._embeddings(self, flows)

    def reranker(self, address: str, *, key: str | None = None) -> RerankT:
        """A model that scores how relevant texts are to a query. There is no local one."""
        return type(self)._rerank(self, open_reranker(address, self._setup, key))

    def media(self, address: str, *, key: str | None = None) -> MediaT:
        """A model that generates images, video or sound. Its jobs are stored."""
        self._require_store(True, "Media jobs need a store.")
        return type(self)._media(self, open_media(address, self._setup, key))

    def billed_to(self, account: Account) -> Self:
        """The same models, with calls recorded for an account and limited by its spend caps."""
        setup = self._setup.billed_to(account)
        check_recordable(setup, self._store)
        models = copy(self)
        models._setup = setup
        return models

    def usage(self) -> dict[str, Usage]:
        """The usage so far, by model address."""
        return self._setup.meter.totals()

    def problems(self) -> list[AiError]:
        """What keeps the models and providers of the settings from being used, such as a missing key. Nothing is sent to them."""
        return problems_of(self._setup)

    def _require_store(self, required: bool, message: str) -> None:
        if required and self._store is None:
            raise InvalidModelRequest(message, fix=f"Pass one: {type(self).__name__}(store=...).")


class Models(Driver, ModelsFacade[Chat, Embeddings, Media, Rerank]):
    """Models by address. Any number of threads may share one.

    With a `store`, vectors are cached there, and replies of chats with `cache=True` (`store.ensure_tables(*MODEL_TABLES)`). With an
    `account`, usage is recorded there, and calls are limited by the spend caps of the settings.
    """

    _chat, _embeddings, _media, _rerank = Chat, Embeddings, Media, Rerank

    def __init__(
        self,
        settings: ModelSettings | None = None,
        *,
        store: OperationRunner | None = None,
        meter: Meter | None = None,
        retries: Retries | None = None,
        account: Account | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(setup_from(settings, retries, meter, account), store, sleep)

    def book(self, model: str, usage: Usage, ending: Ending = "answered") -> None:
        """Record a call that was made without these models, such as by an SDK of your own, under the name of its model."""
        self.run(self._setup.book(model, usage, ending))

    def settle_lost(self, subject: str | None = None) -> int:
        """Record the calls of the application that were never ended, because their process was killed; returns their number.

        Those for a subject, such as a run that is answered again, at once; others when no call can last that long.
        """
        return self.run(self._setup.settle_lost(subject))

    def with_setup(self, setup: ModelSetup, store: OperationRunner | None, check: Callable[[], None]) -> Models:
        """The same connections with another setup and store. `check` is called before each call."""
        models = copy(self)
        models._setup, models._store, models._check = setup, store, check
        return models


class AsyncModels(AsyncDriver, ModelsFacade[AsyncChat, AsyncEmbeddings, AsyncMedia, AsyncRerank]):
    """Models by address, awaited. The same methods as `Models`, with the same arguments and results.

    Endpoints are awaited on the event loop; work that computes or blocks (local embeddings) runs in separate threads.
    """

    _chat, _embeddings, _media, _rerank = AsyncChat, AsyncEmbeddings, AsyncMedia, AsyncRerank

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
        super().__init__(setup_from(settings, retries, meter, account), store, sleep)
        self._blocking: list[Models] = []

    async def book(self, model: str, usage: Usage, ending: Ending = "answered") -> None:
        """Record a call that was made without these models, such as by an SDK of your own, under the name of its model."""
        await self.run(self._setup.book(model, usage, ending))

    async def settle_lost(self, subject: str | None = None) -> int:
        """Record the calls of the application that were never ended, because their process was killed; returns their number.

        Those for a subject, such as a run that is answered again, at once; others when no call can last that long.
        """
        return await self.run(self._setup.settle_lost(subject))

    def for_threads(self) -> Models:
        """The same models for blocking code in threads. Operations of the store run on this event loop."""
        loop = asyncio.get_running_loop()
        store = None if self._store is None else LoopStore(self._store, loop)
        # The list is shared by the models of several accounts, and so are the connections.
        if not self._blocking:
            self._blocking.append(Models())
        return self._blocking[0].with_setup(self._setup, store, partial(check_thread, loop))

    async def close(self) -> None:
        """Close connections and threads. The store stays open."""
        await super().close()
        for models in self._blocking:
            models.close()
