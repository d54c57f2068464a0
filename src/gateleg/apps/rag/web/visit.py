"""What the pages share: the viewer's identity, not-found messages, and carrying out actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.errors import UnknownCollection, UnknownDocument, UnknownRepository
from gateleg.apps.rag.web.page_paths import HOME, collection_path
from gateleg.web.console import components
from gateleg.web.console.components import carry_out_and_open

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.apps.rag.collections import OpenedCollection
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Resources
    from gateleg.web.console.components import View


#: Errors for things that do not exist or that the viewer may not read.
NOT_FOUND_ERRORS = (UnknownRepository, UnknownCollection, UnknownDocument)


def caller_of(view: View, resources: Resources[RagSettings]) -> Caller:
    """The viewer of a page, for access decisions."""
    return Caller(view.principal, resources.settings.admin_group)


@dataclass(frozen=True)
class Visit:
    """A viewer's visit to a collection's page."""

    view: View
    resources: Resources[RagSettings]
    caller: Caller
    opened: OpenedCollection

    @property
    def here(self) -> str:
        """The address of the page."""
        found = self.opened.collection
        return collection_path(found.repository_id, found.collection_id)


def show_not_found(what: str) -> None:
    """Show that something does not exist or may not be read by the viewer."""
    components.show_not_found(what, button="All repositories", href=HOME)


async def do(view: View, work: Callable[[], Awaitable[Any]], done: str, go: str) -> None:
    """Carry out an action, show `done` and open the page `go`; show the error if it fails."""
    await carry_out_and_open(view, work, done, go)
