from dataclasses import replace

import pytest

from gateleg.jobs import JobStatus
from gateleg.jobs.monitor import Branch
from gateleg.jobs.tables import Progress
from gateleg.web.console.cells import DONE, RUNNING, WAITING, Badge
from gateleg.web.console.jobs.trees import (
    PARTLY_CANCELLED,
    PARTLY_FAILED,
    SHOWN_CHILDREN,
    TreeDrawing,
    chosen,
    found_in,
    tree_badge,
    tree_html,
)
from tests.web.console.jobs.samples import NOW, before, number


def branch(at: int, status: JobStatus = JobStatus.COMPLETED, *children: Branch, stage: str | None = None) -> Branch:
    return Branch(number(at), status, "REEL", stage, NOW, None, None, 0, None, children)


def test_a_tree_names_every_job_and_marks_the_current_one() -> None:
    drawn = tree_html(branch(1, JobStatus.COMPLETED, branch(2, stage="Mix")), TreeDrawing(number(2)))
    assert f'href="/jobs/{number(1)}"' in drawn
    assert f'href="/jobs/{number(2)}" class="k-done" aria-current="true"' in drawn
    assert "Mix" in drawn


def test_markup_in_a_stage_stays_text() -> None:
    assert "<img" not in tree_html(branch(1, stage="<img src=x onerror=alert(1)>"), TreeDrawing(number(1)))


def test_of_many_children_those_that_need_eyes_are_drawn() -> None:
    children = [branch(at) for at in range(2, 102)]
    children[70] = branch(72, JobStatus.FAILED)
    drawn = chosen(children, number(95))
    assert len(drawn) == SHOWN_CHILDREN
    assert {number(72), number(95)} <= {one.job_id for one in drawn}
    assert [one.job_id for one in drawn] == sorted(one.job_id for one in drawn)


def test_what_is_left_out_is_counted_and_a_link_opens_it() -> None:
    tree = branch(1, JobStatus.COMPLETED, *(branch(at) for at in range(2, 22)))
    assert f'href="/jobs/{number(1)}?tree=whole">and 8 more</a>' in tree_html(tree, TreeDrawing(number(1)))
    whole = tree_html(tree, TreeDrawing(number(1), whole=True))
    assert "more" not in whole
    assert str(number(21)) in whole


def test_completed_jobs_are_drawn_before_cancelled_ones() -> None:
    children = [*(branch(at, JobStatus.CANCELLED) for at in range(2, 40)), branch(40)]
    assert number(40) in {one.job_id for one in chosen(children, number(1))}


def test_a_label_tells_children_apart() -> None:
    tree = branch(1, JobStatus.COMPLETED, branch(2), branch(3))
    drawn = tree_html(tree, TreeDrawing(number(1), {number(2): "start <0>", number(3): "start 500"}))
    assert "start &lt;0&gt;" in drawn
    assert "start 500" in drawn


def test_a_tree_runs_until_its_last_job_has_ended() -> None:
    tree = branch(1, JobStatus.COMPLETED, branch(2), branch(3, JobStatus.FAILED), branch(4, JobStatus.PENDING))
    assert tree_badge(tree, DONE) == RUNNING
    assert tree_badge(branch(1, JobStatus.PENDING, branch(2)), WAITING) == WAITING


@pytest.mark.parametrize(
    ("below", "look"), [(JobStatus.COMPLETED, DONE), (JobStatus.FAILED, PARTLY_FAILED), (JobStatus.CANCELLED, PARTLY_CANCELLED)]
)
def test_a_tree_that_has_ended_looks_like_its_worst_job(below: JobStatus, look: Badge) -> None:
    assert tree_badge(branch(1, JobStatus.COMPLETED, branch(2), branch(3, below)), DONE) == look


def test_a_job_is_found_in_its_tree() -> None:
    inner = branch(2, JobStatus.COMPLETED, branch(3))
    assert found_in(branch(1, JobStatus.COMPLETED, inner), number(2)) == inner
    assert found_in(inner, number(9)) is None


def test_times_and_progress_are_shown() -> None:
    done = replace(branch(2), started_at=before(65), completed_at=NOW)
    running = replace(branch(3, JobStatus.PROCESSING), own=Progress(done=1, total=4))
    drawn = tree_html(branch(1, JobStatus.PROCESSING, done, running), TreeDrawing(number(1)))
    assert "1 min 5 s" in drawn
    assert "25%" in drawn


def test_children_submitted_together_stand_in_the_order_of_their_start() -> None:
    late, early = replace(branch(2, stage="late"), started_at=NOW), replace(branch(3, stage="early"), started_at=before(5))
    drawn = tree_html(branch(1, JobStatus.PROCESSING, late, branch(4, JobStatus.PENDING, stage="never"), early), TreeDrawing(number(1)))
    assert drawn.index("early") < drawn.index("late") < drawn.index("never")


def test_the_moment_that_it_takes_to_submit_children_does_not_order_them() -> None:
    first = replace(branch(2, stage="second"), started_at=NOW, created_at=NOW.replace(microsecond=1))
    second = replace(branch(3, stage="first"), started_at=before(5), created_at=NOW.replace(microsecond=2))
    drawn = tree_html(branch(1, JobStatus.PROCESSING, first, second), TreeDrawing(number(1)))
    assert drawn.index(">first<") < drawn.index(">second<")
