from gateleg.jobs import Job, JobStatus
from gateleg.web.console.jobs.dead_letters import COLUMNS, FailureGroup, dead_rows, grouped
from tests.web.console.jobs.samples import NOW, attempt, before, job, number


def failed(at: int, job_type: str, error: str | None, ended: float) -> Job:
    tried = [attempt(1, "failed", ended + 1, ended, error)] if error else []
    return job(JobStatus.FAILED, job_id=number(at), job_type=job_type, attempts=tried, completed_at=before(ended), attempt=1)


def test_failures_are_gathered_by_type_and_error() -> None:
    jobs = [failed(1, "REEL", "a", 30), failed(2, "ALBUM", None, 5), failed(3, "REEL", "b", 0)]
    expected = [FailureGroup("REEL", "ValueError", 2, NOW, ("a", "b")), FailureGroup("ALBUM", "unknown", 1, before(5), ("",))]
    assert grouped(jobs) == expected
    assert [group.error for group in expected] == ["ValueError", "unknown"]


def test_an_error_that_all_jobs_of_a_group_have_is_said_by_the_group_only() -> None:
    jobs = [failed(1, "REEL", "first\nsecond", 0), failed(2, "REEL", "first\nthird", 0)]
    assert grouped(jobs)[0].error == "ValueError: first"
    rows = dead_rows(jobs)
    assert [row.cells["error"] for row in rows] == [{"t": "meta", "text": "ValueError"}] * 2
    assert set(rows[0].cells) == {column.key for column in COLUMNS}


def test_messages_that_differ_stand_in_their_rows() -> None:
    rows = dead_rows([failed(1, "REEL", "a", 0), failed(2, "REEL", "b", 0)])
    assert [row.cells["error"] for row in rows] == [{"t": "meta", "text": "a"}, {"t": "meta", "text": "b"}]


def test_a_failure_without_an_attempt_has_no_message() -> None:
    (row,) = dead_rows([failed(1, "REEL", None, 0)])
    assert row.cells["error"] == {"t": "meta", "text": "unknown"}
