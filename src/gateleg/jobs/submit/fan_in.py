"""Jobs with very many dependencies: internal gate jobs each depend on some of them, and the job depends on the gates.

A job and its dependencies are written in one transaction, which takes fewer than 100 of them. A gate is a job without work: it completes
once its dependencies have completed, and is cancelled when one of them fails; the job that depends on it then follows.
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
#: The maximum number of writes in one step, unless one job needs more.
_STEP_WRITES = 80
#: How many jobs a gate depends on: with fewer, its transaction conflicts less often with a change of one of them.
_JOBS_PER_GATE = 50
MAX_FAN_IN = _JOBS_PER_GATE * MAX_DEPENDENCIES


def has_fan_in(submission: Submission) -> bool:
    """Whether a job has so many dependencies that it needs gates. Raises `TooManyDependencies` if it has too many even for gates."""
    number = len(set(submission.dependencies))
    if number > MAX_FAN_IN:
        raise TooManyDependencies(f"The job has {number:,} dependencies; the maximum is {MAX_FAN_IN:,}.")
    return number > MAX_DEPENDENCIES


def without_fan_in(submission: Submission) -> Submission:
    """The submission, without its dependencies if it needs gates."""
    return replace(submission, dependencies=()) if has_fan_in(submission) else submission


def submission_steps(submissions: Mapping[UUID, Submission]) -> list[list[Submission]]:
    """Sort submissions after their dependencies and divide them into steps: as many as fit into one transaction, or one with gates."""
    order = TopologicalSorter(
        {job_id: [one for one in wanted.dependencies if one in submissions] for job_id, wanted in submissions.items()}
    )
    steps: list[list[Submission]] = []
    room = 0
    for job_id in order.static_order():
        one = replace(submissions[job_id], job_id=job_id)
        # Four writes for the job, its two keys and its parent, and one for each dependency.
        writes = _STEP_WRITES if has_fan_in(one) else 4 + len(set(one.dependencies))
        if writes > room:
            steps.append([])
            room = max(_STEP_WRITES, writes)
        steps[-1].append(one)
        room -= writes
    return steps


def gates_of(submission: Submission, job: Job) -> tuple[list[Job], Submission]:
    """The gates of a submission, and the submission that depends on them. `job` is its job without dependencies.

    The ids of the gates derive from the job's id, so submitting it again creates no further gates.
    """
    wanted = list(dict.fromkeys(submission.dependencies))
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
            dependencies=wanted[start : start + _JOBS_PER_GATE],
        )
        for start in range(0, len(wanted), _JOBS_PER_GATE)
    ]
    return gates, replace(submission, job_id=job_id, dependencies=[gate.job_id for gate in gates])
