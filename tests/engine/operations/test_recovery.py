from typing import Any

import pytest

from tests.engine.operations.requests import index
from tests.engine.world import START, World, stream, text

DAY = 86400


@pytest.fixture
def music(world: World) -> World:
    world.create("a", defined=["a", "b"], GlobalSecondaryIndexes=[index("by-b", "b")])
    world.put(text(a="x", b="before"))
    world.now += 100
    world.recoverable()
    return world


def state(world: World) -> dict[str, Any]:
    found: dict[str, Any] = world.call("DescribeContinuousBackups", TableName="Music")["ContinuousBackupsDescription"]
    return found


def restore(world: World, **request: Any) -> dict[str, Any]:
    request = {"SourceTableName": "Music", "TargetTableName": "Restored", **request}
    answer: dict[str, Any] = world.call("RestoreTableToPointInTime", **request)["TableDescription"]
    return answer


def rows(world: World, name: str) -> list[tuple[Any, ...]]:
    """Keys and sizes of a table's rows."""
    return world.engine.database.rows(f"SELECT k, size FROM {world.engine.catalog.layout(world.engine.namespace, name).name} ORDER BY k")


def test_a_new_table_cannot_be_recovered(world: World) -> None:
    world.create("a")
    assert state(world) == {
        "ContinuousBackupsStatus": "ENABLED",
        "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
    }


def test_recovery_reaches_from_its_beginning_to_now(music: World) -> None:
    music.now += 50
    assert state(music) == {
        "ContinuousBackupsStatus": "ENABLED",
        "PointInTimeRecoveryDescription": {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": 35,
            "EarliestRestorableDateTime": int(START) + 100,
            "LatestRestorableDateTime": int(START) + 150,
        },
    }


def test_recovery_reaches_back_as_many_days_as_it_is_told(music: World) -> None:
    music.recoverable(RecoveryPeriodInDays=7)
    music.now += 100 * DAY
    assert state(music)["PointInTimeRecoveryDescription"]["EarliestRestorableDateTime"] == int(music.now) - 7 * DAY
    music.recoverable(False)
    assert state(music) == {
        "ContinuousBackupsStatus": "ENABLED",
        "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
    }
    answer = music.recoverable()["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert (answer["RecoveryPeriodInDays"], answer["EarliestRestorableDateTime"]) == (35, int(music.now))


def test_a_longer_period_does_not_bring_back_what_is_forgotten(music: World) -> None:
    music.recoverable(RecoveryPeriodInDays=2)
    music.now += 10 * DAY
    music.engine.maintain()
    music.recoverable(RecoveryPeriodInDays=35)
    assert state(music)["PointInTimeRecoveryDescription"]["EarliestRestorableDateTime"] == int(music.now) - 2 * DAY


def test_days_are_not_given_to_switch_recovery_off(music: World) -> None:
    error = music.refusal(
        "UpdateContinuousBackups",
        TableName="Music",
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False, "RecoveryPeriodInDays": 7},
    )
    assert error.message == "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery."


@pytest.mark.parametrize("days", [0, 36])
def test_recovery_reaches_back_for_a_day_to_thirty_five(music: World, days: int) -> None:
    error = music.refusal(
        "UpdateContinuousBackups",
        TableName="Music",
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": days},
    )
    assert error.code == "ValidationException"


@pytest.mark.parametrize("operation", ["DescribeContinuousBackups", "UpdateContinuousBackups"])
def test_a_table_that_is_not_there_has_no_recovery(world: World, operation: str) -> None:
    more = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}} if operation.startswith("Update") else {}
    error = world.refusal(operation, TableName="Music", **more)
    assert (error.code, error.message) == ("TableNotFoundException", "Table not found: Music")


def test_a_table_is_restored_as_it_was_at_a_moment(music: World) -> None:
    music.now += 10
    music.put(text(a="y", b="then"))
    music.now += 10
    then, at = music.items(), music.now
    sizes = rows(music, "Music")
    music.now += 10
    music.put(text(a="x", b="changed"))
    music.delete(text(a="y"))
    music.put(text(a="z", b="new"))
    answer = restore(music, RestoreDateTime=at)
    assert answer["TableStatus"] == "CREATING"
    assert answer["RestoreSummary"] == {"SourceTableArn": music.arn(), "RestoreDateTime": at, "RestoreInProgress": True}
    assert music.items("Restored") == then
    assert music.items("Restored", IndexName="by-b") == then
    assert rows(music, "Restored") == sizes


def test_a_change_in_the_moment_itself_is_part_of_it(music: World) -> None:
    music.now += 10
    music.put(text(a="y", b="now"))
    restore(music, RestoreDateTime=music.now)
    assert music.items("Restored") == music.items()


def test_a_table_is_restored_to_the_latest_moment(music: World) -> None:
    music.put(text(a="y", b="latest"))
    restore(music, UseLatestRestorableTime=True)
    assert music.items("Restored") == music.items()


def test_the_source_can_be_named_by_its_arn(music: World) -> None:
    music.call("RestoreTableToPointInTime", SourceTableArn=music.arn(), TargetTableName="Restored", UseLatestRestorableTime=True)
    assert music.items("Restored") == music.items()


@pytest.mark.parametrize("seconds", [-1, 1000])
def test_a_moment_outside_of_the_window_is_refused(music: World, seconds: float) -> None:
    music.now += 50
    at = START + 100 + seconds
    error = music.refusal("RestoreTableToPointInTime", SourceTableName="Music", TargetTableName="Restored", RestoreDateTime=at)
    shown = {-1: "2023-11-14T22:14:59Z", 1000: "2023-11-14T22:31:40Z"}[int(seconds)]
    assert (error.code, error.message) == (
        "InvalidRestoreTimeException",
        f"RestoreDateTime '{shown}' must be within EarliestRestorableDateTime '2023-11-14T22:15:00Z' "
        "and LatestRestorableDateTime '2023-11-14T22:15:50Z'",
    )


def test_a_table_without_recovery_is_not_restored(music: World) -> None:
    music.recoverable(False)
    error = music.refusal("RestoreTableToPointInTime", SourceTableName="Music", TargetTableName="Music", UseLatestRestorableTime=True)
    assert (error.code, error.message) == (
        "PointInTimeRecoveryUnavailableException",
        "Point in time recovery is not enabled for table 'Music'",
    )


@pytest.mark.parametrize(
    ("request_", "code", "message"),
    [
        (
            {"SourceTableName": "Music"},
            "ValidationException",
            "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both",
        ),
        (
            {"SourceTableName": "Music", "UseLatestRestorableTime": False},
            "ValidationException",
            "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both",
        ),
        (
            {"SourceTableName": "Music", "SourceTableArn": "arn", "UseLatestRestorableTime": True},
            "ValidationException",
            "Must provide exactly one of: sourceTableArn, sourceTableName",
        ),
        (
            {"UseLatestRestorableTime": True},
            "ValidationException",
            "The parameter 'TableName' is required but was not present in the request",
        ),
        (
            {"SourceTableArn": "Music", "UseLatestRestorableTime": True},
            "ValidationException",
            "One or more parameter values were invalid: sourceTableArn is not a valid ARN",
        ),
        (
            {"SourceTableArn": "arn:aws:dynamodb:us-east-1:999999999999:table/Music", "UseLatestRestorableTime": True},
            "ValidationException",
            "This action is only supported by accounts that match the resource owner's account",
        ),
        ({"SourceTableName": "ghost", "UseLatestRestorableTime": True}, "TableNotFoundException", "Table not found: ghost"),
        (
            {"SourceTableName": "Music", "UseLatestRestorableTime": True, "TargetTableName": "Music"},
            "TableAlreadyExistsException",
            "Table already exists: Music",
        ),
    ],
)
def test_restores_that_cannot_be_are_refused(music: World, request_: dict[str, Any], code: str, message: str) -> None:
    error = music.refusal("RestoreTableToPointInTime", **{"TargetTableName": "Restored", **request_})
    assert (error.code, error.message) == (code, message)


def test_two_times_are_one_too_many(music: World) -> None:
    error = music.refusal(
        "RestoreTableToPointInTime", SourceTableName="Music", TargetTableName="Restored", RestoreDateTime=1, UseLatestRestorableTime=True
    )
    assert (error.message or "").startswith("Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot be set")


def test_a_stream_and_recovery_share_the_log(world: World) -> None:
    world.create("a", **stream("KEYS_ONLY"))
    world.put(text(a="x", b="1"))
    world.recoverable()
    at = world.now
    world.now += 2 * DAY
    world.put(text(a="x", b="2"))
    world.engine.maintain()
    restore(world, RestoreDateTime=at)
    assert world.items("Restored") == [text(a="x", b="1")]
