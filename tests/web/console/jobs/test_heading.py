from gateleg.jobs import JobStatus
from gateleg.jobs.tables import Progress
from gateleg.jobs.tables.job import FINISHED
from gateleg.jobs.tables.records import summary_of
from gateleg.web.console.jobs.job_details import job_details
from gateleg.web.console.jobs.job_page import offered
from tests.web.console.jobs.samples import NOW, job


def test_progress_does_not_change_what_is_offered() -> None:
    before, after = (job_details(job(JobStatus.PROCESSING, progress=Progress(done=done, total=4))) for done in (1, 2))
    assert offered(before) == offered(after)


def test_what_is_offered_changes_with_the_state_and_the_priority() -> None:
    states = [job(), job(priority=80), job(JobStatus.PROCESSING), job(JobStatus.PROCESSING, cancel_requested=NOW), job(JobStatus.FAILED)]
    assert len({offered(job_details(one)) for one in states}) == len(states)


def test_an_archived_job_offers_a_retry_if_it_did_not_complete() -> None:
    ended = {status: job_details(summary_of(job(status, completed_at=NOW), NOW)) for status in FINISHED}
    assert {status for status, details in ended.items() if details.retryable} == {JobStatus.FAILED, JobStatus.CANCELLED}
    assert offered(ended[JobStatus.FAILED]) != offered(ended[JobStatus.COMPLETED])
