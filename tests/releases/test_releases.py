"""What earlier releases have written and handed out is read, accepted and carried on."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from gateleg.host.credentials import Keys
from gateleg.host.principal import Role
from gateleg.host.sessions import Sessions
from gateleg.host.settings import Settings
from gateleg.jobs import JobStatus, ManualClock, Queue, Submission, TestWorker
from gateleg.jobs.leases import LeaseObserver
from gateleg.migrate import Migration, Migrator
from gateleg.net import Secret
from gateleg.objects.links import LinkSigner
from gateleg.store import AsyncStore, CursorRejected, Store
from tests.engine.formats.history import unpack
from tests.engine.formats.test_formats import differences
from tests.releases import scenario
from tests.releases.history import HERE, RELEASES
from tests.releases.scenario import JOB_IDS, LAYOUTS, SECRET, Mood, Song

LATER = scenario.START + timedelta(days=20)


@pytest.fixture(params=RELEASES)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """What a release handed out, and read of its own store, which lies in `tmp_path`."""
    return unpack(HERE / f"{request.param}.zip", tmp_path)[1]


@pytest.fixture
def handed(golden: dict[str, Any]) -> dict[str, Any]:
    """What a release handed out: cursors, links, a key and a session."""
    found: dict[str, Any] = golden["handed"]
    return found


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(LATER)


@pytest.fixture
def store(golden: dict[str, Any], tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    with scenario.open_store(tmp_path, clock) as store:
        yield store


def test_all_is_read_as_the_release_read_it(golden: dict[str, Any], tmp_path: Path) -> None:
    assert differences(scenario.content(tmp_path), golden["content"]) == []


def test_items_are_changed_with_their_versions(store: Store) -> None:
    first, *_ = store.query(Song.on_album, album="Pastel Blues")
    changed = store.patch(first, Song.mood.set(Mood.SAD))
    assert changed.version == first.version + 1
    assert [song.number for song in store.query(Song.on_mood, mood=Mood.SAD)] == [0, 1, 3]
    store.put(scenario.song(9))
    assert list(store.query(Song.on_album, album="Pastel Blues"))[-1].price == scenario.song(9).price


def test_a_cursor_goes_on(store: Store, handed: dict[str, Any]) -> None:
    page = store.page(Song.on_mood, mood=Mood.GLAD, limit=5, cursor=handed["cursor"])
    assert [song.number for song in page.items] == [2, 4]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_cursor_of_a_list_of_jobs_goes_on_or_is_refused_in_words(
    store: Store, handed: dict[str, Any], layout: str, request: pytest.FixtureRequest
) -> None:
    """The list was asked for in another way three days earlier, and a cursor is for one question."""
    queue = Queue(store, scenario.make_jobs(), tables=LAYOUTS[layout])
    asked: dict[str, Any] = {"status": JobStatus.PENDING, "limit": 5, "cursor": handed[f"jobs {layout}"]}
    if request.node.callspec.params["golden"] == "eb8a787e":
        with pytest.raises(CursorRejected, match="Start again without a cursor"):
            queue.jobs_page(**asked)
    else:
        assert [job.job_id for job in queue.jobs_page(**asked).items] == [JOB_IDS[4], JOB_IDS[5]]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_jobs_run_on(store: Store, clock: ManualClock, layout: str) -> None:
    queue = Queue(store, scenario.make_jobs(), tables=LAYOUTS[layout])
    assert queue.submit(Submission("plain", unique_key="u")).job.job_id == JOB_IDS[3]
    leases = LeaseObserver[Any]()
    queue.reap("default", leases)
    clock.advance(31)
    queue.reap("default", leases)
    TestWorker(queue, clock).run()
    states = {job_id: queue.get_or_archived(job_id).status for job_id in JOB_IDS}
    assert {job_id for job_id, status in states.items() if status is JobStatus.COMPLETED} == set(JOB_IDS) - {JOB_IDS[1], JOB_IDS[6]}
    assert queue.retry(JOB_IDS[1]).status is JobStatus.PENDING
    queue.run_schedules()  # what was missed
    due = queue.schedules()[0].next_run_at
    assert due is not None
    clock.reach(due)
    queue.run_schedules()
    assert queue.schedules()[0].last_run_at is not None
    assert queue.resume("math").mode == "running"


def test_links_are_accepted(handed: dict[str, Any]) -> None:
    signer, now = LinkSigner(SECRET), scenario.START.timestamp()
    link, upload = urlsplit(handed["link"]), urlsplit(handed["upload"])
    assert signer.verify("GET", "a folder/song.mp3", link.query, now).download == "song.mp3"
    assert signer.verify("PUT", "in.bin", upload.query, now, content_type="application/x-y", length=3).length == 3
    assert (unquote(link.path), upload.path) == ("/objects/a folder/song.mp3", "/objects/in.bin")


async def test_a_key_and_a_session_are_accepted(golden: dict[str, Any], handed: dict[str, Any], tmp_path: Path) -> None:
    clock = ManualClock(scenario.START + timedelta(days=16, minutes=5))
    async with AsyncStore.connect(f"embedded:{tmp_path}", clock=clock, ticks=clock) as store:
        keys = Keys(store)
        principal = await keys.recognise(handed["key"])
        assert (principal.name, principal.role, principal.groups, principal.tenant) == ("ann", Role.OPERATOR, frozenset({"math"}), "t1")
        sessions = Sessions(store, keys, Secret(SECRET), Settings())
        assert await sessions.recognise(handed["session"]) == principal
        assert sessions.csrf_fits(handed["session"], handed["csrf"])


def test_applied_migrations_are_known(store: Store) -> None:
    migrations = [Migration(1, "songs", tables=(scenario.songs,)), Migration(2, "again", rewrites=(Song,)), Migration(3, "new")]
    migrator = Migrator(store, "shop", migrations, by="test")
    assert [migration.number for migration in migrator.apply()] == [3]
    assert [status.state for status in migrator.status()] == ["applied"] * 3
