"""The two drivers behind one face, so that a test says a thing once and means both."""

import asyncio
import random
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from gateleg.ai import AskOptions, AsyncModels, Delta, Message, Models, ModelSettings, Reply, Structured, Usage
from gateleg.net import Retries

M = TypeVar("M", bound=BaseModel)


class Ticking:
    """A clock that moves when somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []

    def ticks(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)


class Asker:
    """Asks one chat model, called or awaited."""

    def __init__(self, mode: str, address: str = "", settings: ModelSettings | None = None, attempts: int = 4, **chat: Any) -> None:
        self.mode = mode
        self.address = address
        self.clock = Ticking()
        self.settings = settings or ModelSettings()
        self.retries = Retries(
            attempts=attempts, first=0.5, longest=20.0, burst=20, rate=0.5, random=random.Random(1).random, ticks=self.clock.ticks
        )
        self.chat = chat
        self.used: dict[str, Usage] = {}

    def reply(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> Reply:
        if self.mode == "called":
            with self._models() as models:
                reply = models.chat(self.address, **self.chat).reply(messages, **options)
                self.used = models.usage()
                return reply

        async def main() -> Reply:
            async with self._async_models() as models:
                reply = await models.chat(self.address, **self.chat).reply(messages, **options)
                self.used = models.usage()
                return reply

        return asyncio.run(main())

    def stream(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> list[Delta]:
        if self.mode == "called":
            with self._models() as models:
                return list(models.chat(self.address, **self.chat).stream(messages, **options))

        async def main() -> list[Delta]:
            async with self._async_models() as models:
                return [delta async for delta in models.chat(self.address, **self.chat).stream(messages, **options)]

        return asyncio.run(main())

    def structured(self, model: type[M], messages: Iterable[Message], **options: Any) -> Structured[M]:
        if self.mode == "called":
            with self._models() as models:
                return models.chat(self.address, **self.chat).structured(model, messages, **options)

        async def main() -> Structured[M]:
            async with self._async_models() as models:
                return await models.chat(self.address, **self.chat).structured(model, messages, **options)

        return asyncio.run(main())

    def embed(self, texts: Sequence[str], purpose: Any = "document", **options: Any) -> NDArray[np.float32]:
        if self.mode == "called":
            with self._models() as models:
                vectors = models.embeddings(self.address, **options).embed(texts, purpose=purpose)
                self.used = models.usage()
                return vectors

        async def main() -> NDArray[np.float32]:
            async with self._async_models() as models:
                vectors = await models.embeddings(self.address, **options).embed(texts, purpose=purpose)
                self.used = models.usage()
                return vectors

        return asyncio.run(main())

    def _models(self) -> Models:
        return Models(self.settings, retries=self.retries, sleep=self.clock.sleep)

    def _async_models(self) -> AsyncModels:
        return AsyncModels(self.settings, retries=self.retries, sleep=self.clock.asleep)
