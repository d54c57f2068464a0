"""The codec of a job reads what other programs write."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs.queue_context import UnreadableJob, read_job
from gateleg.jobs.tables import foreign_form
from gateleg.jobs.tables.job import Job, JobStatus, Readiness
from gateleg.jobs.tables.records import tables_named
from gateleg.model import spec_of, unknown_attributes
from gateleg.model.wire import iso
from tests.jobs.foreign.seed_items import PCA, pca_item, pipeline_item, wire_item
from tests.jobs.layouts import BROUGHT

KIND = tables_named(BROUGHT).job


def read(**changes: Any) -> Job:
    job = read_job(KIND, wire_item(pca_item(**changes)))
    assert isinstance(job, Job)
    return job


def problems(**changes: Any) -> tuple[str, ...]:
    bad = read_job(KIND, wire_item(pca_item(**changes)))
    assert isinstance(bad, UnreadableJob)
    return bad.problems


def test_the_items_of_the_seed_are_jobs() -> None:
    job = read()
    assert (job.status, job.job_type, job.subject, job.queue, job.readiness) == ("PENDING", "PCA", "19305", "default", Readiness.READY)
    assert (job.started_at, job.completed_at, job.worker_id, job.job_results, job.version, job.attempt) == (None, None, None, None, 0, 0)
    assert job.job_config == {"max_votes": 500000, "batch_size": 50000, "n_components": 2}
    pipeline = read_job(KIND, wire_item(pipeline_item()))
    assert isinstance(pipeline, Job)
    assert (len(pipeline.job_config["stages"]), pipeline.timeout_seconds) == (3, 7200)


@pytest.mark.parametrize("absent", [None, ""])
def test_null_and_an_empty_text_are_absent(absent: str | None) -> None:
    names = ("started_at", "completed_at", "job_results", "logs", "queue", "run_at", "cancel_reason", "tenant", "job_config")
    job = read(**dict.fromkeys(names, absent))
    assert [getattr(job, name) for name in ("started_at", "completed_at", "job_results", "run_at", "cancel_reason", "tenant")] == [None] * 6
    assert (job.queue, job.logs.entries, job.job_config) == ("default", [], {})


def test_a_worker_of_a_job_that_never_started_is_a_placeholder_and_any_other_is_a_worker() -> None:
    assert read(worker_id="none yet").worker_id is None
    assert read(worker_id="worker-1", started_at="2025-04-23T19:16:00").worker_id == "worker-1"


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("2025-04-23T19:15:00", datetime(2025, 4, 23, 19, 15, tzinfo=UTC)),
        ("2025-04-23T19:15:00.123456", datetime(2025, 4, 23, 19, 15, 0, 123456, tzinfo=UTC)),
        ("2025-04-23 19:15:00", datetime(2025, 4, 23, 19, 15, tzinfo=UTC)),
        ("2025-04-23T21:15:00+02:00", datetime(2025, 4, 23, 19, 15, tzinfo=UTC)),
        ("20250423", datetime(2025, 4, 23, tzinfo=UTC)),
        ("1745435700", datetime(2025, 4, 23, 19, 15, tzinfo=UTC)),
        (Decimal("1745435700.5"), datetime(2025, 4, 23, 19, 15, 0, 500000, tzinfo=UTC)),
        (1745435700000, datetime(2025, 4, 23, 19, 15, tzinfo=UTC)),
    ],
)
def test_a_time_may_have_many_forms_and_is_utc_without_a_zone(written: Any, read_as: datetime) -> None:
    assert read(started_at=written).started_at == read_as


def test_numbers_may_be_texts_and_have_decimal_places_that_are_zero() -> None:
    job = read(retry_count="2", max_retries=Decimal("3.0"), timeout_seconds=" 60 ", version="4")
    assert (job.retry_count, job.max_retries, job.timeout_seconds, job.version) == (2, 3, 60, 4)


def test_maps_and_lists_may_be_json() -> None:
    other = "11111111-1111-4111-8111-111111111111"
    job = read(job_config='{"n_components": 2, "rate": 0.5}', dependencies=f'["{other}"]', logs='{"entries": [], "log_location": ""}')
    assert (job.job_config, [str(one) for one in job.dependencies], job.logs.entries) == ({"n_components": 2, "rate": 0.5}, [other], [])


def test_a_log_is_read_whatever_it_looks_like() -> None:
    entries = [
        {"timestamp": "2025-04-23T21:34:12Z", "level": "INFO", "message": "Started", "host": "a"},
        {"timestamp": "2025-04-23T21:35:00", "message": "naive"},
        {"timestamp": "soon", "level": "ERROR", "message": "odd"},
        "only a text",
        7,
    ]
    job = read(logs={"entries": entries, "log_location": "s3://polis-logs/jobs/job-123-456.log"})
    assert [entry.message for entry in job.logs.entries] == ["Started", "naive", "soon odd", "only a text", "7"]
    assert job.logs.entries[1].timestamp == datetime(2025, 4, 23, 21, 35, tzinfo=UTC)
    assert job.logs.log_location == "s3://polis-logs/jobs/job-123-456.log"
    assert unknown_attributes(job.logs.entries[0]) == {"host": {"S": "a"}}


def test_results_are_read_whatever_they_look_like() -> None:
    results = read(status="COMPLETED", job_results={"result_type": "success", "output_location": {"s3": "s3://a/b"}, "more": 1}).job_results
    assert results is not None
    assert (results.result_type, results.output_location, unknown_attributes(results)) == (
        "SUCCESS",
        {"s3": ["s3://a/b"]},
        {"more": {"N": "1"}},
    )
    bare = read(status="FAILED", job_results="it broke").job_results
    assert bare is not None
    assert (bare.result_type, bare.value) == ("FAILURE", "it broke")


def test_attributes_that_gateleg_does_not_know_survive_a_round_trip() -> None:
    job = read(polis_region="eu", logs={"entries": [], "retention": 7})
    item = spec_of(KIND).encode(job)
    assert (item["polis_region"], item["logs"]["M"]["retention"]) == ({"S": "eu"}, {"N": "7"})


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"created_at": "yesterday"}, "created_at"),
        ({"priority": Decimal("50.5")}, "priority"),
        ({"priority": 5000}, "priority"),
        ({"max_retries": -1}, "max_retries"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"status": "pending"}, "status"),
        ({"job_type": None}, "job_type"),
        ({"job_id": "a1b2c3d4-5e6f-7g8h-9i0j-k1l2m3n4o5p6"}, "job_id"),
        ({"job_id": PCA.upper()}, "job_id"),
        ({"job_config": [1]}, "job_config"),
        ({"dependencies": ["the first one"]}, "dependencies"),
    ],
)
def test_what_cannot_be_read_is_named(changes: dict[str, Any], named: str) -> None:
    assert [problem for problem in problems(**changes) if problem.startswith(named)]


def test_every_attribute_of_a_job_has_a_form() -> None:
    """A new attribute of a job must be put into one of the lists, or it is not tolerant."""
    listed = {*foreign_form.TIMES, *foreign_form.NUMBERS, *foreign_form.TEXTS, *foreign_form.LISTS, *foreign_form.MAPS}
    own = {
        "job_id",
        "status",
        "internal",
        "subject",
        "readiness",
        "waiting_for",
        "cancelled_by",
        "parent_job_id",
        "root_job_id",
        "expires_at",
    }
    assert listed.isdisjoint(own)
    assert listed | own == set(Job.model_fields)
    instants = {name for name in Job.model_fields if spec_of(Job).attributes[name].declared.type is datetime and name != "expires_at"}
    assert instants == set(foreign_form.TIMES)


NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=2) | st.integers(-(10**30), 10**30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.text(max_size=12) | NUMBERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(set(Job.model_fields) - {"job_id", "subject"})), VALUES, max_size=6))
def test_any_value_is_either_read_or_named(changes: dict[str, Any]) -> None:
    read_as = read_job(KIND, wire_item(pca_item(**changes)))
    assert isinstance(read_as, Job) or read_as.problems


def test_what_gateleg_writes_is_not_converted() -> None:
    now = datetime(2025, 1, 1, tzinfo=UTC)
    job = KIND(job_type="PCA", created_at=now, updated_at=now, status=JobStatus.PENDING, subject="19305")
    item = spec_of(KIND).encode(job)
    assert foreign_form.in_model_form(item, "conversation_id") == {name: value for name, value in item.items() if value != {"M": {}}}
    assert item["created_at"] == {"S": iso(now)}
