from typing import Any

import pytest

from gateleg.jobs import Job, JobStatus
from gateleg.jobs.tables import Progress, Readiness
from gateleg.web.console.cells import BLOCKED, DELAYED, DONE, FAILED, RUNNING, STOPPING, WAITING, Badge, Row, badge_of
from gateleg.web.console.jobs.list_page import COLUMNS, job_row, job_rows, time_of
from tests.web.console.jobs.samples import NOW, before, job, number


@pytest.mark.parametrize(
    ("shown", "look"),
    [
        (job(), WAITING),
        (job(readiness=Readiness.DELAYED), DELAYED),
        (job(readiness=Readiness.BLOCKED), BLOCKED),
        (job(JobStatus.PROCESSING), RUNNING),
        (job(JobStatus.PROCESSING, cancel_requested=NOW), STOPPING),
        (job(JobStatus.COMPLETED), DONE),
        (job(JobStatus.FAILED), FAILED),
    ],
)
def test_a_job_says_its_state(shown: Job, look: Badge) -> None:
    assert badge_of(shown) == look


@pytest.mark.parametrize(
    ("shown", "cell"),
    [
        (job(), None),
        (job(retry_count=1), {"t": "meta", "text": "retry 1 of 3"}),
        (job(waiting_for={"a"}), {"t": "meta", "text": "for 1 job"}),
        (job(waiting_for={"a", "b"}), {"t": "meta", "text": "for 2 jobs"}),
        (job(run_at=NOW, readiness=Readiness.DELAYED), {"t": "ago", "at": "2026-03-01T12:00:00Z"}),
        (job(JobStatus.PROCESSING, started_at=NOW), {"t": "since", "at": "2026-03-01T12:00:00Z"}),
        (
            job(JobStatus.PROCESSING, progress=Progress(done=1, total=4, message="half")),
            {"t": "bar", "part": 0.25, "kind": "running", "text": "half"},
        ),
        (job(JobStatus.COMPLETED, started_at=before(65), completed_at=NOW), "1 min 5 s"),
        (job(JobStatus.CANCELLED, completed_at=NOW), {"t": "meta", "text": "never started"}),
    ],
)
def test_the_time_says_what_matters_in_the_state(shown: Job, cell: Any) -> None:
    assert time_of(shown) == cell


def test_a_row_has_a_cell_for_every_column_and_opens_the_job() -> None:
    row = job_row(job(job_stage="Mix", subject="Blue"))
    assert set(row.cells) == {column.key for column in COLUMNS}
    assert row.href == f"/jobs/{number(1)}"
    assert row.cells["type"] == ["REEL", {"t": "meta", "text": "Mix"}]


def type_texts(rows: tuple[Row, ...]) -> list[list[str]]:
    """The texts in the first column of each row."""
    cells: list[Any] = [row.cells["type"] for row in rows]
    return [[part if isinstance(part, str) else part["text"] for part in (cell if isinstance(cell, list) else [cell])] for cell in cells]


def test_children_that_look_alike_are_told_apart_by_their_config() -> None:
    children = [job(job_id=number(at), job_config={"part": at, "of": 3}, parent_job_id=number(9)) for at in (1, 2)]
    alone = job(job_id=number(3), job_config={"part": 1})
    assert type_texts(job_rows([*children, alone])) == [["REEL", "part 1"], ["REEL", "part 2"], ["REEL"]]


def test_a_label_does_not_repeat_the_subject_or_the_id() -> None:
    by_subject = [job(job_id=number(at), parent_job_id=number(9), subject=f"reel {at}") for at in (1, 2)]
    same = [job(job_id=number(at), parent_job_id=number(9)) for at in (1, 2)]
    assert type_texts(job_rows(by_subject)) == type_texts(job_rows(same)) == [["REEL"], ["REEL"]]
