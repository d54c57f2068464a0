import pytest

from gateleg.host.queues import QueueStatsCache
from gateleg.jobs import AsyncQueue, Jobs
from gateleg.jobs.monitor import QueueStats
from gateleg.jobs.tables import QueueState
from gateleg.store import AsyncStore
from gateleg.web.console.jobs.queues import COLUMNS, QueueOverview, queue_row, read_queues


def view(mode: str = "running", state: QueueState | None = None) -> QueueOverview:
    return QueueOverview(QueueStats("media", mode, 3, 1, 2, 65.0, 15), state, 2)


def verbs(mode: str) -> list[str]:
    deeds = queue_row(view(mode), deeds=True).cells["deeds"]
    assert isinstance(deeds, list)
    return [part["verb"] for part in deeds if isinstance(part, dict)]


@pytest.mark.parametrize(
    ("mode", "offered"), [("running", ["pause", "drain", "rate"]), ("paused", ["resume", "rate"]), ("draining", ["resume", "rate"])]
)
def test_a_queue_offers_what_its_mode_allows(mode: str, offered: list[str]) -> None:
    assert verbs(mode) == offered


def test_a_viewer_is_offered_nothing() -> None:
    assert queue_row(view(), deeds=False).cells["deeds"] is None


def test_a_rate_is_shown_in_words() -> None:
    row = queue_row(view(state=QueueState(name="media", rate=5, rate_seconds=60)), deeds=False)
    assert row.cells["limit"] == "5 in 1 min"
    assert row.cells["oldest"] == "1 min 5 s"
    assert set(row.cells) == {column.key for column in COLUMNS}


async def test_a_queue_is_known_by_its_state_too() -> None:
    async with AsyncStore.embedded() as store:
        queue = AsyncQueue(store, Jobs())
        await queue.ensure_tables()
        pulse = QueueStatsCache(queue)
        await queue.pause("night")
        (one,) = await read_queues(queue, lambda: pulse.read(max_age=0.0))
        assert (one.stats.queue, one.stats.mode, one.workers) == ("night", "paused", 0)
