"""The job types of document collections: ingestion, re-embedding, pipelines, deletion and evaluation, with their handlers.

Handlers run in the worker's event loop and mostly wait, because parsers run in separate processes and models in their own threads.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gateleg.apps.rag.deleting.job_types import NoConfig
from gateleg.apps.rag.deleting.work import deletion_jobs
from gateleg.apps.rag.evaluating.work import evaluation_jobs
from gateleg.apps.rag.index.registry import indexes_of
from gateleg.apps.rag.ingesting.ingestion import ingest
from gateleg.apps.rag.ingesting.job_types import (
    INGEST,
    INGESTION_QUEUE,
    REEMBED,
    REINGEST,
    IngestConfig,
    IngestResult,
    ReembedConfig,
    ReembedResult,
    ReingestConfig,
    ReingestResult,
)
from gateleg.apps.rag.ingesting.reembedding import reembed
from gateleg.apps.rag.ingesting.reingestion import reingest
from gateleg.apps.rag.pipelines.job_types import (
    FOLLOW_PIPELINES,
    RUN_PIPELINE,
    FollowedPipelines,
    PipelineConfig,
    PipelineResult,
)
from gateleg.apps.rag.pipelines.run import run_pipeline
from gateleg.apps.rag.pipelines.schedules import sync_schedules
from gateleg.apps.rag.repository_list import reconcile
from gateleg.jobs import Jobs, Retry

if TYPE_CHECKING:
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Resources
    from gateleg.jobs import JobContext

#: Timeout of a job in seconds. It is long, because slow models need hours for long documents.
_LONGEST = 4 * 3600


def rag_jobs(resources: Resources[RagSettings]) -> Jobs:
    """All job types of document collections, with their handlers."""
    jobs = Jobs()
    limit = resources.settings.ingestions_per_worker or max(os.cpu_count() or 2, 2)

    @jobs.handler(
        INGEST,
        config=IngestConfig,
        result=IngestResult,
        queue=INGESTION_QUEUE,
        limit_per_worker=limit,
        timeout=_LONGEST,
        retry=Retry(times=4, first=2.0),
    )
    async def ingest_one(job: JobContext, config: IngestConfig) -> IngestResult:
        return await ingest(job, config, resources, indexes_of(resources))

    @jobs.handler(REINGEST, config=ReingestConfig, result=ReingestResult, timeout=_LONGEST)
    async def reingest_all(job: JobContext, config: ReingestConfig) -> ReingestResult:
        return await reingest(job, config, resources)

    @jobs.handler(
        REEMBED,
        config=ReembedConfig,
        result=ReembedResult,
        queue=INGESTION_QUEUE,
        limit_per_worker=limit,
        timeout=_LONGEST,
        retry=Retry(times=4, first=2.0),
    )
    async def reembed_all(job: JobContext, config: ReembedConfig) -> ReembedResult:
        return await reembed(job, config, resources, indexes_of(resources))

    @jobs.handler(RUN_PIPELINE, config=PipelineConfig, result=PipelineResult, timeout=_LONGEST)
    async def run_one(job: JobContext, config: PipelineConfig) -> PipelineResult:
        return await run_pipeline(job, config, resources)

    # The API does both when a repository or a pipeline changes. This schedule covers rows that other programs write.
    @jobs.every(900)
    @jobs.handler(FOLLOW_PIPELINES, config=NoConfig, result=FollowedPipelines, priority=40, timeout=600)
    async def follow(job: JobContext, config: NoConfig) -> FollowedPipelines:
        if changed := await reconcile(resources.store):
            job.log(f"{changed} entries of the list of repositories were added or removed")
        return await sync_schedules(resources, lambda text: job.log(text, "WARNING"))

    jobs.include(deletion_jobs(resources))
    jobs.include(evaluation_jobs(resources))
    return jobs
