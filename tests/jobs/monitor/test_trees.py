import pytest

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import BadSubmission, ParentGone
from gateleg.jobs.queue import Queue
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import JobStatus, Progress
from tests.jobs.sample import DONE, claimed, submitted


def test_a_tree_has_every_job_below_its_parent(queue: Queue) -> None:
    root = submitted(queue)
    left, right = submitted(queue, parent=root.job_id, stage="left"), submitted(queue, parent=root.job_id, stage="right")
    leaf = submitted(queue, parent=left.job_id)
    submitted(queue)
    whole = queue.tree(root.job_id)
    assert {branch.job_id for branch in whole} == {root.job_id, left.job_id, right.job_id, leaf.job_id}
    assert {child.stage for child in whole.children} == {"left", "right"}
    assert [branch.job_id for branch in queue.tree(left.job_id)] == [left.job_id, leaf.job_id]


def test_progress_rolls_up(queue: Queue, selector: CandidateSelector) -> None:
    root = submitted(queue, priority=90)
    submitted(queue, parent=root.job_id, priority=80)
    submitted(queue, parent=root.job_id, priority=70)
    queue.finish(claimed(queue, selector), DONE)
    queue.renew(claimed(queue, selector), progress=Progress(done=1, total=2))
    whole = queue.tree(root.job_id)
    assert whole.fraction == pytest.approx((1 + 0.5 + 0) / 3)
    assert whole.counts == {JobStatus.COMPLETED: 1, JobStatus.PROCESSING: 1, JobStatus.PENDING: 1}


def test_a_tree_that_ended_badly_is_finished_but_not_done(queue: Queue, selector: CandidateSelector) -> None:
    root = submitted(queue, priority=90)
    other = submitted(queue, parent=root.job_id)
    queue.finish(claimed(queue, selector), DONE)
    assert queue.tree(root.job_id).unfinished == 1
    queue.cancel_tree(root.job_id)
    whole = queue.tree(root.job_id)
    assert queue.get(other.job_id).status == JobStatus.CANCELLED
    assert (whole.unfinished, whole.fraction) == (0, 0.5)
    assert whole.summary == "1 of 2 done, 1 cancelled"


def test_a_branch_is_cancelled_with_all_below_it(queue: Queue, selector: CandidateSelector) -> None:
    root = submitted(queue, priority=100)
    left, right = submitted(queue, parent=root.job_id, priority=90), submitted(queue, parent=root.job_id)
    claimed(queue, selector)
    running = claimed(queue, selector)
    assert running.job_id == left.job_id
    leaf = queue.submit(Submission("plain"), under=running).job
    assert len(queue.cancel_tree(left.job_id)) == 2
    assert queue.get(left.job_id).cancel_requested is not None
    assert queue.get(leaf.job_id).status == JobStatus.CANCELLED
    assert queue.get(right.job_id).status == JobStatus.PENDING
    with pytest.raises(ParentGone):
        queue.submit(Submission("plain"), under=running)


def test_a_cancelled_job_has_no_more_children(queue: Queue) -> None:
    root = submitted(queue)
    queue.cancel(root.job_id)
    with pytest.raises(ParentGone, match=r"does not exist or is cancelled.*as parent_job_id="):
        submitted(queue, parent=root.job_id)


def test_a_tree_has_a_greatest_depth(queue: Queue) -> None:
    job = submitted(queue)
    for _ in range(26):
        job = submitted(queue, parent=job.job_id)
    with pytest.raises(BadSubmission, match="levels below its root"):
        submitted(queue, parent=job.job_id)
