"""Items: created, changed and deleted alike at every door, by who may, and only as they were read."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from typer.testing import CliRunner

from gateleg.ai.tables import cache_table
from gateleg.cli.commands import app as command_line
from gateleg.host.actions import Action, ActionCall, perform
from gateleg.host.actions.items import (
    ITEM_ACTIONS,
    ChangeItem,
    CreateItem,
    InvalidItem,
    ItemKey,
    ItemsToDelete,
    ItemToDelete,
    change_item,
    create_item,
    delete_item,
    delete_items,
)
from gateleg.host.errors import NotAllowed, Unknown
from gateleg.host.host import Host
from gateleg.host.item_keys import key_text
from gateleg.host.item_writes import WriteConflict
from gateleg.host.items import check_changeable, check_document, etag_of, read_item, why_not_change, why_not_read
from gateleg.host.principal import LOCAL, Principal, Role
from gateleg.host.settings import Settings
from gateleg.host.tables import TABLES
from gateleg.model import Item, Table, spec_of
from gateleg.store import AlreadyExists, UniqueTaken
from gateleg.web.app import create_app
from tests.host.test_actions import DOORS, Door, by_command, entries, told
from tests.web.conftest import client_of
from tests.web.console.tables.application import library_application
from tests.web.console.tables.library import Book, BookStatus, Loan, Reader, books, library, loans

if TYPE_CHECKING:
    import httpx

BOOK, LOAN = spec_of(Book), spec_of(Loan)
LOOSE = Table("Loose", hash="id")
OPERATOR = Principal("somebody", Role.OPERATOR)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("GATELEG_APPLICATIONS", "tests.web.console.tables.application:library_application")
    return Settings(store=f"embedded:{tmp_path}/store", objects=f"dir:{tmp_path}/objects", data=tmp_path / "data")


@pytest.fixture
async def host(settings: Settings) -> AsyncIterator[Host]:
    async with Host.open(settings, [library_application]) as host:
        await host.store.create_tables(LOOSE)
        for instance in (*books(), *loans(), Reader(reader_id="ada", email="ada@example.org", name="Ada")):
            await host.store.create(instance)
        yield host


def call(host: Host, principal: Principal = OPERATOR) -> ActionCall:
    return ActionCall(host, principal)


def key_of_book(book: Book) -> str:
    return key_text(library, BOOK.ref(book).key)


async def stored(host: Host, table: Table, key: str) -> Item | None:
    return await read_item(host.store, table, json.loads(key))


async def put_raw(host: Host, table: Table, item: Item) -> None:
    await host.store.transport.call("PutItem", {"TableName": table.name, "Item": item})


FIRST = key_of_book(books()[0])
LOOSE_KEY = '{"id":{"S":"a/b"}}'


# -- every door


@pytest.mark.parametrize("door", DOORS)
async def test_an_item_is_created_by_its_entity_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    new = CreateItem(table="Library", entity="Book", values={"title": "Emma", "author": "Jane Austen", "shelf": "A1"})
    await door(host, settings, create_item, new)
    (emma,) = [book async for book in host.store.query(Book.on_shelf, status="shelved") if book.title == "Emma"]
    assert (emma.shelf, emma.version) == ("A1", 1)
    assert [told(entry) for entry in await entries(host)] == [("item.create", f"Library {key_of_book(emma)}", {"entity": "Book"})]


@pytest.mark.parametrize("door", DOORS)
async def test_an_attribute_is_changed_with_what_follows_from_it_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    etag = etag_of(library, await stored(host, library, FIRST) or {})
    await door(host, settings, change_item, ChangeItem(table="Library", key=FIRST, values={"title": "Ice", "year": None}, etag=etag))
    item = await stored(host, library, FIRST)
    assert item is not None
    assert (item["shelf_title"], "year" in item, item["version"]) == ({"S": "A4#Ice"}, False, {"N": "2"})
    assert [told(entry) for entry in await entries(host)] == [("item.change", f"Library {FIRST}", {"attributes": ["title", "year"]})]


@pytest.mark.parametrize("door", DOORS)
async def test_a_whole_item_is_changed_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    before = await stored(host, library, FIRST)
    assert before is not None
    await door(host, settings, change_item, ChangeItem(table="Library", key=FIRST, item={**before, "donor": {"S": "Ada"}}))
    item = await stored(host, library, FIRST)
    assert item is not None
    assert item["donor"] == {"S": "Ada"}
    assert [told(entry) for entry in await entries(host)] == [("item.change", f"Library {FIRST}", {"attributes": ["donor"]})]


@pytest.mark.parametrize("door", DOORS)
async def test_an_item_is_deleted_with_its_unique_value_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    key = '{"reader_id":{"S":"ada"}}'
    await door(host, settings, delete_item, ItemToDelete(table="Readers", key=key))
    assert await stored(host, library_application.tables[1], key) is None
    await host.store.create(Reader(reader_id="other", email="ada@example.org"))
    assert [told(entry) for entry in await entries(host)] == [("item.delete", f"Readers {key}", {})]


@pytest.mark.parametrize("door", DOORS)
async def test_items_of_no_entity_are_written_as_they_are_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    item = {"id": {"S": "a/b"}, "tags": {"SS": ["x", "y"]}}
    await door(host, settings, create_item, CreateItem(table="Loose", item=item))
    assert await stored(host, LOOSE, LOOSE_KEY) == item
    await door(host, settings, change_item, ChangeItem(table="Loose", key=LOOSE_KEY, item={"id": {"S": "a/b"}, "n": {"N": "1"}}))
    assert await stored(host, LOOSE, LOOSE_KEY) == {"id": {"S": "a/b"}, "n": {"N": "1"}}
    await door(host, settings, delete_item, ItemToDelete(table="Loose", key='{"id": "a/b"}'))
    assert await stored(host, LOOSE, LOOSE_KEY) is None
    assert {entry.target for entry in await entries(host)} == {f"Loose {LOOSE_KEY}"}
    assert sorted(entry.action for entry in await entries(host)) == ["item.change", "item.create", "item.delete"]


@pytest.mark.parametrize("door", DOORS)
async def test_chosen_items_are_deleted_with_an_entry_each_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    keys = [key_of_book(book) for book in books()[:3]]
    await door(host, settings, delete_items, ItemsToDelete(table="Library", items=[ItemKey(key=key) for key in keys]))
    assert [await stored(host, library, key) for key in keys] == [None, None, None]
    assert sorted(told(entry) for entry in await entries(host)) == sorted(("item.delete", f"Library {key}", {}) for key in keys)


# -- races


async def test_who_is_slower_loses_the_race_and_gets_the_stored_item(host: Host) -> None:
    async with client_of(create_app(host, console=False), token=host.local.token) as client:
        place = f"/api/tables/Library/items/{quote(FIRST, safe='')}"
        read = await client.get(place)
        etag = read.headers["ETag"]
        assert etag == read.json()["etag"]
        theirs = await client.patch(place, json={"values": {"price": 1.5}}, headers={"If-Match": etag})
        assert (theirs.status_code, theirs.json()["values"]["price"]) == (200, 1.5)
        for lost in (
            await client.patch(place, json={"values": {"price": 2.5}}, headers={"If-Match": etag}),
            await client.delete(place, headers={"If-Match": etag}),
        ):
            error = lost.json()["error"]
            assert (lost.status_code, error["code"]) == (409, "lost-race")
            assert error["details"]["current"]["price"] == {"N": "1.5"}
            assert error["details"]["etag"] == theirs.headers.get("ETag", theirs.json()["etag"])
        again = await client.patch(place, json={"values": {"price": 2.5}}, headers={"If-Match": error["details"]["etag"]})
        assert again.status_code == 200
        gone = await client.delete(place, headers={"If-Match": again.json()["etag"]})
        assert (gone.status_code, gone.content) == (204, b"")
        late = await client.patch(place, json={"values": {"price": 3.5}}, headers={"If-Match": again.json()["etag"]})
        assert (late.status_code, late.json()["error"]["details"]["current"]) == (409, None)
        assert (await client.patch(place, json={"values": {"price": 3.5}})).status_code == 404
    assert [entry.action for entry in await entries(host)][::-1] == ["item.change", "item.change", "item.delete"]


async def test_a_conflict_does_not_show_hidden_attributes(host: Host) -> None:
    loan = next(loan for loan in loans() if loan.secret)
    key = key_text(library, LOAN.ref(loan).key)
    with pytest.raises(WriteConflict) as lost:
        await perform(change_item, call(host), ChangeItem(table="Library", key=key, values={"note": "mine"}, etag='"other"'))
    assert "secret" not in lost.value.details["current"]
    assert lost.value.details["current"]["reader"] == {"S": loan.reader}


async def test_a_bulk_deletes_the_others_when_one_item_has_changed(host: Host) -> None:
    keys = [key_of_book(book) for book in books()[:3]]
    chosen = [ItemKey(key=key, etag=etag_of(library, await stored(host, library, key) or {})) for key in keys]
    await perform(change_item, call(host), ChangeItem(table="Library", key=keys[1], values={"price": 1.0}))
    result = await perform(delete_items, call(host), ItemsToDelete(table="Library", items=chosen))
    assert [refused.target for refused in result.refused] == [keys[1]]
    assert [await stored(host, library, key) is None for key in keys] == [True, False, True]
    assert delete_items.done(result).startswith("2 deleted, 1 refused: The item was changed")


async def test_an_item_that_exists_is_not_created_again(host: Host) -> None:
    for new in (
        CreateItem(table="Readers", values={"reader_id": "ada", "email": "a@example.org"}),
        CreateItem(table="Readers", item={"reader_id": {"S": "ada"}, "email": {"S": "a@example.org"}}),
    ):
        with pytest.raises(AlreadyExists):
            await perform(create_item, call(host), new)
    await perform(create_item, call(host), CreateItem(table="Loose", item={"id": {"S": "a"}}))
    with pytest.raises(AlreadyExists):
        await perform(create_item, call(host), CreateItem(table="Loose", item={"id": {"S": "a"}}))
    with pytest.raises(UniqueTaken):
        await perform(create_item, call(host), CreateItem(table="Readers", values={"reader_id": "b", "email": "ada@example.org"}))


# -- what an item may contain


@pytest.mark.parametrize(
    ("values", "problems"),
    [
        ({"title": ""}, {"title"}),
        ({"year": 1, "price": "free"}, {"year", "price"}),
        ({"colour": "red"}, {"colour"}),
        ({"version": 9}, {"version"}),
        ({"book_id": "00000000-0000-4000-8000-000000000000"}, {"book_id"}),
        ({"created_at": "2026-01-01T00:00:00Z"}, {"created_at"}),
        ({"status": "lost"}, {"status"}),
    ],
)
async def test_what_is_wrong_is_said_by_attribute(host: Host, values: dict[str, Any], problems: set[str]) -> None:
    async with client_of(create_app(host, console=False), token=host.local.token) as client:
        place = f"/api/tables/Library/items/{quote(FIRST, safe='')}"
        answer = await client.patch(place, json={"values": values})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["details"]["problems"].keys()) == (422, "invalid-item", problems)
    assert await entries(host) == []


async def test_a_state_moves_by_transition(host: Host) -> None:
    await perform(change_item, call(host), ChangeItem(table="Library", key=FIRST, values={"status": "lent"}))
    assert (await host.store.get(Book, book_id=books()[0].book_id)).status == BookStatus.LENT


async def test_an_entity_that_is_not_named_is_asked_for(host: Host) -> None:
    with pytest.raises(InvalidItem, match="Library declares Book, Loan; say which one"):
        await perform(create_item, call(host), CreateItem(table="Library", values={}))
    with pytest.raises(InvalidItem, match="send `item`"):
        await perform(create_item, call(host), CreateItem(table="Loose", values={}))


async def test_the_mark_of_a_unique_value_is_no_item(host: Host) -> None:
    scanned = await host.store.transport.call("Scan", {"TableName": "Readers"})
    (mark,) = [item for item in scanned["Items"] if item["reader_id"] != {"S": "ada"}]
    attempts: list[tuple[Action[Any, Any], Any]] = [
        (delete_item, ItemToDelete(table="Readers", key=key_text(Table("Readers", hash="reader_id"), mark))),
        (change_item, ChangeItem(table="Readers", key=key_text(Table("Readers", hash="reader_id"), mark), item=mark)),
    ]
    for action, given in attempts:
        with pytest.raises(Unknown):
            await perform(action, call(host), given)
    with pytest.raises(InvalidItem):
        await perform(create_item, call(host), CreateItem(table="Readers", item=mark))
    assert (await host.store.transport.call("Scan", {"TableName": "Readers"}))["Items"] == scanned["Items"]


async def test_an_item_that_cannot_be_read_is_mended_as_it_is(host: Host) -> None:
    item = BOOK.encode(books()[0])
    await put_raw(host, library, item | {"year": {"S": "long ago"}})
    with pytest.raises(InvalidItem, match="send the whole `item`"):
        await perform(change_item, call(host), ChangeItem(table="Library", key=FIRST, values={"year": 1969}))
    await perform(change_item, call(host), ChangeItem(table="Library", key=FIRST, item=item))
    assert await stored(host, library, FIRST) == item
    assert [told(entry)[2] for entry in await entries(host)] == [{"attributes": ["year"]}]


async def test_an_item_that_its_entity_cannot_read_can_still_be_deleted(host: Host) -> None:
    broken = BOOK.encode(books()[0]) | {"shelf": {"N": "1"}, "pk": {"S": f"BOOK#{'0' * 8}-0000-4000-8000-{'0' * 12}"}}
    await put_raw(host, library, broken)
    await perform(delete_item, call(host), ItemToDelete(table="Library", key=key_text(library, broken)))
    assert await stored(host, library, key_text(library, broken)) is None


async def test_a_change_that_changes_nothing_is_not_noted(host: Host) -> None:
    before = await stored(host, library, FIRST)
    assert before is not None
    for change in (ChangeItem(table="Library", key=FIRST, values={}), ChangeItem(table="Library", key=FIRST, item=before)):
        await perform(change_item, call(host), change)
    assert await stored(host, library, FIRST) == before
    assert await entries(host) == []


# -- reading


async def test_items_are_listed_page_by_page_and_read_by_their_key(host: Host) -> None:
    async with client_of(create_app(host, console=False), token=host.local.token) as client:
        titles, cursor = [], ""
        while True:
            query = {"entity": "Book", "limit": "5"} | ({"cursor": cursor} if cursor else {})
            page = (await client.get("/api/tables/Library/items", params=query)).json()
            titles += [item["values"]["title"] for item in page["items"]]
            cursor = page["next"]
            if not cursor:
                break
        assert sorted(titles) == sorted(book.title for book in books())
        item = (await client.get(f"/api/tables/Library/items/{quote(FIRST, safe='')}")).json()
        assert (item["entity"], item["values"]["author"]) == ("Book", books()[0].author)
        for key, status in (('{"pk":"x"}', 422), ("nothing", 422), ('{"pk":"x","sk":"y"}', 404)):
            assert (await client.get(f"/api/tables/Library/items/{quote(key, safe='')}")).status_code == status
        assert (await client.get("/api/tables/Nothing/items")).status_code == 404


def test_the_command_shows_an_item_with_its_etag_and_refuses_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATELEG_APPLICATIONS", "tests.web.console.tables.application:library_application")
    settings = Settings(store=f"embedded:{tmp_path}/store", objects=f"dir:{tmp_path}/objects", data=tmp_path / "data")

    async def fill() -> None:
        async with Host.open(settings, [library_application]) as host:
            await host.store.create(books()[0])

    asyncio.run(fill())

    def run(*words: str) -> Any:
        return CliRunner().invoke(command_line, ["tables", "items", *words, "--store", settings.store])

    shown = run("show", "Library", FIRST)
    assert shown.exit_code == 0, shown.output
    etag = json.loads(shown.output)["etag"]
    assert run("change", "Library", FIRST, "--values", '{"price": 2}', "--etag", etag).exit_code == 0
    late = run("delete", "Library", FIRST, "--etag", etag)
    assert (late.exit_code, "was changed after it was read" in late.output) == (1, True)
    wrong = run("change", "Library", FIRST, "--values", "{")
    assert (wrong.exit_code, "--values: not valid JSON" in wrong.output) == (2, True)
    assert "pass KEY, or choose with options: --key" in run("delete", "Library").output


# -- who may


@pytest.mark.parametrize(("role", "reads"), [(Role.VIEWER, False), (Role.OPERATOR, False), (Role.ADMIN, True)])
def test_only_an_admin_sees_who_may_sign_in_and_what_was_done(role: Role, reads: bool) -> None:
    for table in (*TABLES, cache_table):
        assert bool(why_not_read(Principal("p", role), table.name)) is not reads


@pytest.mark.parametrize("role", list(Role))
def test_nobody_changes_keys_or_the_audit_log_as_items(role: Role) -> None:
    assert all(why_not_change(Principal("p", role), table.name) for table in TABLES)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_the_keys_of_a_host_beside_this_one_are_as_closed_as_its_own(role: Role) -> None:
    for table in TABLES:
        assert why_not_read(Principal("p", role), f"prod_{table.name}")
        assert why_not_change(Principal("p", role), f"prod_{table.name}")


@pytest.mark.parametrize(("role", "changes"), [(Role.VIEWER, False), (Role.OPERATOR, True), (Role.ADMIN, True)])
def test_operators_change_items(role: Role, changes: bool) -> None:
    assert bool(why_not_change(Principal("p", role), library.name)) is not changes
    assert why_not_read(Principal("p", role), library.name) == ""


def test_who_may_not_see_the_items_of_a_table_may_not_change_them() -> None:
    # A refused change answers with the stored item.
    with pytest.raises(NotAllowed, match="only an admin may see"):
        check_changeable(OPERATOR, cache_table.name)
    check_changeable(LOCAL, cache_table.name)


async def test_whoever_may_not_is_refused_by_each_action(host: Host) -> None:
    viewer = Principal("vera", Role.VIEWER)
    attempts: list[tuple[Action[Any, Any], Any]] = [
        (create_item, CreateItem(table="Loose", item={"id": {"S": "a"}})),
        (change_item, ChangeItem(table="Library", key=FIRST, values={"price": 1.0})),
        (delete_item, ItemToDelete(table="Library", key=FIRST)),
        (delete_items, ItemsToDelete(table="Library", items=[ItemKey(key=FIRST)])),
    ]
    assert {action.name for action, _ in attempts} == {action.name for action in ITEM_ACTIONS}
    for action, given in attempts:
        with pytest.raises(NotAllowed):
            await perform(action, call(host, viewer), given)
        for closed in ("GatelegAccess", "GatelegAudit"):
            with pytest.raises(NotAllowed, match="audit log cannot be changed"):
                await perform(action, call(host, LOCAL), given.model_copy(update={"table": closed}))
    assert await entries(host) == []


async def test_operators_do_not_read_the_items_of_closed_tables(host: Host) -> None:
    made = await host.keys.create("olga", Role.OPERATOR)
    async with client_of(create_app(host, console=False), token=made.token) as client:
        answers: list[httpx.Response] = [
            await client.get("/api/tables/GatelegAccess/items"),
            await client.get(f"/api/tables/GatelegAccess/items/{quote(json.dumps({'pk': 'KEYS', 'sk': 'x'}), safe='')}"),
        ]
    assert [answer.status_code for answer in answers] == [403, 403]


async def test_the_words_are_those_of_the_action_at_every_door(host: Host, settings: Settings) -> None:
    said = await by_command(host, settings, change_item, ChangeItem(table="Library", key=FIRST, values={"price": 3.0}))
    result = await perform(change_item, call(host), ChangeItem(table="Library", key=FIRST, values={"price": 4.0}))
    assert said == change_item.done(result)
    assert check_document(library, result.item, result.item).problem == ""
