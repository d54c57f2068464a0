"""What can go wrong with a job: one class for each kind of failure, with a code, what happened and what to do."""

from __future__ import annotations

from typing import Any

from gateleg.errors import GatelegError


class JobError(GatelegError):
    """Something that the queue refuses."""

    code = "job"
    status = 409


class UnknownJobType(JobError):
    """No handler is registered for the job type."""

    code = "unknown-job-type"
    status = 422
    fix = "Register a handler for it, or correct the name."


class BadConfig(JobError):
    """A config that its model refuses. `problems` has pydantic's account of them."""

    code = "bad-config"
    status = 422
    fix = "Correct the config; nothing was submitted."

    def __init__(self, what: str, *, problems: list[dict[str, Any]] | None = None, fix: str | None = None) -> None:
        super().__init__(what, fix=fix)
        self.problems = problems or []
        if problems:
            self.details = {"problems": [{"at": list(problem.get("loc", ())), "message": problem.get("msg", "")} for problem in problems]}


class ConfigTooLarge(BadConfig):
    """A config that leaves no room for the job's own attributes and results."""

    code = "config-too-large"
    status = 413
    fix = "Put large values into the object store and their keys into the config."


class BadSubmission(JobError):
    """An option of a submission that cannot be: a priority out of range, a name that is too long."""

    code = "bad-submission"
    status = 422
    fix = "Correct the option; nothing was submitted."


class DependencyCycle(JobError):
    """Jobs that wait for each other."""

    code = "dependency-cycle"
    status = 422
    fix = "Take one of the dependencies away; nothing was submitted."


class DependencyMissing(JobError):
    """A dependency that is not there, or that can no longer be completed."""

    code = "dependency-missing"
    status = 422
    fix = "Depend on jobs that exist and have not failed or been cancelled; nothing was submitted."


class TooManyDependencies(JobError):
    """More dependencies than one transaction can note."""

    code = "too-many-dependencies"
    status = 422
    fix = "Join them in two levels: jobs that join some of them, and one that joins those."


class KeyReused(JobError):
    """An idempotency key was used before, for another submission."""

    code = "key-reused"
    fix = "Use a key for one submission only."


class QueueDraining(JobError):
    """A queue that takes no new jobs."""

    code = "queue-draining"
    fix = "Submit to another queue, or resume this one."


class ParentGone(JobError):
    """A child was submitted for a job that is no longer running, or is run by another worker."""

    code = "parent-gone"
    fix = "Stop: the result of this attempt is no longer wanted."


class JobMissing(JobError):
    """There is no such job, neither in the queue nor in the archive."""

    code = "job-missing"
    status = 404
    fix = "Check the id; failed jobs are kept for 30 days."


class LeaseLost(JobError):
    """The job is no longer this worker's: its lease ran out and another has it, or it was cancelled by force."""

    code = "lease-lost"
    fix = "Stop: the result of this attempt is no longer wanted."


class WrongState(JobError):
    """The job is in a state in which this cannot be done."""

    code = "wrong-state"
    fix = "Look at the job: its state says what may happen next."


class ResultTooLarge(JobError):
    """A handler returned more than fits beside the job."""

    code = "result-too-large"
    fix = "Put large values into the object store and return their keys."


class BadSchedule(JobError):
    """A schedule that says no time, or none that will come."""

    code = "bad-schedule"
    status = 422
    fix = "Write five fields (minute, hour, day, month, weekday) such as '*/15 8-18 * * mon-fri', or an interval in seconds."


class ScheduleMissing(JobError):
    """There is no schedule of that name."""

    code = "schedule-missing"
    status = 404
    fix = "List the schedules for their names."


class HandlerTaken(JobError):
    """Two handlers for one job type."""

    code = "handler-taken"
    fix = "Give each handler a job type of its own."


class NoHandlers(JobError):
    """A worker was started with a registry that has no handlers: it would never claim a job."""

    code = "no-handlers"
    fix = "Register handlers before the worker runs, or give it the registry that has them."


class BadHandler(JobError):
    """A function that cannot be a handler, or not where it is asked to run."""

    code = "bad-handler"
    fix = "Write `async def handle(job, config)`; one that runs in a process must be at the top of a module."
