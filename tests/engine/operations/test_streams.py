from typing import Any

import pytest

from tests.engine.world import START, World, stream, text

HOUR = 3600.0


def arn(world: World, name: str = "Music") -> str:
    found: str = world.call("DescribeTable", TableName=name)["Table"]["LatestStreamArn"]
    return found


def description(world: World, stream_arn: str, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = world.call("DescribeStream", StreamArn=stream_arn, **more)["StreamDescription"]
    return found


def iterator(world: World, stream_arn: str, kind: str = "TRIM_HORIZON", shard: int = -1, **more: Any) -> str:
    shard_id = description(world, stream_arn)["Shards"][shard]["ShardId"]
    found: str = world.call("GetShardIterator", StreamArn=stream_arn, ShardId=shard_id, ShardIteratorType=kind, **more)["ShardIterator"]
    return found


def records(world: World, stream_arn: str) -> list[dict[str, Any]]:
    """The records of all shards, in order."""
    found: list[dict[str, Any]] = []
    for position in range(len(description(world, stream_arn)["Shards"])):
        place: str | None = iterator(world, stream_arn, shard=position)
        while place is not None:
            answer = world.call("GetRecords", ShardIterator=place)
            found += answer["Records"]
            place = answer.get("NextShardIterator") if answer["Records"] else None
    return found


def events(world: World, stream_arn: str) -> list[tuple[str, Any, Any]]:
    """Name, old and new image of each record."""
    return [(r["eventName"], r["dynamodb"].get("OldImage"), r["dynamodb"].get("NewImage")) for r in records(world, stream_arn)]


@pytest.fixture
def music(world: World) -> World:
    world.create("a", **stream())
    return world


def test_a_write_becomes_a_record(music: World) -> None:
    music.put(text(a="x", b="1"))
    (record,) = records(music, arn(music))
    assert len(record.pop("eventID")) == 32
    assert record["dynamodb"].pop("SequenceNumber").isdecimal()
    assert record == {
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": int(START),
            "Keys": text(a="x"),
            "NewImage": text(a="x", b="1"),
            "SizeBytes": 6,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }


def test_records_say_what_happened_to_an_item(music: World) -> None:
    music.put(text(a="x"))
    music.put(text(a="x", b="1"))
    music.delete(text(a="x"))
    assert events(music, arn(music)) == [
        ("INSERT", None, text(a="x")),
        ("MODIFY", text(a="x"), text(a="x", b="1")),
        ("REMOVE", text(a="x", b="1"), None),
    ]


def test_a_write_that_changes_nothing_is_not_recorded(music: World) -> None:
    music.put(text(a="x"))
    music.put(text(a="x"))
    music.delete(text(a="y"))
    assert len(records(music, arn(music))) == 1


@pytest.mark.parametrize(
    ("view", "images"),
    [
        ("KEYS_ONLY", set()),
        ("NEW_IMAGE", {"NewImage"}),
        ("OLD_IMAGE", {"OldImage"}),
        ("NEW_AND_OLD_IMAGES", {"NewImage", "OldImage"}),
    ],
)
def test_the_view_decides_which_images_records_have(world: World, view: str, images: set[str]) -> None:
    world.create("a", **stream(view))
    world.put(text(a="x"))
    world.put(text(a="x", b="1"))
    change = records(world, arn(world))[1]["dynamodb"]
    assert {"NewImage", "OldImage"} & set(change) == images
    assert change["Keys"] == text(a="x")


def test_sequence_numbers_rise_and_are_long(music: World) -> None:
    for value in "abc":
        music.put(text(a="x", b=value))
    numbers = [r["dynamodb"]["SequenceNumber"] for r in records(music, arn(music))]
    assert sorted(numbers, key=int) == numbers
    assert all(21 <= len(number) <= 40 for number in numbers)


def test_a_table_without_a_stream_has_none(world: World) -> None:
    world.create("a")
    assert world.call("ListStreams", TableName="Music") == {"Streams": []}


def test_streams_are_listed_a_page_at_a_time(world: World) -> None:
    for name in ("aaa", "bbb", "ccc"):
        world.create("a", name=name, **stream())
    first = world.call("ListStreams", Limit=2)
    assert [s["TableName"] for s in first["Streams"]] == ["aaa", "bbb"]
    assert first["LastEvaluatedStreamArn"] == first["Streams"][-1]["StreamArn"]
    rest = world.call("ListStreams", Limit=2, ExclusiveStartStreamArn=first["LastEvaluatedStreamArn"])
    assert [s["TableName"] for s in rest["Streams"]] == ["ccc"]
    assert "LastEvaluatedStreamArn" not in rest


def test_listing_goes_on_after_a_stream_that_is_gone(world: World) -> None:
    for name in ("aaa", "bbb"):
        world.create("a", name=name, **stream())
    gone = arn(world, "aaa")
    world.call("DeleteTable", TableName="aaa")
    world.now += 24 * HOUR
    world.engine.maintain()
    assert [s["TableName"] for s in world.call("ListStreams", ExclusiveStartStreamArn=gone)["Streams"]] == ["bbb"]


@pytest.mark.parametrize(
    ("operation", "request_", "code", "message"),
    [
        ("ListStreams", {"TableName": "nothing"}, "ResourceNotFoundException", "Requested resource not found: Table: nothing not found"),
        (
            "ListStreams",
            {"Limit": 101},
            "ValidationException",
            "One or more parameter values were invalid: Limit should be less than or equal to 100",
        ),
        ("ListStreams", {"ExclusiveStartStreamArn": "x" * 40}, "ValidationException", "Invalid StreamArn"),
        ("DescribeStream", {"StreamArn": "x" * 40}, "ValidationException", "Invalid StreamArn"),
        ("GetRecords", {"ShardIterator": "x" * 40}, "ValidationException", "Invalid ShardIterator"),
    ],
)
def test_requests_that_lead_nowhere_are_refused(world: World, operation: str, request_: dict[str, Any], code: str, message: str) -> None:
    error = world.refusal(operation, **request_)
    assert (error.code, error.message) == (code, message)


def test_a_stream_that_never_was_is_not_found(music: World) -> None:
    wrong = arn(music).replace("Music", "Musik")
    error = music.refusal("DescribeStream", StreamArn=wrong)
    assert (error.code, error.message) == ("ResourceNotFoundException", f"Requested resource not found: Stream: {wrong} not found")


def test_a_description_has_an_open_shard(music: World) -> None:
    found = description(music, arn(music))
    assert found["StreamStatus"] == "ENABLED"
    assert found["KeySchema"] == [{"AttributeName": "a", "KeyType": "HASH"}]
    assert found["CreationRequestDateTime"] == START
    (shard,) = found["Shards"]
    assert "EndingSequenceNumber" not in shard["SequenceNumberRange"]
    assert 28 <= len(shard["ShardId"]) <= 65


def test_shards_follow_one_another(music: World) -> None:
    for value in "abc":
        music.put(text(a="x", b=value))
        music.now += 5 * HOUR
    shards = description(music, arn(music))["Shards"]
    assert [s.get("ParentShardId") for s in shards] == [None, *(s["ShardId"] for s in shards[:-1])]
    assert [s["ShardId"] for s in shards] == sorted(s["ShardId"] for s in shards)
    assert ["EndingSequenceNumber" in s["SequenceNumberRange"] for s in shards] == [True, True, True, False]
    assert [new["b"]["S"] for _, _, new in events(music, arn(music))] == ["a", "b", "c"]


def test_the_children_of_a_shard_are_found(music: World) -> None:
    music.now += 9 * HOUR
    first, second, _ = description(music, arn(music))["Shards"]
    wanted = {"Type": "CHILD_SHARDS", "ShardId": first["ShardId"]}
    assert description(music, arn(music), ShardFilter=wanted)["Shards"] == [second]


def test_shards_are_described_a_page_at_a_time(music: World) -> None:
    music.now += 9 * HOUR
    whole = description(music, arn(music))["Shards"]
    first = description(music, arn(music), Limit=2)
    assert first["Shards"] == whole[:2]
    assert first["LastEvaluatedShardId"] == whole[1]["ShardId"]
    rest = description(music, arn(music), Limit=2, ExclusiveStartShardId=first["LastEvaluatedShardId"])
    assert rest["Shards"] == whole[2:]
    assert "LastEvaluatedShardId" not in rest
    assert description(music, arn(music), ExclusiveStartShardId="z" * 40)["Shards"] == []


def test_a_closed_shard_ends(music: World) -> None:
    music.put(text(a="x"))
    place = iterator(music, arn(music))
    music.now += 5 * HOUR
    place = iterator(music, arn(music), shard=0)
    answer = music.call("GetRecords", ShardIterator=place)
    assert len(answer["Records"]) == 1
    assert "NextShardIterator" not in answer


def test_the_latest_place_shows_only_what_comes(music: World) -> None:
    music.put(text(a="x"))
    place = iterator(music, arn(music), "LATEST")
    assert music.call("GetRecords", ShardIterator=place)["Records"] == []
    music.put(text(a="y"))
    answer = music.call("GetRecords", ShardIterator=place)
    assert [r["dynamodb"]["Keys"] for r in answer["Records"]] == [text(a="y")]
    assert music.call("GetRecords", ShardIterator=answer["NextShardIterator"])["Records"] == []


@pytest.mark.parametrize(("kind", "seen"), [("AT_SEQUENCE_NUMBER", "yz"), ("AFTER_SEQUENCE_NUMBER", "z")])
def test_a_place_can_be_named_by_a_sequence_number(music: World, kind: str, seen: str) -> None:
    for key in "xyz":
        music.put(text(a=key))
    number = records(music, arn(music))[1]["dynamodb"]["SequenceNumber"]
    place = iterator(music, arn(music), kind, SequenceNumber=number)
    assert "".join(r["dynamodb"]["Keys"]["a"]["S"] for r in music.call("GetRecords", ShardIterator=place)["Records"]) == seen


def test_a_shards_first_number_is_a_place(music: World) -> None:
    music.create("a", name="other", **stream())
    music.put(text(a="x"), "other")
    first = description(music, arn(music))["Shards"][0]["SequenceNumberRange"]["StartingSequenceNumber"]
    music.put(text(a="x"))
    place = iterator(music, arn(music), "AT_SEQUENCE_NUMBER", SequenceNumber=first)
    assert len(music.call("GetRecords", ShardIterator=place)["Records"]) == 1


def test_a_place_can_be_named_by_a_time(music: World) -> None:
    for key in "xyz":
        music.put(text(a=key))
        music.now += 10
    place = iterator(music, arn(music), "AT_TIMESTAMP", Timestamp=START + 10)
    assert len(music.call("GetRecords", ShardIterator=place)["Records"]) == 2


@pytest.mark.parametrize(
    ("kind", "number"), [("AT_SEQUENCE_NUMBER", None), ("AFTER_SEQUENCE_NUMBER", None), ("TRIM_HORIZON", "1" * 21), ("LATEST", "1" * 21)]
)
def test_a_sequence_number_goes_with_some_places_only(music: World, kind: str, number: str | None) -> None:
    shard = description(music, arn(music))["Shards"][0]["ShardId"]
    more = {"SequenceNumber": number} if number else {}
    error = music.refusal("GetShardIterator", StreamArn=arn(music), ShardId=shard, ShardIteratorType=kind, **more)
    assert error.code == "ValidationException"


@pytest.mark.parametrize("number", ["9" * 40, "x" * 30, "1" * 21])
def test_a_sequence_number_of_nothing_is_refused(music: World, number: str) -> None:
    shard = description(music, arn(music))["Shards"][0]["ShardId"]
    error = music.refusal(
        "GetShardIterator", StreamArn=arn(music), ShardId=shard, ShardIteratorType="AT_SEQUENCE_NUMBER", SequenceNumber=number
    )
    assert error.code == "ValidationException"


def test_a_shard_that_never_was_is_not_found(music: World) -> None:
    error = music.refusal("GetShardIterator", StreamArn=arn(music), ShardId="s" * 40, ShardIteratorType="LATEST")
    assert (error.code, error.message) == ("ResourceNotFoundException", "Requested resource not found: Shard does not exist")


def test_records_come_a_page_at_a_time(music: World) -> None:
    for number in range(5):
        music.put(text(a=str(number)))
    place = iterator(music, arn(music))
    counts = []
    for _ in range(3):
        answer = music.call("GetRecords", ShardIterator=place, Limit=2)
        counts.append(len(answer["Records"]))
        place = answer["NextShardIterator"]
    assert counts == [2, 2, 1]


def test_a_page_ends_at_a_megabyte(music: World) -> None:
    for number in range(4):
        music.put(text(a=str(number), b="x" * 390_000))
    answer = music.call("GetRecords", ShardIterator=iterator(music, arn(music)))
    assert len(answer["Records"]) == 3
    assert len(music.call("GetRecords", ShardIterator=answer["NextShardIterator"])["Records"]) == 1


def test_a_page_of_more_than_a_thousand_is_refused(music: World) -> None:
    error = music.refusal("GetRecords", ShardIterator=iterator(music, arn(music)), Limit=1001)
    assert error.message == "One or more parameter values were invalid: Limit should be less than or equal to 1000"


def test_an_iterator_lives_for_fifteen_minutes(music: World) -> None:
    place = iterator(music, arn(music))
    music.now += 900
    music.call("GetRecords", ShardIterator=place)
    music.now += 1
    assert music.refusal("GetRecords", ShardIterator=place).code == "ExpiredIteratorException"


@pytest.mark.parametrize("recovery", [False, True])
def test_records_are_gone_after_a_day(music: World, recovery: bool) -> None:
    if recovery:
        music.recoverable()
    music.put(text(a="x"))
    music.now += 12 * HOUR
    music.put(text(a="y"))
    music.now += 12 * HOUR + 1
    assert [r["dynamodb"]["Keys"] for r in records(music, arn(music))] == [text(a="y")]
    music.engine.maintain()
    assert [r["dynamodb"]["Keys"] for r in records(music, arn(music))] == [text(a="y")]
    kept = music.engine.database.row("SELECT count(*) FROM changes")
    assert kept == (2 if recovery else 1,)


@pytest.mark.parametrize("trimmed", [False, True])
def test_a_place_before_records_that_are_gone_is_refused(music: World, trimmed: bool) -> None:
    music.put(text(a="x"))
    music.now += 3 * HOUR
    music.put(text(a="y"))
    first = records(music, arn(music))[0]["dynamodb"]["SequenceNumber"]
    music.now += 22 * HOUR
    if trimmed:
        music.engine.maintain()
    shard = description(music, arn(music))["Shards"][0]["ShardId"]
    error = music.refusal(
        "GetShardIterator", StreamArn=arn(music), ShardId=shard, ShardIteratorType="AT_SEQUENCE_NUMBER", SequenceNumber=first
    )
    assert (error.code, error.message) == ("TrimmedDataAccessException", "The data you are trying to access has been trimmed")


def test_an_iterator_before_records_that_go_is_refused(music: World) -> None:
    music.put(text(a="x"))
    first = records(music, arn(music))[0]["dynamodb"]["SequenceNumber"]
    music.now += 3 * HOUR
    music.put(text(a="y"))
    music.now += 21 * HOUR - 60
    place = iterator(music, arn(music), "AT_SEQUENCE_NUMBER", shard=0, SequenceNumber=first)
    music.now += 120
    assert music.refusal("GetRecords", ShardIterator=place).code == "TrimmedDataAccessException"


def disable(world: World) -> None:
    world.call("UpdateTable", TableName="Music", StreamSpecification={"StreamEnabled": False})


def test_a_disabled_stream_can_be_read_for_a_day(music: World) -> None:
    old = arn(music)
    music.put(text(a="x"))
    disable(music)
    music.put(text(a="y"))
    found = description(music, old)
    assert found["StreamStatus"] == "DISABLED"
    assert all("EndingSequenceNumber" in s["SequenceNumberRange"] for s in found["Shards"])
    assert [r["dynamodb"]["Keys"] for r in records(music, old)] == [text(a="x")]
    music.now += 24 * HOUR
    assert music.refusal("DescribeStream", StreamArn=old).code == "ResourceNotFoundException"


def test_a_stream_does_not_show_what_was_logged_for_recovery(music: World) -> None:
    music.recoverable()
    old = arn(music)
    music.put(text(a="1"))
    disable(music)
    music.put(text(a="2"))
    music.now += 1
    music.call("UpdateTable", TableName="Music", **stream("KEYS_ONLY"))
    music.put(text(a="3"))
    assert [r["dynamodb"]["Keys"] for r in records(music, old)] == [text(a="1")]
    assert [r["dynamodb"]["Keys"] for r in records(music, arn(music))] == [text(a="3")]
    assert len(music.call("ListStreams", TableName="Music")["Streams"]) == 2


def test_the_stream_of_a_deleted_table_can_be_read(music: World) -> None:
    old = arn(music)
    music.put(text(a="x"))
    music.call("DeleteTable", TableName="Music")
    assert len(records(music, old)) == 1
    assert music.call("ListStreams", TableName="Music")["Streams"][0]["StreamArn"] == old
    music.create("a", **stream("KEYS_ONLY"))
    assert music.call("ListStreams", TableName="Music")["Streams"] != []


def test_other_changes_of_a_table_leave_its_stream_alone(music: World) -> None:
    before = description(music, arn(music))
    music.now += 5
    music.call("TagResource", ResourceArn=music.arn(), Tags=[{"Key": "k", "Value": "v"}])
    assert description(music, arn(music)) == before


def test_transactions_and_batches_are_recorded(music: World) -> None:
    music.call("BatchWriteItem", RequestItems={"Music": [{"PutRequest": {"Item": text(a=key)}} for key in "xy"]})
    music.call("TransactWriteItems", TransactItems=[{"Delete": {"TableName": "Music", "Key": text(a="x")}}])
    assert [name for name, _, _ in events(music, arn(music))] == ["INSERT", "INSERT", "REMOVE"]
