from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.operations.requests import index
from tests.engine.world import World, text


@pytest.fixture
def music(world: World) -> World:
    """Twenty songs of as many artists; those of the even ones are known by their year."""
    world.create("artist", defined=["artist", "year:N"], GlobalSecondaryIndexes=[index("by-year", "year")])
    for number in range(20):
        year = {} if number % 2 else {"year": {"N": str(1960 + number % 4)}}
        world.put({**text(artist=f"{number:02}"), **year})
    return world


ALL = {f"{number:02}" for number in range(20)}


def scan(world: World, **more: Any) -> dict[str, Any]:
    """One page of a scan."""
    return world.call("Scan", TableName="Music", **more)


def artists(answer: dict[str, Any]) -> list[str]:
    """The artists of a page, in its order."""
    return [item["artist"]["S"] for item in answer["Items"]]


def pages(world: World, **more: Any) -> list[dict[str, Any]]:
    """All pages of a scan."""
    found = [scan(world, **more)]
    while "LastEvaluatedKey" in found[-1]:
        found.append(scan(world, **more, ExclusiveStartKey=found[-1]["LastEvaluatedKey"]))
    return found


def test_a_scan_gives_every_item_once(music: World) -> None:
    answer = scan(music)
    assert sorted(artists(answer)) == sorted(ALL)
    assert (answer["Count"], answer["ScannedCount"]) == (20, 20)
    assert "LastEvaluatedKey" not in answer


def test_a_scan_of_an_empty_table_is_empty(world: World) -> None:
    world.create("artist")
    assert scan(world) == {"Items": [], "Count": 0, "ScannedCount": 0}


@pytest.mark.parametrize("limit", [1, 3, 19, 20, 21])
def test_pages_together_are_the_whole(music: World, limit: int) -> None:
    found = pages(music, Limit=limit)
    assert sorted(chain.from_iterable(map(artists, found))) == sorted(ALL)
    assert all(page["ScannedCount"] <= limit for page in found)


def test_a_page_ends_when_it_has_a_megabyte(world: World) -> None:
    world.create("artist")
    for name in "abcdefg":
        world.put({**text(artist=name), "filler": {"S": "x" * 300_000}})
    assert [page["Count"] for page in pages(world)] == [4, 3]


def test_a_filter_keeps_what_meets_it(music: World) -> None:
    more = {"FilterExpression": "#y = :y", "ExpressionAttributeNames": {"#y": "year"}, "ExpressionAttributeValues": {":y": {"N": "1960"}}}
    answer = scan(music, **more)
    assert sorted(artists(answer)) == ["00", "04", "08", "12", "16"]
    assert (answer["Count"], answer["ScannedCount"]) == (5, 20)


def test_a_legacy_filter_does_the_same(music: World) -> None:
    wanted = {"year": {"ComparisonOperator": "EQ", "AttributeValueList": [{"N": "1960"}]}}
    assert sorted(artists(scan(music, ScanFilter=wanted))) == ["00", "04", "08", "12", "16"]


def test_a_filter_may_speak_of_the_key(music: World) -> None:
    answer = scan(music, FilterExpression="artist < :a", ExpressionAttributeValues={":a": {"S": "02"}})
    assert sorted(artists(answer)) == ["00", "01"]


def test_a_page_may_be_empty_before_the_end(music: World) -> None:
    answer = scan(music, FilterExpression="attribute_exists(nothing)", Limit=5)
    assert (answer["Items"], answer["ScannedCount"]) == ([], 5)
    assert "LastEvaluatedKey" in answer


def test_a_count_comes_without_items(music: World) -> None:
    assert scan(music, Select="COUNT") == {"Count": 20, "ScannedCount": 20}


def test_a_projection_is_applied_to_every_item(music: World) -> None:
    answer = scan(music, AttributesToGet=["year"])
    assert answer["Items"].count({}) == 10
    assert answer["Items"].count({"year": {"N": "1960"}}) == 5


def test_an_index_is_scanned_without_the_items_it_does_not_hold(music: World) -> None:
    found = pages(music, IndexName="by-year", Limit=3)
    assert sorted(chain.from_iterable(map(artists, found))) == sorted(name for name in ALL if int(name) % 2 == 0)
    assert set(found[0]["LastEvaluatedKey"]) == {"artist", "year"}


def test_a_consistent_scan_of_a_global_index_is_refused(music: World) -> None:
    error = music.refusal("Scan", TableName="Music", IndexName="by-year", ConsistentRead=True)
    assert error.message == "Consistent reads are not supported on global secondary indexes"


@settings(max_examples=30)
@given(st.sets(st.text("abcdefgh", min_size=1, max_size=5), max_size=30), st.integers(1, 9), st.integers(1, 4))
def test_segments_share_the_items_among_them(names: set[str], total: int, limit: int) -> None:
    world = World()
    world.create("artist")
    for name in names:
        world.put(text(artist=name))
    found = [
        artist
        for number in range(total)
        for page in pages(world, Segment=number, TotalSegments=total, Limit=limit)
        for artist in artists(page)
    ]
    assert sorted(found) == sorted(names)
    world.engine.close()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"Segment": 0},
            "The TotalSegments parameter is required but was not present in the request when Segment parameter is present",
        ),
        (
            {"TotalSegments": 2},
            "The Segment parameter is required but was not present in the request when parameter TotalSegments is present",
        ),
        (
            {"Segment": 2, "TotalSegments": 2},
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            "Segment: 2 is not less than TotalSegments: 2",
        ),
    ],
)
def test_a_segment_must_be_one_of_the_total(music: World, more: dict[str, int], message: str) -> None:
    assert music.refusal("Scan", TableName="Music", **more).message == message


def test_a_start_key_of_another_segment_is_refused(music: World) -> None:
    first = scan(music, Segment=0, TotalSegments=2, Limit=1)
    error = music.refusal("Scan", TableName="Music", Segment=1, TotalSegments=2, ExclusiveStartKey=first["LastEvaluatedKey"])
    assert error.message == (
        "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
        "TotalSegments: 2 Segment: 1"
    )


def test_a_start_key_must_be_a_key(music: World) -> None:
    error = music.refusal("Scan", TableName="Music", ExclusiveStartKey=text(title="x"))
    assert error.message == "The provided starting key is invalid: The provided key element does not match the schema"
