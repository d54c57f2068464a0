"""Reranking: how relevant texts are to a query. Flows, run by the drivers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gateleg.ai.errors import InvalidModelRequest
from gateleg.ai.forecasts import forecast_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.ai.addresses import ModelAddress
    from gateleg.ai.providers.protocol import RerankProvider
    from gateleg.ai.setup import ModelSetup
    from gateleg.ai.steps import Flow


@dataclass(frozen=True)
class Reranking:
    """A reranker, with the setup that its calls share."""

    address: ModelAddress
    provider: RerankProvider
    setup: ModelSetup

    def scores(self, query: str, texts: Sequence[str], timeout: float | None = None) -> Flow[list[float]]:
        """A score for each text, in order: higher is more relevant to the query. `timeout` limits each batch."""
        if isinstance(texts, str):
            raise InvalidModelRequest("A single text was given where a list of texts is expected.")
        if not query.strip():
            raise InvalidModelRequest("The query is empty.")
        found: list[float] = []
        for start in range(0, len(texts), self.provider.batch):
            found += yield from self._batch(query, texts[start : start + self.provider.batch], timeout)
        return found

    def _batch(self, query: str, texts: Sequence[str], timeout: float | None) -> Flow[tuple[float, ...]]:
        forecast = forecast_texts(texts)
        # The query is read with every text.
        forecast = replace(forecast, input=forecast.input + len(texts) * forecast_texts([query]).input)
        call = self.setup.retry_policy.attempts(lambda deadline: self.provider.rerank(query, texts, deadline), timeout)
        result, _ = yield from self.setup.metered(self.address, forecast, call, lambda result: result.usage.or_estimate(forecast))
        return result.scores
