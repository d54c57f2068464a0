"""Run it as it is, or with an address: `python quickstart.py [embedded:./data | dynamodb:eu-west-1 | http://127.0.0.1:8001]`."""

import sys

from gateleg.model import GSI, Attr, Entity, Key, Pattern, Table
from gateleg.store import Store

music = Table("Music", hash="pk", range="sk", tag="kind", indexes=[GSI("by-label", hash="label", range="year")])


class Artist(Entity, table=music, tag="artist"):
    name: Attr[str]
    key = Key("ARTIST#{name}", "PROFILE")


class Album(Entity, table=music, tag="album"):
    name: Attr[str]
    title: Attr[str]
    year: Attr[int]
    label: Attr[str]
    key = Key("ARTIST#{name}", "ALBUM#{title}")
    on_label = Pattern("by-label", title="Albums of a label, newest first", order="desc")


with Store.connect(sys.argv[1] if len(sys.argv) > 1 else "embedded::memory:") as store:
    store.ensure_tables(music)
    store.put(Artist(name="Nina Simone"))
    for title in ("Pastel Blues", "Wild Is the Wind"):
        album = store.put(Album(name="Nina Simone", title=title, year=1965, label="Philips"))
    store.patch(album, Album.year.set(1966))
    for album in store.query(Album.on_label, label="Philips"):
        print(album.year, album.title)
