"""The demo application of `gateleg up --demo`: a collection of songs, its charts, and jobs of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.cli.demo.work import Decades, Fingerprints, Ratings, charts_table, make_jobs, songs_table
from gateleg.host import Application
from gateleg.jobs import Submission

if TYPE_CHECKING:
    from gateleg.host import Resources

SCHEDULE = "demo-decades"


async def load_demo(resources: Resources) -> None:
    """Submit the jobs of the demo and create its schedule. Idempotent."""
    queue = resources.queue
    for submission in (
        Submission("demo.import", {}, subject="Songs", idempotency_key="demo/import", tags=["demo"], created_by="demo"),
        Submission(
            "demo.fingerprint", Fingerprints(), subject="Songs", idempotency_key="demo/fingerprint", tags=["demo"], created_by="demo"
        ),
        Submission("demo.decades", Decades(), subject="Songs", idempotency_key="demo/decades", tags=["demo"], created_by="demo"),
        Submission("demo.ratings", Ratings(), subject="Ratings", idempotency_key="demo/ratings", tags=["demo"], created_by="demo"),
    ):
        await queue.submit(submission)
    if all(schedule.name != SCHEDULE for schedule in await queue.schedules()):
        await queue.schedule(SCHEDULE, Submission("demo.decades", Decades(), subject="Songs"), every=300)


application = Application(
    name="demo",
    title="Demonstration",
    icon="library_music",
    about="A collection of songs, with charts of the most played ones, counted and drawn by jobs.",
    tables=(songs_table, charts_table),
    jobs=make_jobs,
    demo=load_demo,
)
