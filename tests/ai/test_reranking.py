"""Rerankers: servers that speak Cohere's and Jina's /rerank."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from gateleg.ai import MODEL_TABLES, Account, AsyncModels, Models, ModelSettings, Price, SpendCapReached, UsageDay
from gateleg.ai.errors import BadModelAddress, InvalidModelRequest, InvalidModelResponse, ModelAccessDenied, NotOffered
from gateleg.ai.settings import ProviderSettings, SpendCaps
from gateleg.store import Store
from tests.ai.speaking import asked, head, said
from tests.net.http.faulty import service


def ranked(*scores: tuple[int, float], **more: Any) -> dict[str, Any]:
    return {"id": "r1", "results": [{"index": index, "relevance_score": score} for index, score in scores]} | more


COHERE = ranked((1, 0.9), (0, 0.1), meta={"billed_units": {"search_units": 1}})
JINA = ranked((1, 0.9), (0, 0.1), model="jina-reranker", usage={"total_tokens": 40})


@pytest.mark.parametrize("body", [COHERE, JINA])
def test_scores_come_in_the_order_of_the_texts(body: dict[str, Any]) -> None:
    with service(said(body)) as server, Models() as models:
        assert models.reranker(f"rerank:m@{server.url}/v2", key="k").scores("cats?", ["dogs", ""]) == [0.1, 0.9]
    assert head(server).startswith("post /v2/rerank http/1.1")
    assert "authorization: bearer k" in head(server)
    assert asked(server) == {"model": "m", "query": "cats?", "documents": ["dogs", " "], "top_n": 2}


def test_named_provider_has_its_address_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CO_KEY", "co-1")
    with service(said(COHERE)) as server:
        cohere = ProviderSettings(url=f"{server.url}/v2", speaks="rerank", key_env="CO_KEY")
        with Models(ModelSettings(providers={"cohere": cohere})) as models:
            assert models.reranker("cohere:rerank-v3.5").scores("?", ["a", "b"]) == [0.1, 0.9]
    assert "authorization: bearer co-1" in head(server)


def test_reranker_is_awaited_alike() -> None:
    async def main(url: str) -> list[float]:
        async with AsyncModels() as models:
            return await models.reranker(f"rerank:m@{url}").scores("?", ["a", "b"])

    with service(said(COHERE)) as server:
        assert asyncio.run(main(server.url)) == [0.1, 0.9]


def test_no_texts_ask_nothing_and_many_go_in_batches() -> None:
    first, second = ([(index, 0.5) for index in range(size)] for size in (1000, 1))
    with service(said(ranked(*first)), said(ranked(*second))) as server, Models() as models:
        reranker = models.reranker(f"rerank:m@{server.url}")
        assert reranker.scores("?", []) == []
        assert len(reranker.scores("?", ["x"] * 1001)) == 1001
    assert [len(asked(server, number)["documents"]) for number in (0, 1)] == [1000, 1]


@pytest.mark.parametrize(
    "body", [{}, ranked((0, 0.1)), ranked((0, 0.1), (2, 0.2)), ranked((0, 0.1), (0, 0.2)), {"results": [{"index": 0}]}]
)
def test_scores_that_are_not_those_of_the_texts_are_a_bad_answer(body: dict[str, Any]) -> None:
    with service(said(body)) as server, Models() as models, pytest.raises(InvalidModelResponse):
        models.reranker(f"rerank:m@{server.url}").scores("?", ["a", "b"])


def test_refusal_is_told() -> None:
    with (
        service(said({"message": "invalid api token"}, 401)) as server,
        Models() as models,
        pytest.raises(ModelAccessDenied, match="invalid"),
    ):
        models.reranker(f"rerank:m@{server.url}", key="k").scores("?", ["a"])


def test_searches_are_recorded_and_capped() -> None:
    with Store.embedded() as store, service(said(COHERE)) as server:
        store.ensure_tables(*MODEL_TABLES)
        address = f"rerank:m@{server.url}"
        settings = ModelSettings(prices={address: Price(request=Decimal("0.002"))}, caps=SpendCaps(applications={"*": Decimal("0.003")}))
        with Models(settings, store=store, account=Account("rag")) as models:
            models.reranker(address).scores("?", ["a", "b"])
            with pytest.raises(SpendCapReached):
                models.reranker(address).scores("?", ["a", "b"])
        (usage,) = store.query(UsageDay.of_application, application="rag")
    assert (usage.requests, usage.cost) == (1, Decimal("0.002"))


def test_what_is_not_a_reranker_or_nowhere_is_refused() -> None:
    models = Models()
    with pytest.raises(NotOffered, match="not a reranker"):
        models.reranker("local:minilm")
    with pytest.raises(BadModelAddress, match="has no endpoint"):
        models.reranker("rerank:m")
    with pytest.raises(InvalidModelRequest):
        models.reranker("rerank:m@http://127.0.0.1:9").scores(" ", ["a"])
    with pytest.raises(InvalidModelRequest):
        models.reranker("rerank:m@http://127.0.0.1:9").scores("?", "text")
    with pytest.raises(NotOffered):
        models.chat("rerank:m@http://127.0.0.1:9")
