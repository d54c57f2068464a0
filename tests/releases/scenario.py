"""What a release writes through the store, the queue, the host and migrations, and what a release reads of it.

`history.py` runs this module with the code of earlier releases, under a fixed secret and clock. It imports only what all of them have.
"""

import asyncio
import json
import random
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel

from gateleg.host.credentials import Keys
from gateleg.host.principal import Role
from gateleg.host.sessions import Sessions
from gateleg.host.settings import Settings
from gateleg.host.tables import access_table
from gateleg.jobs import GiveUp, Jobs, JobStatus, ManualClock, Queue, Retry, Submission, TestWorker, claim
from gateleg.jobs.tables.job import TableNames
from gateleg.migrate import Migration, Migrator
from gateleg.model import GSI, TTL, Attr, Entity, Key, Pattern, Table, Version, field
from gateleg.net import Secret
from gateleg.objects.links import Grant, LinkSigner
from gateleg.store import AsyncStore, Store

#: After the times that the engine's own clock takes for expired.
START = datetime(2100, 1, 1, tzinfo=UTC)
SECRET = b"a secret that all releases share"
#: The tables that earlier releases had for hosts and for programs.
LAYOUTS = {
    "delphi": TableNames("DelphiJobQueue", "DelphiJobLedger", "DelphiJobArchive", "conversation_id", "ConversationIndex"),
    "plain": TableNames(),
}
JOB_IDS = [UUID(int=number) for number in range(1, 9)]

songs = Table("Songs", hash="pk", range="sk", tag="kind", indexes=[GSI("by-mood", hash="mood", range="number")])


class Mood(StrEnum):
    """How a song is."""

    SAD = "sad"
    GLAD = "glad"


class Song(Entity, table=songs, tag="song"):
    """An entity with an attribute of each type."""

    album: Attr[str]
    number: Attr[int]
    mood: Attr[Mood]
    text: Attr[str]
    ratio: Attr[float]
    price: Attr[Decimal]
    live: Attr[bool]
    data: Attr[bytes]
    id: Attr[UUID]
    at: Attr[datetime]
    day: Attr[date]
    hour: Attr[time]
    length: Attr[timedelta]
    kind_of: Attr[Literal["single", "album"]]
    words: Attr[set[str]]
    numbers: Attr[set[int]]
    parts: Attr[list[str]]
    counts: Attr[dict[str, int]]
    label: Attr[dict[str, list[int]]]
    nothing: Attr[str | None] = field(None)
    until: Attr[TTL]
    version: Attr[Version] = field(0)

    key = Key("ALBUM#{album}", "SONG#{number:03d}")
    on_album = Pattern(title="Songs of an album, by number")
    on_mood = Pattern("by-mood", title="Songs of a mood, by number")


def song(number: int) -> Song:
    """A song whose values follow from its number."""
    return Song(
        album="Pastel Blues",
        number=number,
        mood=Mood.SAD if number % 2 else Mood.GLAD,
        text='quotes " and \u00e9 \U0001f3b9',
        ratio=number / 8,
        price=Decimal("1234567890.123456789"),
        live=bool(number % 2),
        data=bytes([0, 255, number]),
        id=UUID(int=number),
        at=datetime(2024, 2, 29, 12, 30, 1, 500, tzinfo=UTC),
        day=date(2024, 2, 29),
        hour=time(12, 30, 1),
        length=timedelta(minutes=number, milliseconds=5),
        kind_of="single",
        words={"a", "b"},
        numbers={1, 2},
        parts=["intro", "verse"],
        counts={"plays": 3},
        label={"Philips": [1965, 1966]},
        until=datetime(2150, 1, 1, tzinfo=UTC),
    )


def make_jobs() -> Jobs:
    """The handlers of the queue."""
    jobs = Jobs()

    @jobs.handler("plain")
    async def plain(job: Any, config: Any) -> None:
        """Does nothing."""

    @jobs.handler("fails", retry=Retry(times=1))
    async def fails(job: Any, config: Any) -> None:
        raise GiveUp("it fails")

    return jobs


def open_store(folder: Path, clock: Callable[[], float], seed: int = 2) -> Store:
    """The store of the scenario. Writer and reader have different seeds, because the tokens of transactions come from them."""
    return Store.connect(f"embedded:{folder}", clock=clock, ticks=clock, random=random.Random(seed), cursor_key=SECRET)


def write(folder: Path) -> dict[str, Any]:
    """Write everything; returns the tokens that were handed out."""
    clock = ManualClock(START)
    handed: dict[str, Any] = {}
    with open_store(folder, clock, seed=1) as store:
        store.ensure_tables(songs)
        stored = [store.put(song(number)) for number in range(5)]
        store.patch(stored[0], Song.text.set("changed"))
        handed["cursor"] = store.page(Song.on_mood, mood=Mood.GLAD, limit=1).next
        for name, tables in LAYOUTS.items():
            queue = Queue(store, make_jobs(), tables=tables)
            queue.ensure_tables()
            _fill_queue(queue, clock)
            handed[f"jobs {name}"] = queue.jobs_page(status=JobStatus.PENDING, limit=1).next
        Migrator(store, "shop", [Migration(1, "songs", tables=(songs,)), Migration(2, "again", rewrites=(Song,))], by="test").apply()
    handed["link"] = LinkSigner(SECRET).sign(Grant("a folder/song.mp3", download="song.mp3"), int(clock()) + 3600)
    handed["upload"] = LinkSigner(SECRET).sign(Grant("in.bin", "PUT", content_type="application/x-y", length=3), int(clock()) + 3600)
    handed |= asyncio.run(_sign_in(folder, clock))
    return handed


def _fill_queue(queue: Queue, clock: ManualClock) -> None:
    first, second, third, fourth, fifth, sixth, seventh, claimed = JOB_IDS
    queue.submit(Submission("plain", job_id=first, priority=80, subject="19305", created_by="ann", tags=("a",), idempotency_key="once"))
    queue.submit(Submission("fails", job_id=second))
    # The names of these options in earlier releases.
    parent: dict[str, Any] = {"parent": first}
    options: dict[str, Any] = {"timeout": 60}
    dependencies: dict[str, Any] = {"depends_on": [fourth]}
    queue.submit(Submission("plain", job_id=third, stage="part", concurrency_key="c", concurrency_limit=2, **parent))
    TestWorker(queue, clock).run()
    job = queue.get(first)
    clock.advance(days=8)
    queue.archive_job(job)
    queue.submit(Submission("plain", job_id=fourth, config={"n": 1}, max_retries=5, unique_key="u", **options))
    queue.submit(Submission("plain", job_id=fifth, **dependencies))
    queue.submit(Submission("plain", job_id=sixth, delay=3600))
    queue.submit(Submission("plain", job_id=seventh))
    queue.cancel(seventh)
    queue.schedule("nightly", Submission("plain", subject="x"), cron="0 3 * * *", timezone="Europe/Vienna")
    queue.pause("math")
    queue.submit(Submission("plain", job_id=claimed, priority=99))
    selector = getattr(claim, "CandidateSelector", None) or claim.Picker  # type: ignore[attr-defined]
    assert queue.claim(selector(clock), "default", "worker-1") is not None


async def _sign_in(folder: Path, clock: Callable[[], float]) -> dict[str, str]:
    async with AsyncStore.connect(f"embedded:{folder}", clock=clock, ticks=clock) as store:
        await store.ensure_tables(access_table)
        keys = Keys(store)
        new = await keys.create("ann", Role.OPERATOR, groups=["math"], tenant="t1")
        sessions = Sessions(store, keys, Secret(SECRET), Settings())
        session = await sessions.begin(new.token)
        return {"key": new.token, "session": session.cookie, "csrf": sessions.csrf_token(session.cookie)}


def content(folder: Path) -> dict[str, Any]:
    """What a release reads of what was written."""
    clock = ManualClock(START + timedelta(days=20))
    found: dict[str, Any] = {}
    with open_store(folder, clock) as store:
        found["songs"] = [plain_values(one) for one in store.query(Song.on_album, album="Pastel Blues")]
        found["on mood"] = [one.number for one in store.query(Song.on_mood, mood=Mood.GLAD)]
        for name, tables in LAYOUTS.items():
            queue = Queue(store, make_jobs(), tables=tables)
            found[f"jobs {name}"] = {str(number): _job_values(queue.get_or_archived(number)) for number in JOB_IDS}
            found[f"pending {name}"] = [str(job.job_id) for job in queue.jobs_page(status=JobStatus.PENDING).items]
            found[f"archive {name}"] = [str(job.job_id) for job in queue.archive_page(subject="19305").items]
            found[f"schedules {name}"] = [plain_values(one) for one in queue.schedules()]
            found[f"states {name}"] = [plain_values(one) for one in queue.states().values()]
            found[f"log {name}"] = len(queue.log(JOB_IDS[1]))
        found["migrations"] = [[one.number, one.name, one.state] for one in Migrator(store, "shop", [], by="test").status()]
    return json.loads(json.dumps(found, default=str, sort_keys=True))  # type: ignore[no-any-return]


def plain_values(entity: Any) -> dict[str, Any]:
    """The values of an entity."""
    return {name: _plain(getattr(entity, name)) for name in type(entity).model_fields}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return plain_values(value)
    if isinstance(value, set | frozenset):
        return sorted(str(one) for one in value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _job_values(job: Any) -> dict[str, Any]:
    values = plain_values(job)
    for changing in ("token", "lease_token", "claim_token", "traceback"):
        values.pop(changing, None)
    return values


def main(folder: Path) -> None:
    """Write everything, and print what was handed out and what the same code reads."""
    handed = write(folder)
    print(json.dumps({"handed": handed, "content": content(folder)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
