import pytest

from gateleg.web.console.jobs.stages import distinct_stage


@pytest.mark.parametrize(
    ("job_type", "stage", "told"),
    [
        ("demo.report", "report", None),
        ("UMAP", "umap", None),
        ("REEL", "Mix", "Mix"),
        ("demo.load-songs", "load", "load"),
        ("REEL", None, None),
        ("REEL", "", None),
    ],
)
def test_a_stage_that_repeats_its_type_is_left_out(job_type: str, stage: str | None, told: str | None) -> None:
    assert distinct_stage(job_type, stage) == told
