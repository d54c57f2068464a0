from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.operations.requests import index
from tests.engine.world import Item, World, content, text

SONG: Item = {**text(artist="Nina", title="Sinnerman", genre="jazz", label="Philips"), "length": {"N": "622"}}
KEY = text(artist="Nina", title="Sinnerman")


def projecting(kind: str, *include: str) -> dict[str, Any]:
    """A projection for `index`."""
    return {"Projection": {"ProjectionType": kind, **({"NonKeyAttributes": list(include)} if include else {})}}


@pytest.fixture
def music(world: World) -> World:
    """A table with global indexes by genre and local ones by length, that project all, some or nothing."""
    kinds = {"all": projecting("ALL"), "keys": projecting("KEYS_ONLY"), "some": projecting("INCLUDE", "label")}
    world.create(
        "artist",
        "title",
        defined=["artist", "title", "genre", "length:N"],
        GlobalSecondaryIndexes=[index(f"genre-{name}", "genre", **more) for name, more in kinds.items()],
        LocalSecondaryIndexes=[index(f"length-{name}", "artist", "length", **more) for name, more in kinds.items()],
    )
    return world


def query(world: World, name: str, **more: Any) -> dict[str, Any]:
    """Query an index for jazz, or for Nina."""
    key, value = ("genre", "jazz") if name.startswith("genre") else ("artist", "Nina")
    return world.call(
        "Query",
        TableName="Music",
        IndexName=name,
        KeyConditionExpression=f"{key} = :v",
        ExpressionAttributeValues={":v": {"S": value}},
        **more,
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("genre-all", set(SONG)),
        ("genre-keys", {"artist", "title", "genre"}),
        ("genre-some", {"artist", "title", "genre", "label"}),
        ("length-all", set(SONG)),
        ("length-keys", {"artist", "title", "length"}),
        ("length-some", {"artist", "title", "length", "label"}),
    ],
)
def test_an_index_holds_what_it_projects(music: World, name: str, expected: set[str]) -> None:
    music.put(SONG)
    assert query(music, name)["Items"] == [{attribute: SONG[attribute] for attribute in SONG if attribute in expected}]
    assert music.items(IndexName=name) == query(music, name)["Items"]


def test_an_item_without_the_index_key_is_not_in_the_index(music: World) -> None:
    music.put(KEY)
    assert query(music, "genre-all")["Count"] == query(music, "length-all")["Count"] == 0


def test_an_index_follows_an_item_that_changes(music: World) -> None:
    music.put(SONG)
    music.put({**SONG, "label": {"S": "Verve"}})
    assert query(music, "genre-some")["Items"][0]["label"] == {"S": "Verve"}
    music.call("UpdateItem", TableName="Music", Key=KEY, UpdateExpression="REMOVE genre")
    assert query(music, "genre-some")["Count"] == 0
    assert query(music, "length-some")["Count"] == 1
    music.delete(KEY)
    assert query(music, "length-some")["Count"] == 0


def test_a_local_index_fetches_what_it_does_not_hold(music: World) -> None:
    music.put(SONG)
    assert query(music, "length-keys", Select="ALL_ATTRIBUTES")["Items"] == [SONG]
    assert query(music, "length-keys", ProjectionExpression="genre")["Items"] == [text(genre="jazz")]
    assert query(music, "length-keys", FilterExpression="attribute_exists(label)")["Count"] == 1


def test_a_global_index_refuses_what_it_does_not_hold(music: World) -> None:
    request = query_request("genre-keys")
    assert music.refusal("Query", **request, Select="ALL_ATTRIBUTES").message == (
        "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index "
        "genre-keys because its projection type is not ALL"
    )
    assert music.refusal("Query", **request, ProjectionExpression="label").message == (
        "One or more parameter values were invalid: Global secondary index genre-keys does not project [label]"
    )


def query_request(name: str) -> dict[str, Any]:
    """A query of a global index for jazz."""
    return {
        "TableName": "Music",
        "IndexName": name,
        "KeyConditionExpression": "genre = :v",
        "ExpressionAttributeValues": {":v": {"S": "jazz"}},
    }


def test_a_local_index_may_be_read_consistently_and_a_global_one_not(music: World) -> None:
    music.put(SONG)
    assert query(music, "length-all", ConsistentRead=True)["Count"] == 1
    assert music.refusal("Query", **query_request("genre-all"), ConsistentRead=True).message == (
        "Consistent reads are not supported on global secondary indexes"
    )


@pytest.mark.parametrize("name", ["genre-all", "length-all"])
@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_lose_nothing_where_index_keys_repeat(music: World, name: str, forward: bool, limit: int) -> None:
    for title in "abcdefg":
        music.put({**SONG, "title": {"S": title}})
    found: list[str] = []
    start: dict[str, Any] = {}
    while True:
        answer = query(music, name, Limit=limit, ScanIndexForward=forward, **start)
        found += [item["title"]["S"] for item in answer["Items"]]
        if "LastEvaluatedKey" not in answer:
            break
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
    assert sorted(found) == list("abcdefg")


WRITES: list[tuple[str, Any]] = [
    ("PutItem", lambda value: {"TableName": "Music", "Item": {**KEY, "genre": value}}),
    ("BatchWriteItem", lambda value: {"RequestItems": {"Music": [{"PutRequest": {"Item": {**KEY, "genre": value}}}]}}),
    ("UpdateItem", lambda value: {"TableName": "Music", "Key": KEY, "AttributeUpdates": {"genre": {"Value": value}}}),
    (
        "UpdateItem",
        lambda value: {
            "TableName": "Music",
            "Key": KEY,
            "UpdateExpression": "SET genre = :v",
            "ExpressionAttributeValues": {":v": value},
        },
    ),
]


@pytest.mark.parametrize(("operation", "request_"), WRITES, ids=["put", "batch", "legacy update", "update"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            {"N": "1"},
            "One or more parameter values were invalid: Type mismatch for Index Key genre Expected: S Actual: N IndexName: genre-all",
        ),
        (
            {"NULL": True},
            "One or more parameter values were invalid: Type mismatch for Index Key genre Expected: S Actual: NULL IndexName: genre-all",
        ),
        (
            {"S": "x" * 2049},
            "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes. "
            "IndexName: genre-all, IndexKey: genre",
        ),
    ],
    ids=["number", "null", "long"],
)
def test_a_value_that_an_index_cannot_hold_is_refused(music: World, operation: str, request_: Any, value: Item, message: str) -> None:
    assert music.refusal(operation, **request_(value)).message == message
    assert music.items() == []


@pytest.mark.parametrize(("operation", "request_"), WRITES[:2], ids=["put", "batch"])
def test_an_empty_value_that_an_index_cannot_hold_is_refused(music: World, operation: str, request_: Any) -> None:
    assert music.refusal(operation, **request_({"S": ""})).message == (
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue "
        "for a key attribute cannot contain an empty string value. IndexName: genre-all, IndexKey: genre"
    )
    assert music.items() == []


def test_a_wrong_type_that_was_found_in_the_item_has_words_of_its_own(music: World) -> None:
    music.put({**SONG, "stars": {"N": "5"}})
    error = music.refusal("UpdateItem", TableName="Music", Key=KEY, UpdateExpression="SET genre = stars")
    assert error.message == "The update expression attempted to update the secondary index key to unsupported type"


def test_no_expression_looks_into_an_index_key(music: World) -> None:
    error = music.refusal(
        "UpdateItem",
        TableName="Music",
        Key=KEY,
        UpdateExpression="SET genre.kind = :v",
        ExpressionAttributeValues={":v": {"S": "x"}},
    )
    assert error.message == ("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: genre")


ITEMS = st.fixed_dictionaries(
    {"artist": st.sampled_from("ab"), "title": st.sampled_from("xy")},
    optional={"genre": st.sampled_from(["jazz", "folk"]), "label": st.sampled_from("pq")},
)
STEPS = st.lists(st.tuples(st.sampled_from(["put", "delete", "update"]), ITEMS), max_size=25)


@settings(max_examples=40)
@given(STEPS)
def test_an_index_always_agrees_with_its_table(steps: list[tuple[str, dict[str, str]]]) -> None:
    world = World()
    world.create(
        "artist",
        "title",
        defined=["artist", "title", "genre"],
        GlobalSecondaryIndexes=[index("all", "genre"), index("keys", "genre", **projecting("KEYS_ONLY"))],
        LocalSecondaryIndexes=[index("local", "artist", "genre", **projecting("INCLUDE", "label"))],
    )
    for step, attributes in steps:
        apply(world, step, text(**attributes))
    held = [item for item in world.items() if "genre" in item]
    assert world.items(IndexName="all") == held
    assert world.items(IndexName="local") == held
    assert world.items(IndexName="keys") == sorted(({name: item[name] for name in item if name != "label"} for item in held), key=content)
    world.engine.close()


def apply(world: World, step: str, item: Item) -> None:
    """Put the item, delete it, or set those of its attributes that are no key and remove the others."""
    key = {name: item[name] for name in ("artist", "title")}
    if step == "put":
        world.put(item)
    elif step == "delete":
        world.delete(key)
    else:
        changes = {name: {"Value": item[name]} if name in item else {"Action": "DELETE"} for name in ("genre", "label")}
        world.call("UpdateItem", TableName="Music", Key=key, AttributeUpdates=changes)
