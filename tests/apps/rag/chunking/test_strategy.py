from decimal import Decimal
from typing import Any

import pytest

from gateleg.apps.rag.chunking import DEFAULT, BadChunking, ChunkingType, Strategy, legacy_strategy, parse_strategy

WANTED = Strategy(ChunkingType.FIXED, 512, 51)


@pytest.mark.parametrize(
    "shape",
    [
        {"type": "fixed", "size": 512, "overlap": 51},
        {"type": "FIXED", "parameters": {"chunkSize": 512, "chunkOverlap": 51}},
        {"type": "Fixed", "chunkSize": 512, "chunkOverlap": 51},
        {"TYPE": "fixed", "CHUNKSIZE": Decimal(512), "chunk_overlap": 51.0, "separators": None},
    ],
)
def test_all_shapes_in_use_mean_the_same(shape: dict[str, Any]) -> None:
    assert parse_strategy(shape) == WANTED


@pytest.mark.parametrize(
    ("shape", "field"),
    [
        ({"type": "FIXED", "chunkSize": 100, "chunkOverlap": 51}, "chunkOverlap"),
        ({"type": "FIXED", "chunkSize": 100, "chunkOverlap": -1}, "chunkOverlap"),
        ({"type": "FIXED", "chunkSize": 99}, "chunkSize"),
        ({"type": "FIXED", "chunkSize": 10_001}, "chunkSize"),
        ({"type": "FIXED", "size": "512"}, "chunkSize"),
        ({"type": "FIXED", "size": True}, "chunkSize"),
        ({"type": "FIXED", "size": float("nan")}, "chunkSize"),
        ({"type": "FIXED", "size": 512.5}, "chunkSize"),
        ({"type": "RECURSIVE", "separators": []}, "separators"),
        ({"type": "RECURSIVE", "separators": ["\n", ""]}, "separators"),
        ({"type": "RECURSIVE", "separators": "\n"}, "separators"),
        ({"type": "RECURSIVE", "separators": ["x" * 51]}, "separators"),
        ({"type": "SEMANTIC", "threshold": 1.5}, "threshold"),
        ({"type": "SEMANTIC", "threshold": "high"}, "threshold"),
        ({"type": "SEMANTIC", "parameters": 5}, "parameters"),
        ({"type": "page"}, "type"),
        ({"chunkSize": 512}, "type"),
        ({"type": "FIXED", "chunkSise": 512}, "chunkSise"),
    ],
)
def test_a_bad_one_is_refused_by_the_name_of_its_field(shape: dict[str, Any], field: str) -> None:
    with pytest.raises(BadChunking) as refused:
        parse_strategy(shape)
    assert refused.value.field == field
    assert refused.value.details == {"field": field}


def test_an_overlap_of_zero_is_not_replaced() -> None:
    assert parse_strategy({"type": "FIXED", "chunkSize": 512, "chunkOverlap": 0}).overlap == 0


def test_what_is_left_out_has_a_default() -> None:
    assert parse_strategy(None) is DEFAULT
    assert parse_strategy({"type": "RECURSIVE"}) == DEFAULT
    assert parse_strategy({"type": "TOKEN"}).size == 254
    assert legacy_strategy(None, None) is None
    assert legacy_strategy(512, 51) == WANTED


@pytest.mark.parametrize("kind", ChunkingType)
def test_what_is_stored_is_read_back(kind: ChunkingType) -> None:
    strategy = parse_strategy({"type": kind.value, "chunkSize": 700, "chunkOverlap": 70, "separators": ["\n"], "threshold": 0.5})
    assert parse_strategy(strategy.stored()).stored() == strategy.stored()


def test_a_stored_strategy_has_the_fields_of_its_type() -> None:
    assert parse_strategy({"type": "none", "chunkSize": 500}).stored() == {"type": "NONE"}
    assert parse_strategy({"type": "recursive", "size": 1000, "overlap": 200}).stored() == {
        "type": "RECURSIVE",
        "chunkSize": 1000,
        "chunkOverlap": 200,
        "separators": ["\n\n", "\n", ". ", " "],
    }
