"""Rerankers behind an endpoint: Cohere's and Jina's `/rerank`, which many servers speak (vLLM, llama.cpp, LocalAI)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gateleg.ai.errors import BadAnswer
from gateleg.ai.providers.protocol import Reranked
from gateleg.ai.providers.remote import exchange, read
from gateleg.ai.replies import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.ai.providers.remote import Endpoint
    from gateleg.ai.retry_policy import Deadline
    from gateleg.ai.steps import Flow


class RemoteReranker:
    """A model that scores how well texts answer a query."""

    #: texts that one call takes, as the services have it
    batch = 1000

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self.model = model
        self.endpoint = endpoint

    def rerank(self, query: str, texts: Sequence[str], deadline: Deadline) -> Flow[Reranked]:
        """The scores of some texts, in their order."""
        # All of them are wanted, and services refuse a text of nothing.
        body = {"model": self.model, "query": query, "documents": [text or " " for text in texts], "top_n": len(texts)}
        found = yield from exchange(self.endpoint, "/rerank", body, deadline)
        return read(lambda: Reranked(_scores(found, len(texts)), _usage(found)))


def _scores(body: dict[str, Any], count: int) -> tuple[float, ...]:
    found = {int(one["index"]): float(one["relevance_score"]) for one in body["results"]}
    if sorted(found) != list(range(count)) or not all(map(math.isfinite, found.values())):
        raise BadAnswer(f"The answer has scores for {len(found)} texts, and {count} were sent.")
    return tuple(found[index] for index in range(count))


def _usage(body: dict[str, Any]) -> Usage:
    """Cohere bills searches, Jina tokens."""
    searches = ((body.get("meta") or {}).get("billed_units") or {}).get("search_units")
    tokens = (body.get("usage") or {}).get("total_tokens")
    return Usage() if searches is None and tokens is None else Usage(input=int(tokens or 0), requests=int(searches or 1))
