"""An old item whose parent changes is copied to another key: the copy before it is named."""

from __future__ import annotations

from gateleg.migrate import KeyMove, Migration, Migrator, Phase, migrations_table
from gateleg.model import Attr, Entity, Key, Table
from gateleg.store import Store

threads, old_messages = Table("Threads", hash="id"), Table("Messages", hash="id")


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


class NewMessage(Entity, table=Table("OwnedMessages", hash="owner", range="id")):
    """A message under the owner of its thread."""

    owner: Attr[str]
    id: Attr[str]
    thread: Attr[str]
    key = Key("{owner}", "{id}")


move = KeyMove(
    "messages",
    OldMessage,
    NewMessage,
    convert=lambda old, thread: NewMessage(owner=thread.owner, id=old.id, thread=old.thread),
    revert=lambda new: OldMessage(id=new.id, thread=new.thread),
    lookup=lambda old: Thread.key(id=old.thread),
)


def test_a_second_copy_of_an_old_item_is_named_by_a_verification() -> None:
    with Store.embedded() as store:
        store.ensure_tables(threads, old_messages, migrations_table)
        store.put(Thread(id="t", owner="ann"))
        store.put(OldMessage(id="m", thread="t"))
        migrator = Migrator(store, "mail", [Migration(1, "owners", moves=(move,))], by="ann")
        migrator.apply(until=Phase.VERIFY)
        store.put(Thread(id="t", owner="bob"))
        store.put(NewMessage(owner="bob", id="m", thread="t"))

        found = migrator.verify(1)["messages/all"]

        assert (found.old, found.new, found.wrong, found.holds) == (1, 2, 1, False)
        (error,) = migrator.status()[0].stages[0]["errors"]
        assert (error["side"], error["reason"]) == ("new", "surplus")
        assert "ann" in error["key"]
        store.delete(NewMessage.key(owner="ann", id="m"))
        assert migrator.verify(1)["messages/all"].holds
