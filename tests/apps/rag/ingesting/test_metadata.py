from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.apps.rag.errors import BadValue
from gateleg.apps.rag.ingesting.fingerprints import MAX_DISTANCE_BITS, bands, distance, simhash
from gateleg.apps.rag.ingesting.metadata import check_reserved, chunk_metadata, merge_metadata, without_nulls
from gateleg.apps.rag.tables import Metadata


@dataclass(frozen=True)
class Level:
    tags: list[str]
    custom_fields: dict[str, Any]


VALUES = st.integers() | st.dictionaries(st.sampled_from("xyz"), st.integers(), max_size=2)
LEVELS = st.builds(
    Level, st.lists(st.sampled_from("abcd"), max_size=4), st.dictionaries(st.sampled_from(["p", "q", "tags"]), VALUES, max_size=3)
)


def test_later_levels_win_and_objects_are_merged() -> None:
    repository = Metadata(tags=["prod", "v2"], custom_fields={"owner": "ml", "where": {"site": "A", "floor": 1}})
    collection = Metadata(tags=["legal", "prod"], custom_fields={"owner": "law"})
    document = Metadata(tags=["2026"], custom_fields={"where": {"floor": 2}})
    assert merge_metadata(repository, None, collection, document) == {
        "tags": ["prod", "v2", "legal", "2026"],
        "owner": "law",
        "where": {"site": "A", "floor": 2},
    }


@settings(max_examples=40)
@given(st.lists(LEVELS, max_size=4))
def test_all_tags_are_kept_once_and_the_last_level_is_kept_whole(levels: list[Level]) -> None:
    merged = merge_metadata(*levels)
    assert set(merged["tags"]) == {tag for level in levels for tag in level.tags}
    assert len(merged["tags"]) == len(set(merged["tags"]))
    for name, value in (levels[-1].custom_fields if levels else {}).items():
        assert name == "tags" or isinstance(value, dict) or merged[name] == value


def test_nothing_hides_what_the_product_writes() -> None:
    assert chunk_metadata({"source": "forged", "year": 1}, {"source": "real", "title": None}) == {"year": 1, "source": "real"}
    with pytest.raises(BadValue, match="'source'"):
        check_reserved({"source": "forged"})


def test_null_is_absent() -> None:
    value: dict[str, Any] = {"a": None, "b": [1, None, {"c": None}], "": 1}
    assert without_nulls(value) == {"b": [1, {}]}


def test_texts_that_are_alike_have_simhashes_that_are_alike() -> None:
    text = " ".join(f"word{number} is told of here" for number in range(400))
    assert distance(simhash(text), simhash(f"{text} and once more")) <= MAX_DISTANCE_BITS
    assert distance(simhash(text), simhash("Something else is written in this text, about another thing.")) > MAX_DISTANCE_BITS
    assert len(simhash("")) == 16


@given(st.integers(0, 2**64 - 1), st.sets(st.integers(0, 63), max_size=MAX_DISTANCE_BITS))
def test_simhashes_that_are_near_share_a_band(value: int, flipped: set[int]) -> None:
    other = value
    for bit in flipped:
        other ^= 1 << bit
    one, two = f"{value:016x}", f"{other:016x}"
    assert distance(one, two) == len(flipped)
    assert set(bands(one)) & set(bands(two))
