"""A job that directs others: it submits its stages as children, each after those that it needs, and ends as they end.

    async def make_film(job: JobContext, config: FilmConfig) -> FilmResult:
        stages = [Stage("scenes", Submission("SCENES", config.scenes)), Stage("cut", Submission("CUT"), needs=("scenes",))]
        children = await direct_stages(job, queue, stages)
        return FilmResult(film=children["cut"])

The handler takes no worker's place while it waits: it is snoozed and called again, and submits nothing twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gateleg.jobs.errors import DependencyMissing
from gateleg.jobs.signals import GiveUp, Snooze
from gateleg.jobs.tables.job import JobStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from gateleg.jobs.context import JobContext
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.submit.submission import Submission
    from gateleg.jobs.tables.job import Job

#: Seconds after which the stages are looked at again.
LOOK_AGAIN = 2.0


@dataclass(frozen=True)
class Stage:
    """One stage: its name, what is submitted for it, and the names of the stages that must be completed before."""

    name: str
    submission: Submission
    needs: Sequence[str] = ()


def verdict(states: Mapping[str, JobStatus]) -> JobStatus | None:
    """What stages have come to together; None while some are not done.

    A failure counts as soon as it is there, though other stages may still be running.
    """
    if JobStatus.FAILED in states.values():
        return JobStatus.FAILED
    if JobStatus.CANCELLED in states.values():
        return JobStatus.CANCELLED
    return JobStatus.COMPLETED if all(state is JobStatus.COMPLETED for state in states.values()) else None


async def direct_stages(job: JobContext, queue: AsyncQueue, stages: Sequence[Stage], *, look_again: float | None = None) -> dict[str, UUID]:
    """Submit the stages, which stand after those that they need, and see how far they are; the job of each once all are completed.

    Until then it raises `Snooze`, which the handler lets pass. It raises `GiveUp` once a stage has failed or was cancelled; when the
    directing job is retried after that, such stages begin again, and those that are completed stay as they are.
    """
    children = await submit_stages(job, queue, stages)
    states = {name: child.status for name, child in children.items()}
    done = sum(state is JobStatus.COMPLETED for state in states.values())
    job.progress(done, len(states), ", ".join(f"{name} {state.value.lower()}" for name, state in states.items()))
    ended = verdict(states)
    if ended is None:
        raise Snooze(LOOK_AGAIN if look_again is None else look_again)
    if ended is not JobStatus.COMPLETED:
        unlucky = ", ".join(f"{name} (job {children[name].job_id})" for name, state in states.items() if state is ended)
        word = "failed" if ended is JobStatus.FAILED else "was cancelled"
        raise GiveUp(f"Of the stages of {job.job.job_type}, {unlucky} {word}. Retry job {job.job_id} to run what is missing.")
    return {name: child.job_id for name, child in children.items()}


async def submit_stages(job: JobContext, queue: AsyncQueue, stages: Sequence[Stage]) -> dict[str, Job]:
    """Submit the stages, each once however often it is called, and answer what has become of their jobs.

    For directors that decide themselves when to go on: whose stages are only known when others are completed, or which tell more of their
    progress. Others use `direct_stages`.
    """
    children = await _submitted(job, queue, stages)
    return {name: await queue.get(child) for name, child in children.items()}


async def _submitted(job: JobContext, queue: AsyncQueue, stages: Sequence[Stage]) -> dict[str, UUID]:
    """The job of each stage; those that were submitted before are found by their keys.

    What needs a stage that failed or was cancelled is left out, unless the directing job has ended and is tried again: it has gone down
    with it, and nothing new can wait for it.
    """
    again = bool(job.job.attempts) and job.job.attempts[-1].outcome in ("failed", "cancelled")
    children: dict[str, UUID] = {}
    down: set[str] = set()
    for stage in stages:
        if down.intersection(stage.needs):
            down.add(stage.name)
            continue
        submission = replace(
            stage.submission,
            stage=stage.name,
            priority=job.job.priority if stage.submission.priority is None else stage.submission.priority,
            depends_on=[children[name] for name in stage.needs],
            idempotency_key=f"{job.job_id}:{stage.name}",
        )
        try:
            child = (await job.submit(submission)).job
        except DependencyMissing:
            # What it needs has failed since it was submitted, a moment ago.
            down.add(stage.name)
            continue
        children[stage.name] = child.job_id
        if child.status in (JobStatus.FAILED, JobStatus.CANCELLED):
            if again:
                await queue.retry(child.job_id)
            else:
                down.add(stage.name)
    return children
