from dataclasses import replace

from gateleg.jobs import Branch, JobStatus, Progress
from gateleg.web.console.jobs.trees import SHOWN, chosen, summary, tree_html
from tests.web.console.jobs.samples import NOW, before, number


def branch(at: int, status: JobStatus = JobStatus.COMPLETED, *children: Branch, stage: str | None = None) -> Branch:
    return Branch(number(at), status, "REEL", stage, NOW, None, None, 0, None, children)


def test_a_tree_names_every_job_and_marks_the_current_one() -> None:
    drawn = tree_html(branch(1, JobStatus.COMPLETED, branch(2, stage="Mix")), number(2))
    assert f'href="/jobs/{number(1)}"' in drawn
    assert f'href="/jobs/{number(2)}" class="k-done" aria-current="true"' in drawn
    assert "Mix" in drawn


def test_markup_in_a_stage_stays_text() -> None:
    assert "<img" not in tree_html(branch(1, stage="<img src=x onerror=alert(1)>"), number(1))


def test_of_many_children_those_that_need_eyes_are_drawn() -> None:
    children = [branch(at) for at in range(2, 102)]
    children[70] = branch(72, JobStatus.FAILED)
    drawn = chosen(children, number(95))
    assert len(drawn) == SHOWN
    assert {number(72), number(95)} <= {one.job_id for one in drawn}
    assert [one.job_id for one in drawn] == sorted(one.job_id for one in drawn)


def test_what_is_left_out_is_counted() -> None:
    assert "and 8 more" in tree_html(branch(1, JobStatus.COMPLETED, *(branch(at) for at in range(2, 22))), number(1))


def test_the_summary_says_how_far_the_whole_is() -> None:
    tree = branch(1, JobStatus.PROCESSING, branch(2), branch(3, JobStatus.FAILED), branch(4, JobStatus.PENDING))
    assert summary(tree) == "1 of 4 done, 1 failed, 1 running"


def test_times_and_progress_are_shown() -> None:
    done = replace(branch(2), started_at=before(65), completed_at=NOW)
    running = replace(branch(3, JobStatus.PROCESSING), own=Progress(done=1, total=4))
    drawn = tree_html(branch(1, JobStatus.PROCESSING, done, running), number(1))
    assert "1 min 5 s" in drawn
    assert "25 %" in drawn


def test_children_submitted_together_stand_in_the_order_of_their_start() -> None:
    late, early = replace(branch(2, stage="late"), started_at=NOW), replace(branch(3, stage="early"), started_at=before(5))
    drawn = tree_html(branch(1, JobStatus.PROCESSING, late, branch(4, JobStatus.PENDING, stage="never"), early), number(1))
    assert drawn.index("early") < drawn.index("late") < drawn.index("never")


def test_the_moment_that_it_takes_to_submit_children_does_not_order_them() -> None:
    first = replace(branch(2, stage="second"), started_at=NOW, created_at=NOW.replace(microsecond=1))
    second = replace(branch(3, stage="first"), started_at=before(5), created_at=NOW.replace(microsecond=2))
    drawn = tree_html(branch(1, JobStatus.PROCESSING, first, second), number(1))
    assert drawn.index(">first<") < drawn.index(">second<")
