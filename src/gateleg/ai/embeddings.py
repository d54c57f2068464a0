"""Embeddings and reranking: texts in batches, vectors from the cache if possible. Flows, run by the drivers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gateleg.ai.errors import InvalidModelRequest, InvalidModelResponse
from gateleg.ai.replies import forecast_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from gateleg.ai.addresses import ModelAddress
    from gateleg.ai.chat_requests import Purpose
    from gateleg.ai.provider import EmbeddingsProvider, RerankProvider
    from gateleg.ai.replies import TokenCount
    from gateleg.ai.setup import ModelSetup
    from gateleg.ai.steps import Flow

#: Characters of a batch: services limit the tokens of a request.
_CHARACTERS = 400_000
#: Cache entries read at a time, to limit memory.
_READ = 5_000


@dataclass(frozen=True)
class EmbeddingFlows:
    """A model that turns texts into vectors."""

    address: ModelAddress
    provider: EmbeddingsProvider
    setup: ModelSetup
    #: whether vectors are cached in the store
    cache: bool = False

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document", timeout: float | None = None) -> Flow[NDArray[np.float32]]:
        """One unit vector for each text, in order. `timeout` limits each batch, in seconds."""
        import numpy as np

        if isinstance(texts, str):
            raise InvalidModelRequest("A single text was given where a list of texts is expected.")
        # Sorted, so that the order of the texts makes no difference.
        unique = sorted(set(texts), key=lambda text: (len(text), text))
        known = yield from self._read_cache(unique, purpose)
        for batch in _batches([text for text in unique if text not in known], self.provider.batch):
            vectors = yield from self._embedded(batch, purpose, timeout)
            known |= dict(zip(batch, vectors, strict=True))
        if len({len(vector) for vector in known.values()}) > 1:
            raise InvalidModelResponse(
                "The vectors differ in length.",
                fix="If the model was changed, give it another name: the cache identifies it by its address.",
            )
        if not texts:
            return np.empty((0, self.provider.dimensions or 0), dtype=np.float32)
        return np.stack([known[text] for text in texts])

    def dimensions(self) -> Flow[int]:
        """The length of a vector. If it is unknown, a remote model is asked for one vector."""
        if self.provider.dimensions is None:
            self.provider.dimensions = int((yield from self.embed(["dimensions"])).shape[1])
        return self.provider.dimensions

    @property
    def max_tokens(self) -> int | None:
        """How many tokens of a text the model reads, if known; the rest is ignored."""
        return self.provider.max_tokens

    def count(self, texts: Sequence[str]) -> Flow[list[TokenCount]]:
        """Count the tokens of texts for this model."""
        return (yield from self.setup.retry_policy.attempts(lambda deadline: self.provider.count(texts, deadline)))

    def _embedded(self, batch: Sequence[str], purpose: Purpose, timeout: float | None) -> Flow[NDArray[np.float32]]:
        import numpy as np

        call = self.setup.retry_policy.attempts(lambda deadline: self.provider.embed(batch, purpose, deadline), timeout)
        forecast = forecast_texts(batch)
        result, _ = yield from self.setup.metered(self.address, forecast, call, lambda result: result.usage.or_estimate(forecast))
        lengths = np.linalg.norm(result.vectors, axis=1, keepdims=True)
        vectors = (result.vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        if self.cache:
            from gateleg.ai.cache import vector_entry, write_entries

            model = str(self.address)
            entries = (
                vector_entry(self._digest(text, purpose), model, row, self.setup.settings.cache_days)
                for text, row in zip(batch, vectors, strict=True)
            )
            yield from write_entries(entries)
        return vectors

    def _read_cache(self, texts: Sequence[str], purpose: Purpose) -> Flow[dict[str, NDArray[np.float32]]]:
        known: dict[str, NDArray[Any]] = {}
        if not self.cache:
            return known
        from gateleg.ai.cache import read_entries, vector_of

        for start in range(0, len(texts), _READ):
            digests = {self._digest(text, purpose): text for text in texts[start : start + _READ]}
            entries = yield from read_entries(list(digests))
            known |= {digests[digest]: vector_of(entry) for digest, entry in entries.items()}
        return known

    def _digest(self, text: str, purpose: Purpose) -> str:
        from gateleg.ai.cache import text_digest

        return text_digest(str(self.address), self.provider.variant, purpose, text)


@dataclass(frozen=True)
class RerankFlows:
    """A model that scores how relevant texts are to a query."""

    address: ModelAddress
    provider: RerankProvider
    setup: ModelSetup

    def scores(self, query: str, texts: Sequence[str], *, timeout: float | None = None) -> Flow[list[float]]:
        """A score for each text, in order: higher is more relevant. Scores of different models are not comparable.

        `timeout` limits each batch, in seconds.
        """
        if isinstance(texts, str):
            raise InvalidModelRequest("A single text was given where a list of texts is expected.")
        if not query.strip():
            raise InvalidModelRequest("The query is empty.")
        scores: list[float] = []
        for start in range(0, len(texts), self.provider.batch):
            scores += yield from self._batch(query, texts[start : start + self.provider.batch], timeout)
        return scores

    def _batch(self, query: str, texts: Sequence[str], timeout: float | None) -> Flow[tuple[float, ...]]:
        forecast = forecast_texts(texts)
        # The query is read with every text.
        forecast = replace(forecast, input=forecast.input + len(texts) * forecast_texts([query]).input)
        call = self.setup.retry_policy.attempts(lambda deadline: self.provider.rerank(query, texts, deadline), timeout)
        result, _ = yield from self.setup.metered(self.address, forecast, call, lambda result: result.usage.or_estimate(forecast))
        return result.scores


def _batches(texts: Sequence[str], most: int) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) >= most or size + len(text) > _CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch
