from typing import Any

import pytest

from gateleg.engine import long_work
from tests.engine.operations.requests import UNITS, index
from tests.engine.world import START, World, stream, text

DAY = 86400


@pytest.fixture
def music(world: World) -> World:
    world.create("a", defined=["a", "b"], GlobalSecondaryIndexes=[index("by-b", "b")])
    for key in "xyz":
        world.put(text(a=key, b=f"b-{key}"))
    return world


def backup(world: World, name: str = "first") -> str:
    arn: str = world.call("CreateBackup", TableName="Music", BackupName=name)["BackupDetails"]["BackupArn"]
    return arn


def restore(world: World, arn: str, name: str = "Restored", **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = world.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName=name, **more)["TableDescription"]
    return answer


def names(world: World, **request: Any) -> list[str]:
    return [summary["BackupName"] for summary in world.call("ListBackups", **request)["BackupSummaries"]]


def test_a_backup_is_answered_as_being_created(music: World) -> None:
    details = music.call("CreateBackup", TableName="Music", BackupName="first")["BackupDetails"]
    assert details.pop("BackupArn").startswith(f"{music.arn()}/backup/{int(START * 1000):014d}-")
    assert details == {
        "BackupName": "first",
        "BackupSizeBytes": 18,
        "BackupStatus": "CREATING",
        "BackupType": "USER",
        "BackupCreationDateTime": START,
    }


def test_a_backup_describes_its_table(music: World) -> None:
    described = music.call("DescribeBackup", BackupArn=backup(music))["BackupDescription"]
    table = music.call("DescribeTable", TableName="Music")["Table"]
    assert described["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    assert described["SourceTableDetails"] == {
        "TableName": "Music",
        "TableId": table["TableId"],
        "TableArn": table["TableArn"],
        "TableSizeBytes": 18,
        "KeySchema": table["KeySchema"],
        "TableCreationDateTime": START,
        "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
        "ItemCount": 3,
        "BillingMode": "PAY_PER_REQUEST",
    }
    assert described["SourceTableFeatureDetails"] == {
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by-b",
                "KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
                "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
            }
        ]
    }


def test_a_backup_records_stream_and_expiry(world: World) -> None:
    world.create("a", **stream())
    world.expire_by("t")
    features = world.call("DescribeBackup", BackupArn=backup(world))["BackupDescription"]["SourceTableFeatureDetails"]
    assert features == {
        "StreamDescription": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        "TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "t"},
    }


def test_a_restored_table_has_the_items_of_the_backup(music: World) -> None:
    before = music.items()
    arn = backup(music)
    music.delete(text(a="x"))
    music.put(text(a="y", b="changed"))
    restore(music, arn)
    assert music.items("Restored") == before
    assert music.items("Restored", IndexName="by-b") == before


def test_a_restored_table_is_answered_as_being_created(music: World) -> None:
    arn = backup(music)
    music.now += 5
    answer = restore(music, arn)
    assert answer["TableStatus"] == "CREATING"
    assert answer["RestoreSummary"] == {
        "SourceBackupArn": arn,
        "SourceTableArn": music.arn(),
        "RestoreDateTime": START,
        "RestoreInProgress": True,
    }
    described = music.call("DescribeTable", TableName="Restored")["Table"]
    assert described["TableStatus"] == "ACTIVE"
    assert "RestoreSummary" not in described
    assert described["CreationDateTime"] == START + 5


def test_a_restored_table_can_be_written_to_without_touching_the_other(music: World) -> None:
    before = music.items()
    restore(music, backup(music))
    music.put(text(a="w", b="new"), "Restored")
    assert music.items() == before
    assert len(music.items("Restored", IndexName="by-b")) == 4


def test_large_indexes_are_filled_in_the_background(music: World, monkeypatch: pytest.MonkeyPatch) -> None:
    arn = backup(music)
    monkeypatch.setattr(long_work, "SMALL_TABLE_ROWS", 2)
    restore(music, arn)
    assert music.call("DescribeTable", TableName="Restored")["Table"]["TableStatus"] == "CREATING"
    error = music.refusal("RestoreTableFromBackup", BackupArn=arn, TargetTableName="Restored")
    assert (error.code, error.message) == ("TableInUseException", f"Table: Restored is already being restored from backup: {arn}")
    music.engine.maintain()
    assert music.call("DescribeTable", TableName="Restored")["Table"]["TableStatus"] == "ACTIVE"
    assert music.items("Restored", IndexName="by-b") == music.items()


def test_what_a_restore_leaves_behind(world: World) -> None:
    world.create(
        "a", DeletionProtectionEnabled=True, TableClass="STANDARD_INFREQUENT_ACCESS", Tags=[{"Key": "k", "Value": "v"}], **stream()
    )
    world.expire_by("t")
    world.recoverable()
    restore(world, backup(world))
    described = world.call("DescribeTable", TableName="Restored")["Table"]
    assert described["DeletionProtectionEnabled"] is False
    assert not {"StreamSpecification", "LatestStreamArn", "TableClassSummary"} & set(described)
    assert world.call("DescribeTimeToLive", TableName="Restored")["TimeToLiveDescription"] == {"TimeToLiveStatus": "DISABLED"}
    assert world.call("ListTagsOfResource", ResourceArn=world.arn("Restored"))["Tags"] == []
    recovery = world.call("DescribeContinuousBackups", TableName="Restored")["ContinuousBackupsDescription"]
    assert recovery["PointInTimeRecoveryDescription"] == {"PointInTimeRecoveryStatus": "DISABLED"}


def test_an_empty_list_of_indexes_restores_none(music: World) -> None:
    restore(music, backup(music), GlobalSecondaryIndexOverride=[])
    described = music.call("DescribeTable", TableName="Restored")["Table"]
    assert "GlobalSecondaryIndexes" not in described
    assert described["AttributeDefinitions"] == [{"AttributeName": "a", "AttributeType": "S"}]


def test_billing_can_be_overridden(music: World) -> None:
    restore(music, backup(music), BillingModeOverride="PROVISIONED", ProvisionedThroughputOverride=UNITS)
    described = music.call("DescribeTable", TableName="Restored")["Table"]
    assert described["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    assert described["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 5


def test_throughput_of_indexes_can_be_overridden(world: World) -> None:
    spec = index("by-b", "b", ProvisionedThroughput=UNITS)
    world.create("a", defined=["a", "b"], ProvisionedThroughput=UNITS, GlobalSecondaryIndexes=[spec])
    more = {"ReadCapacityUnits": 9, "WriteCapacityUnits": 9}
    restore(world, backup(world), GlobalSecondaryIndexOverride=[index("by-b", "b", ProvisionedThroughput=more)])
    described = world.call("DescribeTable", TableName="Restored")["Table"]
    assert described["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 9
    assert described["ProvisionedThroughput"]["ReadCapacityUnits"] == 5


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"ProvisionedThroughputOverride": UNITS}, "Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED"),
        ({"BillingModeOverride": "PROVISIONED"}, "Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED"),
        (
            {"GlobalSecondaryIndexOverride": [index("ghost", "b")]},
            "Index ghost does not match a secondary index that existed in the source table "
            "and cannot be created during the restore operation",
        ),
    ],
)
def test_overrides_that_do_not_fit_are_refused(music: World, override: dict[str, Any], message: str) -> None:
    error = music.refusal("RestoreTableFromBackup", BackupArn=backup(music), TargetTableName="Restored", **override)
    assert (error.code, error.message) == ("ValidationException", message)
    assert music.refusal("DescribeTable", TableName="Restored").code == "ResourceNotFoundException"


def test_a_restore_does_not_replace_a_table(music: World) -> None:
    error = music.refusal("RestoreTableFromBackup", BackupArn=backup(music), TargetTableName="Music")
    assert (error.code, error.message) == ("TableAlreadyExistsException", "Table already exists: Music")


def test_a_table_that_is_not_there_cannot_be_backed_up(world: World) -> None:
    error = world.refusal("CreateBackup", TableName="Music", BackupName="first")
    assert (error.code, error.message) == ("TableNotFoundException", "Table not found: Music")


def test_a_deleted_backup_is_gone(music: World) -> None:
    arn = backup(music)
    answer = music.call("DeleteBackup", BackupArn=arn)["BackupDescription"]
    assert answer["BackupDetails"]["BackupStatus"] == "DELETED"
    for operation in ("DescribeBackup", "DeleteBackup"):
        error = music.refusal(operation, BackupArn=arn)
        assert (error.code, error.message) == ("BackupNotFoundException", f"Backup not found: {arn}")
    assert music.engine.database.rows("SELECT name FROM sqlite_schema WHERE name GLOB 'backup_[0-9]*'") == []


@pytest.mark.parametrize(
    ("arn", "code", "message"),
    [
        ("arn:aws:dynamodb:us-east-1:123456789012:table/Music", "ValidationException", "Invalid Backup ARN"),
        ("x" * 48, "ValidationException", "Invalid Backup ARN"),
        ("arn:aws:s3:us-east-1:123456789012:table/Music/backup/01-ab", "ValidationException", "BackupArn is not valid"),
        ("arn:aws:dynamodb:us-east-1:999999999999:table/Music/backup/01-ab", "AccessDeniedException", "Access is denied"),
    ],
)
def test_what_is_no_backup_of_ours_is_refused(world: World, arn: str, code: str, message: str) -> None:
    error = world.refusal("DescribeBackup", BackupArn=arn)
    assert (error.code, error.message) == (code, message)


def test_backups_outlive_their_table(music: World) -> None:
    before = music.items()
    arn = backup(music)
    music.call("DeleteTable", TableName="Music")
    assert names(music, TableName="Music") == ["first"]
    restore(music, arn, "Music")
    assert music.items() == before


def test_backups_are_listed_in_the_order_in_which_they_were_taken(music: World) -> None:
    for name in ("one", "two", "three"):
        backup(music, name)
        music.now += 1
    first = music.call("ListBackups", Limit=2)
    assert [s["BackupName"] for s in first["BackupSummaries"]] == ["one", "two"]
    assert first["LastEvaluatedBackupArn"] == first["BackupSummaries"][-1]["BackupArn"]
    assert names(music, ExclusiveStartBackupArn=first["LastEvaluatedBackupArn"]) == ["three"]
    assert "LastEvaluatedBackupArn" not in music.call("ListBackups", Limit=3)


def test_backups_can_be_chosen_by_time(music: World) -> None:
    for name in ("one", "two", "three"):
        backup(music, name)
        music.now += 1
    assert names(music, TimeRangeLowerBound=START + 1) == ["two", "three"]
    assert names(music, TimeRangeUpperBound=START + 1) == ["one"]
    error = music.refusal("ListBackups", TimeRangeLowerBound=2, TimeRangeUpperBound=1)
    assert error.message == "Time range lower bound must be less than or equal to upper bound"


def test_backups_can_be_chosen_by_table(music: World) -> None:
    backup(music)
    assert names(music, TableName="Other") == []
    assert names(music, TableName=music.arn()) == ["first"]


def test_a_deleted_table_with_recovery_leaves_a_backup(music: World) -> None:
    before = music.items()
    music.recoverable()
    music.call("DeleteTable", TableName="Music")
    assert names(music) == []
    (summary,) = music.call("ListBackups", BackupType="SYSTEM")["BackupSummaries"]
    assert summary["BackupName"] == "Music$DeletedTableBackup"
    assert summary["BackupArn"].endswith("-00000000")
    assert summary["BackupExpiryDateTime"] == START + 35 * DAY
    restore(music, summary["BackupArn"], "Music")
    assert music.items() == before
    assert music.items(IndexName="by-b") == before


def test_a_deleted_table_without_recovery_leaves_none(music: World) -> None:
    music.call("DeleteTable", TableName="Music")
    assert names(music, BackupType="ALL") == []


def test_a_deleted_tables_backup_goes_by_itself_only(music: World) -> None:
    music.recoverable()
    music.call("DeleteTable", TableName="Music")
    arn = music.call("ListBackups", BackupType="ALL")["BackupSummaries"][0]["BackupArn"]
    message = music.refusal("DeleteBackup", BackupArn=arn).message
    assert message == (
        f"User is not allowed to delete the system backup with arn {arn}. It will automatically expire on 2023-12-19T22:13:20.000Z"
    )
    music.now += 35 * DAY
    assert music.refusal("DescribeBackup", BackupArn=arn).code == "BackupNotFoundException"
    music.engine.maintain()
    assert music.engine.database.rows("SELECT name FROM sqlite_schema WHERE name GLOB 'backup_[0-9]*'") == []


def test_a_table_deleted_twice_in_a_moment_leaves_two_backups(world: World) -> None:
    for _ in range(2):
        world.create("a")
        world.expire_by("t")
        world.recoverable()
        world.call("DeleteTable", TableName="Music")
    assert len(names(world, BackupType="ALL")) == 2
