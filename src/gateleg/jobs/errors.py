"""Errors of the queue: one class for each kind of failure, with a code, what happened and what to do."""

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


class BadEvent(JobError):
    """What a handler emitted cannot be sent to those who follow the job."""

    code = "bad-event"
    status = 422
    fix = "Emit a JSON value or a pydantic model; put what is large into the object store, and emit its key."


class UseAwait(JobError):
    """Something was waited for in an event loop, which would hold up everything else there."""

    code = "use-await"
    fix = "Await it: `await store.get(...)` instead of `job.wait(store.get(...))`."


class BadConfig(JobError):
    """The config is not valid for its model. `problems` has the errors of pydantic."""

    code = "bad-config"
    status = 422
    fix = "Correct the config; nothing was submitted."

    def __init__(self, what: str, *, problems: list[dict[str, Any]] | None = None, fix: str | None = None) -> None:
        super().__init__(what, fix=fix)
        self.problems = problems or []
        if problems:
            self.details = {"problems": [{"at": list(problem.get("loc", ())), "message": problem.get("msg", "")} for problem in problems]}


class ConfigTooLarge(BadConfig):
    """The config is so large that the job's attributes and results would not fit."""

    code = "config-too-large"
    status = 413
    fix = "Put large values into the object store and their keys into the config."


class BadSubmission(JobError):
    """An option of a submission is invalid: a priority out of range, a name that is too long."""

    code = "bad-submission"
    status = 422
    fix = "Correct the option; nothing was submitted."


class DependencyCycle(JobError):
    """Jobs depend on each other in a cycle."""

    code = "dependency-cycle"
    status = 422
    fix = "Take one of the dependencies away; nothing was submitted."


class DependencyMissing(JobError):
    """A dependency does not exist, or can no longer complete."""

    code = "dependency-missing"
    status = 422
    fix = "Depend on jobs that exist and have not failed or been cancelled; nothing was submitted."


class TooManyDependencies(JobError):
    """A job has more dependencies than one transaction can record."""

    code = "too-many-dependencies"
    status = 422
    fix = "Join them in two levels: jobs that join some of them, and one that joins those."


class KeyReused(JobError):
    """An idempotency key was used before, for another submission."""

    code = "key-reused"
    fix = "Use a key for one submission only."


class QueueDraining(JobError):
    """The queue is draining and accepts no new jobs."""

    code = "queue-draining"
    fix = "Submit to another queue, or resume this one."


class ParentGone(JobError):
    """A child was submitted for a job that is no longer running, or is run by another worker."""

    code = "parent-gone"
    fix = "Stop: the result of this attempt is no longer wanted."


class JobMissing(JobError):
    """The job is neither in the queue nor in the archive."""

    code = "job-missing"
    status = 404
    fix = "Check the id; failed jobs are kept for 30 days."


class LeaseLost(JobError):
    """The worker no longer owns the job: its lease expired and another worker has it, or it was cancelled by force."""

    code = "lease-lost"
    fix = "Stop: the result of this attempt is no longer wanted."


class WrongState(JobError):
    """The state of the job does not allow this."""

    code = "wrong-state"
    fix = "Check the state of the job: it determines what is allowed."


class ResultTooLarge(JobError):
    """The result of a handler is too large to store with the job."""

    code = "result-too-large"
    fix = "Put large values into the object store and return their keys."


class BadSchedule(JobError):
    """A schedule has no time, or none in the future."""

    code = "bad-schedule"
    status = 422
    fix = "Write five fields (minute, hour, day, month, weekday) such as '*/15 8-18 * * mon-fri', or an interval in seconds."


class ScheduleMissing(JobError):
    """No schedule has this name."""

    code = "schedule-missing"
    status = 404
    fix = "List the schedules for their names."


class HandlerTaken(JobError):
    """The job type already has a handler."""

    code = "handler-taken"
    fix = "Give each handler a job type of its own."


class NoHandlers(JobError):
    """A worker was started with a registry that has no handlers: it would never claim a job."""

    code = "no-handlers"
    fix = "Register handlers before the worker runs, or pass it the registry that has them."


class BadHandler(JobError):
    """The function cannot be a handler, or cannot run where `runs=` says."""

    code = "bad-handler"
    fix = "Write `async def handle(job, config)`; one that runs in a process must be at the top of a module."


class BadPurge(JobError):
    """A declaration of what is purged with an item that cannot work."""

    code = "bad-purge"
    status = 422


class PurgeIncomplete(JobError):
    """Some items could not be purged. What was removed of them stays removed; the next sweep goes on."""

    code = "purge-incomplete"
    status = 500
    fix = "Look at the log of the job; the sweep is done again by its schedule, or by submitting the job."
