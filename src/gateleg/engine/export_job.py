"""Export jobs: a table's items at a point in time, or its changes in a period, as gzipped JSON lines with DynamoDB's manifests."""

import gzip
from base64 import b64encode
from collections.abc import Iterator
from hashlib import md5, sha256
from typing import Any

import apsw
import orjson

from gateleg.engine import changelog, point_in_time
from gateleg.engine.buckets import BucketFolder, OutsideBucketError
from gateleg.engine.context import Context
from gateleg.engine.expressions import Prepared, prepare
from gateleg.engine.operations.times import iso_milliseconds
from gateleg.engine.schema import Table
from gateleg.engine.transfers import NO_SUCH_BUCKET, FailedTransfer, InterruptedTransfer, IsStopped, Transfer

#: Size of a data file before compression.
FILE_BYTES = 32 * 1024 * 1024
#: DynamoDB's minimum billed size of an incremental export.
MIN_INCREMENTAL_BILLED_BYTES = 10_000_000


def export(context: Context, transfer: Transfer, stopped: IsStopped) -> dict[str, Any]:
    """Write the files of an export; returns additional members of its description."""
    bucket = _bucket(context, transfer)
    table = _table(context, transfer)
    incremental = transfer.description.get("ExportType") == "INCREMENTAL_EXPORT"
    folder = f"{_key_prefix(transfer)}{transfer.arn.rpartition('/')[2]}"
    try:
        bucket.write(f"{folder}/_started", b"")
        with context.database.snapshot() as connection:
            billed = MIN_INCREMENTAL_BILLED_BYTES if incremental else _size(connection, table)
            lines = _incremental_lines(connection, table, transfer) if incremental else _item_lines(connection, table, transfer)
            data = f"{_key_prefix(transfer)}data" if incremental else f"{folder}/data"
            files = _write_data(bucket, data, transfer.arn, lines, stopped)
        done = {"ItemCount": sum(file["itemCount"] for file in files), "BilledSizeBytes": billed}
        _write_checked(bucket, f"{folder}/manifest-files", b"".join(orjson.dumps(file) + b"\n" for file in files))
        _write_checked(bucket, f"{folder}/manifest-summary", orjson.dumps(_summary(transfer, folder, done, context.now())))
    except OutsideBucketError:
        raise FailedTransfer("S3AccessDenied", "Access Denied (Service: Amazon S3; Status Code: 403; Error Code: AccessDenied)") from None
    return {**done, "ExportManifest": f"{folder}/manifest-summary.json"}


def _bucket(context: Context, transfer: Transfer) -> BucketFolder:
    if context.exports is None:
        raise FailedTransfer(*NO_SUCH_BUCKET)
    try:
        bucket = BucketFolder(context.exports, transfer.request["S3Bucket"])
    except OutsideBucketError:
        raise FailedTransfer("S3AccessDenied", "Access Denied (Service: Amazon S3; Status Code: 403; Error Code: AccessDenied)") from None
    if not bucket.exists:
        raise FailedTransfer(*NO_SUCH_BUCKET)
    return bucket


def _table(context: Context, transfer: Transfer) -> Table:
    for layout in context.catalog.layouts():
        if layout.table.uuid == transfer.table_uuid:
            return layout.table
    raise FailedTransfer("TableNotFound", f"Table not found: {transfer.table_arn}")


def _key_prefix(transfer: Transfer) -> str:
    """The key prefix of all objects of an export."""
    prefix: str = transfer.request.get("S3Prefix") or ""
    return f"{prefix.rstrip('/')}/AWSDynamoDB/" if prefix else "AWSDynamoDB/"


def _size(connection: apsw.Connection, table: Table) -> int:
    row = connection.execute(f"SELECT coalesce(sum(size), 0) FROM items_{table.id}").fetchone()
    return int(row[0]) if row else 0


def _item_lines(connection: apsw.Connection, table: Table, transfer: Transfer) -> Iterator[bytes]:
    """The lines of a full export."""
    wanted = selection(transfer.request.get("FilterSpecification"))
    for stored in point_in_time.rows(connection, table, transfer.description["ExportTime"]):
        if wanted is None:
            yield b'{"Item":' + stored + b"}\n"
            continue
        item = orjson.loads(stored)
        if wanted.filter is None or wanted.filter.test(item, wanted.values):
            kept = item if wanted.projection is None else wanted.projection.apply(item)
            yield orjson.dumps({"Item": kept}) + b"\n"


def selection(specification: dict[str, Any] | None) -> Prepared | None:
    """Compile a FilterSpecification."""
    return prepare({"TableName": "", **specification}, "Scan") if specification else None


def _incremental_lines(connection: apsw.Connection, table: Table, transfer: Transfer) -> Iterator[bytes]:
    """The lines of an incremental export: one per changed item, with its state before and after the period."""
    period = transfer.description["IncrementalExportSpecification"]
    both = period["ExportViewType"] == "NEW_AND_OLD_IMAGES"
    start = changelog.first_since(connection, table.id, period["ExportFromTime"])
    end = changelog.first_since(connection, table.id, period["ExportToTime"])
    for old, new, at in changelog.net_changes(connection, table.id, start, end):
        if old is None and new is None:
            continue
        some = orjson.loads(new or old or b"{}")
        line: dict[str, Any] = {
            "Metadata": {"WriteTimestampMicros": {"N": str(int(at * 1_000_000))}},
            "Keys": {name: some[name] for name in table.keys.names},
        }
        if both and old is not None:
            line["OldImage"] = orjson.Fragment(old)
        if new is not None:
            line["NewImage"] = orjson.Fragment(new)
        yield orjson.dumps(line) + b"\n"


def _write_data(bucket: BucketFolder, folder: str, arn: str, lines: Iterator[bytes], stopped: IsStopped) -> list[dict[str, Any]]:
    """Write the lines to one or more files; returns the manifest's entry for each."""
    files: list[dict[str, Any]] = []
    while (chunk := _chunk(lines)) or not files:
        if stopped():
            raise InterruptedTransfer
        content = gzip.compress(b"".join(chunk), compresslevel=6, mtime=0)
        key = f"{folder}/{_file_name(arn, len(files))}.json.gz"
        bucket.write(key, content)
        digest = md5(content, usedforsecurity=False)
        files.append(
            {
                "itemCount": len(chunk),
                "md5Checksum": b64encode(digest.digest()).decode(),
                "etag": f"{digest.hexdigest()}-1",
                "dataFileS3Key": key,
            }
        )
    return files


def _chunk(lines: Iterator[bytes]) -> list[bytes]:
    """The lines of one file."""
    chunk: list[bytes] = []
    size = 0
    for line in lines:
        chunk.append(line)
        size += len(line)
        if size >= FILE_BYTES:
            break
    return chunk


def _file_name(arn: str, number: int) -> str:
    """A deterministic name, so that a repeated export overwrites its files."""
    return sha256(f"{arn} {number}".encode()).hexdigest()[:26]


def _write_checked(bucket: BucketFolder, stem: str, content: bytes) -> None:
    bucket.write(f"{stem}.json", content)
    bucket.write(f"{stem}.md5", b64encode(md5(content, usedforsecurity=False).digest()))


def _summary(transfer: Transfer, folder: str, done: dict[str, Any], now: float) -> dict[str, Any]:
    description, request = transfer.description, transfer.request
    period = description.get("IncrementalExportSpecification")
    summary: dict[str, Any] = {
        "version": "2020-06-30" if period is None else "2023-08-01",
        "exportArn": transfer.arn,
        "startTime": iso_milliseconds(transfer.started),
        "endTime": iso_milliseconds(now),
        "tableArn": transfer.table_arn,
        "tableId": transfer.table_uuid,
    }
    if period is None:
        summary["exportTime"] = iso_milliseconds(description["ExportTime"])
    else:
        summary["exportFromTime"] = iso_milliseconds(period["ExportFromTime"])
        summary["exportToTime"] = iso_milliseconds(period["ExportToTime"])
    summary |= {
        "s3Bucket": request["S3Bucket"],
        "s3Prefix": request.get("S3Prefix"),
        "s3SseAlgorithm": description["S3SseAlgorithm"],
        "s3SseKmsKeyId": request.get("S3SseKmsKeyId"),
        "manifestFilesS3Key": f"{folder}/manifest-files.json",
        "billedSizeBytes": done["BilledSizeBytes"],
        "itemCount": done["ItemCount"],
        "outputFormat": description["ExportFormat"],
        "exportType": description.get("ExportType") or "FULL_EXPORT",
    }
    return summary if period is None else {**summary, "outputView": period["ExportViewType"]}
