"""What the applications of a host find for somebody, and which tools they offer."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.web.contributions import OfferedTool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs import ArchivedJob, Job
    from gateleg.web.application import Application
    from gateleg.web.contributions import Found
    from gateleg.web.principal import Principal
    from gateleg.web.resources import Resources

    Plugged = Sequence[tuple[Application, Resources[Any]]]

_log = logging.getLogger("gateleg.web")
#: Seconds in which an application answers a search; the others are not kept waiting for longer.
TIMEOUT = 5.0
#: Texts that are longer are not searched for.
LONGEST = 500


@dataclass(frozen=True)
class Hit:
    """Something that an application has found."""

    application: Application
    found: Found


async def search_applications(plugged: Plugged, principal: Principal, text: str) -> list[Hit]:
    """What the applications find for somebody. One that fails or is slow finds nothing, and is logged."""
    text = text.strip()
    if not text or len(text) > LONGEST:
        return []
    answers = await asyncio.gather(*(_asked(application, resources, principal, text) for application, resources in plugged))
    return [hit for hits in answers for hit in hits]


async def _asked(application: Application, resources: Resources[Any], principal: Principal, text: str) -> list[Hit]:
    if application.search is None:
        return []
    try:
        async with asyncio.timeout(TIMEOUT):
            found: Sequence[Found] = await application.search(resources, principal, text)
    except Exception:
        _log.exception("The search of %s failed.", application.name)
        return []
    return [Hit(application, one) for one in found]


async def job_subject(plugged: Plugged, principal: Principal, job: Job | ArchivedJob, application: str | None) -> Found | None:
    """What a job is about, by the application that it belongs to. One that fails or is slow does not say, and is logged."""
    for one, resources in plugged:
        if one.name != application or one.job_subject is None or job.subject is None:
            continue
        try:
            async with asyncio.timeout(TIMEOUT):
                return await one.job_subject(resources, principal, job)
        except Exception:
            _log.exception("The application %s cannot say what the job %s is about.", one.name, job.job_id)
    return None


@dataclass
class Offering:
    """The tools that the applications of a host offer. It is filled when all of them have been started."""

    plugged: list[tuple[Application, Resources[Any]]] = field(default_factory=list)

    def __call__(self, principal: Principal) -> list[OfferedTool]:
        """The tools that somebody may use, of all applications."""
        return [
            OfferedTool(f"{application.name}.{tool.name}", application.name, tool)
            for application, resources in self.plugged
            if application.tools is not None
            for tool in application.tools(resources)
            if principal.may(tool.role)
        ]
