"""The jobs of an application for its users: which of them a member sees and may change, and what they may do to them.

Members see the jobs that the application's rule `sees_job` allows, by default those that they submitted, and never a job of another tenant.
Viewers and higher roles see all jobs of the application. A job that the caller may not see is reported as not found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.host.actions.jobs import actions_of_members
from gateleg.host.errors import NotAllowed, Unknown
from gateleg.host.principal import Role
from gateleg.host.queues import sees_job, submitted
from gateleg.jobs import JobMissing, JobUnreadable
from gateleg.store import Page

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.host.actions import Action, ActionCall
    from gateleg.host.actions.jobs import JobTarget
    from gateleg.host.application import Application
    from gateleg.host.principal import Principal
    from gateleg.host.resources import Resources
    from gateleg.jobs import Job
    from gateleg.jobs.tables import ArchivedJob

__all__ = ["MemberJobs", "member_actions"]


@dataclass(frozen=True)
class MemberJobs:
    """The jobs of an application as one caller may see them."""

    application: Application
    resources: Resources[Any]
    principal: Principal

    @property
    def job_types(self) -> frozenset[str]:
        """The job types of the application."""
        name = self.application.name
        return frozenset(one.job_type for one in self.resources.queue.context.jobs if one.application == name)

    async def sees(self, job: Job | ArchivedJob) -> bool:
        """Whether the caller may see a job."""
        return job.job_type in self.job_types and await sees_job(self.application, self.resources, self.principal, job)

    async def may_change(self, job: Job | ArchivedJob) -> bool:
        """Whether the caller may cancel and retry a job that they see."""
        if self.principal.may(Role.OPERATOR):
            return True
        rule = self.application.changes_job
        return submitted(self.principal, job) if rule is None else await rule(self.resources, self.principal, job)

    async def get(self, job_id: UUID) -> Job | ArchivedJob:
        """A job, in the queue or in the archive."""
        try:
            job = await self.resources.queue.get_or_archived(job_id)
        except (JobMissing, JobUnreadable):
            job = None
        if job is None or not await self.sees(job):
            raise Unknown(f"There is no job {job_id}.", fix=f"GET /api/{self.application.name}/jobs lists those that you have submitted.")
        return job

    async def changeable(self, job_id: UUID) -> Job | ArchivedJob:
        """A job that the caller may change."""
        job = await self.get(job_id)
        if not await self.may_change(job):
            raise NotAllowed(f"{self.principal.name!r} may see job {job_id}, but not change it.", fix="Ask the person who submitted it.")
        return job

    async def page(self, *, subject: str | None = None, limit: int = 50, cursor: str | None = None) -> Page[Job]:
        """The jobs that the caller submitted, or those about a subject that they may see, newest first. A page may be short."""
        queue = self.resources.queue
        if subject is None:
            return await queue.own_jobs_page(
                self.principal.name, self.principal.tenant, job_types=self.job_types, limit=limit, cursor=cursor
            )
        found = await queue.jobs_page(subject=subject, limit=limit, cursor=cursor)
        return Page([job for job in found if await self.sees(job)], found.next)


def member_actions(application: Application) -> tuple[Action[Any, Any], ...]:
    """What members may do to the jobs of an application."""

    async def may_change(call: ActionCall, given: JobTarget) -> None:
        await MemberJobs(application, call.host.resources[application.name], call.principal).changeable(given.job_id)

    return actions_of_members(application.name, may_change)
