"""Pipelines keep a collection in step with an object store and with a folder."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.collections import create_collection, update_collection
from gateleg.apps.rag.drafts import CollectionChanges, NewCollection
from gateleg.apps.rag.errors import PipelineRefused, UnknownPipeline, UnknownRepository
from gateleg.apps.rag.pipelines.job_types import RUN_PIPELINE, PipelineConfig, PipelineResult
from gateleg.apps.rag.pipelines.run import state_of
from gateleg.apps.rag.pipelines.schedules import start_run, sync_schedules
from gateleg.apps.rag.tables import Document, IngestionType
from gateleg.host import Principal, Role
from gateleg.jobs import JobStatus, Submission
from gateleg.objects import AsyncObjects
from tests.apps.rag.ingesting.library import ADMIN, Library, open_library


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    environ = {"GATELEG_OBJECT_STORES": f"inbox=dir:{tmp_path}/inbox", "GATELEG_RAG__PIPELINE_FOLDERS": f'["{tmp_path}/shared"]'}
    async with open_library(tmp_path, environ=environ) as library:
        yield library


async def with_pipeline(library: Library, **fields: Any) -> str:
    """Give the collection a pipeline; its id."""
    pipeline = {"s3Bucket": "inbox", "s3Prefix": "legal/", "trigger": "event", **fields}
    changes = CollectionChanges.model_validate({"pipelines": [pipeline]})
    changed = await update_collection(library.resources.store, ADMIN, "books", library.collection_id, changes)
    assert changed.opened.collection.pipelines is not None
    return changed.opened.collection.pipelines[0].pipeline_id


async def look(library: Library, pipeline_id: str, **options: Any) -> PipelineResult:
    """One look to its end, with all that it has begun."""
    config = PipelineConfig(repository_id="books", owner_collection=library.collection_id, pipeline_id=pipeline_id, **options)
    job = (await library.host.queue.submit(Submission(RUN_PIPELINE, config))).job
    ended = await library.work(job.job_id)
    assert ended.job_results is not None
    for status in (JobStatus.PENDING, JobStatus.PROCESSING):
        waiting = library.host.queue.context.tables.job.in_status(status=status)
        for job_id in [found.job_id async for found in library.host.store.query(waiting)]:
            await library.work(job_id)
    return PipelineResult.model_validate(ended.job_results.value)


async def documents(library: Library) -> dict[str, Document]:
    query = Document.in_partition(repository_id="books", collection_id=library.collection_id)
    return {row.document_name: row async for row in library.resources.store.query(query, consistent=True)}


def inbox(library: Library) -> AsyncObjects:
    return library.resources.objects_named("inbox")


async def test_a_collection_follows_the_objects_of_a_prefix(library: Library) -> None:
    for key, text in (("legal/a.txt", "First text."), ("legal/b.txt", "Second text."), ("legal/c.tmp", "No."), ("other/d.txt", "No.")):
        await inbox(library).put(key, text.encode())
    pipeline = await with_pipeline(library, exclude=["*.tmp"], metadata={"tags": ["law"], "customFields": {"area": "civil"}}, chunkSize=500)
    tried = await look(library, pipeline, dry_run=True)
    assert (tried.found, tried.left_out, tried.to_ingest, await documents(library)) == (2, 1, ["legal/a.txt", "legal/b.txt"], {})

    first = await look(library, pipeline)
    assert (first.found, first.ingested, first.removed) == (2, 2, 0)
    found = await documents(library)
    assert {name: (row.chunks, row.ingestion_type, row.bucket) for name, row in found.items()} == {
        "a.txt": (1, IngestionType.EXISTING, "inbox"),
        "b.txt": (1, IngestionType.EXISTING, "inbox"),
    }
    (chunk,) = await library.chunks(found["a.txt"])
    assert (chunk.metadata["tags"], chunk.metadata["area"]) == (["law"], "civil")
    assert found["a.txt"].chunk_strategy == {"type": "FIXED", "chunkSize": 500, "chunkOverlap": 100}

    assert (await look(library, pipeline)).ingested == 0
    await inbox(library).put("legal/a.txt", b"First text, changed.")
    await inbox(library).put("legal/e.txt", b"Third text.")
    await inbox(library).delete("legal/b.txt")
    second = await look(library, pipeline)
    assert (second.found, second.ingested, second.removed, second.to_remove) == (2, 2, 1, ["b.txt"])
    found = await documents(library)
    assert {name: (row.revision, row.ingestion_type) for name, row in found.items()} == {
        "a.txt": (2, IngestionType.EXISTING),
        "e.txt": (1, IngestionType.AUTO),
    }
    state = await state_of(library.resources, PipelineConfig(repository_id="books", pipeline_id=pipeline))
    assert (state.cursor, state.found, state.looked_at is not None) == (None, 2, True)


async def test_what_is_gone_stays_without_auto_remove(library: Library) -> None:
    await inbox(library).put("legal/a.txt", b"Text.")
    pipeline = await with_pipeline(library, autoRemove=False)
    await look(library, pipeline)
    await inbox(library).delete("legal/a.txt")
    assert (await look(library, pipeline)).removed == 0
    assert list(await documents(library)) == ["a.txt"]


async def test_an_object_that_cannot_be_read_is_tried_once(library: Library) -> None:
    await inbox(library).put("legal/broken.pdf", b"%PDF-1.4 broken")
    pipeline = await with_pipeline(library)
    await look(library, pipeline)
    first = (await documents(library))["broken.pdf"]
    assert first.error_message is not None
    again = await look(library, pipeline)
    assert (again.ingested, again.failed) == (0, 1)
    assert (await documents(library))["broken.pdf"].job_id == first.job_id


async def test_a_folder_is_followed_too(library: Library, tmp_path: Path) -> None:
    (tmp_path / "shared" / "deep").mkdir(parents=True)
    (tmp_path / "shared" / "deep" / "note.md").write_text("# Note\n\nSomething to remember.\n")
    (tmp_path / "secret.txt").write_text("not for the collection")
    (tmp_path / "shared" / "link.txt").symlink_to(tmp_path / "secret.txt")
    pipeline = await with_pipeline(library, s3Bucket="", s3Prefix="", folder=str(tmp_path / "shared"))
    assert (await look(library, pipeline)).to_ingest == ["deep/note.md"]
    note = (await documents(library))["deep/note.md"]
    assert await library.resources.objects.get(note.source) == b"# Note\n\nSomething to remember.\n"
    (tmp_path / "shared" / "deep" / "note.md").unlink()
    assert (await look(library, pipeline)).removed == 1
    assert await documents(library) == {}


async def test_a_look_goes_on_where_it_was_interrupted(library: Library) -> None:
    for number in range(3):
        await inbox(library).put(f"legal/{number}.txt", f"Text {number}.".encode())
    pipeline = await with_pipeline(library)
    config = PipelineConfig(repository_id="books", owner_collection=library.collection_id, pipeline_id=pipeline)
    listed = await inbox(library).list("legal/", limit=2)
    state = await state_of(library.resources, config)
    await library.resources.store.put(state.model_copy(update={"cursor": listed.cursor}))
    assert (await look(library, pipeline)).to_ingest == ["legal/2.txt"]
    assert (await look(library, pipeline, now=True)).to_ingest == ["legal/0.txt", "legal/1.txt"]


async def test_pipelines_have_schedules_while_they_are_followed(library: Library) -> None:
    async def schedules() -> dict[str, tuple[str | None, int | None, str]]:
        found = await library.host.queue.schedules()
        return {one.name: (one.cron, one.every, one.timezone) for one in found if one.name.startswith("rag.pipeline/")}

    pipeline = await with_pipeline(library, trigger="schedule", cron="30 6 * * *", timezone="Europe/Berlin")
    await sync_schedules(library.resources)
    assert await schedules() == {f"rag.pipeline/{pipeline}": ("30 6 * * *", None, "Europe/Berlin")}
    pipeline = await with_pipeline(library, trigger="event")
    await sync_schedules(library.resources)
    assert await schedules() == {f"rag.pipeline/{pipeline}": (None, 60, "UTC")}
    await with_pipeline(library, paused=True)
    await sync_schedules(library.resources)
    assert await schedules() == {}
    assert (await look(library, pipeline)).note == "The pipeline is paused."


async def test_pipelines_look_only_where_they_may(library: Library, tmp_path: Path) -> None:
    for fields in ({"s3Bucket": "elsewhere"}, {"s3Bucket": ""}, {"s3Bucket": "", "folder": str(tmp_path)}):
        pipeline = await with_pipeline(library, **fields)
        with pytest.raises(PipelineRefused):
            await start_run(library.resources, ADMIN, "books", pipeline, collection=library.collection_id)
    with pytest.raises(UnknownPipeline):
        await start_run(library.resources, ADMIN, "books", "none")
    with pytest.raises(UnknownRepository):
        await start_run(library.resources, Caller(Principal("bob", Role.MEMBER)), "nowhere", "none")


async def test_two_collections_follow_one_prefix_side_by_side(library: Library) -> None:
    await inbox(library).put("legal/a.txt", b"Shared text.")
    await look(library, await with_pipeline(library))
    new = NewCollection.model_validate({"name": "Other", "pipelines": [{"s3Bucket": "inbox", "s3Prefix": "legal/"}]})
    other = (await create_collection(library.resources.store, ADMIN, "books", new)).collection
    assert other.pipelines is not None
    config = PipelineConfig(repository_id="books", owner_collection=other.collection_id, pipeline_id=other.pipelines[0].pipeline_id)
    job = (await library.host.queue.submit(Submission(RUN_PIPELINE, config))).job
    await library.work(job.job_id)
    rows = [
        row async for row in library.resources.store.query(Document.in_partition(repository_id="books", collection_id=other.collection_id))
    ]
    assert [row.document_name for row in rows] == ["a.txt"]
