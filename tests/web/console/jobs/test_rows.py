from typing import Any

import pytest

from gateleg.jobs import Job, JobStatus
from gateleg.jobs.tables import Progress, Readiness
from gateleg.web.console.badges import BLOCKED, DELAYED, DONE, FAILED, RUNNING, STOPPING, WAITING, Badge, badge_of
from gateleg.web.console.jobs.rows import COLUMNS, job_row, time_of
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
