from gateleg.jobs import JobStatus
from gateleg.jobs.tables import LogEntry
from gateleg.jobs.tables.records import summary_of
from gateleg.web.console.jobs.job_details import explaining_line, job_details, short_kind
from tests.web.console.jobs.samples import NOW, attempt, before, job, line


def test_a_failed_job_shows_its_last_error() -> None:
    details = job_details(job(JobStatus.FAILED, attempts=[attempt(1, "retried", 50, 40, "first"), attempt(2, "failed", 20, 0, "second")]))
    assert details.failure is not None
    assert details.failure.message == "second"


def test_a_job_that_has_succeeded_in_the_end_shows_no_error() -> None:
    tried = [attempt(1, "retried", 50, 40, "first"), attempt(2, "completed", 20, 0)]
    assert job_details(job(JobStatus.COMPLETED, attempts=tried)).failure is None


def test_an_archived_job_is_shown_too_and_can_not_be_changed() -> None:
    one = job(JobStatus.FAILED, attempts=[attempt(1, "failed", 20, 0, "lost")], started_at=before(20), completed_at=NOW, subject="Blue")
    details = job_details(summary_of(one, NOW))
    assert (details.job, details.archived_at, details.subject, details.run_seconds) == (None, NOW, "Blue", 20)
    assert details.failure is not None
    assert details.finished


def test_the_title_names_the_stage() -> None:
    assert job_details(job(job_stage="Mix")).title == "REEL: Mix"
    assert job_details(job()).title == "REEL"


def test_the_telling_line_is_the_handlers_own_last_error() -> None:
    lines = [
        line("begin"),
        line("no tape", "ERROR"),
        line("cleaning"),
        line("Traceback (most recent call last):", "ERROR"),
        line("x", "ERROR"),
    ]
    found = explaining_line(lines)
    assert found is not None
    assert found.message == "no tape"


def test_without_an_error_the_last_line_tells() -> None:
    found = explaining_line([line("begin"), line("step 2")])
    assert found is not None
    assert found.message == "step 2"
    assert explaining_line([]) is None
    assert explaining_line([line("Traceback (most recent call last):", "ERROR")]) is None


def test_lines_of_earlier_attempts_tell_nothing() -> None:
    old = LogEntry(timestamp=before(60), level="ERROR", message="the first time")
    found = explaining_line([old, line("again")], before(10))
    assert found is not None
    assert found.message == "again"


def test_an_exception_is_named_without_its_module() -> None:
    assert short_kind("gateleg.cli.demo.work.NoRatings") == "NoRatings"
    assert short_kind("lease-expired") == "lease-expired"
