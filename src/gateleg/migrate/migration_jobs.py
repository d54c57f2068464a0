"""Migrations as jobs: a worker applies, verifies or undoes them and reports progress; a retried job continues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from gateleg.jobs import GiveUp, JobContext, Jobs, Retry
from gateleg.migrate.errors import MoveError, Paused
from gateleg.migrate.migrator import MigrationCallbacks, Migrator
from gateleg.migrate.moves.declaration import Phase
from gateleg.migrate.moves.passes import RateLimits, describe_progress
from gateleg.migrate.moves.steps import MoveOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from contextlib import AbstractContextManager

    from gateleg.migrate.migrations import Migration
    from gateleg.store import Store

__all__ = ["MIGRATION_JOB", "MigrationTask", "migration_jobs", "subject_of"]

MIGRATION_JOB = "MIGRATION"
#: the lock of a host that died expires after a minute
_RETRY = Retry(times=20, first=70.0, longest=600.0)


class MigrationTask(BaseModel):
    """The configuration of a migration job."""

    application: str
    action: Literal["apply", "verify", "repeat", "rollback"] = "apply"
    #: the last migration to apply; the one to verify, retry or undo
    number: int | None = None
    phase: Phase | None = None
    stage: str | None = None
    segments: int = Field(default=4, ge=1, le=10_000)
    read_units: float | None = Field(default=None, gt=0)
    write_units: float | None = Field(default=None, gt=0)
    latency: float | None = Field(default=None, gt=0)
    force: bool = False
    #: how clients are monitored in each new phase (`gateleg.migrate.MoveOptions`)
    soak: float = Field(default=0.0, ge=0)
    most_failures: float = Field(default=0.01, ge=0, le=1)
    most_seconds: float | None = Field(default=None, gt=0)


def subject_of(application: str) -> str:
    """The subject of an application's migration jobs."""
    return f"migrations of {application}"


def migration_jobs(
    open_store: Callable[[], AbstractContextManager[Store]],
    migrations: Mapping[str, Sequence[Migration]],
    notify: Callable[[str, str, dict[str, Any]], Coroutine[Any, Any, Any]] | None = None,
) -> Jobs:
    """The job type for migrations, given those of each application by name. `open_store` opens a store for a job's thread.

    `notify` is awaited with an application, an event (`migration.done` or `migration.stopped`) and its details.
    """
    jobs = Jobs()

    def migrate(job: JobContext, config: MigrationTask) -> dict[str, Any]:
        if config.application not in migrations:
            raise GiveUp(f"{config.application} has no migrations here.")
        with open_store() as store:
            options = MoveOptions(
                segments=config.segments,
                limits=RateLimits(config.read_units, config.write_units, config.latency),
                force=config.force,
                soak=config.soak,
                most_failures=config.most_failures,
                most_seconds=config.most_seconds,
            )
            report = MigrationCallbacks(job.log, lambda task, progress: _report_progress(job, task, progress))
            migrator = Migrator(
                store, config.application, migrations[config.application], by=_operator(job), options=options, report=report
            )
            about = {"job": str(job.job_id), "number": config.number, "action": config.action}
            try:
                result = _done(migrator, config)
            except MoveError as error:
                if notify is not None:
                    job.wait(notify(config.application, "migration.stopped", {**about, "code": error.code, "message": error.message}))
                text = f"{error.message} Resume it, and retry this job." if isinstance(error, Paused) else str(error)
                raise GiveUp(text) from error
            if notify is not None:
                job.wait(notify(config.application, "migration.done", {**about, "result": result}))
            return result

    jobs.handler(MIGRATION_JOB, config=MigrationTask, retry=_RETRY, timeout=7 * 86_400)(migrate)
    return jobs


def _done(migrator: Migrator, config: MigrationTask) -> dict[str, Any]:
    if config.action == "apply":
        done = migrator.apply(number=config.number, until=config.phase or Phase.CUT_OVER, stage=config.stage)
        return {"applied": [str(one) for one in done]}
    if config.number is None:
        raise GiveUp(f"Say which migration to {config.action}.")
    if config.action == "verify":
        found = migrator.verify(config.number, stage=config.stage)
        wrong = {place: one.wrong for place, one in found.items() if not one.holds}
        if wrong:
            raise GiveUp(f"Both sides differ: {wrong}. `gateleg migrate status {config.application}` names the items.")
        return {place: {"old": one.old, "new": one.new, "compared": one.compared} for place, one in found.items()}
    if config.action == "repeat":
        left = migrator.repeat(config.number, stage=config.stage)
        if any(left.values()):
            raise GiveUp(f"Still wrong: {left}. `gateleg migrate errors {config.application} {config.number}` lists the items.")
        return {"left": left}
    migrator.rollback(config.number, until=config.phase or Phase.OFF, stage=config.stage)
    return {"rolled_back": config.number}


def _operator(job: JobContext) -> str:
    """The operator for the ledger: the submitter of the job, and the job."""
    return f"{job.job.created_by}, job {job.job_id}" if job.job.created_by else f"job {job.job_id}"


def _report_progress(job: JobContext, task: str, progress: dict[str, Any]) -> None:
    """Report progress, and stop between pages if the job is cancelled."""
    done = progress["seen"] / progress["total"] if progress["total"] else progress["segments_done"] / max(1, progress["segments"])
    job.progress(min(1.0, done), 1.0, f"{task}: {describe_progress(progress)}")
    job.check()
