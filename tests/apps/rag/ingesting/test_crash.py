"""An ingestion that is killed anywhere: searches find the old content or the new one, whole, and the next worker completes it."""

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest

from gateleg.apps.rag.ingesting.generations import text_key
from gateleg.apps.rag.ingesting.reembedding import start_reembedding
from gateleg.apps.rag.ingesting.submission import NewDocument
from gateleg.apps.rag.object_keys import document_prefix
from gateleg.apps.rag.searching.requests import SearchRequest
from gateleg.apps.rag.searching.service import SearchScope, search
from gateleg.apps.rag.tables import Chunk, DocumentStatus, Fingerprint
from gateleg.host import Principal, Role
from tests.apps.rag.ingesting.library import ADMIN, Library, open_library
from tests.apps.rag.ingesting.mortal_worker import finish
from tests.apps.rag.ingesting.second_model import second_model

pytestmark = pytest.mark.crash
#: Operations of an ingestion, about.
OPERATIONS = 20


def edition(number: int) -> str:
    return "\n\n".join(
        f"Part {part} of edition{number} is about harbours, tides, ships and the {part * 7} people on them." for part in range(12)
    )


async def found(library: Library) -> list[str]:
    """The texts of all chunks that a search finds."""
    request = SearchRequest(query="harbours tides ships people", top_k=100)
    result = await search(library.resources, Principal("ada", Role.ADMIN), [SearchScope("books", library.collection_id)], request)
    return sorted(hit.text for hit in result.hits)


def editions(texts: list[str]) -> set[str]:
    return {word for text in texts for word in text.split() if word.startswith("edition")}


@pytest.mark.parametrize("seed", range(4))
async def test_no_half_document_is_ever_found(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    strategy = {"type": "FIXED", "chunkSize": 100, "chunkOverlap": 20}
    async with open_library(tmp_path, f"embedded:{tmp_path}/store?durability=relaxed", chunking_strategy=strategy) as library:
        document, _ = await library.ingest(NewDocument(text=edition(0), name="book.txt"))
        whole = len(await found(library))
        killed = 0
        for number in range(1, 3):
            before = await found(library)
            submitted = await library.submit(NewDocument(text=edition(number), name="book.txt"))
            count = chance.randrange(1, OPERATIONS)
            command = [sys.executable, "-m", "tests.apps.rag.ingesting.mortal_worker", str(tmp_path), str(submitted.job.job_id), str(count)]
            ended = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False, timeout=300)
            assert ended.returncode in (0, -9), ended.stderr
            killed += ended.returncode == -9
            texts = await found(library)
            assert texts == before or (editions(texts) == {f"edition{number}"} and len(texts) >= whole - 1), (number, count)

            await finish(library.host, tmp_path, submitted.job.job_id)
            job = await library.host.queue.get(submitted.job.job_id)
            assert job.status.value == "COMPLETED", job.attempts
            document = await library.document(document.document_id)
            assert (document.status, document.revision) == (DocumentStatus.COMPLETED, number + 1)
            texts = await found(library)
            assert (editions(texts), len(texts)) == ({f"edition{number}"}, document.chunks)
        assert killed
        # Nothing of what was interrupted is left.
        store = library.resources.store
        assert await store.count(Chunk.in_collection, repository_id="books", collection_id=library.collection_id) == document.chunks
        assert await library.indexed() == {document.document_id: {document.generation}}
        assert len([row async for row in store.export(Fingerprint)]) == 5
        own = document_prefix("books", library.collection_id, document.document_id)
        kept = [entry.key async for entry in library.resources.objects.walk(f"{own}text/")]
        assert kept == [text_key(document, document.generation or 0)]


#: Before vectors are written, before the swap, and after it.
@pytest.mark.parametrize("count", [6, 11, 12])
async def test_one_whole_index_is_searched_wherever_embedding_anew_is_killed(tmp_path: Path, count: int) -> None:
    strategy = {"type": "FIXED", "chunkSize": 100, "chunkOverlap": 20}
    with second_model() as other:
        async with open_library(tmp_path, f"embedded:{tmp_path}/store?durability=relaxed", chunking_strategy=strategy) as library:
            await library.ingest(NewDocument(text=edition(0), name="book.txt"))
            whole = await found(library)
            job = await start_reembedding(library.resources, ADMIN, "books", library.collection_id, other.address)
            command = [sys.executable, "-m", "tests.apps.rag.ingesting.mortal_worker", str(tmp_path), str(job.job_id), str(count)]
            ended = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False, timeout=300)
            assert ended.returncode == -9, ended.stderr
            row = await library.resources.store.get(library.opened.collection.key, consistent=True)
            assert (row.index_number > 0) is (count > 11)
            assert await found(library) == whole
            await finish(library.host, tmp_path, job.job_id)
            done = await library.host.queue.get(job.job_id)
            assert done.status.value == "COMPLETED", done.attempts
            assert await found(library) == whole
            row = await library.resources.store.get(library.opened.collection.key, consistent=True)
            assert (row.embedding_model, row.shadow_number) == (other.address, None)
            kept = sorted(path.name for path in (library.resources.data / "index").rglob("*.index"))
            assert len(kept) == 1, kept
