"""What one door writes in the format of exports, the others read: buckets of the engine, lines of the command, entities of the store."""

import gzip
import io
from pathlib import Path
from typing import Any

import pytest

from gateleg.engine import Engine
from gateleg.export_format import csv_items, item_line, json_items, lines_of, uncompressed
from gateleg.store import Store
from gateleg.store.transports.embedded import database_file
from tests.cli.tables.commands import TableCommands
from tests.model.seeds import rag

TABLE = rag.collections.name


@pytest.fixture
def commands(tmp_path: Path) -> TableCommands:
    """Commands on a store with two collections, whose unique names have markers."""
    folder = tmp_path / "data"
    with Store.embedded(folder) as store:
        store.ensure_tables(rag.collections)
        for name in ("Docs", "Grüße"):
            store.create(rag.Collection(repository_id="r", name=name, embedding_model="m", created_by="ann"))
    (tmp_path / "exports" / "bucket").mkdir(parents=True)
    return TableCommands(f"embedded:{folder}")


def engine(tmp_path: Path) -> Engine:
    return Engine(database_file(str(tmp_path / "data")), background=False, exports=tmp_path / "exports")


def items(tmp_path: Path, table: str) -> list[dict[str, Any]]:
    with engine(tmp_path) as opened:
        return sorted(opened.call("Scan", {"TableName": table})["Items"], key=repr)


def entities(tmp_path: Path, prefix: str = "") -> list[rag.Collection]:
    with Store.embedded(tmp_path / "data", prefix) as store:
        return sorted(store.export(rag.Collection), key=lambda collection: collection.name or "")


def test_what_the_engine_exports_the_command_imports_and_the_store_exports(commands: TableCommands, tmp_path: Path) -> None:
    with engine(tmp_path) as opened:
        recovery = {"PointInTimeRecoveryEnabled": True}
        opened.call("UpdateContinuousBackups", {"TableName": TABLE, "PointInTimeRecoverySpecification": recovery})
        opened.call("ExportTableToPointInTime", {"TableArn": opened.namespace.arn(f"table/{TABLE}"), "S3Bucket": "bucket"})
        opened.maintain()
    (file,) = (tmp_path / "exports" / "bucket").glob("AWSDynamoDB/*/data/*.json.gz")
    commands.run("apply", "--prefix", "copy-")
    for content in (file.read_bytes(), gzip.decompress(file.read_bytes())):
        result = commands.run("import", TABLE, "--prefix", "copy-", input=content)
        assert result.exit_code == 0, result.output
        assert items(tmp_path, f"copy-{TABLE}") == items(tmp_path, TABLE)
    assert len(items(tmp_path, TABLE)) == 4
    assert entities(tmp_path, "copy-") == entities(tmp_path)
    assert [collection.name for collection in entities(tmp_path)] == ["Docs", "Grüße"]


def test_what_the_command_exports_the_engine_imports(commands: TableCommands, tmp_path: Path) -> None:
    lines = commands.run("export", TABLE).stdout_bytes
    (tmp_path / "exports" / "bucket" / "lines.json").write_bytes(lines)
    with engine(tmp_path) as opened:
        description = opened.call("DescribeTable", {"TableName": TABLE})["Table"]
        hash_key = [element for element in description["KeySchema"] if element["KeyType"] == "HASH"]
        names = {element["AttributeName"] for element in description["KeySchema"]}
        parameters = {
            "TableName": "Imported",
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": hash_key + [element for element in description["KeySchema"] if element not in hash_key],
            "AttributeDefinitions": [entry for entry in description["AttributeDefinitions"] if entry["AttributeName"] in names],
        }
        request = {"S3BucketSource": {"S3Bucket": "bucket"}, "InputFormat": "DYNAMODB_JSON", "TableCreationParameters": parameters}
        arn = opened.call("ImportTable", request)["ImportTableDescription"]["ImportArn"]
        opened.maintain()
        assert opened.call("DescribeImport", {"ImportArn": arn})["ImportTableDescription"]["ImportStatus"] == "COMPLETED"
    assert items(tmp_path, "Imported") == items(tmp_path, TABLE)


@pytest.mark.parametrize("cut", [3, 15, 60])
def test_an_import_of_half_a_compressed_file_writes_nothing(commands: TableCommands, tmp_path: Path, cut: int) -> None:
    commands.run("apply", "--prefix", "copy-")
    content = gzip.compress(commands.run("export", TABLE).stdout_bytes)[:cut]
    result = commands.run("import", TABLE, "--prefix", "copy-", input=content)
    assert result.exit_code == 1
    assert "cannot be decompressed" in result.stderr
    assert "nothing was written" in result.stderr
    assert items(tmp_path, f"copy-{TABLE}") == []


def test_a_stored_item_and_a_parsed_one_make_the_same_line() -> None:
    item = {"id": {"S": "Grüße\n"}, "n": {"N": "1.0"}}
    line = item_line(item)
    assert line == '{"Item":{"id":{"S":"Grüße\\n"},"n":{"N":"1.0"}}}\n'.encode()
    assert item_line(line[8:-2]) == line
    assert list(json_items(lines_of(io.BytesIO(line * 3)))) == [item] * 3


def test_an_object_without_an_item_is_none() -> None:
    assert list(json_items([b'{"id": {"S": "x"}}\n', b"[]\n", b'{"Item": {}}'])) == [None, None, {}]


def test_a_csv_file_has_texts_and_keys_of_their_types() -> None:
    assert list(csv_items([b"id,n\n", b'"a,b",1\n', b"\n"], {"n": "N"})) == [{"id": {"S": "a,b"}, "n": {"N": "1"}}]
    assert list(csv_items([b"a;1\n"], {}, delimiter=";", header=["id", "n"])) == [{"id": {"S": "a"}, "n": {"S": "1"}}]


def test_a_stream_is_read_from_its_beginning_whether_compressed_or_not() -> None:
    for stream in (io.BytesIO(b"lines"), io.BytesIO(gzip.compress(b"lines"))):
        stream.read(1)
        assert uncompressed(stream).read() == b"lines"
    assert uncompressed(io.BytesIO(b"")).read() == b""
