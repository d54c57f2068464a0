import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.engine import EngineError
from gateleg.engine.values import MAX_ITEM_SIZE, canonicalize_item
from tests.engine.operations.requests import index
from tests.engine.world import Item, World, text

KEY = text(artist="Nina", title="Sinnerman")
SONG: Item = {**KEY, "year": {"N": "1965"}, "tags": {"SS": ["jazz", "live"]}}


@pytest.fixture
def music(world: World) -> World:
    world.create("artist", "title")
    return world


def get(world: World, key: Item = KEY, **more: Any) -> Item | None:
    """The item of a key, as it is now."""
    return world.call("GetItem", TableName="Music", Key=key, **more).get("Item")


def update(world: World, expression: str, values: Item | None = None, **more: Any) -> dict[str, Any]:
    """Update the song."""
    given = {"ExpressionAttributeValues": values} if values else {}
    return world.call("UpdateItem", TableName="Music", Key=KEY, UpdateExpression=expression, **given, **more)


def test_what_was_put_is_there(music: World) -> None:
    music.put(SONG)
    assert get(music) == SONG


def test_where_nothing_was_put_there_is_no_item(music: World) -> None:
    assert music.call("GetItem", TableName="Music", Key=KEY) == {}


def test_a_table_may_be_named_by_its_arn(music: World) -> None:
    music.put(SONG, name=music.arn())
    assert get(music) == SONG


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("GetItem", {"Key": KEY}),
        ("PutItem", {"Item": SONG}),
        ("UpdateItem", {"Key": KEY}),
        ("DeleteItem", {"Key": KEY}),
    ],
)
def test_a_table_that_is_not_there_is_not_found(world: World, operation: str, request_: dict[str, Any]) -> None:
    error = world.refusal(operation, TableName="Nothing", **request_)
    assert (error.code, error.message) == ("ResourceNotFoundException", "Requested resource not found")


def test_a_put_replaces_the_whole_item(music: World) -> None:
    music.put(SONG)
    music.put(KEY)
    assert get(music) == KEY


def test_a_put_returns_the_old_item_if_asked(music: World) -> None:
    assert music.call("PutItem", TableName="Music", Item=SONG, ReturnValues="ALL_OLD") == {}
    assert music.call("PutItem", TableName="Music", Item=KEY, ReturnValues="ALL_OLD") == {"Attributes": SONG}
    assert music.call("PutItem", TableName="Music", Item=KEY) == {}


def test_a_delete_removes_and_returns_the_item(music: World) -> None:
    music.put(SONG)
    assert music.call("DeleteItem", TableName="Music", Key=KEY, ReturnValues="ALL_OLD") == {"Attributes": SONG}
    assert get(music) is None


def test_deleting_what_is_not_there_is_no_error(music: World) -> None:
    assert music.call("DeleteItem", TableName="Music", Key=KEY, ReturnValues="ALL_OLD") == {}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"SS": ["b", "", "é", "a", "Z"]}, {"SS": ["", "Z", "a", "b", "é"]}),
        ({"NS": ["10", "9", "-1", "2.50"]}, {"NS": ["-1", "2.5", "9", "10"]}),
        ({"BS": ["/w==", "", "AQ=="]}, {"BS": ["", "AQ==", "/w=="]}),
    ],
)
def test_the_members_of_a_set_come_in_their_own_order(music: World, given: Item, kept: Item) -> None:
    music.put({**KEY, "set": given})
    assert get(music) == {**KEY, "set": kept}


def test_what_is_added_to_a_set_finds_its_place(music: World) -> None:
    music.put({**KEY, "set": {"NS": ["9", "100"]}})
    update(music, "ADD #s :n", {":n": {"NS": ["10", "9"]}}, ExpressionAttributeNames={"#s": "set"})
    assert get(music) == {**KEY, "set": {"NS": ["9", "10", "100"]}}


@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem"])
@pytest.mark.parametrize("returns", ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
def test_a_put_or_delete_has_no_new_values_to_return(music: World, operation: str, returns: str) -> None:
    request = {"Item": SONG} if operation == "PutItem" else {"Key": KEY}
    error = music.refusal(operation, TableName="Music", ReturnValues=returns, **request)
    assert (error.message or "").removeprefix("1 validation error detected: ") == "ReturnValues can only be ALL_OLD or NONE"


@pytest.mark.parametrize(
    "value",
    [
        {"S": ""},
        {"S": "ß 漢 🎷"},
        {"N": "-1.5"},
        {"B": "AAEC/w=="},
        {"BOOL": False},
        {"NULL": True},
        {"L": []},
        {"M": {}},
        {"SS": ["a", "b"]},
        {"NS": ["1", "2"]},
        {"BS": ["AA=="]},
        {"L": [{"M": {"a": {"L": [{"NULL": True}, {"N": "0"}]}}}]},
    ],
    ids=str,
)
def test_a_value_of_any_type_is_kept(music: World, value: Item) -> None:
    music.put({**KEY, "value": value})
    assert get(music) == {**KEY, "value": value}


VALUES = st.recursive(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"])).map(lambda text_: {"S": text_}),
        st.integers(-(10**30), 10**30).map(lambda number: {"N": str(number)}),
        st.booleans().map(lambda flag: {"BOOL": flag}),
        st.sets(st.text(string.ascii_letters), min_size=1).map(lambda members: {"SS": sorted(members)}),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda members: {"L": members}),
        st.dictionaries(st.text(string.ascii_letters, min_size=1), inner, max_size=4).map(lambda members: {"M": members}),
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@given(st.dictionaries(st.text(string.ascii_lowercase, min_size=1, max_size=3), VALUES, max_size=5))
def test_any_item_comes_back_as_it_went_in(attributes: Item) -> None:
    world = World()
    world.create("artist", "title")
    item = {**attributes, **KEY}
    world.put(item)
    assert get(world) == item
    world.engine.close()


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (text(artist="Nina"), "The provided key element does not match the schema"),
        (text(artist="Nina", name="x"), "The provided key element does not match the schema"),
        ({**KEY, "year": {"N": "1"}}, "The provided key element does not match the schema"),
        ({**KEY, "title": {"N": "1"}}, "The provided key element does not match the schema"),
        (
            text(artist="", title="x"),
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. "
            "Key: artist",
        ),
        (
            text(artist="x" * 2049, title="x"),
            "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes",
        ),
        (
            text(artist="x", title="é" * 513),
            "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
        ),
    ],
)
def test_a_key_that_does_not_fit_is_refused(music: World, key: Item, message: str) -> None:
    for operation in ("GetItem", "DeleteItem", "UpdateItem"):
        assert music.refusal(operation, TableName="Music", Key=key).message == message


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (text(artist="Nina"), "One or more parameter values were invalid: Missing the key title in the item"),
        (
            {**KEY, "title": {"N": "1"}},
            "One or more parameter values were invalid: Type mismatch for key title expected: S actual: N",
        ),
    ],
)
def test_an_item_without_its_key_is_refused(music: World, item: Item, message: str) -> None:
    assert music.refusal("PutItem", TableName="Music", Item=item).message == message


def test_keys_of_the_greatest_length_are_fine(music: World) -> None:
    key = text(artist="x" * 2048, title="x" * 1024)
    music.put(key)
    assert get(music, key) == key


def sized(size: int) -> Item:
    """An item of that many bytes."""
    return {**KEY, "filler": {"S": "x" * (size - canonicalize_item({**KEY, "filler": {"S": ""}})[1])}}


def test_an_item_may_have_400_kilobytes_and_not_a_byte_more(music: World) -> None:
    music.put(sized(MAX_ITEM_SIZE))
    assert music.refusal("PutItem", TableName="Music", Item=sized(MAX_ITEM_SIZE + 1)).message == (
        "Item size has exceeded the maximum allowed size"
    )


def test_an_update_may_not_make_an_item_too_large(music: World) -> None:
    music.put(sized(MAX_ITEM_SIZE - 3))
    update(music, "SET a = :v", {":v": {"S": "xx"}})
    error = music.refusal(
        "UpdateItem", TableName="Music", Key=KEY, UpdateExpression="SET a = :v", ExpressionAttributeValues={":v": {"S": "xxx"}}
    )
    assert error.message == "Item size to update has exceeded the maximum allowed size"


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        ("SET b = :pad", 22),
        ("SET #alias = :pad", 22),
        ("SET b = :pad, c = :one", 41 + 2),
        ("SET b = :pad REMOVE d", 24),
    ],
)
def test_an_update_has_less_room_for_each_of_its_actions(world: World, expression: str, cost: int) -> None:
    world.create("k")

    def request(padding: int) -> dict[str, Any]:
        values = {":pad": {"S": "x" * padding}, ":one": {"S": "1"}}
        return {
            "TableName": "Music",
            "Key": text(k="k"),
            "UpdateExpression": expression,
            "ExpressionAttributeValues": {name: value for name, value in values.items() if name in expression},
            **({"ExpressionAttributeNames": {"#alias": "b"}} if "#alias" in expression else {}),
        }

    room = MAX_ITEM_SIZE - cost - len("b")
    world.call("UpdateItem", **request(room))
    assert world.refusal("UpdateItem", **request(room + 1)).message == "Item size to update has exceeded the maximum allowed size"


def test_the_position_in_a_list_costs_an_update_a_byte_more(world: World) -> None:
    world.create("k")
    world.put({**text(k="k"), "b": {"L": [{"S": "short"}]}})

    def request(expression: str, value: Item) -> dict[str, Any]:
        return {"TableName": "Music", "Key": text(k="k"), "UpdateExpression": expression, "ExpressionAttributeValues": {":v": value}}

    most = {"S": "x" * 409_573}
    world.call("UpdateItem", **request("SET b = :v", {"L": [most]}))
    world.call("UpdateItem", **request("SET b[0] = :v", {"S": "x" * 409_572}))
    assert world.refusal("UpdateItem", **request("SET b[0] = :v", most)).code == "ValidationException"


def test_an_attribute_needs_a_name(music: World) -> None:
    assert music.refusal("PutItem", TableName="Music", Item={**KEY, "": {"N": "1"}}).message == "Empty attribute name"


def test_an_attribute_name_may_have_65535_bytes_and_not_one_more(music: World) -> None:
    music.put({**KEY, "x" * 65535: {"N": "1"}})
    error = music.refusal("PutItem", TableName="Music", Item={**KEY, "x" * 65536: {"N": "1"}})
    assert error.message == "Attribute name is too large, must be less than 65536 bytes"


def nested(levels: int) -> Item:
    """A value inside so many lists."""
    value: Item = {"S": "x"}
    for _ in range(levels):
        value = {"L": [value]}
    return value


def test_a_value_may_lie_32_levels_deep_and_not_one_more(music: World) -> None:
    music.put({**KEY, "deep": nested(31)})
    assert get(music) == {**KEY, "deep": nested(31)}
    error = music.refusal("PutItem", TableName="Music", Item={**KEY, "deep": nested(32)})
    assert (error.message or "").startswith("Nesting Levels have exceeded supported limits")


def test_an_update_may_not_nest_too_deep(music: World) -> None:
    music.put({**KEY, "deep": {"L": []}})
    request = {"UpdateExpression": "SET deep[0] = :v", "ExpressionAttributeValues": {":v": nested(31)}}
    error = music.refusal("UpdateItem", TableName="Music", Key=KEY, **request)
    assert (error.message or "").startswith("Nesting Levels have exceeded supported limits")


def test_a_projection_gives_the_attributes_asked_for(music: World) -> None:
    music.put({**SONG, "label": {"M": {"name": {"S": "Philips"}, "city": {"S": "Baarn"}}}})
    assert get(music, ProjectionExpression="title, label.city, nothing") == {
        "title": {"S": "Sinnerman"},
        "label": {"M": {"city": {"S": "Baarn"}}},
    }


def test_a_projection_of_nothing_gives_an_empty_item(music: World) -> None:
    music.put(SONG)
    assert get(music, AttributesToGet=["nothing"]) == {}


def test_a_projection_may_not_look_into_a_key(music: World) -> None:
    error = music.refusal("GetItem", TableName="Music", Key=KEY, ProjectionExpression="artist.initial")
    assert error.message == ("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: artist")


def test_an_update_changes_only_what_it_names(music: World) -> None:
    music.put(SONG)
    update(
        music,
        "SET rating = :five REMOVE tags ADD #y :one",
        {":five": {"N": "5"}, ":one": {"N": "1"}},
        ExpressionAttributeNames={"#y": "year"},
    )
    assert get(music) == {**KEY, "year": {"N": "1966"}, "rating": {"N": "5"}}


def test_an_update_makes_the_item_if_there_is_none(music: World) -> None:
    update(music, "SET rating = :five", {":five": {"N": "5"}})
    assert get(music) == {**KEY, "rating": {"N": "5"}}


def test_an_update_without_an_expression_makes_the_bare_item(music: World) -> None:
    music.call("UpdateItem", TableName="Music", Key=KEY)
    assert get(music) == KEY


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        ("NONE", None),
        ("ALL_OLD", SONG),
        ("ALL_NEW", {**SONG, "year": {"N": "1966"}, "label": {"S": "Philips"}}),
        ("UPDATED_OLD", {"year": {"N": "1965"}}),
        ("UPDATED_NEW", {"year": {"N": "1966"}, "label": {"S": "Philips"}}),
    ],
)
def test_an_update_returns_what_is_asked_for(music: World, returns: str, expected: Item | None) -> None:
    music.put(SONG)
    values = {":l": {"S": "Philips"}, ":y": {"N": "1966"}}
    answer = update(music, "SET label = :l, #y = :y", values, ReturnValues=returns, ExpressionAttributeNames={"#y": "year"})
    assert answer.get("Attributes") == expected


def test_an_update_that_made_the_item_has_nothing_old_to_return(music: World) -> None:
    assert update(music, "SET a = :v", {":v": {"S": "x"}}, ReturnValues="ALL_OLD") == {}


@pytest.mark.parametrize("name", ["artist", "title"])
def test_a_key_cannot_be_updated(music: World, name: str) -> None:
    for request in (
        {"UpdateExpression": f"SET {name} = :v", "ExpressionAttributeValues": {":v": {"S": "x"}}},
        {"AttributeUpdates": {name: {"Value": {"S": "x"}}}},
    ):
        error = music.refusal("UpdateItem", TableName="Music", Key=KEY, **request)
        assert error.message == (
            f"One or more parameter values were invalid: Cannot update attribute {name}. This attribute is part of the key"
        )


CONDITIONED: list[tuple[str, dict[str, Any]]] = [
    ("PutItem", {"Item": KEY}),
    ("UpdateItem", {"Key": KEY, "UpdateExpression": "REMOVE tags"}),
    ("DeleteItem", {"Key": KEY}),
]


@pytest.mark.parametrize(("operation", "request_"), CONDITIONED)
def test_a_condition_that_holds_lets_the_write_through(music: World, operation: str, request_: dict[str, Any]) -> None:
    music.put(SONG)
    music.call(operation, TableName="Music", ConditionExpression="contains(tags, artist) OR attribute_exists(tags)", **request_)
    assert get(music) != SONG


@pytest.mark.parametrize(("operation", "request_"), CONDITIONED)
def test_a_condition_that_does_not_hold_leaves_the_item(music: World, operation: str, request_: dict[str, Any]) -> None:
    music.put(SONG)
    error = music.refusal(operation, TableName="Music", ConditionExpression="attribute_not_exists(artist)", **request_)
    assert (error.code, error.message, error.extra) == ("ConditionalCheckFailedException", "The conditional request failed", {})
    assert get(music) == SONG


@pytest.mark.parametrize(("operation", "request_"), CONDITIONED)
def test_a_failed_condition_returns_the_item_if_asked(music: World, operation: str, request_: dict[str, Any]) -> None:
    wanted = {"ConditionExpression": "attribute_exists(nothing)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    assert music.refusal(operation, TableName="Music", **wanted, **request_).extra == {}
    music.put(SONG)
    assert music.refusal(operation, TableName="Music", **wanted, **request_).extra == {"Item": SONG}


def test_item_collection_metrics_are_given_where_there_is_a_local_index(world: World) -> None:
    world.create("artist", "title", defined=["artist", "title", "year"], LocalSecondaryIndexes=[index("by-year", "artist", "year")])
    answer = world.call("PutItem", TableName="Music", Item=KEY, ReturnItemCollectionMetrics="SIZE")
    assert answer == {"ItemCollectionMetrics": {"ItemCollectionKey": text(artist="Nina"), "SizeEstimateRangeGB": [0.0, 1.0]}}


def test_item_collection_metrics_are_not_given_elsewhere(music: World) -> None:
    assert music.call("PutItem", TableName="Music", Item=KEY, ReturnItemCollectionMetrics="SIZE") == {}


def test_half_of_a_surrogate_pair_in_a_key_is_refused(music: World) -> None:
    with pytest.raises(EngineError) as caught:
        get(music, text(artist="Nina\ud800", title="Sinnerman"))
    assert caught.value.code == "SerializationException"
