"""How far the work on a project is."""

from datetime import UTC, datetime
from uuid import uuid4

from gateleg.apps.mv.progress import measure_progress
from gateleg.jobs import JobStatus
from gateleg.jobs.monitor import Branch
from gateleg.jobs.tables import Progress


def branch(kind: str, status: JobStatus, fraction: float = 0.0) -> Branch:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    own = Progress(done=fraction, total=1.0, message=f"frame {fraction:g}") if fraction else None
    return Branch(uuid4(), status, kind, None, now, None, None, 0, own)


def test_work_is_as_far_as_its_last_stage() -> None:
    done, busy, waits = JobStatus.COMPLETED, JobStatus.PROCESSING, JobStatus.PENDING
    assert measure_progress([branch("mv.generate", waits)]) == (0.0, "")
    assert measure_progress([branch("mv.plan", busy, 0.5)]) == (0.04, "analysing the song")
    renders = [branch("mv.plan", done), branch("mv.render", done), branch("mv.render", busy, 0.5)]
    fraction, words = measure_progress(renders)
    assert round(fraction, 3) == 0.657
    assert words == "rendering, 1 of 2 scenes, frame 0.5"
    assert measure_progress([*renders, branch("mv.compose", done)]) == (1.0, "composing")


def test_clips_and_lips_of_models_count_like_drawn_clips() -> None:
    done, waits = JobStatus.COMPLETED, JobStatus.PENDING
    films = [branch("mv.plan", done), branch("mv.render", done), branch("mv.film", waits, 0.5)]
    assert measure_progress(films) == (0.08 + 0.77 * 0.75, "rendering, 1 of 2 scenes, frame 0.5")
    fraction, words = measure_progress([*films, branch("mv.lip-sync", waits, 0.2)])
    assert (round(fraction, 3), words) == (0.86, "lip-sync, 0 of 1 scenes, frame 0.2")
