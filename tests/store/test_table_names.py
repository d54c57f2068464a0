"""Deployed table names that are set one by one."""

import pytest

from gateleg.model import Attr, Entity, Key, Pattern, Table
from gateleg.store import AsyncStore, Store
from gateleg.store.setup import table_names_in

songs = Table("Songs", hash="pk", range="sk")
albums = Table("Albums", hash="pk")


class Song(Entity, table=songs):
    album: Attr[str]
    number: Attr[int]

    key = Key("ALBUM#{album}", "SONG#{number:03d}")
    of_album = Pattern(title="The songs of an album")


class Album(Entity, table=albums):
    name: Attr[str]

    key = Key("ALBUM#{name}")


NAMES = {"Songs": "prod-eu.songs"}


def test_every_method_uses_the_configured_name() -> None:
    with Store.embedded(prefix="dev-", table_names=NAMES) as store:
        assert store.ensure_tables(songs, albums) == ["prod-eu.songs", "dev-Albums"]
        assert store.ensure_tables(songs, albums) == []
        one = store.create(Song(album="A", number=1))
        store.create(Album(name="A"))
        assert store.get(Song, album="A", number=1) == one
        assert list(store.query(Song.of_album, album="A")) == [one]
        assert store.batch_get([Song.key(album="A", number=1)]) == [one]
        assert store.transport.call("ListTables", {})["TableNames"] == ["dev-Albums", "prod-eu.songs"]
        assert [store.transport.call("Scan", {"TableName": name})["Count"] for name in ("prod-eu.songs", "dev-Albums")] == [1, 1]


async def test_an_async_store_takes_names_too() -> None:
    async with AsyncStore.embedded(table_names=NAMES) as store:
        assert await store.ensure_tables(songs) == ["prod-eu.songs"]


def test_names_are_written_in_one_line() -> None:
    assert table_names_in(" Songs = prod-songs , Albums=x") == {"Songs": "prod-songs", "Albums": "x"}
    assert table_names_in("") == {}
    with pytest.raises(ValueError, match="'Songs' has no name"):
        table_names_in("Songs")
