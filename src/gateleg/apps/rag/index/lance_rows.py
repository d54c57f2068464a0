"""The rows of a LanceDB index, and SQL conditions on them."""

from __future__ import annotations

import hashlib
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from gateleg.apps.rag.errors import BadVector, IndexUnavailable
from gateleg.apps.rag.index.analysis import analyse, language_of
from gateleg.apps.rag.index.entries import ChunkKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from gateleg.apps.rag.index.entries import IndexEntry


def optional_module(name: str) -> Any:
    """Import a module of LanceDB or Arrow. Raises `IndexUnavailable` if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise IndexUnavailable(
            "Indexes in an object store need LanceDB, which is not installed.", fix="Install gateleg[rag-s3], or leave rag.index empty."
        ) from None


def schema(dimensions: int | None) -> Any:
    """The schema of the chunks table, without a vector column while `dimensions` is None."""
    pyarrow = optional_module("pyarrow")
    columns = [
        ("key", pyarrow.string()),
        ("document", pyarrow.string()),
        ("generation", pyarrow.int32()),
        ("ordinal", pyarrow.int32()),
        ("profile", pyarrow.string()),
        ("language", pyarrow.string()),
        ("words", pyarrow.string()),
    ]
    if dimensions is not None:
        columns.append(("vector", pyarrow.list_(pyarrow.float32(), dimensions)))
    return pyarrow.schema(columns)


def rows_of(document_id: str, generation: int, entries: Sequence[IndexEntry], dimensions: int | None) -> Any:
    """Convert entries to rows."""
    pyarrow = optional_module("pyarrow")
    rows = [
        {
            "key": key_text(ChunkKey(document_id, generation, one.ordinal)),
            "document": document_id,
            "generation": generation,
            "ordinal": one.ordinal,
            "profile": profile_of(one)[0],
            "language": language_of(one.language),
            "words": _words(one),
        }
        | ({} if dimensions is None else {"vector": None if one.vector is None else np.asarray(one.vector, dtype=np.float32)})
        for one in entries
    ]
    return pyarrow.Table.from_pylist(rows, schema=schema(dimensions))


def dimensions_of(entries: Sequence[IndexEntry], known: int | None) -> int | None:
    """The number of dimensions of the vectors. Raises `BadVector` if they differ."""
    for one in entries:
        if one.vector is not None:
            if known is not None and len(one.vector) != known:
                raise BadVector(f"A vector has {len(one.vector)} dimensions; those of the collection have {known}.")
            known = len(one.vector)
    return known


def _words(entry: IndexEntry) -> str:
    """The stems of a chunk and its heading, each surrounded by spaces, so that phrases can be matched."""
    text = f"{entry.heading}\n{entry.text}" if entry.heading else entry.text
    return f" {' '.join(analyse(text, language_of(entry.language)))} "


def profile_of(entry: IndexEntry) -> tuple[str, str]:
    """The profile of a chunk: a hash of its metadata, and the metadata as JSON."""
    packed = orjson.dumps(dict(entry.metadata), default=_plain, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(packed).hexdigest()[:24], packed.decode()


def _plain(value: Any) -> Any:
    """Convert DynamoDB numbers and sets to JSON values."""
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    number = float(value)
    return int(number) if number.is_integer() else number


def key_text(key: ChunkKey) -> str:
    """A chunk key as a string. The document id comes last, because it may contain any character."""
    return f"{key.generation}#{key.ordinal}#{key.document_id}"


def quoted(text: str) -> str:
    """Quote a string for a SQL condition."""
    return "'" + text.replace("'", "''") + "'"


def one_of(column: str, values: Iterable[str]) -> str:
    """The SQL condition for rows with one of the values; `false` if there are none."""
    listed = ", ".join(quoted(value) for value in values)
    return f"{column} IN ({listed})" if listed else "false"


def all_of(conditions: Sequence[str]) -> str | None:
    """The SQL condition that combines all conditions by AND; None if there are none."""
    return " AND ".join(f"({one})" for one in conditions) or None


def chunk_keys(found: Any) -> list[ChunkKey]:
    """The chunk keys of rows."""
    columns = (found.column(name).to_pylist() for name in ("document", "generation", "ordinal"))
    return [ChunkKey(*row) for row in zip(*columns, strict=True)]


def similarities(found: Any, vector: NDArray[np.float32]) -> list[float | None]:
    """The similarities of rows, from their stored vectors; None for rows without one."""
    if "vector" not in found.column_names:
        return [None] * found.num_rows
    stored = found.column("vector").to_pylist()
    return [None if one is None else float(np.asarray(one, dtype=np.float32) @ vector) for one in stored]
