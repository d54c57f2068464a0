"""What an operator reads: each item once, and no time left that is made up."""

from __future__ import annotations

import pytest

from gateleg.migrate import KeyMove, Migration, Migrator, MoveOptions, Phase, check_consistency, migrations_table
from gateleg.migrate.errors import PhaseRefused
from gateleg.model import Attr, Entity, Key, Table, Unique
from gateleg.store import Store

old_accounts, new_accounts = Table("Accounts", hash="id"), Table("MailAccounts", hash="mail")
unique_accounts = Table("UniqueAccounts", hash="id")


class OldAccount(Entity, table=old_accounts):
    """Its table has a marker for each account."""

    id: Attr[str]
    mail: Attr[str]
    key = Key("{id}")
    one_mail = Unique("mail")


class NewAccount(Entity, table=new_accounts):
    """By the address."""

    mail: Attr[str]
    id: Attr[str]
    key = Key("{mail}")


class UniqueAccount(Entity, table=unique_accounts):
    """With a marker for each address, too."""

    id: Attr[str]
    mail: Attr[str]
    key = Key("{id}")
    one_mail = Unique("mail")


move = KeyMove(
    "accounts",
    OldAccount,
    NewAccount,
    convert=lambda old: NewAccount(mail=old.mail, id=old.id),
    revert=lambda new: OldAccount(id=new.id, mail=new.mail),
)


def test_markers_are_not_counted_as_items_and_an_item_is_named_once() -> None:
    with Store.embedded() as store:
        store.ensure_tables(old_accounts, migrations_table)
        store.create(OldAccount(id="1", mail="ann"))
        migrator = Migrator(store, "mail", [Migration(1, "by-mail", moves=(move,))], by="ann", options=MoveOptions(force=True))
        migrator.apply(until=Phase.CUT_OVER)
        passes = migrator.status()[0].stages[0]["passes"]
        assert (passes["backfill"]["total"], passes["verify-new"]["total"]) == (None, 1)
        store.delete(NewAccount.key(mail="ann"))
        assert not migrator.verify(1)["accounts/all"].holds
        with pytest.raises(PhaseRefused) as refused:
            migrator.apply(until=Phase.CLEAN_UP)
        assert refused.value.message.count("There is no NewAccount for it") == 1


def test_a_marker_that_was_left_behind_is_named_with_the_command_that_deletes_it() -> None:
    with Store.embedded() as store:
        store.ensure_tables(old_accounts, unique_accounts, migrations_table)
        store.create(OldAccount(id="1", mail="ann"))
        store.create(UniqueAccount(id="9", mail="ann"))
        store.transport.call("DeleteItem", {"TableName": unique_accounts.name, "Key": {"id": {"S": "9"}}})
        kept = KeyMove(
            "unique-accounts",
            OldAccount,
            UniqueAccount,
            convert=lambda old: UniqueAccount(id=old.id, mail=old.mail),
            revert=lambda new: OldAccount(id=new.id, mail=new.mail),
        )
        migrator = Migrator(store, "mail", [Migration(1, "unique", moves=(kept,))], by="ann")
        with pytest.raises(PhaseRefused, match=r"If no UniqueAccount has it.*`gateleg tables check --fix`"):
            migrator.apply()
        check_consistency(store, [unique_accounts], fix=True)
        assert migrator.repeat(1) == {"unique-accounts/all": 0}
