"""A removal that is interrupted anywhere is completed by the next one."""

from pathlib import Path
from typing import Any

import pytest

from gateleg.apps.rag.evaluating.tables import EVALUATION_TABLES
from gateleg.apps.rag.index.registry import Indexes
from gateleg.apps.rag.ingesting.fingerprints import write_fingerprint
from gateleg.apps.rag.object_keys import source_key
from gateleg.apps.rag.purging import Counts, PurgeResources, count_left, purge_collection, purge_document
from gateleg.apps.rag.tables import Chunk, Document, Fingerprint
from gateleg.objects import AsyncObjects
from gateleg.store import AsyncStore
from tests.apps.rag.served import Served


class PowerCut(Exception):
    """The process is gone."""


class Failing:
    """Something whose calls end the process at a given number of them, counted over all that share a counter."""

    def __init__(self, inner: Any, left: list[int]) -> None:
        self._inner = inner
        self._left = left

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found) or name in ("setup",):
            return found

        def call(*args: Any, **options: Any) -> Any:
            self._left[0] -= 1
            if self._left[0] < 0:
                raise PowerCut(name)
            return found(*args, **options)

        return call


async def fill(store: AsyncStore, objects: AsyncObjects, indexes: Indexes, count: int) -> list[Document]:
    made = []
    for number in range(count):
        document = Document(repository_id="legal", collection_id="c", document_id=f"d{number}", last_generation=2, generation=2)
        document.source = source_key("legal", "c", document.document_id, "a.txt")
        document.content_hash, document.simhash = "c" * 64, "0123456789abcdef"
        await objects.put(document.source, b"text")
        for generation in (1, 2):
            chunk = Served._chunk(document, generation, 0)
            await store.put(chunk)
            indexes.open("legal", "c").add(document.document_id, generation, [chunk])
        await write_fingerprint(store, document)
        made.append(await store.create(document))
    return made


async def left_in(store: AsyncStore) -> dict[str, int]:
    found = {}
    for entity, name in ((Document, "LisaRagDocumentTable"), (Chunk, "LisaRagChunkTable"), (Fingerprint, "LisaRagIngestionTable")):
        found[entity.__name__] = len((await store.transport.call("Scan", {"TableName": name}))["Items"])
    return found


@pytest.fixture
def indexes(tmp_path: Path) -> Any:
    found = Indexes(tmp_path / "index")
    yield found
    found.close()


async def test_collection_is_removed_whole_wherever_it_was_interrupted(store: AsyncStore, objects: AsyncObjects, indexes: Indexes) -> None:
    await store.ensure_tables(*EVALUATION_TABLES)
    interrupted = 0
    for calls in range(60):
        await fill(store, objects, indexes, 1)
        left = [calls]
        cut = PurgeResources(*(Failing(one, left) for one in (store, objects, indexes)))  # type: ignore[arg-type]
        try:
            await purge_collection(cut, "legal", "c")
        except PowerCut:
            interrupted += 1
            whole = PurgeResources(store, objects, indexes)
            await purge_collection(whole, "legal", "c")
        assert not await count_left(PurgeResources(store, objects, indexes), "legal", "c"), calls
        assert await left_in(store) == {"Document": 0, "Chunk": 0, "Fingerprint": 0}, calls
        if interrupted <= calls:
            break
    assert interrupted >= 10


async def test_document_is_removed_whole_wherever_it_was_interrupted(store: AsyncStore, objects: AsyncObjects, indexes: Indexes) -> None:
    whole = PurgeResources(store, objects, indexes)
    interrupted = 0
    for calls in range(40):
        first, second = await fill(store, objects, indexes, 2)
        left = [calls]
        try:
            await purge_document(PurgeResources(*(Failing(one, left) for one in (store, objects, indexes))), first)  # type: ignore[arg-type]
        except PowerCut:
            interrupted += 1
            await purge_document(whole, first)
        found = await count_left(whole, "legal", "c")
        assert found == Counts(documents=1, chunks=2, vectors=2, objects=1), calls
        await purge_document(whole, second)
        if interrupted <= calls:
            break
    assert interrupted >= 5
