"""How attributes store times, and UUIDs that sort by time."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.model import TTL, Attr, Entity, Key, Pattern, Table, TimeFormat, field, first_time_uuid, spec_of, time_uuid
from gateleg.model.errors import DeclarationError, NotAKeyCondition, UnsupportedType
from gateleg.model.inspection import lint
from gateleg.model.times import time_of

AT = datetime(2024, 1, 2, 3, 4, 5, 678900, tzinfo=UTC)
WHOLE = AT.replace(microsecond=0)
DAILY = TimeFormat.pattern("%Y-%m-%d %H:%M:%S")
WRITTEN: list[tuple[TimeFormat, dict[str, str], datetime]] = [
    (TimeFormat.ISO, {"S": "2024-01-02T03:04:05.678900Z"}, AT),
    (TimeFormat.ISO_SECONDS, {"S": "2024-01-02T03:04:05Z"}, WHOLE),
    (TimeFormat.PYNAMODB, {"S": "2024-01-02T03:04:05.678900+0000"}, AT),
    (TimeFormat.EPOCH_SECONDS, {"N": "1704164645"}, WHOLE),
    (TimeFormat.EPOCH_MILLISECONDS, {"N": "1704164645678"}, AT.replace(microsecond=678000)),
    (DAILY, {"S": "2024-01-02 03:04:05"}, WHOLE),
]


def _entity(format: TimeFormat) -> Any:
    table = Table("Logs", hash="log", range="at")

    class Log(Entity, table=table):
        log: Attr[str]
        at: Attr[Annotated[datetime, format]]
        seen: Attr[Annotated[datetime, format] | None] = field(None)

        key = Key("{log}", "{at}")
        of_log = Pattern(title="The entries of a log")

    return Log


@pytest.mark.parametrize(("format", "wire", "read"), WRITTEN)
def test_a_time_is_written_in_its_format(format: TimeFormat, wire: dict[str, str], read: datetime) -> None:
    entity = _entity(format)
    item = spec_of(entity).encode(entity(log="l", at=AT, seen=AT))
    assert item == {"log": {"S": "l"}, "at": wire, "seen": wire}
    assert spec_of(entity).decode(item) == entity(log="l", at=read, seen=read)
    assert entity.key(log="l", at=AT).key["at"] == wire
    assert entity.seen.set(AT).operand.wire == wire


@pytest.mark.parametrize("format", [format for format, _, _ in WRITTEN])
def test_a_time_is_read_in_every_known_form(format: TimeFormat) -> None:
    spec = spec_of(_entity(format))
    for other, wire, read in WRITTEN:
        if other is not DAILY or format is DAILY:
            assert spec.decode({"log": {"S": "l"}, "at": wire}).at == read


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)), st.timedeltas(timedelta(seconds=1), timedelta(days=9))
)
def test_sorted_formats_sort_as_times_do(at: datetime, later: timedelta) -> None:
    for format, _, _ in WRITTEN:
        if format.ordered:
            assert format.text(at) < format.text(at + later)
            assert len(format.text(at)) == format.width


def test_a_format_works_inside_a_template() -> None:
    table = Table("Visits", hash="pk", range="sk")

    class Visit(Entity, table=table):
        user: Attr[str]
        at: Attr[Annotated[datetime, TimeFormat.PYNAMODB]]

        key = Key("USER#{user}", "VISIT#{at}#END")
        of_user = Pattern(title="The visits of a user")

    spec = spec_of(Visit)
    item = spec.encode(Visit(user="u", at=AT))
    assert item["sk"] == {"S": "VISIT#2024-01-02T03:04:05.678900+0000#END"}
    assert spec.key.parse(item)["at"] == AT
    (request,) = Visit.of_user(user="u").where(Visit.at >= AT).requests()
    assert {"S": "VISIT#2024-01-02T03:04:05.678900+0000"} in request["ExpressionAttributeValues"].values()
    assert table.spec_for({**item, "sk": {"S": "VISIT#2024-01-02T03:04:05Z#END"}}) is spec


def test_a_format_that_does_not_sort_is_found_and_not_compared() -> None:
    entity = _entity(TimeFormat.pattern("%d.%m.%Y %H:%M"))
    assert [finding.code for finding in lint(spec_of(entity).table) if finding.code == "time-not-sorted"] == ["time-not-sorted"]
    with pytest.raises(NotAKeyCondition, match="do not sort"):
        entity.of_log(log="l").where(entity.at >= AT).requests()
    for format in (TimeFormat.PYNAMODB, TimeFormat.EPOCH_SECONDS):
        assert not [finding for finding in lint(spec_of(_entity(format)).table) if finding.code == "time-not-sorted"]


def test_impossible_formats_are_refused() -> None:
    with pytest.raises(DeclarationError, match="%B"):
        TimeFormat.pattern("%d %B")
    with pytest.raises(UnsupportedType, match="TTL"):

        class Bad(Entity, table=Table("Bad", hash="id")):
            id: Attr[str]
            ends: Attr[Annotated[TTL, TimeFormat.PYNAMODB]]
            key = Key("{id}")


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
