"""The job handlers of Delphi: `delphi_jobs(store, objects)` makes them for a store.

Handlers await the store in the worker's loop and compute in a thread, which looks at each step whether the job is to stop. What computes is
loaded by the first job that needs it: a host that only declares the job types does not wait for it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from gateleg.ai import AiError, Models
from gateleg.apps.delphi import tables
from gateleg.apps.delphi.errors import DelphiError
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.reports.config import ReportConfig
from gateleg.apps.delphi.runs import vote_tables
from gateleg.apps.delphi.runs.origin import REPORT_STAGE, TOPICS_STAGE, VOTES_STAGE, Origin, artifact_key
from gateleg.apps.delphi.runs.pipeline import PIPELINE, STAGES, PipelineConfig, needed_by, verdict
from gateleg.apps.delphi.runs.run_tables import narratives_table
from gateleg.apps.delphi.runs.withdrawal import REDACTION, redact_runs
from gateleg.apps.delphi.service import run_votes
from gateleg.apps.delphi.topics.config import TopicsConfig
from gateleg.jobs import AsyncQueue, DependencyMissing, GiveUp, JobContext, Jobs, JobStatus, Snooze, Submission

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from uuid import UUID

    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore

#: Seconds after which a pipeline looks at its stages again.
_LOOK_AGAIN = 2.0


class VotesResult(BaseModel):
    """What a PCA job answers."""

    conversation_id: str
    participants: int
    comments: int
    votes: int
    groups: int
    group_sizes: list[int]


class TopicsResult(BaseModel):
    """What a UMAP job answers."""

    conversation_id: str
    comments: int
    model: str
    #: topics of each layer, finest first
    layers: list[int]


class ReportResult(BaseModel):
    """What a REPORT job answers."""

    conversation_id: str
    sections: int
    #: the keys of its files
    artifacts: list[str]


class RedactionResult(BaseModel):
    """What a REDACTION job answers: runs that it has taken rejected comments out of."""

    conversation_id: str
    topics: int
    reports: int


class RedactionConfig(BaseModel):
    """A REDACTION job takes no config: it does what the upload that counts says."""

    model_config = ConfigDict(extra="forbid")


class PipelineResult(BaseModel):
    """What a FULL_PIPELINE job answers: the job of each stage."""

    conversation_id: str
    stages: dict[str, str]


def delphi_jobs(
    store: AsyncStore, objects: AsyncObjects, models: Callable[[], Models] = Models, *, queue: Callable[[], AsyncQueue] | None = None
) -> Jobs:
    """The job types of Delphi, with handlers that work on stores and with models, which are the local ones unless others are given.

    `models` is called by each job that needs them, on the event loop that it runs on. `queue` returns the queue that the jobs are in, if
    that is not one with plain table names on the same store.
    """
    jobs = Jobs()

    @jobs.handler(VOTES_STAGE, config=VotesConfig, result=VotesResult, timeout=3600)
    async def votes(job: JobContext, config: VotesConfig) -> VotesResult:
        return await analyse_votes(job, config, store)

    @jobs.handler(TOPICS_STAGE, config=TopicsConfig, result=TopicsResult, timeout=3600)
    async def topics(job: JobContext, config: TopicsConfig) -> TopicsResult:
        return await find_topics(job, config, store, models())

    @jobs.handler(REPORT_STAGE, config=ReportConfig, result=ReportResult, timeout=1800)
    async def tell(job: JobContext, config: ReportConfig) -> ReportResult:
        return await write_report(job, config, store, objects, models())

    @jobs.handler(PIPELINE, config=PipelineConfig, result=PipelineResult, priority=60, timeout=600)
    async def pipeline(job: JobContext, config: PipelineConfig) -> PipelineResult:
        return await direct_stages(job, config, AsyncQueue(store, jobs) if queue is None else queue(), jobs)

    @jobs.handler(REDACTION, config=RedactionConfig, result=RedactionResult, priority=95, timeout=3600)
    async def redact(job: JobContext, config: RedactionConfig) -> RedactionResult:
        return await redact_conversation(job, store, objects, models())

    return jobs


@contextmanager
def giving_up() -> Iterator[None]:
    """Give a job up for what would be the same if it were tried again."""
    try:
        yield
    except DelphiError as error:
        raise GiveUp(str(error)) from error
    except AiError as error:
        if error.passing:
            raise
        raise GiveUp(str(error)) from error


async def analyse_votes(job: JobContext, config: VotesConfig, store: AsyncStore) -> VotesResult:
    """Analyse the votes of the conversation that a job is about."""
    with giving_up():
        run = await run_votes(store, origin_of(job, VOTES_STAGE), config, reporting(job))
    found: dict[str, Any] = run.summary
    job.output("dynamodb_tables", tables.extremities.name, *(table.name for table in vote_tables.TABLES))
    job.metric("votes_processed", found["votes"])
    job.metric("groups_identified", found["groups"])
    result = VotesResult(conversation_id=run.conversation_id, **{name: found[name] for name in VotesResult.model_fields if name in found})
    job.log(f"{result.votes:,} votes of {result.participants:,} participants on {result.comments:,} comments; {result.groups} groups")
    return result


async def find_topics(job: JobContext, config: TopicsConfig, store: AsyncStore, models: Models) -> TopicsResult:
    """Find the topics of the conversation that a job is about."""
    from gateleg.apps.delphi.runs.topic_runs import run_topics

    with giving_up():
        run = await run_topics(store, models, origin_of(job, TOPICS_STAGE), config, reporting(job))
    found: dict[str, Any] = run.summary
    job.output("dynamodb_tables", *(table.name for table in tables.TABLES if table is not tables.extremities))
    job.metric("topics_found", sum(found["layers"]))
    job.log(f"{found['comments']:,} comments; topics from fine to coarse: {', '.join(map(str, found['layers'])) or 'none'}")
    return TopicsResult(conversation_id=run.conversation_id, comments=found["comments"], model=found["model"], layers=found["layers"])


async def write_report(job: JobContext, config: ReportConfig, store: AsyncStore, objects: AsyncObjects, models: Models) -> ReportResult:
    """Write the report of the conversation that a job is about."""
    from gateleg.apps.delphi.runs.report_runs import run_report

    origin = origin_of(job, REPORT_STAGE)
    with giving_up():
        run = await run_report(store, objects, origin, config, reporting(job), models)
    keys = [artifact_key(origin, name) for name in run.summary["artifacts"]]
    job.output("s3_artifacts", *keys)
    job.output("dynamodb_tables", narratives_table.name)
    job.metric("sections_written", run.summary["sections"])
    if run.summary["not_printed"] is not None:
        job.log(f"PDF and PNG files were not made: {run.summary['not_printed']}", "WARNING")
    return ReportResult(conversation_id=run.conversation_id, sections=run.summary["sections"], artifacts=keys)


async def redact_conversation(job: JobContext, store: AsyncStore, objects: AsyncObjects, models: Models) -> RedactionResult:
    """Take rejected comments out of the earlier runs of the conversation that a job is about."""
    conversation_id = origin_of(job, REDACTION).conversation_id
    with giving_up():
        done = await redact_runs(store, objects, conversation_id, reporting(job), models)
    return RedactionResult(conversation_id=conversation_id, **done)


async def direct_stages(job: JobContext, config: PipelineConfig, queue: AsyncQueue, jobs: Jobs) -> PipelineResult:
    """Submit the stages of a pipeline as children, and end as they end.

    The handler does not wait in a worker's place: it is called again until all stages are done, and submits nothing twice.
    """
    conversation_id = origin_of(job, PIPELINE).conversation_id
    children = await _submitted(job, config, jobs, queue)
    states = {stage: (await queue.get(child)).status for stage, child in children.items()}
    done = sum(state is JobStatus.COMPLETED for state in states.values())
    job.progress(done, len(states), ", ".join(f"{stage} {state.value.lower()}" for stage, state in states.items()))
    ended = verdict(states)
    if ended is None:
        raise Snooze(_LOOK_AGAIN)
    if ended is not JobStatus.COMPLETED:
        unlucky = ", ".join(f"{stage} (job {children[stage]})" for stage, state in states.items() if state is ended)
        raise GiveUp(
            f"Of the stages of the pipeline, {unlucky} {'failed' if ended is JobStatus.FAILED else 'was cancelled'}. "
            "Try the pipeline again to run what is missing."
        )
    return PipelineResult(conversation_id=conversation_id, stages={stage: str(child) for stage, child in children.items()})


async def _submitted(job: JobContext, config: PipelineConfig, jobs: Jobs, queue: AsyncQueue) -> dict[str, UUID]:
    """The job of each stage; those that were submitted before are found by their keys.

    A pipeline that has ended and is tried again lets stages that failed or were cancelled begin again. Otherwise what needs such a stage
    is left out: it has gone down with it, and nothing new can wait for it.
    """
    stages = config.ordered([name for name in STAGES if name in jobs])
    for stage in stages:
        if stage.stage not in jobs:
            raise GiveUp(f"The stage {stage.stage} is not installed.")
    again = bool(job.job.attempts) and job.job.attempts[-1].outcome in ("failed", "cancelled")
    children: dict[str, UUID] = {}
    down: set[str] = set()
    for stage in stages:
        needed = needed_by(stage.stage, [one.stage for one in stages])
        if down.intersection(needed):
            down.add(stage.stage)
            continue
        submission = Submission(
            stage.stage,
            stage.config,
            stage=stage.stage,
            priority=job.job.priority,
            created_by=job.job.created_by,
            depends_on=[children[name] for name in needed],
            idempotency_key=f"{job.job_id}:{stage.stage}",
        )
        try:
            child = (await job.submit(submission)).job
        except DependencyMissing:
            # What it needs has failed since it was submitted, a moment ago.
            down.add(stage.stage)
            continue
        children[stage.stage] = child.job_id
        if child.status in (JobStatus.FAILED, JobStatus.CANCELLED):
            if again:
                await queue.retry(child.job_id)
            else:
                down.add(stage.stage)
    return children


def reporting(job: JobContext) -> Callable[[float, str], None]:
    """Tells a job's progress, logs each step once, and ends the work when the job is to stop."""
    said = ""

    def report(done: float, step: str) -> None:
        nonlocal said
        job.check()
        job.progress(done, 1.0, step)
        if step != said:
            job.log(step)
            said = step

    return report


def origin_of(job: JobContext, stage: str) -> Origin:
    """What the results of a job say about where they come from."""
    if job.job.subject is None:
        raise GiveUp("The job does not say which conversation it is about: submit it with a subject.")
    return Origin(
        job.job_id,
        job.job.subject,
        job.job.created_at,
        parent_job_id=job.job.parent_job_id,
        root_job_id=job.job.root_job_id,
        job_stage=stage,
    )
