"""Import jobs: create a table and fill it with the items of a bucket's files."""

import csv
import gzip
import json
import logging
import zlib
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson

from gateleg.engine.buckets import BucketFolder, OutsideBucketError
from gateleg.engine.context import Context
from gateleg.engine.database import DatabaseConnection
from gateleg.engine.errors import EngineError
from gateleg.engine.layout import Layout
from gateleg.engine.operations import definition
from gateleg.engine.operations.item_change import ItemChange, check_item_size
from gateleg.engine.schema import Table
from gateleg.engine.step_pacer import StepPacer
from gateleg.engine.transfers import NO_SUCH_BUCKET, FailedTransfer, InterruptedTransfer, IsStopped, Transfer
from gateleg.engine.values import Item, canonicalize_item

#: Items to read ahead outside of transactions, and items to write per chunk.
READ_AHEAD_ITEMS = 200
CHUNK_ITEMS = 10
#: Longer than any line with an item of maximum size, even with every character escaped.
MAX_LINE_BYTES = 8 * 1024 * 1024

_INVALID = "Some of the items failed validation checks and were not imported. Please check CloudWatch error logs for more details."

_JSON = json.JSONDecoder()

_log = logging.getLogger(__name__)


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


def load(context: Context, transfer: Transfer, stopped: IsStopped) -> dict[str, Any]:
    """Create the table and fill it; returns additional members of the import's description. Running it again has the same result."""
    bucket = _bucket(context, transfer)
    layout = Layout(_create(context, transfer))
    counts, pace = _ImportCounts(), StepPacer(context.database)
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


def _bucket(context: Context, transfer: Transfer) -> BucketFolder:
    try:
        bucket = BucketFolder(context.exports, transfer.request["S3BucketSource"]["S3Bucket"]) if context.exports else None
    except OutsideBucketError:
        bucket = None
    if bucket is None or not bucket.exists:
        raise FailedTransfer(*NO_SUCH_BUCKET)
    return bucket


def _create(context: Context, transfer: Transfer) -> Table:
    """The table to fill: a new one, or that of an interrupted run of this import."""
    wanted = definition.define(transfer.request["TableCreationParameters"], transfer.namespace, context.now())
    with context.database.write() as connection:
        there = context.catalog.find_table(transfer.namespace, wanted.name)
        if there is None:
            return context.catalog.create(connection, replace(wanted, uuid=transfer.table_uuid, status="CREATING"))
        if there.uuid != transfer.table_uuid:
            raise FailedTransfer("TableAlreadyExists", f"Table already exists: {wanted.name}")
        return there


def _activate(context: Context, table: Table) -> None:
    with context.database.write() as connection:
        there = context.catalog.find_table(table.namespace, table.name)
        if there is not None and there.id == table.id:
            context.catalog.replace(connection, replace(there, status="ACTIVE"))


def _write(context: Context, layout: Layout, pending: deque[Any], counts: _ImportCounts, key: str, connection: DatabaseConnection) -> bool:
    """Write a chunk of the items that were read ahead; returns whether there are more."""
    for _ in range(min(CHUNK_ITEMS, len(pending))):
        given = pending.popleft()
        counts.processed += 1
        if isinstance(given, _UnreadableFile):
            _count_error(counts, key, given.reason)
            continue
        try:
            item, size = canonicalize_item(given)
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
        with _open_file(bucket.path(key), request.get("InputCompressionType") or "NONE") as file:
            lines = _count_lines(file, counts)
            if request["InputFormat"] == "CSV":
                yield from _rows(_complete_lines(lines), (request.get("InputFormatOptions") or {}).get("Csv") or {}, table)
            else:
                yield from _items(lines)
    except (OSError, EOFError, ValueError, zlib.error, csv.Error, ImportError) as error:
        yield _UnreadableFile(str(error))


def _open_file(path: Path, compression: str) -> BinaryIO:
    if compression == "GZIP":
        return cast("BinaryIO", gzip.open(path))
    if compression == "ZSTD":
        return cast("BinaryIO", import_module("compression.zstd").open(path))
    return path.open("rb")


def _count_lines(file: BinaryIO, counts: _ImportCounts) -> Iterator[bytes]:
    """The lines of a file; very long ones in several parts."""
    while line := file.readline(MAX_LINE_BYTES):
        counts.size += len(line)
        yield line


def _complete_lines(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Refuse lines that were split because of their length."""
    for line in lines:
        if len(line) == MAX_LINE_BYTES:
            raise ValueError("a line is longer than any item can be")
        yield line


def _items(lines: Iterator[bytes]) -> Iterator[Any]:
    """The items of a file of JSON objects: one per line, as exports write them, or separated by anything or nothing."""
    for parsed in _objects(lines):
        yield parsed.get("Item") if isinstance(parsed, dict) else parsed


def _objects(lines: Iterator[bytes]) -> Iterator[Any]:
    decoder, text = getincrementaldecoder("utf-8")(), ""
    tried = 0
    for line in lines:
        if not text:
            with suppress(orjson.JSONDecodeError):
                parsed = orjson.loads(line) if line.strip() else None
                if parsed is not None:
                    yield parsed
                continue
        text = (text + decoder.decode(line)).lstrip()
        if len(text) < 2 * tried:
            continue  # do not parse a long object again with each of its lines
        found, text = _leading_objects(text)
        tried = len(text)
        if tried > MAX_LINE_BYTES:
            raise ValueError("an object is longer than any item can be")
        yield from found
    found, text = _leading_objects(text + decoder.decode(b"", final=True))
    yield from found
    if text:
        raise ValueError("the end of the file is not a whole JSON object")


def _leading_objects(text: str) -> tuple[list[Any], str]:
    """The JSON objects at the start of a text, and the remaining text."""
    found, place = [], 0
    with suppress(json.JSONDecodeError, RecursionError):
        while place < len(text):
            parsed, end = _JSON.raw_decode(text, place)
            found.append(parsed)
            place = end
            while place < len(text) and text[place].isspace():
                place += 1
    return found, text[place:]


def _rows(lines: Iterator[bytes], options: dict[str, Any], table: Table) -> Iterator[Item]:
    """The items of a CSV file: strings, except for key attributes."""
    reader = csv.reader((line.decode("utf-8-sig") for line in lines), delimiter=options.get("Delimiter") or ",", strict=True)
    header = options.get("HeaderList") or next(reader, [])
    for row in reader:
        if row:
            yield {name: {table.definitions.get(name, "S"): value} for name, value in zip(header, row, strict=True)}
