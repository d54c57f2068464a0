"""Stages: a job that submits other jobs as its children, with dependencies, and completes or fails with them.

    async def make_film(job: JobContext, config: FilmConfig) -> FilmResult:
        stages = [Stage("scenes", Submission("SCENES", config.scenes)), Stage("cut", Submission("CUT"), needs=("scenes",))]
        children = await direct_stages(job, queue, stages)
        return FilmResult(film=children["cut"])

While the handler waits, it occupies no slot of a worker: it is snoozed and called again. Each stage is submitted once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gateleg.durations import duration
from gateleg.jobs.errors import DependencyMissing
from gateleg.jobs.signals import GiveUp, Snooze
from gateleg.jobs.tables.job import DURATION_METRIC, JobStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from gateleg.jobs.context import JobContext
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.submit.submission import Submission
    from gateleg.jobs.tables.job import Job

#: Seconds between two checks of the stages.
LOOK_AGAIN = 2.0


@dataclass(frozen=True)
class Stage:
    """A stage of a job, run as a child job."""

    name: str
    submission: Submission
    #: the names of the stages that must complete before it
    needs: Sequence[str] = ()


def combined_status(states: Mapping[str, JobStatus]) -> JobStatus | None:
    """The status of all stages together: failed or cancelled as soon as one stage is, completed once all are, None before that."""
    if JobStatus.FAILED in states.values():
        return JobStatus.FAILED
    if JobStatus.CANCELLED in states.values():
        return JobStatus.CANCELLED
    return JobStatus.COMPLETED if all(state is JobStatus.COMPLETED for state in states.values()) else None


async def direct_stages(job: JobContext, queue: AsyncQueue, stages: Sequence[Stage], *, look_again: float | None = None) -> dict[str, UUID]:
    """Submit stages as child jobs, and return the job id of each, by name, once all have completed.

    Each stage must be listed after the stages that it needs. Until all have completed, this raises `Snooze`, which the handler must not
    catch; the handler is called again `look_again` seconds later (2 by default). Once a stage has failed or was cancelled, it raises
    `GiveUp`. If the parent job is retried after that, failed and cancelled stages are restarted, and completed ones are kept.

    The job's log says how each stage ended, and its results have the outputs and metrics of the stages.
    """
    children = await submit_stages(job, queue, stages)
    states = {name: child.status for name, child in children.items()}
    done = sum(state is JobStatus.COMPLETED for state in states.values())
    job.progress(done, len(states), ", ".join(f"{name} {state.value.lower()}" for name, state in states.items()))
    ended = combined_status(states)
    if ended is None:
        raise Snooze(LOOK_AGAIN if look_again is None else look_again)
    for name, child in children.items():
        if child.finished:
            job.log(_ending(name, child), "INFO" if child.status is JobStatus.COMPLETED else "ERROR")
    _collect_results(job, children)
    if ended is not JobStatus.COMPLETED:
        names = ", ".join(f"{name} (job {children[name].job_id})" for name, state in states.items() if state is ended)
        word = "failed" if ended is JobStatus.FAILED else "was cancelled"
        raise GiveUp(f"Of the stages of {job.job.job_type}, {names} {word}. Retry job {job.job_id} to run the missing stages.")
    return {name: child.job_id for name, child in children.items()}


def _ending(name: str, child: Job) -> str:
    """How a stage ended: `PCA completed in 3 seconds: 500 votes, 2 groups`."""
    words = f"{name} {child.status.value.lower()}"
    if child.started_at is not None and child.completed_at is not None:
        words += f" in {duration((child.completed_at - child.started_at).total_seconds())}"
    last = child.logs.entries[-1].message if child.logs.entries else ""
    return f"{words}: {last}" if last else words


def _collect_results(job: JobContext, children: Mapping[str, Job]) -> None:
    """Give a job the outputs and metrics of its stages. A metric that several stages have is named after its stage: `PCA.rows`."""
    results = {name: child.job_results for name, child in children.items() if child.job_results is not None}
    common = Counter(metric for result in results.values() for metric in result.summary_metrics)
    for name, result in results.items():
        for kind, locations in result.output_location.items():
            job.output(kind, *locations)
        for metric, value in result.summary_metrics.items():
            if metric != DURATION_METRIC:
                job.metric(metric if common[metric] == 1 else f"{name}.{metric}", value)


async def submit_stages(job: JobContext, queue: AsyncQueue, stages: Sequence[Stage]) -> dict[str, Job]:
    """Submit stages as child jobs, and return their current jobs by name. Repeated calls submit each stage only once.

    Use this instead of `direct_stages` in a handler that decides itself when to continue, for example because later stages depend on the
    results of earlier ones. Stages that need a failed or cancelled stage are not submitted.
    """
    children = await _submitted(job, queue, stages)
    return {name: await queue.get(child) for name, child in children.items()}


async def _submitted(job: JobContext, queue: AsyncQueue, stages: Sequence[Stage]) -> dict[str, UUID]:
    """The job id of each stage. Idempotency keys find stages that were submitted before.

    Stages that need a failed or cancelled stage are skipped, because no job can depend on it. If the parent job itself has failed and is
    being retried, failed and cancelled stages are restarted instead.
    """
    retried = bool(job.job.attempts) and job.job.attempts[-1].outcome in ("failed", "cancelled")
    children: dict[str, UUID] = {}
    blocked: set[str] = set()
    for stage in stages:
        if blocked.intersection(stage.needs):
            blocked.add(stage.name)
            continue
        submission = replace(
            stage.submission,
            stage=stage.name,
            priority=job.job.priority if stage.submission.priority is None else stage.submission.priority,
            dependencies=[children[name] for name in stage.needs],
            idempotency_key=f"{job.job_id}:{stage.name}",
        )
        try:
            child = (await job.submit(submission)).job
        except DependencyMissing:
            # A stage that it needs has failed in the meantime.
            blocked.add(stage.name)
            continue
        children[stage.name] = child.job_id
        if child.status in (JobStatus.FAILED, JobStatus.CANCELLED):
            if retried:
                await queue.retry(child.job_id)
            else:
                blocked.add(stage.name)
    return children
