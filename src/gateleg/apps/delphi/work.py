"""The job handlers of Delphi: `delphi_jobs(store, objects)` creates them for a store.

Handlers await the store on the worker's event loop and compute in a thread, which checks at each step whether the job should stop. The
analysis is imported by the first job that needs it, so that a host that only declares the job types does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from gateleg.ai import AiError, Models
from gateleg.apps.delphi import tables
from gateleg.apps.delphi.errors import DelphiError
from gateleg.apps.delphi.model_checks import ModelChecks, checked
from gateleg.apps.delphi.model_warnings import naming_warning, warnings_of
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.reports.config import ReportConfig
from gateleg.apps.delphi.runs import vote_tables
from gateleg.apps.delphi.runs.origin import REPORT_STAGE, TOPICS_STAGE, VOTES_STAGE, Origin, artifact_key
from gateleg.apps.delphi.runs.pipeline import PIPELINE, STAGES, PipelineConfig, needed_by
from gateleg.apps.delphi.runs.run_tables import narratives_table
from gateleg.apps.delphi.runs.withdrawal import REDACTION, redact_runs
from gateleg.apps.delphi.service import run_votes
from gateleg.apps.delphi.topics.config import TopicsConfig
from gateleg.event_loops import import_in_thread
from gateleg.jobs import AsyncQueue, GiveUp, JobContext, Jobs, Stage, Submission, direct_stages, giving_up, reporting

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore


class VotesResult(BaseModel):
    """The result of a PCA job."""

    conversation_id: str
    participants: int
    comments: int
    votes: int
    groups: int
    group_sizes: list[int]


class TopicsResult(BaseModel):
    """The result of a UMAP job."""

    conversation_id: str
    comments: int
    model: str
    #: topics of each layer, finest first
    layers: list[int]


class ReportResult(BaseModel):
    """The result of a REPORT job."""

    conversation_id: str
    sections: int
    #: the keys of its files
    artifacts: list[str]
    #: what a model was asked for and has not done
    warnings: list[str] = []


class RedactionResult(BaseModel):
    """The result of a REDACTION job: the numbers of topic runs and reports that it removed rejected comments from."""

    conversation_id: str
    topics: int
    reports: int


class RedactionConfig(BaseModel):
    """The config of a REDACTION job, which is empty: it follows the current upload."""

    model_config = ConfigDict(extra="forbid")


class PipelineResult(BaseModel):
    """The result of a FULL_PIPELINE job: the job of each stage."""

    conversation_id: str
    stages: dict[str, str]


def delphi_jobs(
    store: AsyncStore,
    objects: AsyncObjects,
    models: Callable[[], Models] = Models,
    *,
    queue: Callable[[], AsyncQueue] | None = None,
    checks: ModelChecks | None = None,
) -> Jobs:
    """The job types of Delphi and their handlers. Models are the local ones unless others are given.

    Each job that needs models calls `models` on its event loop. `queue` returns the queue of the jobs; without it, they are in one with
    plain table names on the same store. With `checks`, a job that names a model that cannot be used is refused when it is submitted.
    """
    jobs = Jobs()
    lenient = checks is not None and checks.lenient

    @jobs.handler(VOTES_STAGE, config=VotesConfig, result=VotesResult, timeout=3600)
    async def votes(job: JobContext, config: VotesConfig) -> VotesResult:
        return await analyse_votes(job, config, store)

    @jobs.handler(TOPICS_STAGE, config=checked(TopicsConfig, checks), result=TopicsResult, timeout=3600)
    async def topics(job: JobContext, config: TopicsConfig) -> TopicsResult:
        return await find_topics(job, config, store, models(), lenient=lenient)

    @jobs.handler(REPORT_STAGE, config=checked(ReportConfig, checks), result=ReportResult, timeout=1800)
    async def report(job: JobContext, config: ReportConfig) -> ReportResult:
        return await write_report(job, config, store, objects, models(), lenient=lenient)

    @jobs.handler(PIPELINE, config=checked(PipelineConfig, checks), result=PipelineResult, priority=60, timeout=600)
    async def pipeline(job: JobContext, config: PipelineConfig) -> PipelineResult:
        return await direct_pipeline(job, config, AsyncQueue(store, jobs) if queue is None else queue(), jobs)

    @jobs.handler(REDACTION, config=RedactionConfig, result=RedactionResult, priority=95, timeout=3600)
    async def redact(job: JobContext, config: RedactionConfig) -> RedactionResult:
        return await redact_conversation(job, store, objects, models())

    return jobs


async def analyse_votes(job: JobContext, config: VotesConfig, store: AsyncStore) -> VotesResult:
    """Analyse the votes of the job's conversation."""
    with giving_up(DelphiError, AiError):
        run = await run_votes(store, origin_of(job, VOTES_STAGE), config, reporting(job))
    found: dict[str, Any] = run.summary
    job.output("dynamodb_tables", tables.extremities.name, *(table.name for table in vote_tables.TABLES))
    job.metric("votes_processed", found["votes"])
    job.metric("groups_identified", found["groups"])
    result = VotesResult(conversation_id=run.conversation_id, **{name: found[name] for name in VotesResult.model_fields if name in found})
    job.log(f"{result.votes:,} votes of {result.participants:,} participants on {result.comments:,} comments; {result.groups} groups")
    return result


async def find_topics(job: JobContext, config: TopicsConfig, store: AsyncStore, models: Models, *, lenient: bool = False) -> TopicsResult:
    """Find the topics of the job's conversation."""
    run_topics = (await import_in_thread("gateleg.apps.delphi.runs.topic_runs")).run_topics
    with giving_up(DelphiError, AiError):
        run = await run_topics(store, models, origin_of(job, TOPICS_STAGE), config, reporting(job), lenient=lenient)
    found: dict[str, Any] = run.summary
    job.output("dynamodb_tables", *(table.name for table in tables.TABLES if table is not tables.extremities))
    job.metric("topics_found", sum(found["layers"]))
    if failed := found.get("names_given_up"):
        job.metric("names_given_up", failed["topics"])
        job.log(naming_warning(failed), "WARNING")
    job.log(f"{found['comments']:,} comments; topics from fine to coarse: {', '.join(map(str, found['layers'])) or 'none'}")
    return TopicsResult(conversation_id=run.conversation_id, comments=found["comments"], model=found["model"], layers=found["layers"])


async def write_report(
    job: JobContext, config: ReportConfig, store: AsyncStore, objects: AsyncObjects, models: Models, *, lenient: bool = False
) -> ReportResult:
    """Write the report of the job's conversation."""
    run_report = (await import_in_thread("gateleg.apps.delphi.runs.report_runs")).run_report
    origin = origin_of(job, REPORT_STAGE)
    with giving_up(DelphiError, AiError):
        run = await run_report(store, objects, origin, config, reporting(job), models, lenient=lenient)
    keys = [artifact_key(origin, name) for name in run.summary["artifacts"]]
    job.output("s3_artifacts", *keys)
    job.output("dynamodb_tables", narratives_table.name)
    job.metric("sections_written", run.summary["sections"])
    job.metric("sections_given_up", len(run.summary["given_up"]))
    warnings = warnings_of(run.summary)
    for warning in warnings:
        job.log(warning, "WARNING")
    if run.summary["not_printed"] is not None:
        job.log(f"PDF and PNG files were not made: {run.summary['not_printed']}", "WARNING")
    return ReportResult(conversation_id=run.conversation_id, sections=run.summary["sections"], artifacts=keys, warnings=warnings)


async def redact_conversation(job: JobContext, store: AsyncStore, objects: AsyncObjects, models: Models) -> RedactionResult:
    """Remove rejected comments from the earlier runs of the job's conversation."""
    conversation_id = origin_of(job, REDACTION).conversation_id
    with giving_up(DelphiError, AiError):
        done = await redact_runs(store, objects, conversation_id, reporting(job), models)
    return RedactionResult(conversation_id=conversation_id, **done)


async def direct_pipeline(job: JobContext, config: PipelineConfig, queue: AsyncQueue, jobs: Jobs) -> PipelineResult:
    """Submit the stages of a pipeline as child jobs, and complete or fail as they do."""
    conversation_id = origin_of(job, PIPELINE).conversation_id
    chosen = config.ordered([name for name in STAGES if name in jobs])
    for stage in chosen:
        if stage.stage not in jobs:
            raise GiveUp(f"The stage {stage.stage} is not installed.")
    names = [stage.stage for stage in chosen]
    stages = [Stage(one.stage, Submission(one.stage, one.config), needed_by(one.stage, names)) for one in chosen]
    children = await direct_stages(job, queue, stages)
    return PipelineResult(conversation_id=conversation_id, stages={stage: str(child) for stage, child in children.items()})


def origin_of(job: JobContext, stage: str) -> Origin:
    """The origin that all results of a job carry."""
    if job.job.subject is None:
        raise GiveUp("The job has no conversation: submit it with the conversation's id as its subject.")
    return Origin(
        job.job_id,
        job.job.subject,
        job.job.created_at,
        parent_job_id=job.job.parent_job_id,
        root_job_id=job.job.root_job_id,
        job_stage=stage,
    )
