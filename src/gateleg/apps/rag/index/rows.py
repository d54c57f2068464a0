"""The chunks of an index in memory, as columns: document, generation, ordinal and metadata of each row.

Rows are appended in the order of their ids and never move; removed rows are only marked. A view of the first n rows therefore stays valid
while others are appended.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from gateleg.apps.rag.index.entries import ChunkKey
from gateleg.apps.rag.index.filters import Condition, Either, Every, Filter, Negated, field_value, fields_of, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

#: Maximum filters whose results are cached.
_MAX_CACHED_FILTERS = 64


class Column:
    """A growing array. `room` is its initial capacity."""

    def __init__(self, dtype: Any, width: int | None = None, *, room: int = 0) -> None:
        self._array: NDArray[Any] = np.zeros((room,) if width is None else (room, width), dtype=dtype)
        self._used = 0

    def extend(self, values: Any) -> None:
        """Append values."""
        added = np.asarray(values, dtype=self._array.dtype)
        needed = self._used + len(added)
        if needed > len(self._array):
            grown = np.zeros((max(needed, 2 * len(self._array), 256), *self._array.shape[1:]), dtype=self._array.dtype)
            grown[: self._used] = self._array[: self._used]
            self._array = grown
        self._array[self._used : needed] = added
        self._used = needed

    @property
    def view(self) -> NDArray[Any]:
        """The values."""
        return self._array[: self._used]

    def __len__(self) -> int:
        return self._used


class Rows:
    """All chunks of an index, one row each."""

    def __init__(self) -> None:
        self.ids = Column(np.int64)
        self.words = Column(np.int32)
        self.alive = Column(np.bool_)
        self._document = Column(np.int32)
        self._generation = Column(np.int32)
        self._ordinal = Column(np.int32)
        self._profile = Column(np.int32)
        self._documents: list[str] = []
        self._codes: dict[str, int] = {}
        self._profiles = Profiles()
        self.removed = 0

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def count(self) -> int:
        """The number of rows that are not removed."""
        return len(self) - self.removed

    @property
    def known_profile(self) -> int:
        """The highest profile id that has been read."""
        return self._profiles.last

    def extend(self, rows: Sequence[tuple[int, str, int, int, int, int]], profiles: Iterable[tuple[int, bytes]]) -> None:
        """Append rows (id, document, generation, ordinal, profile, words) in the order of their ids."""
        self._profiles.extend(profiles)
        if not rows:
            return
        ids, documents, generations, ordinals, profile, words = zip(*rows, strict=True)
        self._document.extend([self._code(document) for document in documents])
        self._generation.extend(generations)
        self._ordinal.extend(ordinals)
        self._profile.extend([self._profiles.places[one] for one in profile])
        self.words.extend(words)
        self.alive.extend(np.ones(len(rows), dtype=np.bool_))
        self.ids.extend(ids)

    def remove(self, ids: Sequence[int]) -> None:
        """Mark rows as removed; unknown ids are ignored."""
        if len(ids) == 0 or len(self) == 0:
            return
        places = self.places(np.asarray(ids, dtype=np.int64))
        alive = self.alive.view
        places = np.unique(places[places >= 0])
        self.removed += int(alive[places].sum())
        alive[places] = False

    def places(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of ids; -1 for unknown ids."""
        known = self.ids.view
        if len(known) == 0:
            return np.full(len(ids), -1, dtype=np.int64)
        found = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return np.where(known[found] == ids, found, -1)

    def keys(self, rows: Sequence[int]) -> list[ChunkKey]:
        """The chunk keys of rows."""
        wanted = np.asarray(rows, dtype=np.int64)
        columns = (self._document.view[wanted].tolist(), self._generation.view[wanted].tolist(), self._ordinal.view[wanted].tolist())
        return [ChunkKey(self._documents[document], generation, ordinal) for document, generation, ordinal in zip(*columns, strict=True)]

    def generations(self) -> dict[str, set[int]]:
        """The generations of rows that are not removed, by document."""
        alive = self.alive.view
        pairs = np.unique(np.stack([self._document.view[alive], self._generation.view[alive]], axis=1), axis=0)
        found: dict[str, set[int]] = {}
        for document, generation in pairs.tolist():
            found.setdefault(self._documents[document], set()).add(generation)
        return found

    def passing(self, found: Filter | None, documents: Sequence[str] | None = None) -> NDArray[np.bool_]:
        """A mask of the rows that are not removed, belong to one of the documents, and pass the filter."""
        count = len(self)
        passing: NDArray[np.bool_] = self.alive.view[:count].copy()
        if documents is not None:
            wanted = [self._codes[document] for document in documents if document in self._codes]
            passing &= np.isin(self._document.view[:count], wanted)
        if found is not None:
            passing &= self._profiles.passing(found)[self._profile.view[:count]]
        return passing

    def _code(self, document: str) -> int:
        code = self._codes.get(document)
        if code is None:
            code = self._codes[document] = len(self._documents)
            self._documents.append(document)
        return code


class Profiles:
    """The distinct sets of metadata (profiles) of the chunks, with a column for each field that a filter has used.

    A column is dictionary-encoded, so a condition is evaluated once for each distinct value.
    """

    def __init__(self) -> None:
        #: the position of each profile, by its id in the database
        self.places: dict[int, int] = {}
        #: the highest id
        self.last = 0
        self._metadata: list[bytes] = []
        self._fields: dict[str, _Values] = {}
        self._results: dict[Filter, NDArray[np.bool_]] = {}

    def extend(self, profiles: Iterable[tuple[int, bytes]]) -> None:
        """Add profiles with their ids."""
        before = len(self._metadata)
        for number, metadata in profiles:
            if number not in self.places:
                self.places[number] = len(self._metadata)
                self._metadata.append(metadata)
                self.last = max(self.last, number)
        if len(self._metadata) > before:
            self._results.clear()

    def passing(self, found: Filter) -> NDArray[np.bool_]:
        """A mask of the profiles that pass a filter."""
        known = self._results.get(found)
        if known is None or len(known) < len(self._metadata):
            self._fill(fields_of(found))
            known = self._decide(found)
            if len(self._results) >= _MAX_CACHED_FILTERS:
                self._results.pop(next(iter(self._results)))
            self._results[found] = known
        return known

    def _fill(self, fields: Iterable[str]) -> None:
        """Bring the columns of fields up to date."""
        behind = {name: column for name in fields if len(column := self._fields.setdefault(name, _Values())) < len(self._metadata)}
        if not behind:
            return
        first = min(len(column) for column in behind.values())
        for place in range(first, len(self._metadata)):
            metadata = orjson.loads(self._metadata[place])
            for name, column in behind.items():
                if len(column) == place:
                    column.append(field_value(metadata, name))

    def _decide(self, found: Filter) -> NDArray[np.bool_]:
        match found:
            case Condition():
                return self._fields[found.field].passing(found)
            case Negated():
                return ~self._decide(found.part)
            case Every():
                return functools.reduce(np.logical_and, (self._decide(part) for part in found.parts))
            case Either():
                return functools.reduce(np.logical_or, (self._decide(part) for part in found.parts))


class _Values:
    """The dictionary-encoded column of one field, with a value for each profile."""

    def __init__(self) -> None:
        self._codes = Column(np.int32)
        self._distinct: list[Any] = []
        self._known: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self._codes)

    def append(self, value: Any) -> None:
        """Add the value of the next profile."""
        # 1, 1.0 and True are the same dictionary key but different values.
        kept = tuple(value) if isinstance(value, list) else value
        key = (type(kept), kept) if not isinstance(kept, (dict, tuple)) else (type(kept), repr(kept))
        code = self._known.get(key)
        if code is None:
            code = self._known[key] = len(self._distinct)
            self._distinct.append(kept)
        self._codes.extend([code])

    def passing(self, condition: Condition) -> NDArray[np.bool_]:
        """A mask of the profiles that satisfy a condition."""
        decided = np.fromiter((matches(condition, value) for value in self._distinct), dtype=np.bool_, count=len(self._distinct))
        codes: NDArray[np.int32] = self._codes.view
        return decided[codes]
