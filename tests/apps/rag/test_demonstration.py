from pathlib import Path

from gateleg.apps.rag.demonstration import COLLECTION, REPOSITORY, load, manual_pages
from gateleg.apps.rag.tables import Collection, Document
from tests.apps.rag.ingesting.library import open_library


async def test_the_manual_is_ingested_once(tmp_path: Path) -> None:
    pages = manual_pages()
    assert {"quickstart.md", "how-to/jobs.md"} <= {page.name for page in pages}
    async with open_library(tmp_path) as library:
        store = library.resources.store
        await load(library.resources)
        (collection,) = [row async for row in store.query(Collection.in_repository, repository_id=REPOSITORY) if row.name == COLLECTION]
        query = Document.in_partition(repository_id=REPOSITORY, collection_id=collection.collection_id)
        first = {row.document_name: row.job_id async for row in store.query(query)}
        assert first.keys() == {page.name for page in pages}
        await load(library.resources)
        assert {row.document_name: row.job_id async for row in store.query(query)} == first
