from typing import Any

import pytest

from tests.engine.operations.requests import index
from tests.engine.world import Item, World, text


@pytest.fixture
def music(world: World) -> World:
    world.create("artist", "title")
    world.create("name", name="Labels")
    return world


def song(title: str, **more: Any) -> Item:
    """A song of Nina's."""
    return {**text(artist="Nina", title=title), **more}


def put(item: Item) -> dict[str, Any]:
    return {"PutRequest": {"Item": item}}


def delete(key: Item) -> dict[str, Any]:
    return {"DeleteRequest": {"Key": key}}


def write(world: World, name: str = "Music", **more: Any) -> Any:
    """A function that writes a batch to one table."""
    return lambda *entries: world.call("BatchWriteItem", RequestItems={name: list(entries)}, **more)


def get(world: World, *keys: Item, **more: Any) -> dict[str, Any]:
    """Get a batch from one table."""
    return world.call("BatchGetItem", RequestItems={"Music": {"Keys": list(keys), **more}})


def test_a_batch_puts_and_deletes_in_several_tables(music: World) -> None:
    music.put(song("old"))
    answer = music.call(
        "BatchWriteItem", RequestItems={"Music": [put(song("new")), delete(song("old"))], "Labels": [put(text(name="Philips"))]}
    )
    assert answer == {"UnprocessedItems": {}}
    assert music.items() == [song("new")]
    assert music.items("Labels") == [text(name="Philips")]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([put(song("x")), delete(song("x"))], "Provided list of item keys contains duplicates"),
        ([put(song("x")), put({"artist": {"S": "Nina"}})], "The provided key element does not match the schema"),
        ([put(song("x")), delete({"artist": {"S": "Nina"}})], "The provided key element does not match the schema"),
        ([put(song("x")), put(song("y", **{"": {"N": "1"}}))], "Empty attribute name"),
        ([put(song("x")), put(song("y", filler={"S": "x" * 409_600}))], "Item size has exceeded the maximum allowed size"),
        ([put(song(str(number))) for number in range(26)], None),
    ],
    ids=["twice", "no key to put", "no key to delete", "no name", "large", "many"],
)
def test_a_batch_with_a_fault_writes_nothing(music: World, entries: list[Any], message: str | None) -> None:
    error = music.refusal("BatchWriteItem", RequestItems={"Music": entries})
    assert error.code == "ValidationException"
    assert message is None or error.message == message
    assert music.items() == []


def test_a_batch_for_a_table_that_is_not_there_writes_nothing(music: World) -> None:
    error = music.refusal("BatchWriteItem", RequestItems={"Music": [put(song("x"))], "Nothing": [put(song("x"))]})
    assert (error.code, error.message) == ("ResourceNotFoundException", "Requested resource not found")
    assert music.items() == []


def test_an_entry_is_a_put_or_a_delete(music: World) -> None:
    assert music.refusal("BatchWriteItem", RequestItems={"Music": [{**put(song("x")), **delete(song("y"))}]}).code == "ValidationException"
    assert music.refusal("BatchWriteItem", RequestItems={"Music": [{}]}).code == "ValidationException"


def test_a_batch_keeps_indexes_in_line(world: World) -> None:
    world.create("artist", "title", defined=["artist", "title", "genre"], GlobalSecondaryIndexes=[index("by-genre", "genre")])
    world.put(song("a", genre={"S": "jazz"}))
    write(world)(put(song("a", genre={"S": "folk"})), put(song("b", genre={"S": "jazz"})))
    assert [item["title"]["S"] for item in world.items(IndexName="by-genre")] == ["a", "b"]
    write(world)(delete(song("a")), delete(song("b")))
    assert world.items(IndexName="by-genre") == []


def test_collection_metrics_are_given_once_for_each_partition(world: World) -> None:
    world.create("artist", "title", defined=["artist", "title", "year"], LocalSecondaryIndexes=[index("by-year", "artist", "year")])
    answer = write(world, ReturnItemCollectionMetrics="SIZE")(put(song("a")), put(song("b")))
    assert answer["ItemCollectionMetrics"] == {"Music": [{"ItemCollectionKey": text(artist="Nina"), "SizeEstimateRangeGB": [0.0, 1.0]}]}


def test_a_batch_gets_what_is_there(music: World) -> None:
    music.put(song("a"))
    music.put(song("b"))
    answer = get(music, song("b"), song("nothing"), song("a"))
    assert sorted(item["title"]["S"] for item in answer["Responses"]["Music"]) == ["a", "b"]
    assert answer["UnprocessedKeys"] == {}


def test_a_batch_gets_from_several_tables(music: World) -> None:
    music.put(song("a"))
    music.put(text(name="Philips"), name="Labels")
    answer = music.call("BatchGetItem", RequestItems={"Music": {"Keys": [song("a")]}, "Labels": {"Keys": [text(name="Philips")]}})
    assert answer["Responses"] == {"Music": [song("a")], "Labels": [text(name="Philips")]}


def test_a_table_of_which_nothing_was_found_has_an_empty_response(music: World) -> None:
    assert get(music, song("a"))["Responses"] == {"Music": []}


def test_each_table_has_its_own_projection(music: World) -> None:
    music.put(song("a"))
    assert get(music, song("a"), ProjectionExpression="title")["Responses"] == {"Music": [text(title="a")]}


def test_tables_may_not_differ_in_the_kind_of_their_projections(music: World) -> None:
    items = {
        "Music": {"Keys": [song("a")], "ProjectionExpression": "title"},
        "Labels": {"Keys": [text(name="Philips")], "AttributesToGet": ["name"]},
    }
    error = music.refusal("BatchGetItem", RequestItems=items)
    assert (error.message or "").startswith("Can not use both expression and non-expression parameters in the same request")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([song("a"), song("a")], "Provided list of item keys contains duplicates"),
        ([text(artist="Nina")], "The provided key element does not match the schema"),
        ([song(str(number)) for number in range(101)], None),
    ],
    ids=["twice", "no key", "many"],
)
def test_a_batch_of_wrong_keys_is_refused(music: World, keys: list[Item], message: str | None) -> None:
    error = music.refusal("BatchGetItem", RequestItems={"Music": {"Keys": keys}})
    assert error.code == "ValidationException"
    assert message is None or error.message == message


def test_what_does_not_fit_into_an_answer_is_left_for_the_next(music: World) -> None:
    names = [f"{number:03}" for number in range(50)]
    songs = [{**song(name), "artist": {"S": name}} for name in names]
    for each in songs:
        music.put({**each, "filler": {"S": "x" * 380_000}})
    left = {"Music": {"Keys": songs, "ProjectionExpression": "title"}}
    found: list[str] = []
    asked = 0
    while left:
        answer = music.call("BatchGetItem", RequestItems=left)
        found += [item["title"]["S"] for item in answer["Responses"]["Music"]]
        left = answer["UnprocessedKeys"]
        asked += 1
    assert (sorted(found), asked) == (names, 2)


def test_a_partition_answers_a_megabyte_at_a_time(music: World) -> None:
    names = [f"{number:03}" for number in range(6)]
    for name in names:
        music.put(song(name, filler={"S": "x" * 380_000}))
    other = {**song("other"), "artist": {"S": "Other"}}
    music.put(other)
    left: Any = {"Music": {"Keys": [*(song(name) for name in names), other], "ProjectionExpression": "title"}}
    found: list[list[str]] = []
    while left:
        answer = music.call("BatchGetItem", RequestItems=left)
        found.append([item["title"]["S"] for item in answer["Responses"]["Music"]])
        left = answer["UnprocessedKeys"]
    assert found == [["000", "001", "other"], ["002", "003"], ["004", "005"]]


def test_a_table_that_is_named_by_its_arn_is_answered_so(music: World) -> None:
    music.put(song("one"))
    answer = music.call("BatchGetItem", RequestItems={music.arn(): {"Keys": [song("one")]}})
    assert answer["Responses"] == {music.arn(): [song("one")]}
