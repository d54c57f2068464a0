from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.operations.requests import index
from tests.engine.world import Item, World, text


@pytest.fixture
def music(world: World) -> World:
    """Three songs of one artist, and one of another."""
    world.create("artist", "title")
    for title in ("b", "a", "c"):
        world.put({**text(artist="Nina", title=title), "beats": {"N": str(ord(title))}})
    world.put(text(artist="Miles", title="a"))
    return world


def query(world: World, condition: str = "artist = :a", values: Item | None = None, **more: Any) -> dict[str, Any]:
    """Query the table for Nina, or for what `values` say."""
    given = {":a": {"S": "Nina"}, **(values or {})}
    return world.call("Query", TableName="Music", KeyConditionExpression=condition, ExpressionAttributeValues=given, **more)


def refusal(world: World, condition: str, values: Item, **more: Any) -> str | None:
    """What a query is refused with."""
    error = world.refusal("Query", TableName="Music", KeyConditionExpression=condition, ExpressionAttributeValues=values, **more)
    assert error.code == "ValidationException"
    return error.message


def titles(answer: dict[str, Any]) -> str:
    """The titles of an answer, in its order."""
    return "".join(item["title"]["S"] for item in answer["Items"])


def pages(world: World, **request: Any) -> list[dict[str, Any]]:
    """All pages of a query."""
    found = [query(world, **request)]
    while "LastEvaluatedKey" in found[-1]:
        found.append(query(world, **request, ExclusiveStartKey=found[-1]["LastEvaluatedKey"]))
    return found


def test_a_query_gives_one_partition_in_the_order_of_its_range_key(music: World) -> None:
    answer = query(music)
    assert titles(answer) == "abc"
    assert (answer["Count"], answer["ScannedCount"]) == (3, 3)
    assert "LastEvaluatedKey" not in answer


def test_a_query_backwards_gives_the_opposite_order(music: World) -> None:
    assert titles(query(music, ScanIndexForward=False)) == "cba"


def test_a_partition_that_is_not_there_is_empty(music: World) -> None:
    assert query(music, values={":a": {"S": "Ella"}}) == {"Items": [], "Count": 0, "ScannedCount": 0}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("title = :b", "b"),
        ("title < :b", "a"),
        ("title <= :b", "ab"),
        ("title > :b", "c"),
        ("title >= :b", "bc"),
        ("title BETWEEN :b AND :b", "b"),
        ("begins_with(title, :b)", "b"),
        (":b < title", "c"),
    ],
)
def test_a_condition_on_the_range_key_narrows_the_partition(music: World, condition: str, expected: str) -> None:
    assert titles(query(music, f"artist = :a AND {condition}", {":b": {"S": "b"}})) == expected


def test_the_legacy_key_conditions_select_the_same(music: World) -> None:
    conditions = {
        "artist": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "Nina"}]},
        "title": {"ComparisonOperator": "GE", "AttributeValueList": [{"S": "b"}]},
    }
    assert titles(music.call("Query", TableName="Music", KeyConditions=conditions)) == "bc"


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)


@settings(max_examples=40)
@given(st.sets(TEXTS, min_size=1, max_size=12))
def test_texts_are_ordered_by_their_utf8_bytes(names: set[str]) -> None:
    world = World()
    world.create("artist", "title")
    for title in names:
        world.put(text(artist="Nina", title=title))
    found = [item["title"]["S"] for item in query(world)["Items"]]
    assert found == sorted(names, key=str.encode)
    world.engine.close()


@settings(max_examples=40)
@given(st.sets(st.decimals(-(10**20), 10**20, places=3).map(lambda number: number.normalize() + 0), min_size=1, max_size=12))
def test_numbers_are_ordered_by_value(numbers: set[Any]) -> None:
    world = World()
    world.create("artist", "title:N")
    for number in numbers:
        world.put({"artist": {"S": "Nina"}, "title": {"N": str(number)}})
    found = [float(item["title"]["N"]) for item in query(world)["Items"]]
    assert found == sorted(float(number) for number in numbers)
    world.engine.close()


@settings(max_examples=40)
@given(st.sets(TEXTS, min_size=1, max_size=12), TEXTS)
def test_begins_with_finds_exactly_the_texts_that_begin_so(names: set[str], prefix: str) -> None:
    world = World()
    world.create("artist", "title")
    for title in names:
        world.put(text(artist="Nina", title=title))
    answer = query(world, "artist = :a AND begins_with(title, :p)", {":p": {"S": prefix}})
    assert {item["title"]["S"] for item in answer["Items"]} == {title for title in names if title.startswith(prefix)}
    world.engine.close()


def test_a_limit_is_counted_before_the_filter(music: World) -> None:
    answer = query(music, values={":c": {"S": "99"}, ":n": {"N": "98"}}, Limit=2, FilterExpression="beats >= :n OR label = :c")
    assert (titles(answer), answer["Count"], answer["ScannedCount"]) == ("b", 1, 2)
    assert answer["LastEvaluatedKey"] == text(artist="Nina", title="b")


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_pages_together_are_the_whole(music: World, limit: int, forward: bool) -> None:
    found = pages(music, Limit=limit, ScanIndexForward=forward)
    assert "".join(map(titles, found)) == ("abc" if forward else "cba")
    assert all(page["Count"] <= limit for page in found)


def test_a_page_ends_when_it_has_a_megabyte(world: World) -> None:
    world.create("artist", "title")
    for title in "abcdefg":
        world.put({**text(artist="Nina", title=title), "filler": {"S": "x" * 300_000}})
    assert [titles(page) for page in pages(world)] == ["abcd", "efg"]


def test_a_start_key_need_not_name_an_item(music: World) -> None:
    assert titles(query(music, ExclusiveStartKey=text(artist="Nina", title="aa"))) == "bc"


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (text(artist="Nina"), "The provided starting key is invalid"),
        (text(artist="Miles", title="a"), "The provided starting key is outside query boundaries based on provided conditions"),
        ({"artist": {"S": "Nina"}, "title": {"N": "1"}}, "The provided key element does not match the schema"),
    ],
)
def test_a_start_key_must_lie_in_what_is_asked_for(music: World, start: Item, message: str) -> None:
    assert refusal(music, "artist = :a", {":a": {"S": "Nina"}}, ExclusiveStartKey=start) == message


def test_a_start_key_must_meet_the_condition_on_the_range_key(music: World) -> None:
    values = {":a": {"S": "Nina"}, ":b": {"S": "b"}}
    start = text(artist="Nina", title="a")
    assert refusal(music, "artist = :a AND title > :b", values, ExclusiveStartKey=start) == (
        "The provided starting key does not match the range key predicate"
    )


def test_a_partition_of_one_row_has_no_next_page(world: World) -> None:
    world.create("artist")
    world.put(text(artist="Nina"))
    assert query(world, Limit=1) == {"Items": [text(artist="Nina")], "Count": 1, "ScannedCount": 1}
    assert refusal(world, "artist = :a", {":a": {"S": "Nina"}}, ExclusiveStartKey=text(artist="Nina")) == (
        "The provided exclusive start key is invalid: ExclusiveStartKey: {artist=AttributeValue: {S:Nina}}"
    )


@pytest.mark.parametrize(
    ("condition", "values", "message"),
    [
        ("title = :v", {":v": {"S": "x"}}, "Query condition missed key schema element: artist"),
        ("artist > :v", {":v": {"S": "x"}}, "Query key condition not supported"),
        ("artist = :v AND label = :v", {":v": {"S": "x"}}, "Query condition missed key schema element: title"),
        (
            "artist = :v",
            {":v": {"N": "1"}},
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        ),
        (
            "artist = :v",
            {":v": {"S": ""}},
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. "
            "Key: artist",
        ),
    ],
)
def test_a_condition_must_fit_the_key(music: World, condition: str, values: Item, message: str) -> None:
    assert refusal(music, condition, values) == message


def test_a_condition_is_needed(music: World) -> None:
    assert music.refusal("Query", TableName="Music").message == (
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
    )


def test_a_filter_may_not_speak_of_the_key(music: World) -> None:
    values = {":a": {"S": "Nina"}}
    assert refusal(music, "artist = :a", values, FilterExpression="title = :a") == (
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: title"
    )


def test_a_count_comes_without_items(music: World) -> None:
    assert query(music, Select="COUNT") == {"Count": 3, "ScannedCount": 3}


def test_a_projection_is_applied_to_every_item(music: World) -> None:
    answer = query(music, ProjectionExpression="beats")
    assert answer["Items"] == [{"beats": {"N": "97"}}, {"beats": {"N": "98"}}, {"beats": {"N": "99"}}]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"Select": "SPECIFIC_ATTRIBUTES"},
            "1 validation error detected: "
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        ),
        (
            {"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "title"},
            "1 validation error detected: Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES",
        ),
        (
            {"Select": "COUNT", "ProjectionExpression": "title"},
            "1 validation error detected: Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
        (
            {"Select": "ALL_PROJECTED_ATTRIBUTES"},
            "1 validation error detected: ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
    ],
)
def test_select_must_agree_with_the_other_parameters(music: World, more: dict[str, Any], message: str) -> None:
    assert refusal(music, "artist = :a", {":a": {"S": "Nina"}}, **more) == message


def test_an_index_that_is_not_there_is_refused(music: World) -> None:
    assert refusal(music, "artist = :a", {":a": {"S": "Nina"}}, IndexName="nothing") == (
        "The table does not have the specified index: nothing"
    )


class TestKeysOfSeveralAttributes:
    """An index with two hash and two range attributes."""

    @pytest.fixture
    def shop(self, world: World) -> World:
        keys = ("region", "city", "day", "hour")
        world.create("id", defined=["id", *keys], GlobalSecondaryIndexes=[index("visits", *keys, hashes=2)])
        for number, (day, hour) in enumerate([("mon", "09"), ("mon", "17"), ("tue", "09"), ("tue", "12")]):
            world.put(text(id=str(number), region="eu", city="Bern", day=day, hour=hour))
        world.put(text(id="elsewhere", region="eu", city="Basel", day="mon", hour="09"))
        world.put(text(id="unseen", region="eu", city="Bern", day="mon"))
        return world

    def ask(self, world: World, condition: str) -> dict[str, Any]:
        """A query of the index; `:x` stands for the value x."""
        words = {word.strip("(),") for word in condition.split() if word.startswith(":")}
        values = {word: {"S": word[1:]} for word in words}
        return {
            "TableName": "Music",
            "IndexName": "visits",
            "KeyConditionExpression": condition.replace("day", "#day").replace("region", "#r").replace("hour", "#h"),
            "ExpressionAttributeNames": {
                alias: name for alias, name in (("#day", "day"), ("#r", "region"), ("#h", "hour")) if name in condition
            },
            "ExpressionAttributeValues": values,
        }

    @pytest.mark.parametrize(
        ("condition", "expected"),
        [
            ("", "0123"),
            (" AND day = :tue", "23"),
            (" AND day > :mon", "23"),
            (" AND day = :mon AND hour > :12", "1"),
            (" AND day = :tue AND hour BETWEEN :09 AND :11", "2"),
            (" AND day = :tue AND begins_with(hour, :1 )", "3"),
        ],
    )
    def test_range_attributes_narrow_from_left_to_right(self, shop: World, condition: str, expected: str) -> None:
        answer = shop.call("Query", **self.ask(shop, f"region = :eu AND city = :Bern{condition}"))
        assert "".join(item["id"]["S"] for item in answer["Items"]) == expected

    @pytest.mark.parametrize("condition", ["region = :eu", "region = :eu AND city > :Bern", "region = :eu AND begins_with(city, :B )"])
    def test_every_hash_attribute_must_be_equal_to_something(self, shop: World, condition: str) -> None:
        assert shop.refusal("Query", **self.ask(shop, condition)).message == (
            "HASH key attributes city must have equality conditions specified in the query"
        )

    @pytest.mark.parametrize("condition", ["hour = :09", "day > :mon AND hour = :09", "day > :mon AND hour > :09"])
    def test_range_attributes_cannot_be_skipped(self, shop: World, condition: str) -> None:
        assert shop.refusal("Query", **self.ask(shop, f"region = :eu AND city = :Bern AND {condition}")).message == (
            "RANGE key attributes day must have equality conditions specified in the query "
            "because a condition is present on key attribute hour"
        )

    def test_a_page_ends_with_all_attributes_of_both_keys(self, shop: World) -> None:
        answer = shop.call("Query", **self.ask(shop, "region = :eu AND city = :Bern"), Limit=2)
        assert answer["LastEvaluatedKey"] == text(id="1", region="eu", city="Bern", day="mon", hour="17")
        following = shop.call("Query", **self.ask(shop, "region = :eu AND city = :Bern"), ExclusiveStartKey=answer["LastEvaluatedKey"])
        assert [item["id"]["S"] for item in following["Items"]] == ["2", "3"]
