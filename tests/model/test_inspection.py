"""The linter finds probable mistakes, and nothing else; object keys in items are found."""

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError

from gateleg.model import GSI, LSI, TTL, Attr, Compressed, Entity, Key, Pattern, Record, S3Key, Table, Unique, field, spec_of
from gateleg.model.errors import MissingComponent
from gateleg.model.inspection import WHY, is_refused, lint, refused_object_keys
from tests.model.seeds import agents, jobs, mv, rag


def findings(table: Table, code: str) -> list[str]:
    return [finding.where for finding in lint(table) if finding.code == code]


def things(*indexes: Any, **options: Any) -> Table:
    return Table("things", hash="id", range="sort", indexes=indexes, **options)


def test_lists_that_may_grow_are_found_also_inside_records() -> None:
    table = things()

    class Line(Record):
        words: Attr[list[str]] = field(factory=list)

    class Thing(Entity, table=table):
        id: Attr[str]
        sort: Attr[str]
        open: Attr[list[str]] = field(factory=list)
        closed: Attr[list[str]] = field(factory=list, max_length=5)
        annotated: Attr[Annotated[list[str], Field(max_length=3)]] = field(factory=list)
        vector: Attr[list[float]] = field(factory=list)
        packed: Attr[Compressed[list[str]]] = field(factory=list)
        line: Attr[Line | None] = field(None)
        key = Key("{id}", "{sort}")

    assert findings(table, "unbounded-list") == ["Thing.open", "Thing.line.words"]


def test_a_partition_by_day_whose_sort_key_has_the_same_time_is_found() -> None:
    table = things(GSI("by-day", hash="gpk", range="gsk"), GSI("by-date", hash="dpk", range="dsk"))

    class Visit(Entity, table=table):
        id: Attr[str]
        sort: Attr[str]
        starts_at: Attr[datetime]
        day: Attr[date]
        key = Key("{id}", "{sort}")
        day_key = Key("DAY#{starts_at:date}", "{starts_at}#{id}", index="by-day")
        date_key = Key("DAY#{day}", "{day}#{starts_at}", index="by-date")
        of_day = Pattern("by-day", title="The visits of a day")
        of_date = Pattern("by-date", title="The visits of a date")

    assert findings(table, "coarse-partition") == ["Visit.of_day"]
    with pytest.raises(MissingComponent, match=r"Visit.of_day needs starts_at\. Pass"):
        Visit.of_day()


def test_recursive_records_are_visited_once() -> None:
    table = things()

    class Thing(Entity, table=table):
        id: Attr[str]
        sort: Attr[str]
        tree: Attr[Tree]
        key = Key("{id}", "{sort}")

    assert findings(table, "unbounded-list") == ["Thing.tree.children"]


class Tree(Record):
    children: Attr[list["Tree"]] = field(factory=list)


def test_an_expiry_attribute_that_is_not_a_ttl_is_found() -> None:
    table = things()

    class Thing(Entity, table=table):
        id: Attr[str]
        sort: Attr[str]
        expires_at: Attr[datetime]
        session_ttl: Attr[int]
        gone_at: Attr[TTL]
        expiry_note: Attr[str]
        key = Key("{id}", "{sort}")

    assert findings(table, "expiry-not-ttl") == ["Thing.expires_at", "Thing.session_ttl"]


def test_object_keys_as_text_are_found_in_lists_too() -> None:
    table = things()

    class Thing(Entity, table=table):
        id: Attr[str]
        sort: Attr[str]
        image_s3_key: Attr[str | None] = field(None)
        clip_s3_keys: Attr[list[str]] = field(factory=list)
        good_s3_keys: Attr[list[S3Key]] = field(factory=list)
        key = Key("{id}", "{sort}")

    assert findings(table, "s3-key-as-text") == ["Thing.image_s3_key", "Thing.clip_s3_keys"]


def test_times_and_numbers_that_sort_as_text_are_found() -> None:
    table = things(GSI("by-time", hash="id", range="seen_at"), GSI("by-number", hash="id", range="page"))

    class Thing(Entity, table=table):
        id: Attr[str]
        sort: Attr[str]
        seen_at: Attr[str]
        page: Attr[str]
        key = Key("{id}", "{sort}")

    assert findings(table, "time-as-text") == ["Thing.seen_at"]
    assert findings(table, "number-as-text") == ["Thing.page"]


def test_unused_and_unwritten_indexes_are_found() -> None:
    table = things(GSI("asked", hash="a"), GSI("unasked", hash="a", range="sort"), GSI("unfilled", hash="nothing"), GSI("twin", hash="a"))

    class Thing(Entity, table=table):
        id: Attr[str]
        sort: Attr[str]
        a: Attr[str]
        key = Key("{id}", "{sort}")
        by_a = Pattern("asked", title="By a")

    assert findings(table, "unused-index") == ["things unasked", "things twin"]
    assert findings(table, "unwritten-index") == ["things unfilled"]
    assert findings(table, "twin-index") == ["things twin"]


def test_a_partition_by_time_is_found() -> None:
    table = things(GSI("by-day", hash="day", range="sort"), GSI("spread", hash="spread", range="sort"))

    class Thing(Entity, table=table):
        id: Attr[str]
        sort: Attr[str]
        on: Attr[date]
        day_key = Key("DAY#{on}", "{sort}", index="by-day")
        spread_key = Key("{id}#{on}", "{sort}", index="spread")
        key = Key("{id}", "{sort}")

    assert findings(table, "time-partition") == ["things by-day"]


@pytest.mark.parametrize("kind", [bool, Literal["x", "y"], StrEnum("Choice", ["X", "Y"])], ids=["flag", "literal", "enumeration"])
def test_a_partition_of_few_values_is_found(kind: Any) -> None:
    table = things(GSI("by-choice", hash="choice_key", range="sort"))

    class Thing(Entity, table=table):
        id: Attr[str]
        sort: Attr[str]
        choice: Attr[kind]  # pyright: ignore
        key = Key("{id}", "{sort}")
        by_choice = Key("CHOICE#{choice}", "{sort}", index="by-choice")

    assert findings(table, "hot-partition") == ["things by-choice"]


def test_a_pattern_that_reads_other_entities_is_found() -> None:
    table = things(GSI("by-owner", hash="owner", range="sort"), tag="kind")

    class One(Entity, table=table, tag="one"):
        name: Attr[str]
        owner: Attr[str]
        key = Key("ONE#{name}", "ONE")
        owned = Pattern("by-owner", title="What an owner has of one")

    class Two(Entity, table=table, tag="two"):
        name: Attr[str]
        owner: Attr[str]
        key = Key("TWO#{name}", "ONE")

    assert findings(table, "filtered-pattern") == ["One.owned"]


def test_a_partial_index_is_found_where_a_pattern_uses_it() -> None:
    table = things(GSI("keys", hash="a", project="keys"))

    class Thing(Entity, table=table):
        id: Attr[str]
        sort: Attr[str]
        a: Attr[str]
        key = Key("{id}", "{sort}")
        by_a = Pattern("keys", title="By a")

    assert findings(table, "partial-index") == ["Thing.by_a"]


def test_a_local_index_on_a_part_of_the_partition_is_found() -> None:
    assert findings(agents.agents, "constant-local-index") == ["aace-agents endpoint_id-index", "aace-agents part_id-index"]


def test_a_local_index_on_something_else_is_not() -> None:
    table = things(LSI("by-a", range="a"))

    class Thing(Entity, table=table):
        id: Attr[str]
        sort: Attr[str]
        a: Attr[str]
        key = Key("{id}", "{sort}")
        by_a = Pattern("by-a", title="By a")

    assert lint(table) == []


@pytest.mark.parametrize("table", [mv.projects, jobs.queue, rag.collections, agents.agents], ids=lambda table: table.name)
def test_every_finding_has_a_reason(table: Table) -> None:
    found = lint(table)
    assert found
    assert all(finding.why == WHY[finding.code] and finding.fix for finding in found)


def test_expiring_items_with_counters_or_unique_constraints_are_found() -> None:
    table = things()

    class Thing(Entity, table=table):
        id: Attr[str]
        sort: Attr[str]
        ends: Attr[TTL | None] = field(None)
        key = Key("{id}", "{sort}")
        once = Unique("sort")

    assert findings(table, "expired-still-counted") == ["Thing.once"]


def test_index_patterns_that_miss_items_under_legacy_keys_are_found() -> None:
    assert findings(rag.documents, "legacy-not-indexed") == ["Document.in_collection"]


table = Table("Prints", hash="pk")


class Frame(Record):
    picture: Attr[S3Key | None] = field(None)
    title: Attr[str] = field("")


class Print(Entity, table=table):
    number: Attr[str]
    picture: Attr[S3Key | None] = field(None)
    pages: Attr[list[S3Key]] = field(factory=list)
    companions: Attr[dict[str, S3Key]] = field(factory=dict)
    frame: Attr[Frame | None] = field(None)
    source: Attr[str] = field("")

    key = Key("{number}")


BAD = {"S": "https://a/b?X-Amz-Signature=1"}
GOOD = {"S": "a/b.png"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("picture", BAD),
        ("picture", {"S": " "}),
        ("pages", {"L": [GOOD, BAD]}),
        ("companions", {"M": {"one": GOOD, "two": BAD}}),
        ("frame", {"M": {"picture": BAD, "title": {"S": "https://a"}}}),
    ],
)
def test_they_are_read_and_named_and_written_back_as_they_were(name: str, value: dict[str, object]) -> None:
    spec = spec_of(Print)
    item = {**spec.encode(Print(number="1", source="https://a")), name: value}
    found = spec.decode(item)
    assert refused_object_keys(found) == (name,)
    assert spec.encode(found)[name] == value


def test_valid_keys_are_not_named() -> None:
    made = Print(number="1", picture="a", pages=["b"], companions={"x": "c"}, frame=Frame(picture="d"), source="https://a")
    assert refused_object_keys(spec_of(Print).decode(spec_of(Print).encode(made))) == ()


def test_they_are_still_refused_on_writes() -> None:
    with pytest.raises(ValidationError):
        Print(number="1", picture="https://a/b")
    with pytest.raises(ValueError, match="URL"):
        Print.pages.set(["data:,x"])
    assert (is_refused("https://a"), is_refused("a")) == (True, False)
