"""The open indexes of a process, one for each collection, so that an index that the caller may not search is not even opened."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from gateleg.apps.rag.errors import IndexDamaged
from gateleg.apps.rag.index.database import remove_files
from gateleg.apps.rag.index.embedded import EmbeddedIndex
from gateleg.apps.rag.object_keys import segment

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

    from gateleg.apps.rag.index.entries import CollectionIndex
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Resources

T = TypeVar("T")

#: Maximum open indexes; the least recently used one is closed.
_MOST_OPEN = 64
#: File systems limit names to 255 bytes; this leaves room for suffixes.
_LONGEST_NAME = 120
_STATE = "rag-indexes"


@dataclass(frozen=True, slots=True)
class ObjectStorage:
    """The location of indexes in an object store that several machines share."""

    #: such as `s3://bucket/prefix`
    address: str
    options: Mapping[str, str] = field(default_factory=dict)

    def open(self, repository_id: str, collection_id: str) -> CollectionIndex:
        """Open the index of a collection."""
        # Imported here, because LanceDB is large and optional.
        from gateleg.apps.rag.index.lance import LanceIndex

        return LanceIndex(f"{self.address.rstrip('/')}/{segment(repository_id)}/{segment(collection_id)}", self.options)


def object_storage(settings: RagSettings) -> ObjectStorage | None:
    """The object store for indexes in the settings; None if they are in the data folder."""
    if not settings.index:
        return None
    options = {"region": settings.index_region} if settings.index_region else {}
    if settings.index_endpoint:
        options |= {"endpoint": settings.index_endpoint}
        if settings.index_endpoint.startswith("http://"):
            options["allow_http"] = "true"
    return ObjectStorage(settings.index, options)


class Indexes:
    """Opens each index once and keeps it open. Indexes are in a folder of this machine or in an object store."""

    def __init__(self, folder: Path, *, most: int = _MOST_OPEN, storage: ObjectStorage | None = None) -> None:
        self.folder = folder
        self._storage = storage
        self._most = most
        self._open: OrderedDict[Path, CollectionIndex] = OrderedDict()
        self._opening = threading.Lock()
        self._rebuilding: dict[Path, asyncio.Task[None]] = {}

    def path(self, repository_id: str, collection_id: str) -> Path:
        """The file of a collection's index."""
        return self.folder / _file_name(repository_id) / f"{_file_name(collection_id)}.index"

    def open(self, repository_id: str, collection_id: str) -> CollectionIndex:
        """Open the index of a collection; create it if it does not exist. A damaged index is removed and later rebuilt."""
        path = self.path(repository_id, collection_id)
        with self._opening:
            found = self._open.get(path)
            if found is None:
                found = _open(path) if self._storage is None else self._storage.open(repository_id, collection_id)
                self._open[path] = found
            self._open.move_to_end(path)
            old = [self._open.pop(next(iter(self._open))) for _ in range(len(self._open) - self._most)]
        for index in old:
            index.close()
        return found

    def existing(self, repository_id: str, collection_id: str) -> list[str]:
        """The names of a collection's indexes that have files on this machine, whatever their numbers."""
        folder = self.path(repository_id, collection_id).parent
        first, numbered = self.path(repository_id, collection_id).name, _file_name(f"{collection_id}#")
        if self._storage is not None or not folder.exists():
            return []
        files = [path.name.removesuffix(".index") for path in folder.iterdir() if path.name.endswith(".index")]
        numbers = [name.removeprefix(numbered) for name in files if name.startswith(numbered)]
        return [collection_id] * (first in {f"{name}.index" for name in files}) + [f"{collection_id}#{n}" for n in numbers if n.isdigit()]

    def discard(self, repository_id: str, collection_id: str) -> None:
        """Remove an index that cannot be read."""
        path = self.path(repository_id, collection_id)
        with self._opening:
            found = self._open.pop(path, None)
            if found is not None:
                found.drop()
            remove_files(path)

    async def run(self, repository_id: str, collection_id: str, act: Callable[[CollectionIndex], T]) -> T:
        """Call `act` with an index, in a thread. If the index is damaged, remove it, so that it is rebuilt, and raise `IndexDamaged`."""

        def acting() -> T:
            return act(self.open(repository_id, collection_id))

        try:
            return await asyncio.to_thread(acting)
        except IndexDamaged:
            await asyncio.to_thread(self.discard, repository_id, collection_id)
            raise

    def rebuild(self, repository_id: str, collection_id: str, begin: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """The task of this process that rebuilds an index; started by `begin` unless it is running."""
        path = self.path(repository_id, collection_id)
        found = self._rebuilding.get(path)
        if found is None or found.done():
            found = self._rebuilding[path] = asyncio.ensure_future(begin())
            found.add_done_callback(lambda _: self._rebuilding.pop(path, None))
        return found

    def drop(self, repository_id: str, collection_id: str) -> None:
        """Delete the index of a collection."""
        path = self.path(repository_id, collection_id)
        if self._storage is not None or path.exists():
            self.open(repository_id, collection_id).drop()
            with self._opening:
                self._open.pop(path, None)
        remove_files(path)

    def close(self) -> None:
        """Close all indexes."""
        for task in list(self._rebuilding.values()):
            task.cancel()
        with self._opening:
            found, self._open = list(self._open.values()), OrderedDict()
        for index in found:
            index.close()


def indexes_of(resources: Resources[Any]) -> Indexes:
    """The indexes of this process, created on first use."""
    found = resources.state.get(_STATE)
    if not isinstance(found, Indexes):
        found = resources.state[_STATE] = Indexes(resources.data / "index", storage=object_storage(resources.settings))
    return found


def close_indexes(resources: Resources[Any]) -> None:
    """Close the indexes of this process, at the end of the application's lifespan."""
    found = resources.state.pop(_STATE, None)
    if isinstance(found, Indexes):
        found.close()


def _open(path: Path) -> EmbeddedIndex:
    try:
        return EmbeddedIndex(path)
    except IndexDamaged:
        remove_files(path)
        return EmbeddedIndex(path)


def _file_name(name: str) -> str:
    """A file name for an id, different for every id."""
    quoted = quote(name, safe="").replace(".", "%2E")
    if len(quoted) <= _LONGEST_NAME:
        return quoted
    return f"{quoted[:_LONGEST_NAME]}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"
