"""Run a pipeline now or as a dry run, and keep the queue's schedules of pipelines up to date.

Folders send no events, and events of a bucket may be lost. Pipelines with the trigger `event` therefore run every `pipeline_seconds` and
compare the objects with what was ingested. A run that was missed during an outage is caught up.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import open_collection
from gateleg.apps.rag.errors import UnknownPipeline
from gateleg.apps.rag.pipelines.job_types import RUN_PIPELINE, FollowedPipelines, PipelineConfig
from gateleg.apps.rag.pipelines.matching import cron_of
from gateleg.apps.rag.pipelines.sources import check_source
from gateleg.apps.rag.repositories import get_repository
from gateleg.apps.rag.repository_list import listed_repositories
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.tables import READY, Collection, CollectionStatus
from gateleg.host import submitted_by
from gateleg.jobs import BadSchedule, ScheduleMissing, Submission

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Pipeline
    from gateleg.host import Resources
    from gateleg.jobs import Job
    from gateleg.store import AsyncStore

_SCHEDULES = "rag.pipeline/"
#: Seconds after which a missed run is no longer caught up: a week.
_MAX_DELAY = 7 * 86_400


@dataclass(frozen=True, slots=True)
class OpenedPipeline:
    """A pipeline that the caller may change, and the collection that declares it; None if the repository declares it."""

    pipeline: Pipeline
    owner: str | None


async def open_pipeline(
    store: AsyncStore, caller: Caller, repository_id: str, pipeline_id: str, collection: str | None = None
) -> OpenedPipeline:
    """Read a pipeline of a repository or a collection, and require the right to change it. Raises `UnknownPipeline`."""
    repository = await get_repository(store, caller, repository_id, Action.CHANGE_PIPELINES)
    pipelines, owner = repository.config.pipelines, None
    if collection is not None:
        opened = await open_collection(store, caller, repository_id, collection, Action.CHANGE_COLLECTION)
        pipelines, owner = opened.collection.pipelines, opened.collection.collection_id
    pipeline = next((one for one in pipelines or () if one.pipeline_id == pipeline_id), None)
    if pipeline is None:
        raise UnknownPipeline(f"There is no pipeline {pipeline_id!r} in the {'repository' if collection is None else 'collection'}.")
    return OpenedPipeline(pipeline, owner)


async def start_run(
    resources: Resources[RagSettings],
    caller: Caller,
    repository_id: str,
    pipeline_id: str,
    *,
    collection: str | None = None,
    dry_run: bool = False,
) -> Job:
    """Start a run of a pipeline, or a dry run. `collection` declares the pipeline; None if the repository does."""
    opened = await open_pipeline(resources.store, caller, repository_id, pipeline_id, collection)
    check_source(resources.settings, frozenset(resources.stores), opened.pipeline)
    config = PipelineConfig(
        repository_id=repository_id, owner_collection=opened.owner, pipeline_id=pipeline_id, dry_run=dry_run, now=not dry_run
    )
    return (await resources.queue.submit(submitted_by(caller.principal, _submission(config)))).job


def _submission(config: PipelineConfig) -> Submission:
    return Submission(
        RUN_PIPELINE,
        config,
        subject=str(Subject(config.repository_id, config.owner_collection)),
        # Two runs at once would see the same objects.
        concurrency_key=f"rag:pipeline:{config.pipeline_id}",
    )


async def sync_schedules(resources: Resources[RagSettings], warn: Callable[[str], None] = lambda text: None) -> FollowedPipelines:
    """Create, update and remove schedules so that exactly the active pipelines have one. `warn` receives messages about invalid times."""
    schedules = {one.name: one for one in await resources.queue.schedules() if one.name.startswith(_SCHEDULES)}
    found = FollowedPipelines()
    async for config, pipeline in all_pipelines(resources):
        found.pipelines += 1
        if pipeline.paused:
            continue
        name = f"{_SCHEDULES}{pipeline.pipeline_id}"
        cron, timezone = cron_of(pipeline), pipeline.timezone or "UTC"
        every = resources.settings.pipeline_seconds if cron is None else None
        have = schedules.pop(name, None)
        submission = _submission(config)
        wanted = (cron, every, timezone, submission.concurrency_key)
        if have is not None and (have.cron, have.every, have.timezone, have.concurrency_key) == wanted:
            continue
        try:
            await resources.queue.schedule(name, submission, cron=cron, every=every, timezone=timezone, max_delay=_MAX_DELAY)
        except BadSchedule as error:
            warn(f"The pipeline {pipeline.pipeline_id} of {config.repository_id} is not scheduled: {error}")
        else:
            found.scheduled += 1
    for name in schedules:
        # Its pipeline was removed or paused.
        with suppress(ScheduleMissing):
            await resources.queue.unschedule(name)
    return found


async def all_pipelines(resources: Resources[Any]) -> AsyncIterator[tuple[PipelineConfig, Pipeline]]:
    """The pipelines of all repositories and collections that accept documents."""
    async for repository in listed_repositories(resources.store):
        if repository.status not in READY:
            continue
        for pipeline in repository.config.pipelines or ():
            yield PipelineConfig(repository_id=repository.repository_id, pipeline_id=pipeline.pipeline_id), pipeline
        async for row in resources.store.query(Collection.in_repository, repository_id=repository.repository_id):
            if row.status is CollectionStatus.ACTIVE:
                for pipeline in row.pipelines or ():
                    owner = row.collection_id
                    yield (
                        PipelineConfig(repository_id=row.repository_id, owner_collection=owner, pipeline_id=pipeline.pipeline_id),
                        pipeline,
                    )
