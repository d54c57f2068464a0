"""The event stream of a poem: its lines, one by one."""

from collections.abc import AsyncIterator
from uuid import UUID

from gateleg.host import Event, EventRoute, Listener, Resources
from poems import service
from poems.settings import PoemSettings


def make_streams(resources: Resources[PoemSettings]) -> list[EventRoute]:
    """The streams below /events/poems."""

    async def follow(listener: Listener) -> AsyncIterator[Event]:
        poem = await service.poem_of(resources, listener.principal, UUID(listener.params["poem_id"]))
        text = (await resources.objects.get(poem.text)).decode()
        return _lines(text.splitlines(), int(listener.last_event_id or 0))

    return [EventRoute("/{poem_id}/lines", follow, about="The lines of a poem.")]


async def _lines(lines: list[str], seen: int) -> AsyncIterator[Event]:
    for number, line in enumerate(lines[seen:], start=seen + 1):
        yield Event("line", {"text": line}, id=str(number))
