"""Jobs with very many dependencies: gates wait for a page of them each, and the job waits for the gates.

A job and all it depends on are written in one transaction, which has room for less than 100. A gate is a job of its own that does nothing:
it is completed once its page is, and cancelled when one of them fails, so the job behind it follows in the usual way.
"""

from __future__ import annotations

from dataclasses import replace
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING
from uuid import NAMESPACE_OID, uuid4, uuid5

from gateleg.jobs.errors import TooManyDependencies
from gateleg.jobs.tables.job import MAX_DEPENDENCIES, Job

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from gateleg.jobs.submit.submission import Submission

#: The job type of a gate.
GATE = "gateleg.gate"
#: How many writes a step makes at most, unless one job alone needs more.
_STEP = 80
#: How many jobs a gate waits for: the fewer, the less often its transaction meets one that is just being changed.
_PAGE = 50
MAX_FAN_IN = _PAGE * MAX_DEPENDENCIES


def fans_in(submission: Submission) -> bool:
    """Whether a job has more dependencies than it can wait for itself; `TooManyDependencies` when gates do not help either."""
    number = len(set(submission.depends_on))
    if number > MAX_FAN_IN:
        raise TooManyDependencies(f"The job has {number:,} dependencies; it may have {MAX_FAN_IN:,}.")
    return number > MAX_DEPENDENCIES


def narrowed(submission: Submission) -> Submission:
    """The submission as far as its job can be checked by itself: without dependencies, if it has too many."""
    return replace(submission, depends_on=()) if fans_in(submission) else submission


def steps_of(submissions: Mapping[UUID, Submission]) -> list[list[Submission]]:
    """Submissions with their ids, in the order of their dependencies: as many at once as one transaction takes, or one with gates."""
    order = TopologicalSorter({job_id: [one for one in wanted.depends_on if one in submissions] for job_id, wanted in submissions.items()})
    steps: list[list[Submission]] = []
    room = 0
    for job_id in order.static_order():
        one = replace(submissions[job_id], job_id=job_id)
        # The job, its keys and its parent, and what it depends on.
        writes = _STEP if fans_in(one) else 4 + len(set(one.depends_on))
        if writes > room:
            steps.append([])
            room = max(_STEP, writes)
        steps[-1].append(one)
        room -= writes
    return steps


def gates_of(submission: Submission, job: Job) -> tuple[list[Job], Submission]:
    """The gates of a submission, and the submission that waits for them. `job` is its job without dependencies.

    The gates' ids follow from the job's, so submitting it again makes no others.
    """
    wanted = list(dict.fromkeys(submission.depends_on))
    job_id = submission.job_id or uuid4()
    gates = [
        type(job)(
            job_id=uuid5(NAMESPACE_OID, f"{GATE}:{job_id}:{start}"),
            created_at=job.created_at,
            updated_at=job.updated_at,
            job_type=GATE,
            job_config={"job_id": str(job_id)},
            queue=job.queue,
            priority=100,
            subject=job.subject,
            created_by="gateleg",
            dependencies=wanted[start : start + _PAGE],
        )
        for start in range(0, len(wanted), _PAGE)
    ]
    return gates, replace(submission, job_id=job_id, depends_on=[gate.job_id for gate in gates])
