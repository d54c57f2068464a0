"""Who may see and change items, and what is noted."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pytest
from fastapi import Request

from gateleg.host import Principal, Role
from gateleg.host.audit import Audit
from gateleg.host.errors import NotAllowed
from gateleg.host.tables import TABLES, AuditEntry
from gateleg.model import Table, spec_of
from gateleg.store import AsyncStore
from gateleg.web.console.frame import Console, View
from gateleg.web.console.tables.changes import create_document, create_item, delete_item, save_document, save_item
from gateleg.web.console.tables.documents import document_of, read_document, why_not_change, why_not_read
from gateleg.web.console.tables.query_results import read_item
from tests.web.console.tables.library import Book, books, library

if TYPE_CHECKING:
    from gateleg.host.host import Host

BOOK = spec_of(Book)
LOOSE = Table("Loose", hash="id")


@dataclass(frozen=True)
class Desk:
    """The part of a host that changes need."""

    store: AsyncStore
    audit: Audit


def view(desk: Desk, role: Role) -> View:
    """The view of somebody with a role."""
    return View(Console(cast("Host", desk)), Principal("somebody", role), Request({"type": "http"}))


@pytest.fixture
async def desk(store: AsyncStore) -> Desk:
    """A store with the library and an audit log."""
    await store.create_tables(*TABLES, LOOSE)
    return Desk(store, Audit(store, days=1))


async def noted(desk: Desk) -> list[tuple[str, dict[str, Any]]]:
    """What the audit log says, oldest first."""
    return [(entry.action, entry.details) async for entry in desk.store.query(AuditEntry.by_actor, actor="somebody", newest_first=False)]


@pytest.mark.parametrize(("role", "reads"), [(Role.VIEWER, False), (Role.OPERATOR, False), (Role.ADMIN, True)])
def test_only_an_admin_sees_who_may_sign_in_and_what_was_done(role: Role, reads: bool) -> None:
    for table in TABLES:
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


async def test_whoever_may_not_is_refused_even_when_the_page_is_not_asked(desk: Desk) -> None:
    viewer = view(desk, Role.VIEWER)
    item = await read_item(desk.store, library, BOOK.ref(books()[0]).key)
    assert item is not None
    book = BOOK.decode(item)
    written = read_document(library, document_of(item, BOOK), item)
    loose = read_document(LOOSE, '{"id": {"S": "a"}}')
    for spend in (
        save_item(viewer, BOOK, item, book, book.model_copy(update={"price": 1.0})),
        save_document(viewer, library, item, written),
        create_item(viewer, BOOK, book),
        create_document(viewer, LOOSE, loose),
        delete_item(viewer, library, item),
    ):
        with pytest.raises(NotAllowed):
            await spend
    assert await noted(desk) == []


async def test_every_change_is_noted(desk: Desk) -> None:
    operator = view(desk, Role.OPERATOR)
    item = await read_item(desk.store, library, BOOK.ref(books()[0]).key)
    assert item is not None
    book = BOOK.decode(item)
    saved = await save_item(operator, BOOK, item, book, book.model_copy(update={"price": 1.0}))
    item = await read_item(desk.store, library, BOOK.ref(saved).key)
    assert item is not None
    await save_document(operator, library, item, read_document(library, document_of(item | {"donor": {"S": "x"}}, BOOK), item))
    copy = await create_item(operator, BOOK, Book(title="Emma", author="Jane Austen", shelf="A1"))
    stored = await read_item(desk.store, library, BOOK.ref(copy).key)
    assert stored is not None
    await delete_item(operator, library, stored)
    assert await noted(desk) == [
        ("item.change", {"attributes": ["price"]}),
        ("item.change", {"attributes": ["donor"]}),
        ("item.create", {"entity": "Book"}),
        ("item.delete", {}),
    ]


async def test_an_item_that_cannot_be_read_is_mended_as_it_is(desk: Desk) -> None:
    operator = view(desk, Role.OPERATOR)
    item = BOOK.encode(books()[0])
    broken = item | {"year": {"S": "long ago"}}
    await desk.store.transport.call("PutItem", {"TableName": library.name, "Item": broken})
    await save_document(operator, library, broken, read_document(library, document_of(item, BOOK), broken))
    assert await read_item(desk.store, library, BOOK.ref(books()[0]).key) == item
    assert await noted(desk) == [("item.change", {"attributes": ["year"]})]


async def test_items_of_no_entity_are_created_changed_and_deleted(desk: Desk) -> None:
    operator = view(desk, Role.OPERATOR)
    item = await create_document(operator, LOOSE, read_document(LOOSE, '{"id": {"S": "a"}}'))
    await save_document(operator, LOOSE, item, read_document(LOOSE, '{"id": {"S": "a"}, "n": {"N": "1"}}', item))
    changed = await read_item(desk.store, LOOSE, item)
    assert changed is not None
    assert changed == {"id": {"S": "a"}, "n": {"N": "1"}}
    await delete_item(operator, LOOSE, changed)
    assert await read_item(desk.store, LOOSE, item) is None


async def test_an_item_that_its_entity_cannot_read_can_still_be_deleted(desk: Desk) -> None:
    broken = BOOK.encode(books()[0]) | {"shelf": {"N": "1"}, "pk": {"S": f"BOOK#{'0' * 8}-0000-4000-8000-{'0' * 12}"}}
    await desk.store.transport.call("PutItem", {"TableName": library.name, "Item": broken})
    await delete_item(view(desk, Role.OPERATOR), library, broken)
    assert await read_item(desk.store, library, {name: broken[name] for name in library.attributes}) is None
