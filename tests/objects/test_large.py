"""Values that are stored in their item if short, and as objects if long."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gateleg.model import Attr, Entity, Key, Table, field, spec_of
from gateleg.objects import (
    DirectoryObjects,
    Large,
    ObjectMissing,
    References,
    ThreadedObjects,
    collect_orphans,
    keep,
    keep_async,
    load,
    load_async,
)
from gateleg.objects.errors import Damaged
from gateleg.store import Store

notes = Table("LargeNotes", hash="id")


class Note(Entity, table=notes):
    id: Attr[str]
    body: Attr[Large | None] = field(None)
    key = Key("{id}")


@pytest.fixture
def objects(tmp_path: Path) -> Iterator[DirectoryObjects]:
    with DirectoryObjects(tmp_path, durability="relaxed") as opened:
        yield opened


def test_short_content_stays_in_the_item(objects: DirectoryObjects) -> None:
    large = keep(objects, "short", prefix="notes")
    assert large.key is None
    assert load(objects, large) == b"short"
    assert not list(objects.walk())


def test_long_content_goes_through_an_item_as_a_key(objects: DirectoryObjects) -> None:
    content = "x" * 1_000_000
    with Store.embedded() as store:
        store.create_tables(notes)
        store.put(Note(id="a", body=keep(objects, content, prefix="notes")))
        found = store.get(Note, id="a")
    assert found.body is not None
    assert load(objects, found.body) == content.encode()
    assert len(str(spec_of(Note).encode(found))) < 1_000


@given(content=st.binary(max_size=40))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_loading_returns_the_stored_content(objects: DirectoryObjects, content: bytes) -> None:
    large = keep(objects, content, prefix="p", inline=20)
    assert (large.key is None) == (len(content) <= 20)
    assert load(objects, Large.model_validate(large.model_dump())) == content


def test_the_same_content_is_one_object(objects: DirectoryObjects) -> None:
    first, second = (keep(objects, b"y" * 100, prefix="notes/", inline=10) for _ in range(2))
    assert first == second
    assert [entry.key for entry in objects.walk()] == [first.key]


def test_other_content_under_the_key_is_detected(objects: DirectoryObjects) -> None:
    large = keep(objects, b"y" * 100, prefix="notes", inline=10)
    assert large.key is not None
    objects.put(large.key, b"z" * 100)
    with pytest.raises(Damaged, match="notes/"):
        load(objects, large)


def test_a_deleted_object_is_an_error(objects: DirectoryObjects) -> None:
    large = keep(objects, b"y" * 100, prefix="notes", inline=10)
    assert large.key is not None
    objects.delete(large.key)
    with pytest.raises(ObjectMissing):
        load(objects, large)


def test_replaced_content_is_an_orphan(objects: DirectoryObjects) -> None:
    old, new = (keep(objects, content * 100, prefix="notes", inline=10) for content in (b"o", b"n"))
    references = References.read([new.key or ""])
    pages = collect_orphans(objects, references, older_than=timedelta(days=-1))
    assert [entry.key for page in pages for entry in page.orphans] == [old.key]


def test_a_prefix_that_makes_no_key_is_refused() -> None:
    with pytest.raises(ValidationError):
        Large.of(b"y" * 100, prefix="../secret", inline=10)


def test_storing_and_loading_can_be_awaited(tmp_path: Path) -> None:
    async def main() -> tuple[bytes, bytes]:
        async with ThreadedObjects(DirectoryObjects(tmp_path, durability="relaxed")) as opened:
            short = await keep_async(opened, "short", prefix="notes")
            long = await keep_async(opened, b"y" * 100, prefix="notes", inline=10)
            return await load_async(opened, short), await load_async(opened, long)

    assert asyncio.run(main()) == (b"short", b"y" * 100)
