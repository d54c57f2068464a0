"""What an index in LanceDB holds of a chunk, and how rows are named in its filters."""

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
    """A module of LanceDB or Arrow, which only hosts with indexes in an object store have. Raises `IndexUnavailable` without it."""
    try:
        return import_module(name)
    except ImportError:
        raise IndexUnavailable(
            "Indexes in an object store need LanceDB, which is not installed.", fix="Install gateleg[rag-s3], or leave rag.index empty."
        ) from None


def schema(dimensions: int | None) -> Any:
    """The columns of chunks; without vectors as long as none was added."""
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
    """Chunks as rows."""
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
    """The number of dimensions of an index with these chunks. Raises `BadVector` for a vector that does not fit the others."""
    for one in entries:
        if one.vector is not None:
            if known is not None and len(one.vector) != known:
                raise BadVector(f"A vector has {len(one.vector)} dimensions; those of the collection have {known}.")
            known = len(one.vector)
    return known


def _words(entry: IndexEntry) -> str:
    """The words of a chunk and of its heading, with a space on either side of each, so that phrases can be looked for."""
    text = f"{entry.heading}\n{entry.text}" if entry.heading else entry.text
    return f" {' '.join(analyse(text, language_of(entry.language)))} "


def profile_of(entry: IndexEntry) -> tuple[str, str]:
    """The metadata of a chunk as JSON, and an id that is the same for the same metadata."""
    packed = orjson.dumps(dict(entry.metadata), default=_plain, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(packed).hexdigest()[:24], packed.decode()


def _plain(value: Any) -> Any:
    """What JSON has no form of: numbers and sets of DynamoDB."""
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    number = float(value)
    return int(number) if number.is_integer() else number


def key_text(key: ChunkKey) -> str:
    """A chunk as one text. Documents come last: their ids may hold any character."""
    return f"{key.generation}#{key.ordinal}#{key.document_id}"


def quoted(text: str) -> str:
    """A text in a filter."""
    return "'" + text.replace("'", "''") + "'"


def one_of(column: str, values: Iterable[str]) -> str:
    """The filter for rows with one of some values; no row has one of none."""
    listed = ", ".join(quoted(value) for value in values)
    return f"{column} IN ({listed})" if listed else "false"


def all_of(conditions: Sequence[str]) -> str | None:
    """The filter for rows for which all conditions hold; None for all rows."""
    return " AND ".join(f"({one})" for one in conditions) or None


def chunk_keys(found: Any) -> list[ChunkKey]:
    """The chunks of some rows."""
    columns = (found.column(name).to_pylist() for name in ("document", "generation", "ordinal"))
    return [ChunkKey(*row) for row in zip(*columns, strict=True)]


def similarities(found: Any, vector: NDArray[np.float32]) -> list[float | None]:
    """The similarities of rows by their stored vectors; None for those without one."""
    if "vector" not in found.column_names:
        return [None] * found.num_rows
    stored = found.column("vector").to_pylist()
    return [None if one is None else float(np.asarray(one, dtype=np.float32) @ vector) for one in stored]
