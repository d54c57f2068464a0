from gateleg.jobs import Job, JobStatus
from gateleg.web.console.jobs.dead import COLUMNS, Group, dead_row, grouped
from tests.web.console.jobs.samples import NOW, attempt, before, job, number


def failed(at: int, job_type: str, error: str | None, ended: float) -> Job:
    tried = [attempt(1, "failed", ended + 1, ended, error)] if error else []
    return job(JobStatus.FAILED, job_id=number(at), job_type=job_type, attempts=tried, completed_at=before(ended), attempt=1)


def test_failures_are_gathered_by_type_and_error() -> None:
    jobs = [failed(1, "REEL", "a", 30), failed(2, "ALBUM", None, 5), failed(3, "REEL", "b", 0)]
    assert grouped(jobs) == [Group("REEL", "ValueError", 2, NOW), Group("ALBUM", "unknown", 1, before(5))]


def test_a_row_has_the_error_in_one_line() -> None:
    row = dead_row(failed(1, "REEL", "first\nsecond", 0))
    assert row.cells["error"] == {"t": "meta", "text": "ValueError: first"}
    assert set(row.cells) == {column.key for column in COLUMNS}


def test_a_failure_without_an_attempt_has_no_error() -> None:
    assert dead_row(failed(1, "REEL", None, 0)).cells["error"] == {"t": "meta", "text": ""}
