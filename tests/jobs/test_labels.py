from typing import Any

import pytest

from gateleg.jobs import Job
from gateleg.jobs.monitor.stats import distinct_stage, labels
from tests.web.console.jobs.samples import job, number


def parts(*configs: dict[str, Any], **values: Any) -> list[Job]:
    return [job(job_id=number(at), job_config=config, **values) for at, config in enumerate(configs)]


def test_jobs_that_are_alike_are_labelled_with_what_differs_in_their_config() -> None:
    found = labels(parts({"file": "books.csv", "rows": {"first": 0}}, {"file": "books.csv", "rows": {"first": 500}}, subject="gamma#west"))
    assert found == {number(0): "rows.first 0", number(1): "rows.first 500"}


def test_subjects_that_all_differ_are_enough() -> None:
    jobs = [job(job_id=number(at), subject=f"shelf {at}", job_config={"at": at}) for at in range(3)]
    assert labels(jobs)[number(2)] == "shelf 2"


def test_where_one_value_is_not_enough_two_are_named() -> None:
    found = labels(parts({"x": 1, "y": "a"}, {"x": 1, "y": "b"}, {"x": 2, "y": "a"}))
    assert list(found.values()) == ["x 1, y a", "x 1, y b", "x 2, y a"]


def test_jobs_that_differ_in_nothing_are_labelled_with_their_ids() -> None:
    assert labels(parts({}, {}))[number(1)] == str(number(1))[:8]


def test_jobs_with_a_type_stage_or_parent_of_their_own_need_no_label() -> None:
    jobs = [job(job_id=number(1)), job(job_id=number(2), job_stage="Mix"), job(job_id=number(3), parent_job_id=number(1))]
    assert labels(jobs) == {}


def test_a_long_value_is_cut() -> None:
    (first, _) = labels(parts({"text": "a" * 900}, {"text": "b" * 900})).values()
    assert len(first) < 60
    assert first.endswith("…")


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
