"""What the pages share: who looks, as the rules know them, and what is shown of things that are not there for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.errors import UnknownCollection, UnknownDocument, UnknownRepository
from gateleg.apps.rag.web.places import HOME, collection_place
from gateleg.web.console import components
from gateleg.web.console.components import carry_out_and_open

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.apps.rag.collections import OpenedCollection
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.web import Resources
    from gateleg.web.console.components import View


#: What the rules raise for things that are not there, or not for who asks.
NOT_THERE = (UnknownRepository, UnknownCollection, UnknownDocument)


def caller_of(view: View, resources: Resources[RagSettings]) -> Caller:
    """Who looks at a page."""
    return Caller(view.principal, resources.settings.admin_group)


@dataclass(frozen=True)
class Visit:
    """Somebody at the page of a collection."""

    view: View
    resources: Resources[RagSettings]
    caller: Caller
    opened: OpenedCollection

    @property
    def here(self) -> str:
        """The address of the page."""
        found = self.opened.collection
        return collection_place(found.repository_id, found.collection_id)


def show_not_found(what: str) -> None:
    """Nothing of that name is there, or not for who looks."""
    components.show_not_found(what, button="All repositories", href=HOME)


async def do(view: View, work: Callable[[], Awaitable[Any]], done: str, go: str) -> None:
    """Do something that the rules allow who looks, and show a page anew. What it refuses is shown."""
    await carry_out_and_open(view, work, done, go)
