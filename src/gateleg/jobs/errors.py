"""Errors of the queue. Each class has a code, and a fix that says what to do."""

from __future__ import annotations

from typing import Any

from gateleg.errors import GatelegError


class JobError(GatelegError):
    """The base of all errors of the queue."""

    status = 409


class UnknownJobType(JobError):
    """No handler is registered for the job type."""

    status = 422
    fix = "Register a handler for it, or correct the name."


class BadEvent(JobError):
    """A handler emitted an event that is not JSON or too large."""

    status = 422
    fix = "Emit a JSON value or a pydantic model; put large data into the object store and emit its key."


class UseAwait(JobError):
    """`job.wait` was called in an event loop, which it would block."""

    status = 500
    fix = "Await it: `await store.get(...)` instead of `job.wait(store.get(...))`."


class BadConfig(JobError):
    """The config is invalid. `problems` has the errors that pydantic found."""

    status = 422
    fix = "Correct the config; nothing was submitted."

    def __init__(self, what: str, *, problems: list[dict[str, Any]] | None = None, fix: str | None = None) -> None:
        super().__init__(what, fix=fix)
        self.problems = problems or []
        if problems:
            self.details = {"problems": [{"at": list(problem.get("loc", ())), "message": problem.get("msg", "")} for problem in problems]}


class ConfigTooLarge(BadConfig):
    """The config is too large to be stored with the job."""

    status = 413
    fix = "Put large values into the object store and their keys into the config."


class BadSubmission(JobError):
    """An option of a submission is invalid, such as a priority out of range or a name that is too long."""

    status = 422
    fix = "Correct the option; nothing was submitted."


class DependencyCycle(JobError):
    """The dependencies of jobs form a cycle."""

    status = 422
    fix = "Remove one of the dependencies; nothing was submitted."


class DependencyMissing(JobError):
    """A dependency does not exist, or can no longer complete."""

    status = 422
    fix = "Depend on jobs that exist and have not failed or been cancelled; nothing was submitted."


class TooManyDependencies(JobError):
    """A job has more dependencies than one transaction can record."""

    status = 422
    fix = "Use two levels: several jobs that each depend on some of them, and one job that depends on those jobs."


class KeyReused(JobError):
    """The idempotency key was already used for a different submission."""

    fix = "Use each idempotency key for one submission only."


class QueueDraining(JobError):
    """The queue is draining and accepts no new jobs."""

    fix = "Submit to another queue, or resume this one."


class ParentGone(JobError):
    """A child was submitted for a job that was cancelled or deleted, or that another worker now runs."""

    fix = "Let the handler end: the job was cancelled or another worker runs it, so the result of this attempt is not used."


class JobMissing(JobError):
    """The job is neither in the queue nor in the archive."""

    status = 404
    fix = "Check the id; failed jobs are kept for 30 days."


class JobUnreadable(JobError):
    """The item of the job is not a valid job: another program, or a newer version of this one, has written it."""

    fix = "Correct these attributes of the item in the job table, or delete the item. All other jobs go on."


class LeaseLost(JobError):
    """The worker no longer owns the job: its lease expired and another worker has the job, or the job was cancelled by force."""

    fix = "Let the handler end: the job was cancelled or another worker runs it, so the result of this attempt is not used."


class WrongState(JobError):
    """The operation is not allowed in the job's current status."""

    fix = "Read the job again and check its status."


class ResultTooLarge(JobError):
    """The result of a handler is too large to store with the job."""

    status = 500
    fix = "Put large values into the object store and return their keys."


class BadSchedule(JobError):
    """A schedule's name, time or config is invalid, or it never runs."""

    status = 422
    fix = "Give five cron fields (minute, hour, day, month, weekday), such as '*/15 8-18 * * mon-fri', or an interval in seconds."


class ScheduleMissing(JobError):
    """No schedule has this name."""

    status = 404
    fix = "List the schedules to see their names."


class HandlerTaken(JobError):
    """The job type already has a handler."""

    status = 500
    fix = "Give each handler its own job type."


class NoHandlers(JobError):
    """A worker was started without handlers: it would never claim a job."""

    status = 500
    fix = "Register handlers before the worker runs, or pass it the registry that has them."


class BadHandler(JobError):
    """The function or its options cannot be used for a handler."""

    status = 500
    fix = "Write `async def handle(job, config)`; one that runs in a process must be at the top level of a module."


class BadResult(JobError):
    """A handler returned something that cannot be stored as JSON."""

    status = 500
    fix = "Return a dict with text keys, a list, text, a number, a boolean, None or a pydantic model."


class WrongArgument(JobError, TypeError):
    """A queue or a worker was created with an argument of the wrong type."""

    status = 500
    fix = "Give a store and a registry of handlers: Queue(store, jobs)."


class BadPurge(JobError):
    """A `Purge` declaration cannot work."""

    status = 422


class PurgeIncomplete(JobError):
    """Some items could not be purged completely. The next sweep continues."""

    status = 500
    fix = "Read the log of the job. Its schedule repeats the sweep, or submit the job again."
