"""What must hold of every history of a table: its log, its past and its exports agree with it."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.operations.requests import index, table
from tests.engine.operations.test_streams import arn, records
from tests.engine.world import START, World, stream

Item = dict[str, Any]
Step = tuple[str, str, Item, int]

KEYS = st.sampled_from(["a", "b", "c", "d"])
VALUES = st.dictionaries(
    st.sampled_from(["v", "w", "t"]),
    st.one_of(
        st.builds(lambda text: {"S": text}, st.text(min_size=1, max_size=5)),
        st.builds(lambda number: {"N": str(number)}, st.integers(-5, 5)),
        st.builds(lambda flags: {"L": [{"BOOL": flag} for flag in flags]}, st.lists(st.booleans(), max_size=3)),
    ),
    max_size=3,
).filter(lambda values: "v" not in values or "S" in values["v"])
STEPS = st.lists(st.tuples(st.sampled_from(["put", "delete", "both"]), KEYS, VALUES, st.integers(0, 3)), max_size=20)

_quickly = settings(deadline=None, max_examples=60)


def take(world: World, step: Step) -> None:
    """One step: a put, a delete, or both of them in a transaction on two items; then time passes."""
    action, key, values, seconds = step
    item = {"k": {"S": key}, **values}
    if action == "put":
        world.put(item)
    elif action == "delete":
        world.delete({"k": {"S": key}})
    else:
        other = {"k": {"S": key.upper()}, **values}
        deletion = {"Delete": {"TableName": "Music", "Key": {"k": {"S": key}}}}
        world.call("TransactWriteItems", TransactItems=[{"Put": {"TableName": "Music", "Item": other}}, deletion])
    world.now += seconds


def with_world(test: Callable[[World], None]) -> None:
    with TemporaryDirectory() as folder:
        (Path(folder) / "bucket").mkdir()
        world = World(exports=Path(folder))
        world.create("k", defined=["k", "v"], GlobalSecondaryIndexes=[index("by-v", "v")], **stream())
        world.recoverable()
        try:
            test(world)
        finally:
            world.engine.close()


@_quickly
@given(STEPS)
def test_replaying_the_stream_gives_the_table(steps: list[Step]) -> None:
    def test(world: World) -> None:
        for step in steps:
            take(world, step)
        replayed: dict[str, Item] = {}
        for record in records(world, arn(world)):
            change = record["dynamodb"]
            key = change["Keys"]["k"]["S"]
            assert change.get("OldImage") == replayed.get(key)
            if "NewImage" in change:
                replayed[key] = change["NewImage"]
            else:
                del replayed[key]
        assert sorted(replayed.values(), key=repr) == world.items()

    with_world(test)


@_quickly
@given(STEPS, STEPS, st.booleans())
def test_a_table_restored_to_a_moment_is_the_table_of_that_moment(before: list[Step], after: list[Step], expiring: bool) -> None:
    def test(world: World) -> None:
        for step in before:
            take(world, step)
        then, at = world.items(), world.now
        world.now += 1
        if expiring:
            world.put({"k": {"S": "a"}, "t": {"N": str(int(START))}})
            world.expire_by("t")
            world.engine.maintain()
        for step in after:
            take(world, step)
        world.call("RestoreTableToPointInTime", SourceTableName="Music", TargetTableName="Restored", RestoreDateTime=at)
        assert world.items("Restored") == then
        assert world.items("Restored", IndexName="by-v") == [item for item in then if "v" in item]

    with_world(test)


@_quickly
@given(STEPS, STEPS)
def test_what_is_exported_and_imported_is_the_table_of_the_moment(before: list[Step], after: list[Step]) -> None:
    def test(world: World) -> None:
        for step in before:
            take(world, step)
        then, at = world.items(), world.now
        world.now += 1
        for step in after:
            take(world, step)
        export = world.call("ExportTableToPointInTime", TableArn=world.arn(), S3Bucket="bucket", ExportTime=at)["ExportDescription"]
        source = {"S3Bucket": "bucket", "S3KeyPrefix": f"AWSDynamoDB/{export['ExportArn'].rpartition('/')[2]}/data/"}
        world.engine.maintain()
        world.call(
            "ImportTable",
            S3BucketSource=source,
            InputFormat="DYNAMODB_JSON",
            InputCompressionType="GZIP",
            TableCreationParameters=table("k", name="Imported", defined=["k", "v"], GlobalSecondaryIndexes=[index("by-v", "v")]),
        )
        world.engine.maintain()
        assert world.items("Imported") == then
        assert world.items("Imported", IndexName="by-v") == [item for item in then if "v" in item]

    with_world(test)


@_quickly
@given(STEPS, STEPS)
def test_a_backup_is_the_table_of_its_moment(before: list[Step], after: list[Step]) -> None:
    def test(world: World) -> None:
        for step in before:
            take(world, step)
        then = world.items()
        backup = world.call("CreateBackup", TableName="Music", BackupName="backup")["BackupDetails"]["BackupArn"]
        for step in after:
            take(world, step)
        world.call("RestoreTableFromBackup", BackupArn=backup, TargetTableName="Restored")
        assert world.items("Restored") == then

    with_world(test)
