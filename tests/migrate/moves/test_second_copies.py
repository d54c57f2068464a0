"""An old item whose parent changes is copied to another key: the copy before it is named, and removed where that can be proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateleg.migrate import KeyMove, Migration, Migrator, MoveOptions, Moving, Phase
from gateleg.model import Attr, Entity, Key, Table, field
from tests.migrate.moves.layouts import opened

if TYPE_CHECKING:
    from gateleg.store import Store

threads, old_messages = Table("Threads", hash="id"), Table("Messages", hash="id")
new_messages = Table("OwnedMessages", hash="owner", range="id")


class Thread(Entity, table=threads):
    """Whose owner becomes part of the key of its messages."""

    id: Attr[str]
    owner: Attr[str]
    key = Key("{id}")


class OldMessage(Entity, table=old_messages):
    """A message that knows its thread only."""

    id: Attr[str]
    thread: Attr[str]
    key = Key("{id}")


class NewMessage(Entity, table=new_messages):
    """A message under the owner of its thread."""

    owner: Attr[str]
    id: Attr[str]
    thread: Attr[str]
    starred: Attr[bool | None] = field(None)
    key = Key("{owner}", "{id}")


move = KeyMove(
    "messages",
    OldMessage,
    NewMessage,
    convert=lambda old, thread: NewMessage(owner=thread.owner, id=old.id, thread=old.thread),
    revert=lambda new: OldMessage(id=new.id, thread=new.thread),
    lookup=lambda old: Thread.key(id=old.thread),
    new_only=frozenset({"starred"}),
)


@pytest.fixture
def store() -> Store:
    store = opened()
    store.ensure_tables(threads, old_messages, new_messages)
    store.put(Thread(id="t", owner="ann"))
    store.put(OldMessage(id="m", thread="t"))
    return store


def migrator(store: Store) -> Migrator:
    return Migrator(store, "mail", [Migration(1, "owners", moves=(move,))], by="ann", options=MoveOptions(segments=2, force=True))


def copies(store: Store) -> list[tuple[str, bool | None]]:
    return sorted((one.owner, one.starred) for one in store.export(NewMessage, consistent=True))


def test_a_second_copy_is_named_by_a_verification_and_removed_by_a_fix(store: Store) -> None:
    one = migrator(store)
    one.apply(until=Phase.VERIFY)
    store.put(Thread(id="t", owner="bob"))
    store.moving(Moving([move])).put(OldMessage(id="m", thread="t"))
    found = one.verify(1)["messages/all"]
    assert (found.old, found.new, found.wrong, found.holds) == (1, 2, 1, False)
    (error,) = one.status()[0].stages[0]["errors"]
    assert (error["side"], error["reason"]) == ("new", "stale")
    assert "ann" in error["key"]
    assert one.verify(1, fix=True)["messages/all"].holds
    assert copies(store) == [("bob", None)]


def test_a_copy_moves_to_the_key_that_its_old_item_leads_to_with_what_only_it_knows(store: Store) -> None:
    one = migrator(store)
    one.apply(until=Phase.VERIFY)
    store.put(NewMessage(owner="ann", id="m", thread="t", starred=True))
    store.put(Thread(id="t", owner="bob"))
    assert one.verify(1)["messages/all"].wrong == 2
    # On the way on, nobody needs to ask for it.
    one.apply(until=Phase.DUAL_READ)
    assert copies(store) == [("bob", True)]


def test_a_copy_stays_where_nothing_proves_that_it_is_stale(store: Store) -> None:
    one = migrator(store)
    one.apply(until=Phase.VERIFY)
    store.put(NewMessage(owner="ann", id="m", thread="t", starred=True))
    store.put(Thread(id="t", owner="bob"))
    store.put(NewMessage(owner="bob", id="m", thread="t", starred=False))
    # And one whose old item is gone: somebody may still want it.
    store.put(NewMessage(owner="eve", id="x", thread="t"))
    assert one.verify(1, fix=True)["messages/all"].wrong == 2
    assert copies(store) == [("ann", True), ("bob", False), ("eve", None)]
    reasons = sorted(error["reason"] for error in one.status()[0].stages[0]["errors"])
    assert reasons == ["stale", "surplus"]


def test_a_parent_that_changes_late_does_not_leave_two_copies_behind(store: Store) -> None:
    one = migrator(store)
    one.apply(until=Phase.CUT_OVER)
    store.put(Thread(id="t", owner="bob"))
    one.apply(until=Phase.CLEAN_UP)
    assert copies(store) == [("bob", None)]
    one.rollback(1)
    assert [message.thread for message in store.export(OldMessage)] == ["t"]
    assert copies(store) == []
