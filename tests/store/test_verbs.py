"""Every method has the same results and errors on every kind of store and transport."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from gateleg.jobs.queue import AsyncQueue, Queue
from gateleg.model import Attr, Collection, Entity, Key, Pattern, Table, Version, field
from gateleg.model.errors import MissingComponent, ModelError, NotAKeyCondition, UnknownArgument
from gateleg.store import AsyncStore, Store, StoreError, check, create, delete, patch
from gateleg.store.errors import KeyGivenTwice, OutOfScope
from gateleg.store.group_commit import GroupCommitStore
from gateleg.store.operations import pages, queries, reads, scans, writes
from gateleg.store.operations.operation import OPTIONS
from gateleg.store.transports.embedded import GroupCommitTransport, open_async_embedded
from tests.store.transports.openers import ASYNC_NETWORK, NETWORK

shots = Table("VerbShots", hash="PK", range="SK")


class Shot(Entity, table=shots):
    """An entity whose key components have the names of options."""

    project: Attr[str]
    limit: Attr[int]
    title: Attr[str] = field("")
    version: Attr[Version] = field(0)

    key = Key("P#{project}", "S#{limit:03d}")
    of_project = Pattern(title="The shots of a project")


everything = Collection(Shot, title="All of a project")


class Quiet:
    """A hook that does nothing."""

    def before(self, call: Any) -> None:
        """Nothing."""

    def after(self, call: Any) -> None:
        """Nothing."""


P, L = Shot.project, Shot.limit
WHERE = (P == "a", L == 1)
ABSENT = (P == "a", L == 9)
#: What is stored of the first shot, and what somebody else has of it who has read another version.
STORED = Shot(project="a", limit=1, version=1)
STALE = Shot(project="a", limit=1, version=4)
#: Each verb, called on a store that has the shots 1 to 3 of the project "a".
CALLS: dict[str, Callable[[Any], Any]] = {
    "get": lambda store: store.get(Shot, *WHERE),
    "get by reference": lambda store: store.get(Shot.key(*WHERE)),
    "get by reference and name": lambda store: store.get(Shot.key(project="a", limit=1)),
    "get with a name that is no option": lambda store: store.get(Shot, P == "a", limit=1),
    "get what is absent": lambda store: store.get(Shot, *ABSENT),
    "get some attributes": lambda store: store.get(Shot, *WHERE, project=[Shot.title]),
    "get without a component": lambda store: store.get(Shot, limit=1, project=[]),
    "get by keyword that is an option": lambda store: store.get(Shot, project="a", limit=1),
    "get with a wrong type": lambda store: store.get(Shot, P == "a", limit="one"),
    "get with a misspelt component": lambda store: store.get(Shot, *WHERE, limitt=1),
    "get with a component twice": lambda store: store.get(Shot, *WHERE, limit=1),
    "get with a range": lambda store: store.get(Shot, P == "a", L >= 1),
    "get by reference and components": lambda store: store.get(Shot.key(*WHERE), L == 1),
    "find": lambda store: store.find(Shot, *WHERE, consistent=True),
    "find what is absent": lambda store: store.find(Shot, *ABSENT),
    "create": lambda store: store.create(Shot(project="a", limit=4)),
    "create again": lambda store: store.create(Shot(project="a", limit=1)),
    "put a new one": lambda store: store.put(Shot(project="a", limit=5)),
    "put over another": lambda store: store.put(Shot(project="a", limit=1, version=7)),
    "put unchecked": lambda store: store.put(Shot(project="a", limit=1, title="x"), check_version=False, returning="old"),
    "patch": lambda store: store.patch(Shot, *WHERE, Shot.title.set("x")),
    "patch by keyword": lambda store: store.patch(Shot, P == "a", Shot.title.set("x"), limit=1),
    "patch what is absent": lambda store: store.patch(Shot, *ABSENT, Shot.title.set("x")),
    "patch on a condition": lambda store: store.patch(Shot, *WHERE, Shot.title.set("x"), condition=Shot.title == "no"),
    "patch with a condition among the actions": lambda store: store.patch(Shot, *WHERE, Shot.title != "y", Shot.title.set("x")),
    "patch a reference with components": lambda store: store.patch(Shot.key(*WHERE), L == 1, Shot.title.set("x")),
    "upsert": lambda store: store.upsert(Shot, *ABSENT, Shot.title.set("x")),
    "delete": lambda store: store.delete(Shot, *WHERE, returning="old"),
    "delete what is absent": lambda store: store.delete(Shot, *ABSENT, must_exist=True),
    "retrying": lambda store: store.retrying(Shot, lambda shot: [Shot.title.set(shot.title + "!")], *WHERE),
    "query": lambda store: store.query(Shot.of_project, P == "a", L >= 2, limit=1),
    "query without a component": lambda store: store.query(Shot.of_project, project=[Shot.title]),
    "query by a condition of another entity": lambda store: store.query(Shot.of_project, Quietly.name == "a"),
    "query with two ranges": lambda store: store.query(Shot.of_project, P == "a", L >= 2, L <= 3),
    "page": lambda store: store.page(Shot.of_project, P == "a", limit=2, newest_first=True),
    "count": lambda store: store.count(Shot.of_project, P == "a", limit=2),
    "collect": lambda store: store.collect(everything, P == "a"),
    "ref": lambda store: store.ref(Shot, *WHERE),
    "ask": lambda store: store.ask(Shot.of_project, P == "a"),
    "delete_all": lambda store: store.delete_all(Shot.of_project, P == "a", L == 2),
    "create on a condition": lambda store: store.create(Shot(project="a", limit=6), condition=Shot.title == "no"),
    "put on a condition": lambda store: store.put(STORED, condition=Shot.title == "no"),
    "put what was read": lambda store: store.put(STORED, returning="none"),
    "put instead of another": lambda store: store.put(Shot(project="a", limit=1, title="x", version=1), replaces=STORED),
    "patch and get the old one": lambda store: store.patch(STORED, Shot.title.set("x"), returning="old"),
    "patch and get what changed": lambda store: store.patch(STORED, Shot.title.set("x"), returning="changed"),
    "patch and get nothing": lambda store: store.patch(Shot, *WHERE, Shot.title.remove(), returning="none"),
    "patch what was changed": lambda store: store.patch(STALE, Shot.title.set("x")),
    "patch what was changed, unchecked": lambda store: store.patch(STALE, Shot.title.set("x"), check_version=False),
    "upsert on a condition": lambda store: store.upsert(STORED, Shot.title.set("x"), condition=Shot.title == "no"),
    "upsert what was changed": lambda store: store.upsert(STALE, Shot.title.set("x")),
    "delete on a condition": lambda store: store.delete(STORED, condition=Shot.title == "no"),
    "delete what was changed": lambda store: store.delete(STALE),
    "delete what was changed, unchecked": lambda store: store.delete(STALE, check_version=False),
    "save": lambda store: store.save(Shot(project="a", limit=1, title="x", version=1), before=STORED),
    "save what was changed": lambda store: store.save(Shot(project="a", limit=1, title="x", version=5), before=STALE),
    "query backwards": lambda store: store.query(Shot.of_project, P == "a", newest_first=True, consistent=True, page_size=1),
    "query some attributes": lambda store: store.query(Shot.of_project, P == "a", project=[Shot.title], limit=2),
    "query and hydrate": lambda store: store.query(Shot.of_project, P == "a", hydrate=True),
    "page some attributes": lambda store: store.page(Shot.of_project, P == "a", limit=1, project=[Shot.limit], consistent=True),
    "page a few at a time": lambda store: store.page(Shot.of_project, P == "a", L >= 2, limit=5, examine=1),
    "page by another's cursor": lambda store: store.page(Shot.of_project, P == "a", limit=2, cursor="no cursor"),
    "count consistently": lambda store: store.count(Shot.of_project, P == "a", consistent=True),
    "collect consistently": lambda store: store.collect(everything, P == "a", consistent=True),
    "delete_all slowly": lambda store: store.delete_all(Shot.of_project, P == "a", write_units=1000.0),
    "batch_get": lambda store: store.batch_get([Shot.key(*WHERE), Shot.key(*ABSENT)], consistent=True),
    "batch_write": lambda store: store.batch_write([Shot(project="a", limit=7)], deletes=[Shot.key(*WHERE)], check_version=False),
    "batch_write what has a version": lambda store: store.batch_write([STORED]),
    "transact": lambda store: store.transact([create(Shot(project="a", limit=8)), patch(STORED, Shot.title.set("x"))]),
    "transact by a token": lambda store: store.transact([delete(STORED)], token="once"),
    "transact what is refused": lambda store: store.transact([create(Shot(project="a", limit=8)), create(Shot(project="a", limit=2))]),
    "transact what was changed": lambda store: store.transact([patch(STALE, Shot.title.set("x")), delete(Shot.key(P == "a", L == 2))]),
    "transact one item twice": lambda store: store.transact([patch(STORED, Shot.title.set("x")), delete(STORED)]),
    "transact a check": lambda store: store.transact([check(STORED, Shot.title == "no"), delete(Shot.key(P == "a", L == 2))]),
    "transact_get": lambda store: store.transact_get([Shot.key(*WHERE), Shot.key(*ABSENT)]),
    "run": lambda store: store.run(create(Shot(project="a", limit=1))),
    "scan": lambda store: store.scan(shots, filter=Shot.limit == 2, page_size=1, consistent=True),
    "scan in segments": lambda store: store.scan(shots, segments=2),
    "export": lambda store: store.export(Shot, filter=Shot.limit >= 2),
    "ensure_tables": lambda store: store.ensure_tables(shots),
    "create_tables that are there": lambda store: store.create_tables(shots),
}
#: The verbs that read or change whole tables, which a scope does not allow.
BEYOND_SCOPES = {"scan", "scan in segments", "export", "ensure_tables", "create_tables that are there"}


class Quietly(Entity, table=Table("Quietlies", hash="name")):
    name: Attr[str]
    key = Key("{name}")


def _seeds() -> list[Shot]:
    return [Shot(project="a", limit=number) for number in (1, 2, 3)]


def _told(result: Any) -> Any:
    """A result in a comparable form."""
    if isinstance(result, list) and result and isinstance(result[0], dict):
        # A scan answers in the order of hashes, and one in segments in any order.
        return sorted(result, key=str)
    return (result.items, result.next is None, result.previous is None) if isinstance(result, pages.Page) else result


def _outcome(call: Callable[[], Any]) -> Any:
    try:
        result = call()
        return _told(list(result) if isinstance(result, Iterator) else result)
    except (ModelError, StoreError) as error:
        return type(error), str(error)


async def _async_outcome(call: Callable[[], Any]) -> Any:
    try:
        result = call()
        if isinstance(result, AsyncIterator):
            return _told([one async for one in result])
        return _told(await result if inspect.isawaitable(result) else result)
    except (ModelError, StoreError) as error:
        return type(error), str(error)


def _sync_stores(stack: ExitStack) -> dict[str, Callable[[], Store]]:
    """The kinds of sync stores, besides a plain one."""
    return {
        "hooked": lambda: Store.embedded(hooks=[Quiet()]),
        "scoped": lambda: Store.embedded().scope(project="a"),
        "timed": lambda: Store.embedded().within(60),
        "wire": lambda: NETWORK["wire"](stack, Path()),
        "botocore": lambda: NETWORK["botocore"](stack, Path()),
    }


def _asked_on(store: Store, call: Callable[[Any], Any]) -> Any:
    plain = Store(store.transport)
    plain.ensure_tables(shots)
    plain.delete_all(Shot.of_project, P == "a")
    for shot in _seeds():
        plain.create(shot)
    outcome = _outcome(lambda: call(store))
    return outcome, list(plain.query(Shot.of_project, P == "a"))


@pytest.fixture(scope="module")
def kinds() -> Iterator[dict[str, Store]]:
    with ExitStack() as stack:
        stores = {name: make() for name, make in _sync_stores(stack).items()}
        yield stores
        for store in stores.values():
            store.close()


@pytest.mark.parametrize("verb", CALLS)
async def test_a_method_is_the_same_on_every_kind_of_store(verb: str, kinds: dict[str, Store], tmp_path: Path) -> None:
    call = CALLS[verb]
    with Store.embedded() as store:
        expected = _asked_on(store, call)
    for name, other in kinds.items():
        if name == "scoped" and isinstance(expected[0], tuple) and expected[0][0] is MissingComponent:
            # The scope has the component that the others miss.
            continue
        if name == "scoped" and verb in BEYOND_SCOPES:
            assert _asked_on(other, call)[0][0] is OutOfScope
            continue
        assert _asked_on(other, call) == expected, name
    async with AsyncStore.embedded() as usual:
        assert await _awaited_on(usual, call) == expected, "async"
    transport = GroupCommitTransport(open_async_embedded(str(tmp_path)))
    async with AsyncStore(transport) as near:
        assert await _awaited_on(GroupCommitStore(near, transport), call) == expected, "group commit"
    with ExitStack() as stack:
        async with ASYNC_NETWORK["wire"](stack, tmp_path) as remote:
            assert await _awaited_on(remote, call) == expected, "async wire"


async def _awaited_on(store: AsyncStore, call: Callable[[Any], Any]) -> Any:
    await store.create_tables(shots)
    for shot in _seeds():
        await store.create(shot)
    outcome = await _async_outcome(lambda: call(store))
    return outcome, [shot async for shot in store.query(Shot.of_project, P == "a")]


def test_a_component_with_the_name_of_an_option_is_passed_by_position() -> None:
    message = r"needs project. Pass the component by position, as Shot.project == value, because project= is an option"
    with Store.embedded() as store:
        for call in (CALLS["get by keyword that is an option"], CALLS["query without a component"]):
            with pytest.raises(MissingComponent, match=message):
                call(store)
        with pytest.raises(MissingComponent, match=r"by position, as Shot.limit == value"):
            store.find(Shot, P == "a")


def test_a_scope_may_have_a_component_with_the_name_of_an_option() -> None:
    with Store.embedded() as store:
        store.create_tables(shots)
        store.create(Shot(project="a", limit=1))
        inside = store.scope(project="a")
        assert inside.get(Shot, limit=1) == store.get(Shot, *WHERE)
        assert list(inside.query(Shot.of_project, limit=1)) == [store.get(Shot, *WHERE)]


def test_conditions_that_cannot_be_a_key_are_refused() -> None:
    with pytest.raises(NotAKeyCondition, match="condition="):
        Shot.key(P == "a", L > 1)
    with pytest.raises(UnknownArgument, match="passed twice"):
        Shot.key(P == "a", L == 1, L == 2)
    with pytest.raises(UnknownArgument, match=r"Quietly.name is not an attribute of Shot"):
        Shot.key(Quietly.name == "a")  # type: ignore[arg-type]
    with pytest.raises(KeyGivenTwice):
        reads.find(Shot.key(*WHERE), L == 1)  # type: ignore[call-overload]


def test_the_options_of_all_verbs_with_components_are_known() -> None:
    verbs: list[Callable[..., Any]] = [
        *(reads.get, reads.find, writes.patch, writes.upsert, writes.delete, writes.retrying),
        *(queries.query, queries.count, pages.collect, pages.page, scans.delete_all),
    ]
    found = {
        name for verb in verbs for name, parameter in inspect.signature(verb).parameters.items() if parameter.kind is parameter.KEYWORD_ONLY
    }
    assert found == OPTIONS


PLUMBING = {"desk", "setup", "build", "flow"}


@pytest.mark.parametrize("kind", [Store, AsyncStore, Queue, AsyncQueue])
def test_help_shows_the_parameters_and_the_result_of_a_verb(kind: type) -> None:
    verbs = {name: value for name, value in vars(kind).items() if callable(value) and not name.startswith("_")}
    for name, verb in verbs.items():
        signature = inspect.signature(verb)
        first, *rest = signature.parameters
        assert first == "self", name
        assert not PLUMBING & set(rest) or name in ("drive", "iterate"), name
        assert not any(word in str(signature.return_annotation) for word in ("Operation[", "Flow[", "Stream[")) or name == "writes", name


def test_the_signature_of_a_bound_verb_begins_with_its_target() -> None:
    with Store.embedded() as store:
        assert next(iter(inspect.signature(store.get).parameters)) == "target"
    assert str(inspect.signature(Store.count).return_annotation) == "int"
    assert str(inspect.signature(AsyncStore.find).return_annotation) == "Awaitable[E | None]"


async def test_concurrent_puts_and_creates_share_a_commit(tmp_path: Path) -> None:
    transport = GroupCommitTransport(open_async_embedded(str(tmp_path)))
    async with AsyncStore(transport) as usual:
        await usual.create_tables(shots)
        near, commits, begin = GroupCommitStore(usual, transport), [0], transport.usual.engine.begin_group

        def counted() -> Any:
            commits[0] += 1
            return begin()

        transport.usual.engine.begin_group = counted  # type: ignore[method-assign]
        made = await asyncio.gather(
            *[near.put(Shot(project="b", limit=number)) for number in range(4)],
            *[near.create(Shot(project="c", limit=number)) for number in range(4)],
        )
        assert commits == [1]
        assert [shot.version for shot in made] == [1] * 8
