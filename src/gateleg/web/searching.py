"""What the applications of a host find for somebody, and which tools they offer."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.web.application import Application
    from gateleg.web.contributions import AgentTool, Found
    from gateleg.web.principal import Principal
    from gateleg.web.resources import Resources

    Plugged = Sequence[tuple[Application, Resources[Any]]]

_log = logging.getLogger("gateleg.web")
#: Seconds in which an application answers a search; the others are not kept waiting for longer.
PATIENCE = 5.0
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
        async with asyncio.timeout(PATIENCE):
            found: Sequence[Found] = await application.search(resources, principal, text)
    except Exception:
        _log.exception("The search of %s failed.", application.name)
        return []
    return [Hit(application, one) for one in found]


@dataclass(frozen=True)
class OfferedTool:
    """A tool of an application, under the name by which models call it."""

    name: str
    application: str
    tool: AgentTool

    async def call(self, principal: Principal, arguments: dict[str, Any]) -> Any:
        """Call it with the arguments that a model gave. Raises pydantic's `ValidationError` for what does not fit its schema."""
        return await self.tool.call(principal, self.tool.input.model_validate(arguments))


def offered_tools(plugged: Plugged, principal: Principal) -> list[OfferedTool]:
    """The tools that somebody may use, of all applications."""
    return [
        OfferedTool(f"{application.name}.{tool.name}", application.name, tool)
        for application, resources in plugged
        if application.tools is not None
        for tool in application.tools(resources)
        if principal.may(tool.role)
    ]
