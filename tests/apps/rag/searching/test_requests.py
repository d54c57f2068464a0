"""What a search may ask for."""

from typing import Any

import pytest
from pydantic import ValidationError

from gateleg.apps.rag.searching.requests import SearchRequest


def test_one_weight_is_enough() -> None:
    assert SearchRequest.model_validate({"query": "x", "vectorWeight": 0.7}).lexical_weight == pytest.approx(0.3)
    assert SearchRequest(query="x", lexical_weight=0.8).vector_weight == pytest.approx(0.2)


@pytest.mark.parametrize(
    "body",
    [
        {"query": ""},
        {"query": "  "},
        {"query": "x\x00"},
        {"query": "x", "topK": 0},
        {"query": "x", "topK": 1001},
        {"query": "x", "offset": 999, "topK": 2},
        {"query": "x", "vectorWeight": 0.7, "lexicalWeight": 0.7},
        {"query": "x", "vectorWeight": 1.5},
        {"query": "x", "searchMode": "magic"},
        {"query": "x", "unknown": 1},
        {"query": "x" * 4001},
    ],
)
def test_what_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SearchRequest.model_validate(body)


@pytest.mark.parametrize(("word", "mode"), [("HYBRID", "hybrid"), ("semantic", "vector"), ("lexical", "keyword")])
def test_modes_have_other_words(word: str, mode: str) -> None:
    assert SearchRequest.model_validate({"query": "x", "searchMode": word}).search_mode == mode
