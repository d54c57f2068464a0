"""The job: sets a poem, in a process of its own with a scratch folder."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID  # noqa: TC003 - pydantic reads the annotations

from pydantic import BaseModel

from gateleg.jobs import JobContext, Jobs, Retry
from poems.service import SET
from poems.tables import Poem

if TYPE_CHECKING:
    from gateleg.host import Resources
    from poems.settings import PoemSettings


class WhichPoem(BaseModel):
    """The poem that is set."""

    owner: str
    poem_id: UUID


def make_jobs(resources: Resources[PoemSettings]) -> Jobs:
    """The job types. A process makes them again, with resources of its own."""
    jobs = Jobs()

    @jobs.handler(SET, config=WhichPoem, runs="process", retry=Retry(times=3), timeout=60)
    async def set_poem(job: JobContext, config: WhichPoem) -> dict[str, int]:
        poem = await resources.store.get(Poem, owner=config.owner, poem_id=config.poem_id)
        text = (await resources.objects.get(poem.text)).decode(errors="replace")
        draft = job.scratch / "page.txt"
        draft.write_text("\n".join(" " * resources.settings.indent + line for line in text.splitlines()))
        page = f"poems/{poem.poem_id}/page.txt"
        await resources.objects.put(page, draft.read_bytes(), content_type="text/plain")
        lines = len(text.splitlines())
        await resources.store.patch(poem, Poem.lines.set(lines), Poem.page.set(page))
        job.output("objects", page)
        return {"lines": lines}

    return jobs
