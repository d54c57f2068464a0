"""The context of a console page: the user and the partition that the page shows."""

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
    from gateleg.host import Resources
    from gateleg.web.console.components import View


@dataclass(frozen=True)
class Visit:
    """A user's visit to a page, with the partition that the page shows."""

    view: View
    resources: Resources[AgentsSettings]
    context: Context

    @classmethod
    def of(cls, view: View, resources: Resources[AgentsSettings], part: str = "") -> Visit:
        """A visit to the caller's own part, or to `part` for callers who may choose."""
        return cls(view, resources, assemble(view.principal, resources.settings, RequestedTenant(part_id=part or None)))

    @property
    def kept(self) -> dict[str, str]:
        """Query parameters that all links of the page keep: the part, if the caller has chosen one."""
        return {"part": self.context.part_id} if self.context.part_given and self.context.principal.tenant is None else {}

    async def do(self, work: Callable[[], Awaitable[Any]], done: str, go: str) -> None:
        """Run an action of the caller and open a page afterwards. Errors are shown."""
        await carry_out_and_open(self.view, work, done, go)


def show_not_found(what: str) -> None:
    """Show that an item does not exist or is not visible to the caller."""
    components.show_not_found(what, button="All agents", href=HOME)
