"""Run a pipeline: ingest new and changed objects, and remove documents whose objects are gone. An interrupted run resumes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.collections import find_collection
from gateleg.apps.rag.deleting.submission import start_document_deletion
from gateleg.apps.rag.errors import RagError
from gateleg.apps.rag.ingesting.job_types import IngestConfig, SourceConfig
from gateleg.apps.rag.ingesting.submission import document_id_of, submit_ingestion
from gateleg.apps.rag.pipelines.job_types import PipelineResult
from gateleg.apps.rag.pipelines.matching import includes_key, needs_ingestion
from gateleg.apps.rag.pipelines.sources import check_source, list_source
from gateleg.apps.rag.rules import check_accepts_documents
from gateleg.apps.rag.tables import Collection, Document, DocumentStatus, IngestionType, PipelineState, Repository
from gateleg.host import Principal, Role
from gateleg.jobs import GiveUp
from gateleg.store import LostRace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.pipelines.job_types import PipelineConfig
    from gateleg.apps.rag.pipelines.matching import SourceObject
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Pipeline
    from gateleg.host import Resources
    from gateleg.jobs import JobContext

SYSTEM = Caller(Principal("system", Role.OPERATOR))
#: Objects modified earlier than this before the last run were seen by it; the clocks of stores differ by less.
_MARGIN = timedelta(minutes=10)
_SHOWN = 100
#: Maximum documents deleted by one job.
_REMOVED = 100


@dataclass
class _PipelineRun:
    """The state of a run."""

    config: PipelineConfig
    pipeline: Pipeline
    collection: Collection
    state: PipelineState
    result: PipelineResult
    #: the document ids of all objects; None for a resumed run, which has not seen all objects
    present: set[str] | None = field(default_factory=set)
    new: int = 0


async def run_pipeline(job: JobContext, config: PipelineConfig, resources: Resources[RagSettings]) -> PipelineResult:
    """The job handler: run a pipeline once."""
    found = await load_pipeline(resources, config)
    if found is None:
        return PipelineResult(note="The pipeline was removed.")
    repository, collection, pipeline = found
    state = await state_of(resources, config)
    if pipeline.paused and not config.now and not config.dry_run:
        return PipelineResult(note="The pipeline is paused.")
    try:
        check_source(resources.settings, frozenset(resources.stores), pipeline)
        check_accepts_documents(repository, collection)
        run = _PipelineRun(config, pipeline, collection, state, PipelineResult(dry_run=config.dry_run))
        return await _run_pages(job, run, resources)
    except RagError as error:
        await _save(resources, state, error_message=error.message)
        raise GiveUp(str(error)) from error


async def load_pipeline(resources: Resources[Any], config: PipelineConfig) -> tuple[Repository, Collection, Pipeline] | None:
    """Read a pipeline with its repository and its target collection; None if one of them no longer exists."""
    repository = await resources.store.find(Repository, repository_id=config.repository_id, consistent=True)
    if repository is None:
        return None
    owner = None if config.owner_collection is None else await find_collection(resources.store, repository, config.owner_collection)
    listed = repository.config.pipelines if config.owner_collection is None else (owner.pipelines if owner is not None else None)
    pipeline = next((one for one in listed or () if one.pipeline_id == config.pipeline_id), None)
    if pipeline is None:
        return None
    collection = owner or await find_collection(resources.store, repository, pipeline.collection_id or "default")
    return None if collection is None else (repository, collection, pipeline)


async def state_of(resources: Resources[Any], config: PipelineConfig) -> PipelineState:
    """Read the state of a pipeline."""
    found = await resources.store.find(PipelineState, pipeline_id=config.pipeline_id, consistent=True)
    return found or PipelineState(pipeline_id=config.pipeline_id, repository_id=config.repository_id)


async def _save(resources: Resources[Any], state: PipelineState, **changes: Any) -> PipelineState:
    """Write the state of a pipeline. A lost race is ignored: the other run has written the same."""
    made = state.model_copy(update=changes)
    with suppress(LostRace):
        return await resources.store.put(made)
    return made


async def _run_pages(job: JobContext, run: _PipelineRun, resources: Resources[RagSettings]) -> PipelineResult:
    began = resources.store.setup.now()
    after = None if run.config.dry_run else run.state.cursor
    if after is not None:
        run.present = None
    async for page, behind in list_source(resources, run.pipeline, after):
        job.check()
        await _ingest_page(run, page, resources)
        job.progress(0.0, 1.0, f"{run.result.found} found, {run.result.ingested} to ingest")
        if behind is not None and not run.config.dry_run:
            run.state = await _save(resources, run.state, cursor=behind)
    if run.pipeline.auto_remove:
        await _remove_gone(job, run, resources)
    if not run.config.dry_run:
        done = run.result
        counts = {"found": done.found, "ingested": done.ingested, "removed": done.removed}
        await _save(resources, run.state, cursor=None, looked_at=began, last_job_id=job.job_id, error_message=None, **counts)
    return run.result


async def _ingest_page(run: _PipelineRun, page: Sequence[SourceObject], resources: Resources[RagSettings]) -> None:
    """Ingest the new and changed objects of a page."""
    wanted = [one for one in page if includes_key(run.pipeline, one.key)]
    run.result.left_out += len(page) - len(wanted)
    run.result.found += len(wanted)
    ids = {one.key: _document_id(run, one.key) for one in wanted}
    if run.present is not None:
        run.present.update(ids.values())
    recent = [one for one in wanted if _may_have_changed(run, one)]
    run.result.unchanged += len(wanted) - len(recent)
    there = await resources.store.batch_get([_key(run, ids[one.key]) for one in recent], consistent=True)
    for one, document in zip(recent, there, strict=True):
        if not needs_ingestion(one, document, again=run.config.now):
            run.result.unchanged += 1
            run.result.failed += document is not None and document.status is DocumentStatus.FAILED
            continue
        run.new += document is None
        run.result.ingested += 1
        if len(run.result.to_ingest) < _SHOWN:
            run.result.to_ingest.append(one.key)
        if not run.config.dry_run:
            await _submit(run, one, document, resources)


def _may_have_changed(run: _PipelineRun, seen: SourceObject) -> bool:
    """Whether an object may have changed since the last complete run. A run started by hand compares all objects."""
    before = run.state.looked_at
    return run.config.now or run.config.dry_run or before is None or seen.modified > before - _MARGIN


def _document_id(run: _PipelineRun, key: str) -> str:
    place = f"folder:{run.pipeline.folder}" if run.pipeline.folder is not None else f"bucket:{run.pipeline.s3_bucket}"
    return document_id_of(run.collection.repository_id, run.collection.collection_id, f"{place}:{key}")


def _key(run: _PipelineRun, document_id: str) -> Any:
    return Document.key(repository_id=run.collection.repository_id, collection_id=run.collection.collection_id, document_id=document_id)


async def _submit(run: _PipelineRun, seen: SourceObject, document: Document | None, resources: Resources[RagSettings]) -> None:
    pipeline = run.pipeline
    if pipeline.folder is not None:
        source = SourceConfig(kind="folder", folder=pipeline.folder, key=seen.key, etag=seen.etag)
    else:
        source = SourceConfig(key=seen.key, bucket=pipeline.s3_bucket, etag=seen.etag)
    first = run.state.looked_at is None
    config = IngestConfig(
        repository_id=run.collection.repository_id,
        collection_id=run.collection.collection_id,
        document_id=_document_id(run, seen.key),
        name=seen.key if pipeline.folder is not None else seen.key.removeprefix(pipeline.s3_prefix).lstrip("/") or seen.key,
        source=source,
        ingestion_type=IngestionType.EXISTING if first else IngestionType.AUTO,
        pipeline_id=pipeline.pipeline_id,
        username=SYSTEM.user,
    )
    await submit_ingestion(resources, config, document, caller=SYSTEM)


async def _remove_gone(job: JobContext, run: _PipelineRun, resources: Resources[RagSettings]) -> None:
    """Remove documents whose objects are gone. Skipped if the known objects are as many as in the last run, because then none is gone."""
    before = run.state
    if run.present is None or (before.looked_at is None and not run.config.now and not run.config.dry_run):
        return
    if not run.config.now and not run.config.dry_run and len(run.present) - run.new >= before.found:
        return
    gone: list[Document] = []
    everything = Document.in_partition(repository_id=run.collection.repository_id, collection_id=run.collection.collection_id)
    async for document in resources.store.query(everything):
        job.check()
        if document.pipeline_id == run.pipeline.pipeline_id and document.document_id not in run.present:
            gone.append(document)
    run.result.removed = len(gone)
    run.result.to_remove = [document.document_name for document in gone[:_SHOWN]]
    if run.config.dry_run:
        return
    for start in range(0, len(gone), _REMOVED):
        ids = [document.document_id for document in gone[start : start + _REMOVED]]
        await start_document_deletion(resources.queue, SYSTEM, run.collection.repository_id, ids)
