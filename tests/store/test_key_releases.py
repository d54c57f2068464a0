"""Three releases of an application change a key: two that follow each other run side by side on the same items."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.migrate import backfill
from gateleg.model import GSI, Attr, Entity, Item, Key, ModelError, Pattern, Table, Version, field, upcaster
from gateleg.model.errors import BadKeyOption
from gateleg.model.tables import Unique
from gateleg.store import AlreadyExists, NotFound, Store, delete, patch, put, upsert
from gateleg.store.operations import create
from gateleg.store.transports import ServiceError

INDEXES = [GSI("by-stars", hash="repository", range="stars")]
before_table, first_table, second_table = (Table("Papers", hash="pk", range="sk", indexes=INDEXES) for _ in range(3))


class Before(Entity, table=before_table):
    """A paper as the release before knows it."""

    repository: Attr[str]
    paper: Attr[str]
    stars: Attr[int] = field(0)
    version: Attr[Version] = field(0)

    key = Key("{repository}", "{paper}")
    all = Pattern(title="The papers of a repository")
    by_stars = Pattern("by-stars", title="The papers of a repository by stars")


class First(Entity, table=first_table, schema=2):
    """The first release of the longer key: it reads both forms, and writes the older one."""

    repository: Attr[str]
    collection: Attr[str]
    paper: Attr[str]
    stars: Attr[int] = field(0)
    version: Attr[Version] = field(0)

    key = Key("{repository}#{collection}", "{paper}", legacy=["{repository}"], writes="legacy")
    all = Pattern(title="The papers of a collection")
    by_stars = Pattern("by-stars", title="The papers of a repository by stars", legacy_indexed=True)


class Second(Entity, table=second_table, schema=2):
    """The second release, which moves items to the longer key."""

    repository: Attr[str]
    collection: Attr[str]
    paper: Attr[str]
    stars: Attr[int] = field(0)
    version: Attr[Version] = field(0)

    key = Key("{repository}#{collection}", "{paper}", legacy=["{repository}"])
    all = Pattern(title="The papers of a collection")
    by_stars = Pattern("by-stars", title="The papers of a repository by stars", legacy_indexed=True)


@upcaster(First, to=2)
@upcaster(Second, to=2)
def into_a_collection(item: Item) -> Item:
    """Papers of the release before are in the collection c."""
    return item if "collection" in item else {**item, "collection": {"S": "c"}}


def place(release: type[Any], paper: str) -> dict[str, Any]:
    """The components of a paper's key in a release."""
    return {"repository": "r", "paper": paper} | ({} if release is Before else {"collection": "c"})


def partition(release: type[Any]) -> dict[str, Any]:
    return {name: value for name, value in place(release, "").items() if name != "paper"}


def stars_of(store: Store, release: type[Any]) -> dict[str, int]:
    """All papers with their stars as a release sees them: by key, in a list, in an index, and in a batch."""
    listed = {item.paper: item.stars for item in store.query(release.all, **partition(release))}
    assert {item.paper: item.stars for item in store.query(release.by_stars, repository="r")} == listed
    assert store.count(release.all, **partition(release)) == len(listed)
    by_key = {paper: store.find(release, **place(release, paper)) for paper in "ab"}
    assert {paper: item.stars for paper, item in by_key.items() if item is not None} == listed
    batch = store.batch_get([release.key(**place(release, paper)) for paper in "ab"])
    assert {item.paper: item.stars for item in batch if item is not None} == listed
    return listed


WRITES: dict[str, Callable[[Store, type[Any], str, int], Any]] = {
    "create": lambda store, release, paper, stars: store.create(release(**place(release, paper), stars=stars)),
    "put": lambda store, release, paper, stars: store.put(release(**place(release, paper), stars=stars), check_version=False),
    "batch": lambda store, release, paper, stars: store.batch_write([release(**place(release, paper), stars=stars)], check_version=False),
    "patch": lambda store, release, paper, stars: store.patch(release, release.stars.set(stars), **place(release, paper)),
    "upsert": lambda store, release, paper, stars: store.upsert(release, release.stars.set(stars), **place(release, paper)),
    "transact": lambda store, release, paper, stars: store.transact(
        [upsert(release.key(**place(release, paper)), release.stars.set(stars))]
    ),
    "delete": lambda store, release, paper, stars: store.delete(release.key(**place(release, paper))),
    "batch delete": lambda store, release, paper, stars: store.batch_write(
        deletes=[release.key(**place(release, paper))], check_version=False
    ),
}


def after(known: dict[str, int], write: str, paper: str, stars: int) -> dict[str, int]:
    """The papers after a write, or the error of the write as a text."""
    if "delete" in write:
        return {name: value for name, value in known.items() if name != paper}
    refused = (write == "create" and paper in known) or (write == "patch" and paper not in known)
    return known if refused else known | {paper: stars}


Steps = st.lists(st.tuples(st.booleans(), st.sampled_from(sorted(WRITES)), st.sampled_from("ab"), st.integers(1, 9)), max_size=12)


@pytest.mark.parametrize(("older", "newer"), [(Before, First), (First, Second)], ids=["before and first", "first and second"])
@settings(max_examples=60, deadline=None)
@given(steps=Steps)
def test_two_releases_see_the_same_papers_once_each(older: type[Any], newer: type[Any], steps: Any) -> None:
    with Store.embedded() as store:
        store.create_tables(first_table)
        known: dict[str, int] = {}
        for by_newer, write, paper, stars in steps:
            release = newer if by_newer else older
            try:
                WRITES[write](store, release, paper, stars)
            except (AlreadyExists, NotFound):
                assert after(known, write, paper, stars) == known
            known = after(known, write, paper, stars)
            assert stars_of(store, older) == stars_of(store, newer) == known
            assert len(list(store.scan(first_table))) == len(known), "a paper is stored twice"


@pytest.fixture
def store() -> Any:
    with Store.embedded() as opened:
        opened.create_tables(first_table)
        yield opened


def hashes(store: Store) -> list[str]:
    return [item["pk"]["S"] for item in store.scan(first_table)]


def test_the_first_release_leaves_items_where_the_releases_beside_it_put_them(store: Store) -> None:
    store.create(Before(repository="r", paper="a"))
    store.patch(First, First.stars.set(1), **place(First, "a"))
    assert hashes(store) == ["r"]
    store.patch(Second, Second.stars.set(2), **place(Second, "a"))
    assert hashes(store) == ["r#c"]
    assert store.patch(First, First.stars.set(3), **place(First, "a")).stars == 3
    assert hashes(store) == ["r#c"]


def placed(store: Store, write: Any) -> Any:
    """A write that has looked where the item is, and its transaction, which is not sent yet."""
    flow = write.flow(store.setup)
    step = next(flow)
    while step.operation != "TransactWriteItems":
        step = flow.send(store.transport.call(step.operation, step.payload))
    return flow, step


def finish(store: Store, flow: Any, step: Any) -> None:
    """Run the rest of a write."""
    with suppress(StopIteration):
        while True:
            try:
                response = store.transport.call(step.operation, step.payload)
            except ServiceError as error:
                step = flow.throw(error)
            else:
                step = flow.send(response)


@pytest.mark.parametrize(
    "write",
    [
        lambda paper: put(paper, check_version=False),
        lambda paper: patch(paper, First.stars.set(9), check_version=False),
        lambda paper: upsert(paper.key, First.stars.set(9)),
        lambda paper: delete(paper, check_version=False),
    ],
)
def test_an_item_that_moves_while_the_first_release_writes_it_is_not_stored_twice(store: Store, write: Any) -> None:
    """The second release moves it after the first one has looked where it is."""
    store.create(Before(repository="r", paper="a"))
    flow, step = placed(store, write(First(**place(First, "a"))))
    store.patch(Second, Second.stars.set(2), **place(Second, "a"))
    finish(store, flow, step)
    assert len(hashes(store)) == (0 if write(First(**place(First, "a"))).verb == "delete" else 1)


def test_the_second_release_does_not_store_what_the_first_one_stores_meanwhile(store: Store) -> None:
    flow, step = placed(store, create(Second(**place(Second, "a"))))
    store.create(First(**place(First, "a"), stars=5))
    with pytest.raises(AlreadyExists):
        finish(store, flow, step)
    assert stars_of(store, First) == stars_of(store, Second) == {"a": 5}


def test_items_that_share_a_legacy_key_wait_for_the_second_release(store: Store) -> None:
    store.create(First(repository="r", collection="c", paper="a"))
    other = First(repository="r", collection="other", paper="a")
    for write in (create(other), put(other, check_version=False)):
        with pytest.raises(AlreadyExists, match="legacy key"):
            store.run(write)
    with pytest.raises(NotFound):
        store.patch(First, First.stars.set(1), repository="r", collection="other", paper="a")
    assert store.delete(other.key) is None
    assert stars_of(store, First) == {"a": 0}
    store.create(Second(repository="r", collection="other", paper="a"))
    assert sorted(hashes(store)) == ["r", "r#other"]
    assert store.patch(First, First.stars.set(4), repository="r", collection="other", paper="a").stars == 4


def test_old_values_are_returned_in_the_first_release(store: Store) -> None:
    store.create(First(**place(First, "a"), stars=1))
    replaced = store.put(First(**place(First, "a"), stars=2), check_version=False, returning="old")
    deleted = store.delete(First.key(**place(First, "a")), returning="old")
    assert [paper.stars for paper in (replaced, deleted) if paper is not None] == [1, 2]


def test_a_backfill_waits_for_the_second_release(store: Store) -> None:
    store.create(Before(repository="r", paper="a"))
    with pytest.raises(ModelError, match="still writes its legacy key"):
        list(backfill(store, First))
    *_, report = backfill(store, Second)
    assert (report.moved, hashes(store)) == (1, ["r#c"])


def test_what_cannot_be_a_first_release_is_refused() -> None:
    table = Table("Refused", hash="pk")
    with pytest.raises(BadKeyOption, match="without legacy forms"):

        class Alone(Entity, table=table):
            name: Attr[str]
            key = Key("{name}", writes="legacy")

    with pytest.raises(BadKeyOption, match="has place"):

        class Shorter(Entity, table=table):
            name: Attr[str]
            place: Attr[str]
            key = Key("{name}", legacy=["{name}#{place}"], writes="legacy")

    with pytest.raises(BadKeyOption, match="unique constraint"):

        class Named(Entity, table=table):
            name: Attr[str]
            place: Attr[str]
            key = Key("{name}#{place}", legacy=["{name}"], writes="legacy")
            one_name = Unique("name")
