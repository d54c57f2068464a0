import pytest

from gateleg.jobs import Job, JobStatus
from gateleg.web.console.jobs.actions import SelectedJobs, may_cancel, may_force, may_prioritise, may_retry
from tests.web.console.jobs.samples import NOW, job, number


@pytest.mark.parametrize(
    ("one", "offered"),
    [
        (job(), {"cancel", "priority"}),
        (job(JobStatus.PROCESSING), {"cancel"}),
        (job(JobStatus.PROCESSING, cancel_requested=NOW), {"force"}),
        (job(JobStatus.COMPLETED), set()),
        (job(JobStatus.FAILED), {"retry"}),
        (job(JobStatus.CANCELLED), {"retry"}),
    ],
)
def test_a_job_offers_what_its_state_allows(one: Job, offered: set[str]) -> None:
    tests = {"cancel": may_cancel, "force": may_force, "retry": may_retry, "priority": may_prioritise}
    assert {name for name, fits in tests.items() if fits(one)} == offered


def test_only_selected_jobs_that_a_deed_fits_are_meant() -> None:
    failed, waiting = job(JobStatus.FAILED), job(job_id=number(2))
    choice = SelectedJobs(known={str(one.job_id): one for one in (failed, waiting)})
    choice.take([str(failed.job_id), str(waiting.job_id), "gone"])
    assert choice.jobs(may_retry) == [failed]
