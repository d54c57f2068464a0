"""Jobs that wait for others, a few or many."""

from uuid import uuid4

import pytest

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import DependencyCycle, DependencyMissing
from gateleg.jobs.queue import Queue
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job, JobStatus, Readiness
from gateleg.jobs.testing import ManualClock, TestWorker
from gateleg.store import Store
from tests.jobs.sample import DONE, claimed, everything, failed, submitted


class TestFanIn:
    """A job that waits for more jobs than one transaction can note."""

    def joined(self, queue: Queue, number: int) -> tuple[list[Job], Job]:
        parts = [one.job for one in queue.submit_many([Submission("plain") for _ in range(number)])]
        return parts, queue.submit(Submission("plain", dependencies=[part.job_id for part in parts], stage="join")).job

    def test_it_runs_once_all_of_them_are_completed(self, queue: Queue, clock: ManualClock) -> None:
        parts, join = self.joined(queue, 120)
        order = [job.job_id for job in TestWorker(queue, clock).run() if not job.job_type.startswith("gateleg.")]
        assert set(order[:-1]) == {part.job_id for part in parts}
        assert order[-1] == join.job_id

    def test_it_follows_when_one_of_them_fails_and_when_that_one_is_tried_again(self, queue: Queue, clock: ManualClock) -> None:
        parts, join = self.joined(queue, 101)
        queue.cancel(parts[77].job_id)
        TestWorker(queue, clock).run()
        assert queue.get(join.job_id).status == JobStatus.CANCELLED
        queue.retry(parts[77].job_id)
        TestWorker(queue, clock).run()
        assert queue.get(join.job_id).status == JobStatus.COMPLETED

    def test_nothing_is_written_when_one_of_them_is_not_there(self, queue: Queue, store: Store) -> None:
        parts = [one.job.job_id for one in queue.submit_many([Submission("plain") for _ in range(95)])]
        with pytest.raises(DependencyMissing):
            queue.submit(Submission("plain", dependencies=[*parts, uuid4()]))
        assert len(everything(queue)) == 95

    def test_submitting_it_again_makes_no_other_gates(self, queue: Queue, store: Store) -> None:
        parts = [one.job.job_id for one in queue.submit_many([Submission("plain") for _ in range(95)])]
        submission = Submission("plain", dependencies=parts, job_id=uuid4())
        assert queue.submit(submission).created
        assert not queue.submit(submission).created
        assert len(everything(queue)) == 95 + 2 + 1

    def test_it_can_be_submitted_along_with_all_that_it_waits_for(self, queue: Queue, clock: ManualClock) -> None:
        parts = [Submission("plain", job_id=uuid4()) for _ in range(130)]
        join = Submission("plain", job_id=uuid4(), dependencies=[part.job_id for part in parts if part.job_id], stage="join")
        after = Submission("plain", job_id=uuid4(), dependencies=[join.job_id or uuid4()])
        asked = [after, join, *parts, Submission("plain")]
        done = queue.submit_many(asked)
        assert [one.job.job_id for one in done[:-1]] == [one.job_id for one in asked[:-1]]
        assert all(one.created for one in done)
        order = [job.job_id for job in TestWorker(queue, clock).run() if not job.job_type.startswith("gateleg.")]
        places = {job_id: place for place, job_id in enumerate(order)}
        assert max(places[part.job_id] for part in parts if part.job_id) < places[done[1].job.job_id] < places[done[0].job.job_id]
        assert len(order) == 133

    def test_it_can_be_submitted_along_with_others(self, queue: Queue, clock: ManualClock) -> None:
        parts = [one.job.job_id for one in queue.submit_many([Submission("plain") for _ in range(95)])]
        first, join = queue.submit_many([Submission("plain"), Submission("plain", dependencies=parts)])
        assert first.job.readiness == Readiness.READY
        assert queue.get(join.job.job_id).readiness == Readiness.BLOCKED
        TestWorker(queue, clock).run()
        assert queue.get(join.job.job_id).status == JobStatus.COMPLETED

    def test_nothing_of_a_batch_is_written_when_one_of_its_dependencies_is_not_there(self, queue: Queue, store: Store) -> None:
        parts = [one.job.job_id for one in queue.submit_many([Submission("plain") for _ in range(95)])]
        with pytest.raises(DependencyMissing):
            queue.submit_many([Submission("plain"), Submission("plain", dependencies=[*parts, uuid4()])])
        assert len(everything(queue)) == 95

    def test_a_cycle_through_very_many_is_refused(self, queue: Queue, store: Store) -> None:
        join = uuid4()
        parts = [Submission("plain", job_id=uuid4(), dependencies=[join]) for _ in range(95)]
        with pytest.raises(DependencyCycle):
            queue.submit_many([*parts, Submission("plain", job_id=join, dependencies=[part.job_id for part in parts if part.job_id])])
        assert everything(queue) == []


class TestDependencies:
    def test_a_job_waits_for_those_it_depends_on(self, queue: Queue, selector: CandidateSelector) -> None:
        first, second = submitted(queue, priority=90), submitted(queue, priority=80)
        last = submitted(queue, dependencies=[first.job_id, second.job_id])
        assert last.readiness is Readiness.BLOCKED
        queue.finish(claimed(queue, selector), DONE)
        assert queue.get(last.job_id).waiting_for == {str(second.job_id)}
        running = claimed(queue, selector)
        assert queue.claim(selector, "default", "w2") is None
        queue.finish(running, DONE)
        assert claimed(queue, selector).job_id == last.job_id

    def test_a_completed_dependency_is_not_waited_for(self, queue: Queue, selector: CandidateSelector) -> None:
        first = submitted(queue)
        queue.finish(claimed(queue, selector), DONE)
        assert submitted(queue, dependencies=[first.job_id]).readiness is Readiness.READY

    def test_a_failed_dependency_is_refused(self, queue: Queue, selector: CandidateSelector) -> None:
        first = submitted(queue)
        queue.finish(claimed(queue, selector), failed(final=True))
        with pytest.raises(DependencyMissing, match="is FAILED"):
            submitted(queue, dependencies=[first.job_id])

    def test_jobs_submitted_together_depend_on_each_other(self, queue: Queue, selector: CandidateSelector) -> None:
        pca, umap, report = uuid4(), uuid4(), uuid4()
        queue.submit_many(
            [
                Submission("plain", job_id=report, dependencies=[pca, umap], stage="report"),
                Submission("plain", job_id=pca, stage="pca"),
                Submission("plain", job_id=umap, dependencies=[pca], stage="umap"),
            ]
        )
        order = []
        while (job := queue.claim(selector, "default", "w")) is not None:
            order.append(job.job_stage)
            queue.finish(job, DONE)
        assert order == ["pca", "umap", "report"]

    def test_a_cycle_is_refused_and_nothing_is_written(self, queue: Queue, store: Store) -> None:
        one, two, three = uuid4(), uuid4(), uuid4()
        circle = [
            Submission("plain", job_id=one, dependencies=[two]),
            Submission("plain", job_id=two, dependencies=[three]),
            Submission("plain", job_id=three, dependencies=[one]),
            Submission("plain", dependencies=[one]),
        ]
        with pytest.raises(DependencyCycle, match=" -> "):
            queue.submit_many(circle)
        with pytest.raises(DependencyCycle):
            queue.submit(Submission("plain", job_id=one, dependencies=[one]))
        assert everything(queue) == []

    def test_a_dependent_that_is_added_while_its_dependency_runs_is_released_with_it(
        self, queue: Queue, selector: CandidateSelector
    ) -> None:
        first = submitted(queue)
        running = claimed(queue, selector)
        last = submitted(queue, dependencies=[first.job_id])
        queue.finish(running, DONE)
        assert queue.get(last.job_id).readiness is Readiness.READY

    def test_a_delayed_dependent_still_waits_for_its_time(self, queue: Queue, selector: CandidateSelector) -> None:
        first = submitted(queue)
        last = submitted(queue, dependencies=[first.job_id], delay=100)
        queue.finish(claimed(queue, selector), DONE)
        assert queue.get(last.job_id).readiness is Readiness.DELAYED
