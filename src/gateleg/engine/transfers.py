"""Exports and imports as jobs: stored in the file until they are done, and run one by one by the process that claims them.

An export writes a table's items at a point in time, or its changes in a period, to a bucket; an import creates a table and fills it with
the items of a bucket's files, in DynamoDB's format (`gateleg.export_format`). Buckets are local folders that keys cannot escape from.
"""

import csv
import logging
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import apsw
import orjson

from gateleg.engine import changelog, stored_backups
from gateleg.engine.catalog import Context
from gateleg.engine.database import DatabaseConnection
from gateleg.engine.errors import EngineError
from gateleg.engine.expressions import Prepared, prepare
from gateleg.engine.layout import Layout
from gateleg.engine.long_work import Throttle
from gateleg.engine.operations import definition
from gateleg.engine.operations.definition import iso_milliseconds
from gateleg.engine.operations.items import ItemChange, check_item_size
from gateleg.engine.schema import Namespace, Table
from gateleg.engine.values import canonicalize_item
from gateleg.export_format import ExportWriter, csv_items, item_line, json_items, lines_of, open_file
from gateleg.private_files import make_folder, write_file

_log = logging.getLogger(__name__)

#: When a job is taken over from a process that has not finished it.
CLAIM_SECONDS = 900.0
#: DynamoDB's minimum billed size of an incremental export.
MIN_INCREMENTAL_BILLED_BYTES = 10_000_000
#: Items to read ahead outside of transactions, and items to write per chunk.
READ_AHEAD_ITEMS = 200
CHUNK_ITEMS = 10

_NO_SUCH_BUCKET = (
    "S3NoSuchBucket",
    "The specified bucket does not exist (Service: Amazon S3; Status Code: 404; Error Code: NoSuchBucket)",
)
_ACCESS_DENIED = ("S3AccessDenied", "Access Denied (Service: Amazon S3; Status Code: 403; Error Code: AccessDenied)")
_INVALID = "Some of the items failed validation checks and were not imported. Please check CloudWatch error logs for more details."

IsStopped = Callable[[], bool]


class InterruptedTransfer(Exception):
    """The engine is closing: the job is left for the next process."""


class FailedTransfer(Exception):
    """A job that failed: DynamoDB's code and message, and further members of its description."""

    def __init__(self, code: str, message: str, **members: Any) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.members = members


@dataclass(frozen=True, slots=True)
class Transfer:
    """An export or import: its request, and its description in wire form."""

    arn: str
    kind: str
    namespace: Namespace
    table_arn: str
    table_uuid: str
    started: float
    request: dict[str, Any]
    description: dict[str, Any]
    token: str | None = None
    digest: bytes = field(default=b"")
    pending: bool = True


_COLUMNS = "arn, kind, account, region, table_arn, table_uuid, started, request, description, token, digest, pending"


def add(connection: apsw.Connection, transfer: Transfer) -> None:
    """Store a new job."""
    connection.execute(
        f"INSERT INTO transfers({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
        (
            transfer.arn,
            transfer.kind,
            transfer.namespace.account,
            transfer.namespace.region,
            transfer.table_arn,
            transfer.table_uuid,
            transfer.started,
            orjson.dumps(transfer.request),
            orjson.dumps(transfer.description),
            transfer.token,
            transfer.digest,
        ),
    )


def find(connection: apsw.Connection, arn: str) -> Transfer | None:
    """The job with that ARN."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM transfers WHERE arn = ?", (arn,)).fetchone()
    return _transfer(row) if row else None


def by_token(connection: apsw.Connection, kind: str, namespace: Namespace, token: str) -> Transfer | None:
    """The latest job that was requested with that ClientToken."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM transfers WHERE kind = ? AND account = ? AND region = ? AND token = ? ORDER BY started DESC",
        (kind, namespace.account, namespace.region, token),
    ).fetchone()
    return _transfer(row) if row else None


def list_transfers(connection: apsw.Connection, kind: str, namespace: Namespace, table_arn: str | None) -> list[Transfer]:
    """The jobs of a namespace, or of one table, newest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM transfers WHERE kind = ? AND account = ? AND region = ? AND table_arn = coalesce(?, table_arn)",
        (kind, namespace.account, namespace.region, table_arn),
    )
    return sorted((_transfer(row) for row in rows), key=lambda transfer: transfer.arn.rpartition("/")[2], reverse=True)


def run_transfers(context: Context, stopped: IsStopped) -> None:
    """Run pending jobs until none is left, or until `stopped` returns true."""
    while not stopped() and (transfer := claim(context)) is not None:
        description = dict(transfer.description)
        exports = transfer.kind == "export"
        member = "ExportStatus" if exports else "ImportStatus"
        try:
            description |= (export_items if exports else import_items)(context, transfer, stopped)
            description[member] = "COMPLETED"
        except InterruptedTransfer:
            release(context, transfer)
            return
        except FailedTransfer as failure:
            description |= {member: "FAILED", "FailureCode": failure.code, "FailureMessage": failure.message, **failure.members}
        except OSError as error:
            description |= {member: "FAILED", "FailureCode": "UNKNOWN", "FailureMessage": error.strerror or str(error)}
        finish(context, transfer, {**description, "EndTime": context.now()})


def claim(context: Context) -> Transfer | None:
    """Claim the oldest pending job, so that no other process runs it; None if there is none."""
    now = context.now()
    with context.database.write() as connection:
        row = connection.execute(
            f"SELECT {_COLUMNS} FROM transfers WHERE pending AND claimed <= ? ORDER BY started, arn LIMIT 1", (now,)
        ).fetchone()
        if row is None:
            return None
        connection.execute("UPDATE transfers SET claimed = ? WHERE arn = ?", (now + CLAIM_SECONDS, row[0]))
    return _transfer(row)


def finish(context: Context, transfer: Transfer, description: dict[str, Any]) -> None:
    """Store the final description of a job that has ended."""
    with context.database.write() as connection:
        connection.execute("UPDATE transfers SET pending = 0, description = ? WHERE arn = ?", (orjson.dumps(description), transfer.arn))


def release(context: Context, transfer: Transfer) -> None:
    """Return a claimed job, for the next process."""
    with context.database.write() as connection:
        connection.execute("UPDATE transfers SET claimed = 0 WHERE arn = ?", (transfer.arn,))


def _transfer(row: tuple[Any, ...]) -> Transfer:
    arn, kind, account, region, table_arn, table_uuid, started, request, description, token, digest, pending = row
    return Transfer(
        arn,
        kind,
        Namespace(account, region),
        table_arn,
        table_uuid,
        started,
        orjson.loads(request),
        orjson.loads(description),
        token,
        digest,
        bool(pending),
    )


class OutsideBucketError(Exception):
    """A key or bucket name that points outside the bucket."""


class BucketFolder:
    """A folder whose files are objects; a file's relative path is the object's key."""

    def __init__(self, exports: Path, name: str) -> None:
        self._root = exports.resolve()
        self._folder = self._root / name
        if self._folder.parent != self._root or self._folder.is_symlink():
            raise OutsideBucketError(name)

    @property
    def exists(self) -> bool:
        """Whether the folder exists."""
        return self._folder.is_dir()

    def write(self, key: str, content: bytes) -> None:
        """Store an object."""
        path = self.path(key)
        make_folder(path.parent)
        write_file(path, content)

    def path(self, key: str) -> Path:
        """The path of an object."""
        parts = [part for part in key.split("/") if part]
        if not parts or any(part in {".", ".."} or "\\" in part or "\0" in part for part in parts):
            raise OutsideBucketError(key)
        path = self._folder.joinpath(*parts)
        if not path.resolve().is_relative_to(self._folder):
            raise OutsideBucketError(key)
        return path

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys with a prefix, in order."""
        files = (path for path in self._folder.rglob("*") if path.is_file() and path.resolve().is_relative_to(self._folder))
        yield from sorted(
            key for key in (path.relative_to(self._folder).as_posix() for path in files) if key.startswith(prefix.lstrip("/"))
        )


def export_items(context: Context, transfer: Transfer, stopped: IsStopped) -> dict[str, Any]:
    """Write the files of an export; returns additional members of its description."""
    bucket = _export_bucket(context, transfer)
    table = _table(context, transfer)
    incremental = transfer.description.get("ExportType") == "INCREMENTAL_EXPORT"
    prefix: str = transfer.request.get("S3Prefix") or ""
    root = f"{prefix.rstrip('/')}/AWSDynamoDB" if prefix else "AWSDynamoDB"
    folder = f"{root}/{transfer.arn.rpartition('/')[2]}"
    writer = ExportWriter(bucket.write, folder, f"{root if incremental else folder}/data", transfer.arn)
    try:
        writer.start()
        with context.database.snapshot() as connection:
            billed = MIN_INCREMENTAL_BILLED_BYTES if incremental else _size(connection, table)
            lines = _incremental_lines(connection, table, transfer) if incremental else _item_lines(connection, table, transfer)
            writer.write_lines(lines, partial(_stop_if, stopped))
        done = {"ItemCount": writer.items, "BilledSizeBytes": billed}
        writer.finish(_summary(transfer, writer.manifest, done, context.now()))
    except OutsideBucketError:
        raise FailedTransfer(*_ACCESS_DENIED) from None
    return {**done, "ExportManifest": writer.summary}


def _stop_if(stopped: IsStopped) -> None:
    if stopped():
        raise InterruptedTransfer


def _export_bucket(context: Context, transfer: Transfer) -> BucketFolder:
    if context.exports is None:
        raise FailedTransfer(*_NO_SUCH_BUCKET)
    try:
        bucket = BucketFolder(context.exports, transfer.request["S3Bucket"])
    except OutsideBucketError:
        raise FailedTransfer(*_ACCESS_DENIED) from None
    if not bucket.exists:
        raise FailedTransfer(*_NO_SUCH_BUCKET)
    return bucket


def _table(context: Context, transfer: Transfer) -> Table:
    for layout in context.catalog.layouts():
        if layout.table.uuid == transfer.table_uuid:
            return layout.table
    raise FailedTransfer("TableNotFound", f"Table not found: {transfer.table_arn}")


def _size(connection: apsw.Connection, table: Table) -> int:
    row = connection.execute(f"SELECT coalesce(sum(size), 0) FROM items_{table.id}").fetchone()
    return int(row[0]) if row else 0


def _item_lines(connection: apsw.Connection, table: Table, transfer: Transfer) -> Iterator[bytes]:
    """The lines of a full export."""
    chosen = selection(transfer.request.get("FilterSpecification"))
    for stored in stored_backups.rows_at(connection, table, transfer.description["ExportTime"]):
        if chosen is None:
            yield item_line(stored)
            continue
        item = orjson.loads(stored)
        if chosen.filter is None or chosen.filter.test(item, chosen.values):
            yield item_line(item if chosen.projection is None else chosen.projection.apply(item))


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


def _summary(transfer: Transfer, manifest: str, done: dict[str, Any], now: float) -> dict[str, Any]:
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
        "manifestFilesS3Key": manifest,
        "billedSizeBytes": done["BilledSizeBytes"],
        "itemCount": done["ItemCount"],
        "outputFormat": description["ExportFormat"],
        "exportType": description.get("ExportType") or "FULL_EXPORT",
    }
    return summary if period is None else {**summary, "outputView": period["ExportViewType"]}


@dataclass(slots=True)
class _ImportCounts:
    """Progress of an import."""

    processed: int = 0
    imported: int = 0
    errors: int = 0
    size: int = 0

    def members(self) -> dict[str, Any]:
        return {
            "ProcessedItemCount": self.processed,
            "ImportedItemCount": self.imported,
            "ErrorCount": self.errors,
            "ProcessedSizeBytes": self.size,
        }


@dataclass(frozen=True, slots=True)
class _UnreadableFile:
    """Marks a file, or the rest of one, that is not in the expected format."""

    reason: str


def import_items(context: Context, transfer: Transfer, stopped: IsStopped) -> dict[str, Any]:
    """Create the table and fill it; returns additional members of the import's description. Running it again has the same result."""
    bucket = _import_bucket(context, transfer)
    layout = Layout(_create(context, transfer))
    counts, pace = _ImportCounts(), Throttle(context.database)
    for key in bucket.keys(transfer.request["S3BucketSource"].get("S3KeyPrefix") or ""):
        items = _read(bucket, key, transfer, layout.table, counts)
        pending: deque[Any] = deque()
        while pending or (pending := deque(islice(items, READ_AHEAD_ITEMS))):
            if stopped():
                raise InterruptedTransfer
            pace.step(partial(_write, context, layout, pending, counts, key))
    _activate(context, layout.table)
    if counts.errors:
        raise FailedTransfer("ItemValidationError", _INVALID, **counts.members())
    return counts.members()


def _import_bucket(context: Context, transfer: Transfer) -> BucketFolder:
    try:
        bucket = BucketFolder(context.exports, transfer.request["S3BucketSource"]["S3Bucket"]) if context.exports else None
    except OutsideBucketError:
        bucket = None
    if bucket is None or not bucket.exists:
        raise FailedTransfer(*_NO_SUCH_BUCKET)
    return bucket


def _create(context: Context, transfer: Transfer) -> Table:
    """The table to fill: a new one, or that of an interrupted run of this import."""
    table = definition.define(transfer.request["TableCreationParameters"], transfer.namespace, context.now())
    with context.database.write() as connection:
        there = context.catalog.find_table(transfer.namespace, table.name)
        if there is None:
            return context.catalog.create(connection, replace(table, uuid=transfer.table_uuid, status="CREATING"))
        if there.uuid != transfer.table_uuid:
            raise FailedTransfer("TableAlreadyExists", f"Table already exists: {table.name}")
        return there


def _activate(context: Context, table: Table) -> None:
    with context.database.write() as connection:
        there = context.catalog.find_table(table.namespace, table.name)
        if there is not None and there.id == table.id:
            context.catalog.replace(connection, replace(there, status="ACTIVE"))


def _write(context: Context, layout: Layout, pending: deque[Any], counts: _ImportCounts, key: str, connection: DatabaseConnection) -> bool:
    """Write a chunk of the items that were read ahead; returns whether there are more."""
    for _ in range(min(CHUNK_ITEMS, len(pending))):
        entry = pending.popleft()
        counts.processed += 1
        if isinstance(entry, _UnreadableFile):
            _count_error(counts, key, entry.reason)
            continue
        try:
            item, size = canonicalize_item(entry)
            check_item_size(size)
            change = ItemChange(layout, layout.item_key(item)).read(connection)
        except EngineError as error:
            _count_error(counts, key, str(error.message))
            continue
        change.put(item, size)
        change.store(context, connection)
        counts.imported += 1
    return bool(pending)


def _count_error(counts: _ImportCounts, key: str, reason: str) -> None:
    counts.errors += 1
    _log.warning("skipped an invalid item of %s during import: %s", key, reason)


def _read(bucket: BucketFolder, key: str, transfer: Transfer, table: Table, counts: _ImportCounts) -> Iterator[Any]:
    """The items of one file, as far as it can be read."""
    request = transfer.request
    try:
        with open_file(bucket.path(key), request.get("InputCompressionType") or "NONE") as file:
            lines = _count_lines(file, counts)
            if request["InputFormat"] == "CSV":
                options = (request.get("InputFormatOptions") or {}).get("Csv") or {}
                yield from csv_items(lines, table.definitions, delimiter=options.get("Delimiter") or ",", header=options.get("HeaderList"))
            else:
                yield from json_items(lines)
    except (OSError, EOFError, ValueError, zlib.error, csv.Error, ImportError) as error:
        yield _UnreadableFile(str(error))


def _count_lines(file: BinaryIO, counts: _ImportCounts) -> Iterator[bytes]:
    for line in lines_of(file):
        counts.size += len(line)
        yield line
