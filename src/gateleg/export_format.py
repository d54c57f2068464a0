"""The format of exported items: what DynamoDB writes to S3 and reads from there, and what `gateleg tables export` prints.

An item is a line, `{"Item": {...}}` in DynamoDB JSON. An export of a table is a folder: gzipped files of such lines, a manifest that lists
these files, and a summary. Imports also read JSON objects that are separated by anything or nothing, and CSV files.

This module knows neither tables nor stores nor requests: the engine's ExportTable and ImportTable and `gateleg.ops.transfer` write and read
through it, so that what one of them has written the other reads.
"""

from __future__ import annotations

import csv
import gzip
import json
from base64 import b64encode
from codecs import getincrementaldecoder
from contextlib import suppress
from hashlib import md5, sha256
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = ["ExportWriter", "csv_items", "item_line", "item_of", "json_items", "lines_of", "open_file", "uncompressed"]

#: Size of a data file before compression.
FILE_BYTES = 32 * 1024 * 1024
#: Longer than any line with an item of maximum size, even with every character escaped.
MAX_LINE_BYTES = 8 * 1024 * 1024

_GZIP = b"\x1f\x8b"
_JSON = json.JSONDecoder()


def item_line(item: Mapping[str, Any] | bytes) -> bytes:
    """An item in DynamoDB JSON, parsed or not, as a line."""
    return b'{"Item":' + (item if isinstance(item, bytes) else orjson.dumps(item)) + b"}\n"


def item_of(parsed: Any) -> Any:
    """The item of a parsed line; None if it has none."""
    return parsed.get("Item") if isinstance(parsed, dict) else None


class ExportWriter:
    """Writes the files of one export through `write`, which takes a key and the content.

    `folder` is the key prefix of the export's own files, `data` that of its data files. `name` tells exports into one folder apart: the
    names of data files follow from it, so that an export that is repeated overwrites its files.
    """

    def __init__(self, write: Callable[[str, bytes], None], folder: str, data: str, name: str) -> None:
        self._write = write
        self._folder = folder
        self._data = data
        self._name = name
        self._files: list[dict[str, Any]] = []

    def start(self) -> None:
        """Write the file that says that the export has begun."""
        self._write(f"{self._folder}/_started", b"")

    @property
    def items(self) -> int:
        """The number of lines that have been written."""
        return sum(file["itemCount"] for file in self._files)

    @property
    def manifest(self) -> str:
        """The key of the manifest, which lists the data files."""
        return f"{self._folder}/manifest-files.json"

    @property
    def summary(self) -> str:
        """The key of the summary."""
        return f"{self._folder}/manifest-summary.json"

    def write_lines(self, lines: Iterator[bytes], before_file: Callable[[], None] = lambda: None) -> None:
        """Write lines to one or more data files; `before_file` is called before each."""
        while (chunk := _chunk(lines)) or not self._files:
            before_file()
            content = gzip.compress(b"".join(chunk), compresslevel=6, mtime=0)
            key = f"{self._data}/{sha256(f'{self._name} {len(self._files)}'.encode()).hexdigest()[:26]}.json.gz"
            self._write(key, content)
            checksum = md5(content, usedforsecurity=False)
            entry = {"md5Checksum": b64encode(checksum.digest()).decode(), "etag": f"{checksum.hexdigest()}-1", "dataFileS3Key": key}
            self._files.append({"itemCount": len(chunk), **entry})

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write the manifest and the summary, each with a file of its checksum."""
        manifest = b"".join(orjson.dumps(file) + b"\n" for file in self._files)
        for key, content in ((self.manifest, manifest), (self.summary, orjson.dumps(summary))):
            self._write(key, content)
            self._write(f"{key.removesuffix('.json')}.md5", b64encode(md5(content, usedforsecurity=False).digest()))


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


def open_file(path: Path, compression: str) -> BinaryIO:
    """Open a file of that compression: `NONE`, `GZIP` or `ZSTD`."""
    if compression == "GZIP":
        return cast("BinaryIO", gzip.open(path))
    if compression == "ZSTD":
        return cast("BinaryIO", import_module("compression.zstd").open(path))
    return path.open("rb")


def uncompressed(stream: IO[bytes]) -> IO[bytes]:
    """A stream from its beginning; decompressed if it is gzip, as the data files of exports are."""
    stream.seek(0)
    start = stream.read(len(_GZIP))
    stream.seek(0)
    return cast("IO[bytes]", gzip.open(stream)) if start == _GZIP else stream


def lines_of(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file; very long ones in several parts, which `json_items` puts together."""
    while line := file.readline(MAX_LINE_BYTES):
        yield line


def json_items(lines: Iterable[bytes]) -> Iterator[Any]:
    """The items of a file of JSON objects: one per line, as exports write them, or separated by anything or nothing.

    None for an object without an item. Raises `ValueError` where the file cannot be read any further.
    """
    for parsed in _objects(lines):
        yield item_of(parsed)


def _objects(lines: Iterable[bytes]) -> Iterator[Any]:
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
        objects, text = _leading_objects(text)
        tried = len(text)
        if tried > MAX_LINE_BYTES:
            raise ValueError("an object is longer than any item can be")
        yield from objects
    objects, text = _leading_objects(text + decoder.decode(b"", final=True))
    yield from objects
    if text:
        raise ValueError("the end of the file is not a whole JSON object")


def _leading_objects(text: str) -> tuple[list[Any], str]:
    """The JSON objects at the start of a text, and the remaining text."""
    objects, place = [], 0
    with suppress(json.JSONDecodeError, RecursionError):
        while place < len(text):
            parsed, end = _JSON.raw_decode(text, place)
            objects.append(parsed)
            place = end
            while place < len(text) and text[place].isspace():
                place += 1
    return objects, text[place:]


def csv_items(
    lines: Iterable[bytes], types: Mapping[str, str], *, delimiter: str = ",", header: list[str] | None = None
) -> Iterator[dict[str, dict[str, str]]]:
    """The items of a CSV file: texts, except for the attributes in `types`. The first line names the attributes if `header` does not."""
    reader = csv.reader((line.decode("utf-8-sig") for line in _complete(lines)), delimiter=delimiter, strict=True)
    names = header or next(reader, [])
    for row in reader:
        if row:
            yield {name: {types.get(name, "S"): value} for name, value in zip(names, row, strict=True)}


def _complete(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Refuse lines that were split because of their length."""
    for line in lines:
        if len(line) == MAX_LINE_BYTES:
            raise ValueError("a line is longer than any item can be")
        yield line
