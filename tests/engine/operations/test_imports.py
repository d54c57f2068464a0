import gzip
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateleg.engine.transfers import run_transfers
from tests.engine.operations.requests import index, table
from tests.engine.world import START, World, text

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


def test_a_token_makes_a_repeated_request_harmless(target: World) -> None:
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
