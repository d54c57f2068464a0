"""Parse CSV, JSON and XML into rows of text. Each row names its columns, so that a chunk can be understood without the table's header."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.errors import UnreadableDocument
from gateleg.apps.rag.parsing.document import reason_of
from gateleg.apps.rag.parsing.plain import decode_text
from gateleg.apps.rag.parsing.row_text import row_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gateleg.apps.rag.parsing.document import DocumentBuilder

#: Nesting depth up to which JSON values get separate paths; deeper ones are kept as JSON.
_DEEPEST = 50


def write_rows(rows: Iterable[Sequence[str]], builder: DocumentBuilder) -> None:
    """Add a table, one line for each row: see `row_lines`."""
    for line in row_lines(rows):
        builder.row(line)


def read_csv(content: bytes, builder: DocumentBuilder) -> None:
    """Parse a table with cells separated by commas, semicolons, tabs or bars."""
    text = decode_text(content)[0].replace("\0", "")
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t|", key=first.count)
    csv.field_size_limit(10_000_000)
    try:
        write_rows(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), builder)
    except csv.Error as error:
        raise UnreadableDocument(f"The table cannot be read: {reason_of(error)}.") from None


def read_json(content: bytes, builder: DocumentBuilder) -> None:
    """Parse JSON or JSON Lines as lines of `path: value`, with an empty line after each entry of a list."""
    values = _json_values(decode_text(content)[0])
    entries = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    for entry in entries:
        for path, value in _leaves(entry, "", 0):
            builder.row(f"{path}: {value}" if path else value)
        builder.add("\n")


def _json_values(text: str) -> list[Any]:
    try:
        return [json.loads(text)]
    except RecursionError:
        raise UnreadableDocument("The JSON is nested too deeply.") from None
    except ValueError as error:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
        if len(lines) < 2 or not _is_json(lines[0][1]):
            raise UnreadableDocument(f"The JSON cannot be read: {reason_of(error)}.") from None
    wrong = next((number for number, line in lines if not _is_json(line)), None)
    if wrong is not None:
        raise UnreadableDocument(f"Line {wrong} is not a valid JSON value.", fix="Correct that line, and upload the file again.")
    return [json.loads(line) for _, line in lines]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _leaves(value: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and depth < _DEEPEST:
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        if all(not isinstance(one, dict | list) for one in value):
            yield path, ", ".join("" if one is None else str(one) for one in value)
        else:
            for place, inner in enumerate(value, start=1):
                yield from _leaves(inner, f"{path}[{place}]", depth + 1)
    elif value is not None:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_xml(content: bytes, builder: DocumentBuilder) -> None:
    """Parse the text of XML, one line for each element. Entities are not resolved."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, recover=True, load_dtd=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise UnreadableDocument(f"The XML cannot be read: {reason_of(error)}.") from None
    if root is None:
        raise UnreadableDocument("The XML has no elements.")
    for element in root.iter(etree.Element):
        builder.row(" ".join((element.text or "").split()))
        builder.row(" ".join((element.tail or "").split()))
