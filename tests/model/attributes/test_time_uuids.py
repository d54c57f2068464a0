"""Time-ordered UUIDs."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from gateleg.model import first_time_uuid, time_uuid
from gateleg.model.times import time_of

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_uuids_of_one_process_sort_by_creation_also_as_text() -> None:
    made = [time_uuid() for _ in range(2_000)]
    assert made == sorted(made)
    assert [str(one) for one in made] == sorted(str(one) for one in made)
    assert len(set(made)) == len(made)


def test_time_uuids_are_version_7_and_contain_their_time() -> None:
    made = time_uuid(NOON)
    assert (made.version, made.variant) == (7, UUID(int=0x8 << 60).variant)
    assert time_of(made) == NOON


def test_the_first_time_uuid_is_the_lower_bound_of_its_time() -> None:
    moment = timedelta(milliseconds=1)
    made = [time_uuid(NOON) for _ in range(50)]
    assert all(first_time_uuid(NOON) <= one < first_time_uuid(NOON + moment) for one in made)
    assert time_uuid(NOON - moment) < first_time_uuid(NOON)


def test_an_explicit_time_does_not_affect_later_uuids() -> None:
    time_uuid(datetime.now(UTC) + timedelta(days=365))
    assert time_of(time_uuid()) < datetime.now(UTC) + timedelta(minutes=1)
