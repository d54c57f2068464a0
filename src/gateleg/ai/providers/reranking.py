"""Rerankers behind an endpoint: the `/rerank` API of Cohere and Jina, which many servers implement (vLLM, llama.cpp, LocalAI)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gateleg.ai.errors import InvalidModelResponse
from gateleg.ai.providers.protocol import Reranked
from gateleg.ai.providers.remote import post_json, read
from gateleg.ai.replies import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.ai.providers.remote import Endpoint
    from gateleg.ai.retry_policy import CallDeadline
    from gateleg.ai.steps import Flow


class RemoteReranker:
    """A model that scores how relevant texts are to a query."""

    #: the maximum number of texts in a call, as documented by the services
    batch = 1000

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self.model = model
        self.endpoint = endpoint

    def rerank(self, query: str, texts: Sequence[str], deadline: CallDeadline) -> Flow[Reranked]:
        """The scores of texts, in order."""
        # Services refuse empty texts, but every text needs a score.
        body = {"model": self.model, "query": query, "documents": [text or " " for text in texts], "top_n": len(texts)}
        found = yield from post_json(self.endpoint, "/rerank", body, deadline)
        return read(lambda: Reranked(_scores(found, len(texts)), _usage(found)))


def _scores(body: dict[str, Any], count: int) -> tuple[float, ...]:
    found = {int(one["index"]): float(one["relevance_score"]) for one in body["results"]}
    if sorted(found) != list(range(count)) or not all(map(math.isfinite, found.values())):
        raise InvalidModelResponse(f"The response has scores for {len(found)} texts, but {count} were sent.")
    return tuple(found[index] for index in range(count))


def _usage(body: dict[str, Any]) -> Usage:
    """Cohere bills searches, Jina tokens."""
    searches = ((body.get("meta") or {}).get("billed_units") or {}).get("search_units")
    tokens = (body.get("usage") or {}).get("total_tokens")
    return Usage() if searches is None and tokens is None else Usage(input=int(tokens or 0), requests=int(searches or 1))
