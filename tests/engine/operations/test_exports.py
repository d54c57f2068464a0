import gzip
import json
from base64 import b64encode
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest

from gateleg.engine import transfers
from gateleg.engine.transfers import run_transfers
from tests.engine.world import START, World, text

HOUR = 3600


@pytest.fixture
def music(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "data.db")
    world.create("a")
    world.recoverable()
    for key in "xyz":
        world.put(text(a=key, b="1"))
    bucket(world).mkdir(parents=True)
    yield world
    world.engine.close()


def begin(world: World, **request: Any) -> str:
    request = {"TableArn": world.arn(), "S3Bucket": "bucket", **request}
    arn: str = world.call("ExportTableToPointInTime", **request)["ExportDescription"]["ExportArn"]
    return arn


def export(world: World, **request: Any) -> dict[str, Any]:
    """Export and wait: the description afterwards."""
    arn = begin(world, **request)
    world.engine.maintain()
    found: dict[str, Any] = world.call("DescribeExport", ExportArn=arn)["ExportDescription"]
    return found


def bucket(world: World) -> Path:
    return Path(world.engine.path).parent / "exports" / "bucket"


def files(world: World, description: dict[str, Any]) -> list[dict[str, Any]]:
    """The data files of an export, from its manifests."""
    summary = json.loads((bucket(world) / description["ExportManifest"]).read_bytes())
    return [json.loads(line) for line in (bucket(world) / summary["manifestFilesS3Key"]).read_bytes().splitlines()]


def lines(world: World, description: dict[str, Any]) -> list[Any]:
    """The lines of an export, found by its manifests."""
    found = []
    for file in files(world, description):
        content = (bucket(world) / file["dataFileS3Key"]).read_bytes()
        assert b64encode(md5(content).digest()).decode() == file["md5Checksum"]
        read = [json.loads(line) for line in gzip.decompress(content).splitlines()]
        assert len(read) == file["itemCount"]
        found += read
    return sorted(found, key=repr)


def test_an_export_begins_as_in_progress(music: World) -> None:
    answer = music.call("ExportTableToPointInTime", TableArn=music.arn(), S3Bucket="bucket", ClientToken="token")["ExportDescription"]
    table = music.call("DescribeTable", TableName="Music")["Table"]
    assert answer == {
        "ExportArn": answer["ExportArn"],
        "ExportStatus": "IN_PROGRESS",
        "StartTime": START,
        "ExportTime": START,
        "TableArn": music.arn(),
        "TableId": table["TableId"],
        "ClientToken": "token",
        "S3Bucket": "bucket",
        "S3SseAlgorithm": "AES256",
        "ExportFormat": "DYNAMODB_JSON",
    }
    assert music.call("DescribeExport", ExportArn=answer["ExportArn"])["ExportDescription"] == answer


def test_an_export_writes_every_item(music: World) -> None:
    done = export(music)
    assert (done["ExportStatus"], done["ItemCount"], done["EndTime"]) == ("COMPLETED", 3, START)
    assert lines(music, done) == [{"Item": item} for item in music.items()]


def test_the_summary_says_what_was_exported(music: World) -> None:
    music.now += 60
    done = export(music, S3Prefix="some/where/", ExportTime=START + 30)
    number = done["ExportArn"].rpartition("/")[2]
    assert done["ExportManifest"] == f"some/where/AWSDynamoDB/{number}/manifest-summary.json"
    folder = bucket(music) / "some/where/AWSDynamoDB" / number
    summary = json.loads((folder / "manifest-summary.json").read_bytes())
    assert summary == {
        "version": "2020-06-30",
        "exportArn": done["ExportArn"],
        "startTime": "2023-11-14T22:14:20.000Z",
        "endTime": "2023-11-14T22:14:20.000Z",
        "tableArn": music.arn(),
        "tableId": done["TableId"],
        "exportTime": "2023-11-14T22:13:50.000Z",
        "s3Bucket": "bucket",
        "s3Prefix": "some/where/",
        "s3SseAlgorithm": "AES256",
        "s3SseKmsKeyId": None,
        "manifestFilesS3Key": f"some/where/AWSDynamoDB/{number}/manifest-files.json",
        "billedSizeBytes": 12,
        "itemCount": 3,
        "outputFormat": "DYNAMODB_JSON",
        "exportType": "FULL_EXPORT",
    }
    for stem in ("manifest-summary", "manifest-files"):
        assert (folder / f"{stem}.md5").read_bytes() == b64encode(md5((folder / f"{stem}.json").read_bytes()).digest())
    assert (folder / "_started").read_bytes() == b""


def test_an_export_goes_back_to_its_moment(music: World) -> None:
    then = music.items()
    music.now += 10
    music.put(text(a="x", b="2"))
    music.put(text(a="w", b="2"))
    music.delete(text(a="z"))
    assert lines(music, export(music, ExportTime=START)) == [{"Item": item} for item in then]


def test_an_empty_table_is_exported_as_an_empty_file(tmp_path: Path) -> None:
    world = World(tmp_path / "data.db")
    world.create("a")
    world.recoverable()
    bucket(world).mkdir(parents=True)
    done = export(world)
    assert (done["ExportStatus"], done["ItemCount"]) == ("COMPLETED", 0)
    assert len(files(world, done)) == 1
    assert lines(world, done) == []
    world.engine.close()


def test_a_large_table_is_exported_to_several_files(music: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.export_format.FILE_BYTES", 50)
    done = export(music)
    assert len(files(music, done)) == 2
    assert lines(music, done) == [{"Item": item} for item in music.items()]


def test_a_filter_and_a_projection_choose_what_is_exported(music: World) -> None:
    wanted = {
        "FilterExpression": "a <> :x",
        "ProjectionExpression": "a",
        "ExpressionAttributeValues": {":x": {"S": "x"}},
    }
    done = export(music, FilterSpecification=wanted)
    assert lines(music, done) == [{"Item": text(a="y")}, {"Item": text(a="z")}]


def test_changes_are_exported_once_for_each_item(music: World) -> None:
    music.now += 10
    music.put(text(a="x", b="2"))
    music.put(text(a="x", b="3"))
    music.delete(text(a="y"))
    music.put(text(a="new", b="1"))
    music.put(text(a="brief", b="1"))
    music.delete(text(a="brief"))
    music.now += HOUR
    music.put(text(a="z", b="later"))
    period = {"ExportFromTime": START + 1, "ExportToTime": START + HOUR}
    done = export(music, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=period)
    written = {"WriteTimestampMicros": {"N": "1700000010000000"}}
    assert done["ItemCount"] == 3
    assert done["BilledSizeBytes"] == 10_000_000
    assert lines(music, done) == sorted(
        [
            {"Metadata": written, "Keys": text(a="x"), "OldImage": text(a="x", b="1"), "NewImage": text(a="x", b="3")},
            {"Metadata": written, "Keys": text(a="y"), "OldImage": text(a="y", b="1")},
            {"Metadata": written, "Keys": text(a="new"), "NewImage": text(a="new", b="1")},
        ],
        key=repr,
    )


def test_changes_can_be_exported_without_old_images(music: World) -> None:
    music.now += 10
    music.put(text(a="x", b="2"))
    music.now += HOUR
    period = {"ExportFromTime": START + 1, "ExportViewType": "NEW_IMAGE"}
    done = export(music, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=period)
    assert done["IncrementalExportSpecification"] == {**period, "ExportToTime": START + 10 + HOUR}
    (line,) = lines(music, done)
    assert "OldImage" not in line
    assert line["NewImage"] == text(a="x", b="2")


@pytest.mark.parametrize(
    ("request_", "code", "message"),
    [
        ({"TableArn": "Music"}, "ValidationException", "One or more parameter values were invalid: tableArn is not a valid ARN"),
        (
            {"TableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/Music/index/i"},
            "ValidationException",
            "Invalid Request: Table ARN is invalid.",
        ),
        ({"TableArn": "arn:aws:dynamodb:us-east-1:999999999999:table/Music"}, "AccessDeniedException", "Access is denied"),
        (
            {"TableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/ghost"},
            "TableNotFoundException",
            "Table not found: arn:aws:dynamodb:us-east-1:123456789012:table/ghost",
        ),
        ({"ExportTime": START + 1}, "InvalidExportTimeException", "Export Time is invalid"),
        ({"ExportTime": START - 1}, "InvalidExportTimeException", "Export Time is invalid"),
        (
            {"S3SseKmsKeyId": "key"},
            "ValidationException",
            "Invalid Request: KMS Key Id is not supported for this encryption type",
        ),
        (
            {"FilterSpecification": {}},
            "ValidationException",
            "Invalid Request: Invalid FilterSpecification: The specification can not be empty",
        ),
        (
            {"IncrementalExportSpecification": {}},
            "ValidationException",
            "Invalid Request: Export Type expected to be Incremental Export when incremental export specification is provided",
        ),
        (
            {"IncrementalExportSpecification": {}, "ExportType": "FULL_EXPORT"},
            "ValidationException",
            "Invalid Request: When Export Type is Full Export , Incremental Export Specification should not be provided",
        ),
        (
            {"ExportType": "INCREMENTAL_EXPORT"},
            "ValidationException",
            "Invalid Request: Incremental Export Specification expected when export type is set as Incremental Export",
        ),
        (
            {"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": {}},
            "ValidationException",
            "Invalid Request: ExportFromTime must be provided in IncrementalExportSpecification",
        ),
        (
            {"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": {"ExportFromTime": START - 1}},
            "InvalidExportTimeException",
            "Incremental export period from time cannot be less than the table creation time : 2023-11-14T22:13:19Z",
        ),
        (
            {"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": {"ExportFromTime": START}},
            "InvalidExportTimeException",
            "Difference between export period from time and export period to time is less than 15 minutes",
        ),
        (
            {
                "ExportType": "INCREMENTAL_EXPORT",
                "IncrementalExportSpecification": {"ExportFromTime": START, "ExportToTime": START + HOUR},
            },
            "InvalidExportTimeException",
            "Incremental export period to time cannot be greater than the current time : 2023-11-14T23:13:20Z",
        ),
    ],
)
def test_exports_that_cannot_be_are_refused(music: World, request_: dict[str, Any], code: str, message: str) -> None:
    error = music.refusal("ExportTableToPointInTime", **{"TableArn": music.arn(), "S3Bucket": "bucket", **request_})
    assert (error.code, error.message) == (code, message)
    assert music.call("ListExports") == {"ExportSummaries": []}


def test_a_period_of_more_than_a_day_is_refused(music: World) -> None:
    music.now += 25 * HOUR
    period = {"ExportFromTime": START}
    error = music.refusal(
        "ExportTableToPointInTime",
        TableArn=music.arn(),
        S3Bucket="bucket",
        ExportType="INCREMENTAL_EXPORT",
        IncrementalExportSpecification=period,
    )
    assert error.message == "Difference between export period from time and export period to time is greater than 24 hours"


def test_a_table_without_recovery_is_not_exported(music: World) -> None:
    music.recoverable(False)
    error = music.refusal("ExportTableToPointInTime", TableArn=music.arn(), S3Bucket="bucket")
    assert error.code == "PointInTimeRecoveryUnavailableException"


def test_a_token_makes_a_repeated_request_harmless(music: World) -> None:
    first = begin(music, ClientToken="token")
    music.now += 60
    assert begin(music, ClientToken="token") == first
    error = music.refusal("ExportTableToPointInTime", TableArn=music.arn(), S3Bucket="bucket", S3Prefix="other", ClientToken="token")
    assert (error.code, error.message) == (
        "ExportConflictException",
        "Export conflict: Duplicate request detected with conflicting parameters",
    )
    assert begin(music) != begin(music)
    music.now += 8 * HOUR
    assert begin(music, ClientToken="token") != first


@pytest.mark.parametrize("prefix", ["../outside", "a/../../outside", "/../outside", "a\\..\\b"])
def test_nothing_outside_of_the_bucket_is_written(music: World, prefix: str) -> None:
    done = export(music, S3Prefix=prefix)
    assert (done["ExportStatus"], done["FailureCode"]) == ("FAILED", "S3AccessDenied")
    assert list(bucket(music).iterdir()) == []


def test_a_link_out_of_the_bucket_is_not_followed(music: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (bucket(music) / "link").symlink_to(outside)
    assert export(music, S3Prefix="link")["FailureCode"] == "S3AccessDenied"
    assert list(outside.iterdir()) == []


def test_an_engine_in_memory_exports_to_the_folder_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "there" / "bucket").mkdir(parents=True)
    world = World(exports=tmp_path / "there")
    world.create("a")
    world.recoverable()
    assert export(world)["ExportStatus"] == "COMPLETED"
    assert (tmp_path / "there" / "bucket" / "AWSDynamoDB").is_dir()
    world.engine.close()


def test_an_engine_without_a_folder_has_no_buckets(world: World) -> None:
    world.create("a")
    world.recoverable()
    assert export(world)["FailureCode"] == "S3NoSuchBucket"


def test_an_export_to_a_bucket_that_is_not_there_fails_and_makes_none(music: World) -> None:
    done = export(music, S3Bucket="missing")
    assert (done["ExportStatus"], done["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    assert not (bucket(music).parent / "missing").exists()


def test_a_disk_that_cannot_be_written_to_fails_the_export(music: World) -> None:
    (bucket(music) / "AWSDynamoDB").write_bytes(b"in the way")
    done = export(music)
    assert (done["ExportStatus"], done["FailureCode"]) == ("FAILED", "UNKNOWN")


def test_exports_are_listed_the_newest_first(music: World) -> None:
    arns: list[str] = []
    for _ in range(3):
        arns.insert(0, begin(music))
        music.now += 1
    first = music.call("ListExports", MaxResults=2)
    assert [s["ExportArn"] for s in first["ExportSummaries"]] == arns[:2]
    assert first["ExportSummaries"][0] == {"ExportArn": arns[0], "ExportStatus": "IN_PROGRESS", "ExportType": "FULL_EXPORT"}
    rest = music.call("ListExports", MaxResults=2, NextToken=first["NextToken"])
    assert [s["ExportArn"] for s in rest["ExportSummaries"]] == arns[2:]
    assert "NextToken" not in rest
    error = music.refusal("ListImports", NextToken=first["NextToken"])
    assert error.message == f"Invalid Request: Provided nextToken is invalid: {first['NextToken']}"


def test_exports_outlive_their_table_but_are_not_listed_by_it(music: World) -> None:
    arn = export(music)["ExportArn"]
    music.call("DeleteTable", TableName="Music")
    music.create("a")
    assert music.call("DescribeExport", ExportArn=arn)["ExportDescription"]["ExportStatus"] == "COMPLETED"
    assert music.call("ListExports", TableArn=music.arn())["ExportSummaries"] == []
    assert len(music.call("ListExports")["ExportSummaries"]) == 1


def test_the_export_of_a_table_that_is_gone_fails(music: World) -> None:
    arn = begin(music)
    music.call("DeleteTable", TableName="Music")
    music.engine.maintain()
    assert music.call("DescribeExport", ExportArn=arn)["ExportDescription"]["ExportStatus"] == "FAILED"


@pytest.mark.parametrize(
    ("arn", "code", "message"),
    [
        ("arn:aws:dynamodb:us-east-1:123456789012:table/Music", "ValidationException", "Invalid Export ARN"),
        ("arn:aws:dynamodb:us-east-1:999999999999:table/Music/export/01-ab", "AccessDeniedException", "Access is denied"),
        (
            "arn:aws:dynamodb:eu-west-1:123456789012:table/Music/export/01-ab",
            "ExportNotFoundException",
            "Export not found: Invalid export arn",
        ),
        (
            "arn:aws:dynamodb:us-east-1:123456789012:table/Music/export/01-ab",
            "ExportNotFoundException",
            "Export not found: Export not found: arn:aws:dynamodb:us-east-1:123456789012:table/Music/export/01-ab",
        ),
    ],
)
def test_an_export_that_never_was_is_not_found(world: World, arn: str, code: str, message: str) -> None:
    error = world.refusal("DescribeExport", ExportArn=arn)
    assert (error.code, error.message) == (code, message)


def test_an_export_of_a_process_that_died_is_done_by_another(music: World) -> None:
    arn = begin(music)
    claimed = transfers.claim(music.engine._context)
    assert claimed is not None
    music.engine.maintain()
    assert music.call("DescribeExport", ExportArn=arn)["ExportDescription"]["ExportStatus"] == "IN_PROGRESS"
    music.now += transfers.CLAIM_SECONDS
    music.engine.maintain()
    assert music.call("DescribeExport", ExportArn=arn)["ExportDescription"]["ExportStatus"] == "COMPLETED"


def test_an_export_is_left_to_the_next_engine_when_this_one_closes(music: World) -> None:
    arn = begin(music)
    answers = iter([False, True])
    run_transfers(music.engine._context, lambda: next(answers))
    assert music.call("DescribeExport", ExportArn=arn)["ExportDescription"]["ExportStatus"] == "IN_PROGRESS"
    music.engine.maintain()
    assert music.call("DescribeExport", ExportArn=arn)["ExportDescription"]["ExportStatus"] == "COMPLETED"
