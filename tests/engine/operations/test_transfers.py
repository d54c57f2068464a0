import gzip
import json
import logging
from base64 import b64encode
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest

from gateleg.engine import transfers
from gateleg.engine.transfers import run_transfers
from tests.engine.operations.requests import index, table
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


Item = dict[str, Any]


@pytest.fixture
def target(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[World]:
    caplog.set_level(logging.CRITICAL)
    world = World(tmp_path / "data.db")
    (tmp_path / "exports" / "bucket").mkdir(parents=True)
    yield world
    world.engine.close()


def upload(world: World, key: str, content: bytes | list[Any]) -> None:
    """Put a file of bytes, or of a line for each item, into the bucket."""
    path = Path(world.engine.path).parent / "exports" / "bucket" / key
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list):
        content = b"".join(json.dumps({"Item": item}).encode() + b"\n" for item in content)
    path.write_bytes(content)


def request(prefix: str | None = "data/", **more: Any) -> dict[str, Any]:
    source = {"S3Bucket": "bucket"} | ({"S3KeyPrefix": prefix} if prefix else {})
    parameters = {"S3BucketSource": source, "InputFormat": "DYNAMODB_JSON", "TableCreationParameters": table("a")}
    return {**parameters, **more}


def load(world: World, prefix: str | None = "data/", **more: Any) -> dict[str, Any]:
    """Import and wait: the description afterwards."""
    arn = world.call("ImportTable", **request(prefix, **more))["ImportTableDescription"]["ImportArn"]
    world.engine.maintain()
    found: dict[str, Any] = world.call("DescribeImport", ImportArn=arn)["ImportTableDescription"]
    return found


def outcome(description: dict[str, Any]) -> tuple[Any, ...]:
    counts = (description["ProcessedItemCount"], description["ImportedItemCount"], description["ErrorCount"])
    return (description["ImportStatus"], description.get("FailureCode"), *counts)


def test_an_import_begins_as_in_progress(target: World) -> None:
    answer = target.call("ImportTable", **request(ClientToken="token"))["ImportTableDescription"]
    assert answer == {
        "ImportArn": answer["ImportArn"],
        "ImportStatus": "IN_PROGRESS",
        "TableArn": target.arn(),
        "TableId": answer["TableId"],
        "ClientToken": "token",
        "S3BucketSource": {"S3BucketOwner": "123456789012", "S3Bucket": "bucket", "S3KeyPrefix": "data/"},
        "ErrorCount": 0,
        "CloudWatchLogGroupArn": "arn:aws:logs:us-east-1:123456789012:log-group:/aws-dynamodb/imports:*",
        "InputFormat": "DYNAMODB_JSON",
        "InputCompressionType": "NONE",
        "TableCreationParameters": table("a"),
        "StartTime": START,
        "ProcessedSizeBytes": 0,
        "ProcessedItemCount": 0,
        "ImportedItemCount": 0,
    }
    assert target.refusal("DescribeTable", TableName="Music").code == "ResourceNotFoundException"


def test_an_import_makes_a_table_of_the_items(target: World) -> None:
    items = [text(a="x", b="1"), text(a="y")]
    upload(target, "data/1.json", items[:1])
    upload(target, "data/2.json", items[1:])
    upload(target, "other/3.json", [text(a="z")])
    done = load(target)
    assert outcome(done) == ("COMPLETED", None, 2, 2, 0)
    assert done["EndTime"] == START
    assert target.items() == items
    described = target.call("DescribeTable", TableName="Music")["Table"]
    assert (described["TableStatus"], described["TableId"]) == ("ACTIVE", done["TableId"])


def test_an_import_fills_indexes(target: World) -> None:
    parameters = table("a", defined=["a", "b"], GlobalSecondaryIndexes=[index("by-b", "b")])
    upload(target, "data/1.json", [text(a="x", b="1"), text(a="y"), text(a="x", b="2")])
    load(target, TableCreationParameters=parameters)
    assert target.items(IndexName="by-b") == [text(a="x", b="2")]


def test_compressed_files_are_imported(target: World) -> None:
    upload(target, "data/1.json.gz", gzip.compress(b'{"Item":{"a":{"S":"x"}}}\n'))
    assert outcome(load(target, InputCompressionType="GZIP")) == ("COMPLETED", None, 1, 1, 0)


def test_files_that_are_not_compressed_as_told_are_an_error(target: World) -> None:
    upload(target, "data/1.json", [text(a="x")])
    assert outcome(load(target, InputCompressionType="GZIP")) == ("FAILED", "ItemValidationError", 1, 0, 1)


def test_an_item_that_does_not_fit_fails_the_import_but_not_the_others(target: World) -> None:
    upload(target, "data/1.json", [text(a="x"), text(b="no key"), {"a": {"N": "1"}}, {"a": {"S": "v"}, "b": {"N": "x"}}, text(a="y")])
    done = load(target)
    assert outcome(done) == ("FAILED", "ItemValidationError", 5, 2, 3)
    assert done["FailureMessage"].startswith("Some of the items failed validation checks and were not imported.")
    assert target.items() == [text(a="x"), text(a="y")]
    assert target.call("DescribeTable", TableName="Music")["Table"]["TableStatus"] == "ACTIVE"


def test_what_follows_a_line_that_is_no_json_is_not_read(target: World) -> None:
    upload(target, "data/1.json", b'{"Item":{"a":{"S":"x"}}}\n{garbage\n{"Item":{"a":{"S":"y"}}}\n')
    upload(target, "data/2.json", [text(a="z")])
    assert outcome(load(target)) == ("FAILED", "ItemValidationError", 3, 2, 1)
    assert target.items() == [text(a="x"), text(a="z")]


@pytest.mark.parametrize("line", [b"[]", b"1", b"{}", b'{"Item":null}', b'{"Item":[]}', b'{"Item":{"a":"x"}}', b"\xff", b"[" * 100_000])
def test_any_line_is_survived(target: World, line: bytes) -> None:
    upload(target, "data/1.json", line + b"\n")
    assert outcome(load(target)) == ("FAILED", "ItemValidationError", 1, 0, 1)


@pytest.mark.parametrize("between", [b"", b" ", b"\n\n", b"\r\n"])
def test_items_need_not_be_on_lines_of_their_own(target: World, monkeypatch: pytest.MonkeyPatch, between: bytes) -> None:
    monkeypatch.setattr("gateleg.export_format.MAX_LINE_BYTES", 100)
    items = [text(a=f"{number}", b="gr\u00fc\u00dfe " * 3) for number in range(20)]
    upload(target, "data/1.json", between.join(json.dumps({"Item": item}, ensure_ascii=False).encode() for item in items))
    assert outcome(load(target)) == ("COMPLETED", None, 20, 20, 0)
    assert target.items() == sorted(items, key=lambda item: item["a"]["S"])


def test_an_item_may_be_written_on_several_lines(target: World) -> None:
    items = [text(a="x", b="1"), text(a="y", b="2")]
    upload(target, "data/1.json", b"\n".join(json.dumps({"Item": item}, indent=2).encode() for item in items))
    assert outcome(load(target)) == ("COMPLETED", None, 2, 2, 0)
    assert target.items() == items


def test_what_comes_before_a_fault_is_imported(target: World) -> None:
    upload(target, "data/1.json", b'{"Item":{"a":{"S":"x"}}}{"Item":{"a":{"S":"y"}}} no JSON {"Item":{"a":{"S":"z"}}}')
    assert outcome(load(target)) == ("FAILED", "ItemValidationError", 3, 2, 1)
    assert target.items() == [text(a="x"), text(a="y")]


def test_a_line_without_end_is_given_up(target: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.export_format.MAX_LINE_BYTES", 100)
    upload(target, "data/1.json", b'{"Item":{"a":{"S":"' + b"x" * 200)
    assert outcome(load(target)) == ("FAILED", "ItemValidationError", 1, 0, 1)


def test_a_prefix_is_the_beginning_of_keys(target: World) -> None:
    upload(target, "data/1.json", [text(a="x")])
    upload(target, "data2.json", [text(a="y")])
    assert outcome(load(target, "data/1.json")) == ("COMPLETED", None, 1, 1, 0)
    target.call("DeleteTable", TableName="Music")
    assert outcome(load(target, "data")) == ("COMPLETED", None, 2, 2, 0)


def test_a_prefix_of_nothing_makes_an_empty_table(target: World) -> None:
    assert outcome(load(target)) == ("COMPLETED", None, 0, 0, 0)
    assert target.items() == []


def test_a_bucket_that_is_not_there_makes_no_table(target: World) -> None:
    done = load(target, S3BucketSource={"S3Bucket": "ghost"})
    assert outcome(done) == ("FAILED", "S3NoSuchBucket", 0, 0, 0)
    assert target.refusal("DescribeTable", TableName="Music").code == "ResourceNotFoundException"


def test_a_link_out_of_the_bucket_is_not_read(target: World, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_bytes(b'{"Item":{"a":{"S":"secret"}}}\n')
    (tmp_path / "exports" / "bucket" / "link.json").symlink_to(tmp_path / "secret.json")
    assert outcome(load(target, None)) == ("COMPLETED", None, 0, 0, 0)


def test_rows_of_a_csv_file_are_imported_as_texts_and_keys(target: World) -> None:
    upload(target, "data/1.csv", b'n,b\n1,"x, y"\n2,\n')
    done = load(target, InputFormat="CSV", TableCreationParameters=table("n:N"))
    assert outcome(done) == ("COMPLETED", None, 2, 2, 0)
    assert target.items() == [{"n": {"N": "2"}, "b": {"S": ""}}, {"n": {"N": "1"}, "b": {"S": "x, y"}}]


def test_a_csv_file_may_have_another_delimiter_and_no_header(target: World) -> None:
    upload(target, "data/1.csv", b"x;1\ny;2\n")
    options = {"Csv": {"Delimiter": ";", "HeaderList": ["a", "b"]}}
    assert outcome(load(target, InputFormat="CSV", InputFormatOptions=options)) == ("COMPLETED", None, 2, 2, 0)
    assert target.items() == [text(a="x", b="1"), text(a="y", b="2")]


def test_a_row_of_a_wrong_length_ends_its_file(target: World) -> None:
    upload(target, "data/1.csv", b"a,b\nx,1\ny\nz,1\n")
    assert outcome(load(target, InputFormat="CSV")) == ("FAILED", "ItemValidationError", 2, 1, 1)


def test_an_import_does_not_replace_a_table(target: World) -> None:
    target.create("a")
    error = target.refusal("ImportTable", **request())
    assert (error.code, error.message) == ("ResourceInUseException", "Table already exists: Music")


def test_a_table_that_comes_first_fails_the_import(target: World) -> None:
    arn = target.call("ImportTable", **request())["ImportTableDescription"]["ImportArn"]
    target.create("a")
    target.put(text(a="mine"))
    target.engine.maintain()
    assert target.call("DescribeImport", ImportArn=arn)["ImportTableDescription"]["FailureCode"] == "TableAlreadyExists"
    assert target.items() == [text(a="mine")]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"InputFormatOptions": {"Csv": {"Delimiter": ";"}}},
            "Invalid Request: Unsupported InputFormatOptions for the given input format: DYNAMODB_JSON.",
        ),
        (
            {"TableCreationParameters": {k: v for k, v in table("a").items() if k != "BillingMode"}},
            "One or more parameter values were invalid: "
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        ),
    ],
)
def test_imports_that_cannot_be_are_refused(target: World, more: dict[str, Any], message: str) -> None:
    error = target.refusal("ImportTable", **request(**more))
    assert (error.code, error.message) == ("ValidationException", message)


def test_a_token_makes_a_repeated_import_harmless(target: World) -> None:
    first = target.call("ImportTable", **request(ClientToken="token"))["ImportTableDescription"]
    assert target.call("ImportTable", **request(ClientToken="token"))["ImportTableDescription"] == first
    error = target.refusal("ImportTable", **request(ClientToken="token", TableCreationParameters=table("a", name="Other")))
    assert (error.code, error.message) == (
        "ImportConflictException",
        "Import conflict: Duplicate request detected with conflicting parameters",
    )
    target.engine.maintain()
    assert target.refusal("ImportTable", **request(ClientToken="token")).code == "ResourceInUseException"


def test_an_interrupted_import_is_done_again(target: World) -> None:
    upload(target, "data/1.json", [text(a="x"), text(a="y")])
    arn = target.call("ImportTable", **request())["ImportTableDescription"]["ImportArn"]
    answers = iter([False, True])
    run_transfers(target.engine._context, lambda: next(answers))
    assert target.call("DescribeTable", TableName="Music")["Table"]["TableStatus"] == "CREATING"
    target.engine.maintain()
    assert outcome(target.call("DescribeImport", ImportArn=arn)["ImportTableDescription"]) == ("COMPLETED", None, 2, 2, 0)
    assert target.items() == [text(a="x"), text(a="y")]


def test_imports_are_listed_the_newest_first(target: World) -> None:
    arns: list[str] = []
    for name in ("one", "two", "three"):
        arns.insert(0, load(target, TableCreationParameters=table("a", name=name))["ImportArn"])
        target.now += 1
    first = target.call("ListImports", PageSize=2)
    assert [s["ImportArn"] for s in first["ImportSummaryList"]] == arns[:2]
    rest = target.call("ListImports", PageSize=2, NextToken=first["NextToken"])
    assert [s["ImportArn"] for s in rest["ImportSummaryList"]] == arns[2:]
    only = target.call("ListImports", TableArn=target.arn("two"))["ImportSummaryList"]
    assert [s["ImportArn"] for s in only] == [arns[1]]
    assert set(only[0]) == {
        "ImportArn",
        "ImportStatus",
        "TableArn",
        "S3BucketSource",
        "CloudWatchLogGroupArn",
        "InputFormat",
        "StartTime",
        "EndTime",
    }


@pytest.mark.parametrize(
    ("arn", "code"),
    [
        ("arn:aws:dynamodb:us-east-1:123456789012:table/Music", "ValidationException"),
        ("arn:aws:dynamodb:us-east-1:123456789012:table/Music/export/01-ab", "ValidationException"),
        ("arn:aws:dynamodb:us-east-1:999999999999:table/Music/import/01-ab", "AccessDeniedException"),
        ("arn:aws:dynamodb:us-east-1:123456789012:table/Music/import/01-ab", "ImportNotFoundException"),
    ],
)
def test_an_import_that_never_was_is_not_found(world: World, arn: str, code: str) -> None:
    assert world.refusal("DescribeImport", ImportArn=arn).code == code
