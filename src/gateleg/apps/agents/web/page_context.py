"""What the pages share: whose partition is looked at, and what is shown of things that are not there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.tenancy import RequestedTenant, assemble
from gateleg.apps.agents.web.urls import HOME
from gateleg.web.console import components
from gateleg.web.console.components import carry_out_and_open

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tenancy import Context
    from gateleg.web import Resources
    from gateleg.web.console.components import View


@dataclass(frozen=True)
class Visit:
    """Somebody at a page, and the partition that they look at."""

    view: View
    resources: Resources[AgentsSettings]
    context: Context

    @classmethod
    def of(cls, view: View, resources: Resources[AgentsSettings], part: str = "") -> Visit:
        """A visit to the caller's own part; those who may choose one name it."""
        return cls(view, resources, assemble(view.principal, resources.settings, RequestedTenant(part_id=part or None)))

    @property
    def kept(self) -> dict[str, str]:
        """What every address of the page has: the part, for those who have chosen one."""
        return {"part": self.context.part_id} if self.context.part_given and self.context.principal.tenant is None else {}

    async def do(self, work: Callable[[], Awaitable[Any]], done: str, go: str) -> None:
        """Do something that the rules allow who looks, and show a page anew. What it refuses is shown."""
        await carry_out_and_open(self.view, work, done, go)


def show_not_found(what: str) -> None:
    """Nothing of that name is there, or not for who looks."""
    components.show_not_found(what, button="All agents", href=HOME)
