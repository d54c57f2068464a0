"""The work of an import: a new table, and the items of the files of a bucket in it."""

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

from gateleg.engine.buckets import Bucket, OutsideError
from gateleg.engine.context import Context
from gateleg.engine.database import Connection
from gateleg.engine.errors import EngineError
from gateleg.engine.layout import Layout
from gateleg.engine.operations import definition
from gateleg.engine.operations.writing import Change, check_item_size
from gateleg.engine.pacing import Pace
from gateleg.engine.schema import Table
from gateleg.engine.transfers import NO_SUCH_BUCKET, FailedTransfer, InterruptedTransfer, Stopped, Transfer
from gateleg.engine.values import Item, examine_item

#: Items that are read ahead before writers are held off, and items that are written between two looks at the clock.
AHEAD = 200
CHUNK = 10
#: More bytes than a line with the largest item, each of its characters escaped, can have.
LINE_BYTES = 8 * 1024 * 1024

_INVALID = "Some of the items failed validation checks and were not imported. Please check CloudWatch error logs for more details."

_JSON = json.JSONDecoder()

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Tally:
    """What an import has come to so far."""

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
class _Unreadable:
    """Stands for a file, or the rest of one, that is not of the format it should be."""

    reason: str


def load(context: Context, transfer: Transfer, stopped: Stopped) -> dict[str, Any]:
    """Create the table and fill it; the members that the import's description gains. Done again, it comes to the same."""
    bucket = _bucket(context, transfer)
    layout = Layout(_create(context, transfer))
    tally, pace = _Tally(), Pace(context.database)
    for key in bucket.keys(transfer.request["S3BucketSource"].get("S3KeyPrefix") or ""):
        items = _read(bucket, key, transfer, layout.table, tally)
        ahead: deque[Any] = deque()
        while ahead or (ahead := deque(islice(items, AHEAD))):
            if stopped():
                raise InterruptedTransfer
            pace.step(partial(_write, context, layout, ahead, tally, key))
    _open(context, layout.table)
    if tally.errors:
        raise FailedTransfer("ItemValidationError", _INVALID, **tally.members())
    return tally.members()


def _bucket(context: Context, transfer: Transfer) -> Bucket:
    try:
        bucket = Bucket(context.exports, transfer.request["S3BucketSource"]["S3Bucket"]) if context.exports else None
    except OutsideError:
        bucket = None
    if bucket is None or not bucket.exists:
        raise FailedTransfer(*NO_SUCH_BUCKET)
    return bucket


def _create(context: Context, transfer: Transfer) -> Table:
    """The table to be filled: a new one, or the one that an interrupted import of this request has left."""
    wanted = definition.define(transfer.request["TableCreationParameters"], transfer.namespace, context.now())
    with context.database.write() as connection:
        there = context.catalog.lookup(transfer.namespace, wanted.name)
        if there is None:
            return context.catalog.create(connection, replace(wanted, uuid=transfer.table_uuid, status="CREATING"))
        if there.uuid != transfer.table_uuid:
            raise FailedTransfer("TableAlreadyExists", f"Table already exists: {wanted.name}")
        return there


def _open(context: Context, table: Table) -> None:
    with context.database.write() as connection:
        there = context.catalog.lookup(table.namespace, table.name)
        if there is not None and there.id == table.id:
            context.catalog.replace(connection, replace(there, status="ACTIVE"))


def _write(context: Context, layout: Layout, ahead: deque[Any], tally: _Tally, key: str, connection: Connection) -> bool:
    """Write a chunk of the items that were read ahead; whether there are more of them."""
    for _ in range(min(CHUNK, len(ahead))):
        given = ahead.popleft()
        tally.processed += 1
        if isinstance(given, _Unreadable):
            _refuse(tally, key, given.reason)
            continue
        try:
            item, size = examine_item(given)
            check_item_size(size)
            change = Change(layout, layout.item_key(item)).read(connection)
        except EngineError as error:
            _refuse(tally, key, str(error.message))
            continue
        change.put(item, size)
        change.store(context, connection)
        tally.imported += 1
    return bool(ahead)


def _refuse(tally: _Tally, key: str, reason: str) -> None:
    tally.errors += 1
    _log.warning("An item of %s was not imported: %s", key, reason)


def _read(bucket: Bucket, key: str, transfer: Transfer, table: Table, tally: _Tally) -> Iterator[Any]:
    """The items of one file, as far as it can be read."""
    request = transfer.request
    try:
        with _opened(bucket.path(key), request.get("InputCompressionType") or "NONE") as file:
            lines = _counted(file, tally)
            if request["InputFormat"] == "CSV":
                yield from _rows(_whole(lines), (request.get("InputFormatOptions") or {}).get("Csv") or {}, table)
            else:
                yield from _items(lines)
    except (OSError, EOFError, ValueError, zlib.error, csv.Error, ImportError) as error:
        yield _Unreadable(str(error))


def _opened(path: Path, compression: str) -> BinaryIO:
    if compression == "GZIP":
        return cast("BinaryIO", gzip.open(path))
    if compression == "ZSTD":
        return cast("BinaryIO", import_module("compression.zstd").open(path))
    return path.open("rb")


def _counted(file: BinaryIO, tally: _Tally) -> Iterator[bytes]:
    """The lines of a file, or parts of very long ones."""
    while line := file.readline(LINE_BYTES):
        tally.size += len(line)
        yield line


def _whole(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Lines none of which is only a part of one."""
    for line in lines:
        if len(line) == LINE_BYTES:
            raise ValueError("a line is longer than any item can be")
        yield line


def _items(lines: Iterator[bytes]) -> Iterator[Any]:
    """The items of a file of JSON objects: one in each line, as exports have them, or with anything or nothing between them."""
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
            continue  # an object that goes on for long is not read anew with each of its lines
        found, text = _leading_objects(text)
        tried = len(text)
        if tried > LINE_BYTES:
            raise ValueError("an object is longer than any item can be")
        yield from found
    found, text = _leading_objects(text + decoder.decode(b"", final=True))
    yield from found
    if text:
        raise ValueError("the end of the file is not a whole JSON object")


def _leading_objects(text: str) -> tuple[list[Any], str]:
    """The JSON objects that a text begins with, and what follows them."""
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
    """The items of a CSV file: texts, except for attributes that are part of a key."""
    reader = csv.reader((line.decode("utf-8-sig") for line in lines), delimiter=options.get("Delimiter") or ",", strict=True)
    header = options.get("HeaderList") or next(reader, [])
    for row in reader:
        if row:
            yield {name: {table.definitions.get(name, "S"): value} for name, value in zip(header, row, strict=True)}
