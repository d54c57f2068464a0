"""Metadata filters."""

from typing import Any

import pytest

from gateleg.apps.rag.errors import BadFilter
from gateleg.apps.rag.index.filters import MISSING, Condition, Filter, field_value, matches, parse_filter
from gateleg.apps.rag.index.rows import Profiles

SAMPLE: dict[str, Any] = {
    "year": 2024,
    "ratio": 0.5,
    "draft": False,
    "tags": ["manual", "de"],
    "author": {"name": "Ada"},
    "published": "2024-03-01T12:00:00Z",
    "title": "The Manual",
    "nothing": None,
}


def passes(raw: dict[str, Any]) -> bool:
    import orjson

    profiles = Profiles()
    profiles.extend([(1, orjson.dumps(SAMPLE))])
    found = parse_filter(raw)
    assert found is not None
    return bool(profiles.passing(found)[0])


@pytest.mark.parametrize(
    "raw",
    [
        {"year": 2024},
        {"year": {"$eq": 2024}},
        {"year": {"gte": 2024, "lt": 2025}},
        {"year": {"ne": 2023}},
        {"missing": {"ne": 1}},
        {"missing": {"nin": [1]}},
        {"missing": {"exists": False}},
        {"nothing": {"exists": False}},
        {"nothing": None},
        {"year": [2023, 2024]},
        {"tags": "manual"},
        {"tags": {"in": ["de", "fr"]}},
        {"tags": {"nin": ["fr"]}},
        {"draft": False},
        {"ratio": {"gt": 0.4, "lte": 0.5}},
        {"author.name": "Ada"},
        {"published": {"gte": "2024-03-01"}},
        {"published": {"lt": "2024-03-01T14:00:00+01:00"}},
        {"published": "2024-03-01T13:00:00+01:00"},
        {"title": {"contains": "manual"}},
        {"or": [{"year": 1}, {"tags": "de"}]},
        {"$and": [{"year": 2024}, {"$or": [{"ratio": 1}, {"draft": False}]}]},
        {"not": {"year": 1}},
        {"year": {"not": {"eq": 1}}},
    ],
)
def test_what_passes(raw: dict[str, Any]) -> None:
    assert passes(raw)


@pytest.mark.parametrize(
    "raw",
    [
        {"year": "2024"},
        {"draft": 0},
        {"year": {"gt": 2024}},
        {"missing": 1},
        {"missing": {"gt": 0}},
        {"tags": {"nin": ["de"]}},
        {"tags": {"ne": "manual"}},
        {"year": {"gt": "1999"}},
        {"not": {"tags": "de"}},
        {"year": 2024, "draft": True},
        {"published": {"gt": "2024-03-01T13:00:00Z"}},
    ],
)
def test_what_does_not_pass(raw: dict[str, Any]) -> None:
    assert not passes(raw)


@pytest.mark.parametrize(
    "raw",
    [
        {"year": {"near": 1}},
        {"$where": "1 = 1"},
        {"and": {"year": 1}},
        {"year": {"in": 1}},
        {"year": {"gt": None}},
        {"year": {"eq": {"a": 1}}},
        {"year": {}},
        {"or": []},
        {"a": {"exists": 1}},
        {"a": {"in": list(range(1001))}},
        {"and": [{"a": 1}] * 101},
    ],
)
def test_what_is_refused(raw: dict[str, Any]) -> None:
    with pytest.raises(BadFilter):
        parse_filter(raw)


def test_a_filter_that_is_nested_too_deeply_is_refused() -> None:
    raw: dict[str, Any] = {"a": 1}
    for _ in range(12):
        raw = {"not": raw}
    with pytest.raises(BadFilter, match="deep"):
        parse_filter(raw)


def test_an_empty_filter_is_none() -> None:
    assert parse_filter({}) is None
    assert parse_filter(None) is None


def test_profiles_that_come_later_are_decided_too() -> None:
    profiles = Profiles()
    found: Filter = Condition("a", "eq", 1)
    profiles.extend([(1, b'{"a":1}')])
    assert profiles.passing(found).tolist() == [True]
    profiles.extend([(2, b'{"a":true}'), (3, b'{"a":1.0}'), (4, b"{}")])
    assert profiles.passing(found).tolist() == [True, False, True, False]


def test_the_value_of_a_name_with_a_dot_is_that_of_the_name_itself_first() -> None:
    assert field_value({"a.b": 1, "a": {"b": 2}}, "a.b") == 1
    assert field_value({"a": 3}, "a.b") is MISSING
    assert not matches(Condition("a", "lt", 5), MISSING)
