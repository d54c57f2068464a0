"""The job handlers of Delphi: `delphi_jobs(store)` makes them for a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from gateleg.apps.delphi import vote_tables
from gateleg.apps.delphi.errors import DelphiError
from gateleg.apps.delphi.opinions import VotesConfig
from gateleg.apps.delphi.rows import Origin
from gateleg.apps.delphi.service import VOTES_STAGE, run_votes
from gateleg.apps.delphi.tables import extremities
from gateleg.jobs import GiveUp, JobContext, Jobs

if TYPE_CHECKING:
    from gateleg.store import AsyncStore


class VotesResult(BaseModel):
    """What a PCA job answers."""

    conversation_id: str
    participants: int
    comments: int
    votes: int
    groups: int
    group_sizes: list[int]


def delphi_jobs(store: AsyncStore) -> Jobs:
    """The job types of Delphi, with handlers that work on a store.

    Handlers await the store in the worker's loop and compute in a thread, which looks at each step whether the job is to stop.
    """
    jobs = Jobs()

    @jobs.handler(VOTES_STAGE, config=VotesConfig, result=VotesResult, timeout=3600)
    async def votes(job: JobContext, config: VotesConfig) -> VotesResult:
        return await analyse_votes(job, config, store)

    return jobs


async def analyse_votes(job: JobContext, config: VotesConfig, store: AsyncStore) -> VotesResult:
    """Analyse the votes of the conversation that a job is about."""
    said = ""

    def report(done: float, step: str) -> None:
        nonlocal said
        job.check()
        job.progress(done, 1.0, step)
        if step != said:
            job.log(step)
            said = step

    try:
        run = await run_votes(store, origin_of(job, VOTES_STAGE), config, report)
    except DelphiError as error:
        # Trying again would find the same.
        raise GiveUp(str(error)) from error
    found: dict[str, Any] = run.summary
    job.output("dynamodb_tables", extremities.name, *(table.name for table in vote_tables.TABLES))
    job.metric("votes_processed", found["votes"])
    job.metric("groups_identified", found["groups"])
    result = VotesResult(conversation_id=run.conversation_id, **{name: found[name] for name in VotesResult.model_fields if name in found})
    job.log(f"{result.votes:,} votes of {result.participants:,} participants on {result.comments:,} comments; {result.groups} groups")
    return result


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
