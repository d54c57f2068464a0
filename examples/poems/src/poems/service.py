"""The use cases, each for somebody: everything that is shown or done goes through here, so this is where access is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from gateleg.host import submitted_by
from gateleg.host.errors import Unknown
from gateleg.jobs import Submission
from poems.tables import Poem

if TYPE_CHECKING:
    from gateleg.host import Principal, Resources
    from poems.settings import PoemSettings

SET = "poems.set"


async def add_poem(resources: Resources[PoemSettings], principal: Principal, title: str, text: bytes) -> Poem:
    """Keep a poem, and submit the job that sets it."""
    poem_id = uuid4()
    key = f"poems/{poem_id}/text.txt"
    await resources.objects.put(key, text, content_type="text/plain")
    poem = Poem(owner=principal.owner, poem_id=poem_id, title=title, text=key, written_at=resources.store.setup.now())
    await resources.store.create(poem)
    config = {"owner": poem.owner, "poem_id": str(poem_id)}
    await resources.queue.submit(submitted_by(principal, Submission(SET, config, subject=str(poem_id))))
    await resources.audit.note(principal, "poem.add", str(poem_id))
    return poem


async def poems_of(resources: Resources[PoemSettings], principal: Principal) -> list[Poem]:
    """The poems that somebody may see: their own."""
    return [poem async for poem in resources.store.query(Poem.of_owner(owner=principal.owner))]


async def poem_of(resources: Resources[PoemSettings], principal: Principal, poem_id: UUID) -> Poem:
    """A poem, if it is the caller's; one of somebody else is refused like one that does not exist."""
    poem = await resources.store.find(Poem, owner=principal.owner, poem_id=poem_id, consistent=True)
    if poem is None:
        raise Unknown(f"There is no poem {poem_id}.", fix="GET /api/poems/poems lists yours.")
    return poem


async def find_poems(resources: Resources[PoemSettings], principal: Principal, text: str) -> list[Poem]:
    """The poems of somebody with a text in their title."""
    return [poem for poem in await poems_of(resources, principal) if text.lower() in poem.title.lower()]
