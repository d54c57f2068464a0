"""Search over all applications of a host, the subjects of their jobs, and the catalog of their agent tools."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.host.application import OfferedTool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.host.application import Application, Found
    from gateleg.host.principal import Principal
    from gateleg.host.resources import Resources
    from gateleg.jobs import Job
    from gateleg.jobs.tables import ArchivedJob

    ApplicationsWithResources = Sequence[tuple[Application, Resources[Any]]]

__all__ = ["MAX_SEARCH_CHARACTERS"]

_log = logging.getLogger("gateleg.web")
#: An application that takes longer is skipped.
_TIMEOUT_SECONDS = 5.0
#: Longer texts are not searched for.
MAX_SEARCH_CHARACTERS = 500


@dataclass(frozen=True)
class Hit:
    """A search result and the application that it belongs to."""

    application: Application
    found: Found


async def search_applications(applications: ApplicationsWithResources, principal: Principal, text: str) -> list[Hit]:
    """Search all applications at once. One that fails or times out contributes no hits and is logged."""
    text = text.strip()
    if not text or len(text) > MAX_SEARCH_CHARACTERS:
        return []
    answers = await asyncio.gather(
        *(_search_application(application, resources, principal, text) for application, resources in applications)
    )
    return [hit for hits in answers for hit in hits]


async def _search_application(application: Application, resources: Resources[Any], principal: Principal, text: str) -> list[Hit]:
    if application.search is None:
        return []
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            found: Sequence[Found] = await application.search(resources, principal, text)
    except Exception:
        _log.exception("search in application %s failed", application.name)
        return []
    return [Hit(application, one) for one in found]


async def job_subject(
    applications: ApplicationsWithResources, principal: Principal, job: Job | ArchivedJob, application: str | None
) -> Found | None:
    """The thing that a job works on, from the application of its type; None if the application fails or times out, which is logged."""
    for one, resources in applications:
        if one.name != application or one.job_subject is None or job.subject is None:
            continue
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                return await one.job_subject(resources, principal, job)
        except Exception:
            _log.exception("application %s failed to look up the subject of job %s", one.name, job.job_id)
    return None


@dataclass
class ToolCatalog:
    """The agent tools of a host: those of its applications, and all actions. The host fills it once all applications have started."""

    applications: list[tuple[Application, Resources[Any]]] = field(default_factory=list)
    #: actions as tools, for callers with their roles
    actions: list[OfferedTool] = field(default_factory=list)

    def __call__(self, principal: Principal) -> list[OfferedTool]:
        """The tools that a principal may use."""
        offered = [
            OfferedTool(f"{application.name}.{tool.name}", application.name, tool)
            for application, resources in self.applications
            if application.tools is not None
            for tool in application.tools(resources)
        ]
        return [entry for entry in (*offered, *self.actions) if principal.may(entry.tool.role)]
