from gateleg.jobs.tables import WorkerRecord
from gateleg.web.console.jobs.queues import WORKER_COLUMNS as COLUMNS
from gateleg.web.console.jobs.queues import queues_text, worker_row
from tests.web.console.jobs.samples import NOW, before


def worker(*queues: str, weights: dict[str, int] | None = None) -> WorkerRecord:
    return WorkerRecord(
        worker_id="vm:1:a", host="vm", pid=1, queues=list(queues), weights=weights or {}, started_at=before(60), seen_at=NOW
    )


def test_queues_with_equal_weights_stand_without_them() -> None:
    assert queues_text(worker("media", "default", weights={"media": 1, "default": 1})) == "media, default"


def test_the_queue_that_comes_first_most_often_stands_first() -> None:
    assert queues_text(worker("default", "media", weights={"default": 1, "media": 3})) == "media ×3, default ×1"


def test_a_worker_that_has_not_said_its_weights_has_none() -> None:
    assert queues_text(worker("default", "media")) == "default, media"
    assert queues_text(worker("default", "media", weights={"media": 2})) == "media ×2, default ×1"


def test_a_row_has_a_cell_for_every_column() -> None:
    assert set(worker_row(worker("default")).cells) == {column.key for column in COLUMNS}
