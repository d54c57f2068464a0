from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateleg.objects import DirectoryObjects, ObjectInfo, References, collect_orphans
from gateleg.objects.errors import NothingReferenced

START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now.timestamp()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def objects(tmp_path: Path, clock: Clock) -> DirectoryObjects:
    return DirectoryObjects(tmp_path, durability="relaxed", clock=clock)


def found(objects: DirectoryObjects, references: References, **options: timedelta) -> list[str]:
    return [entry.key for page in collect_orphans(objects, references, **options) for entry in page.orphans]  # type: ignore[arg-type]


def test_young_objects_are_kept(objects: DirectoryObjects, clock: Clock) -> None:
    objects.put("old", b"")
    clock.now += timedelta(days=2)
    objects.put("young", b"")
    references = References.read(["other"], now=lambda: clock.now)
    assert found(objects, references) == ["old"]
    assert found(objects, references, older_than=timedelta(days=3)) == []


def test_age_counts_from_before_the_references_were_read(objects: DirectoryObjects, clock: Clock) -> None:
    def slowly() -> "list[str]":
        clock.now += timedelta(days=5)
        objects.put("written-meanwhile", b"")
        return ["other"]

    references = References.read(slowly(), now=lambda: START)
    clock.now += timedelta(days=5)
    assert found(objects, references) == []


def test_an_object_that_is_put_again_during_collection_is_kept(
    objects: DirectoryObjects, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("a", "b", "c"):
        objects.put(key, b"x")
    clock.now += timedelta(days=2)
    usual = objects.delete

    def delete(key: str) -> None:
        usual(key)
        if key == "a":
            objects.put("b", b"x")
            usual("c")

    monkeypatch.setattr(objects, "delete", delete)
    (page,) = collect_orphans(objects, References.read(["other"], now=lambda: clock.now), dry_run=False)
    assert ([entry.key for entry in page.orphans], page.deleted) == (["a"], True)
    assert [entry.key for entry in objects.list().objects] == ["b"]


def test_a_copy_counts_as_new(objects: DirectoryObjects, clock: Clock) -> None:
    objects.put("old", b"")
    clock.now += timedelta(days=2)
    objects.copy("old", "new")
    assert found(objects, References.read(["old"], now=lambda: clock.now)) == []


def test_a_collection_can_be_resumed(objects: DirectoryObjects, clock: Clock) -> None:
    for number in range(6):
        objects.put(f"{number}", b"ab")
    clock.now += timedelta(days=2)
    references = References.read(["3"], now=lambda: clock.now)
    first = next(collect_orphans(objects, references, dry_run=False, page_size=2))
    assert (first.seen, first.size, [entry.key for entry in first.orphans]) == (2, 4, ["0", "1"])
    rest = [entry.key for page in collect_orphans(objects, references, cursor=first.cursor, page_size=2) for entry in page.orphans]
    assert rest == ["2", "4", "5"]


def test_without_any_reference_nothing_is_collected() -> None:
    with pytest.raises(NothingReferenced):
        References.read([])
    assert References.read([], allow_empty=True).digests == frozenset()


class WholeSeconds(DirectoryObjects):
    """A store as some servers are: lists have fractions of a second, and headers do not."""

    def head(self, key: str) -> ObjectInfo:
        info = super().head(key)
        return replace(info, modified=info.modified.replace(microsecond=0))


def test_an_orphan_is_deleted_although_its_header_has_no_fraction_of_a_second(tmp_path: Path, clock: Clock) -> None:
    objects = WholeSeconds(tmp_path, durability="relaxed", clock=clock)
    clock.now += timedelta(milliseconds=250)
    objects.put("orphan", b"")
    assert next(iter(objects.walk())).modified.microsecond == 250_000
    clock.now += timedelta(days=2)
    references = References.read(["other"], now=lambda: clock.now)
    assert [len(page.orphans) for page in collect_orphans(objects, references, dry_run=False)] == [1]
    assert list(objects.walk()) == []
