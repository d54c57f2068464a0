"""The tables of the demo application: songs, and charts of the most played ones."""

from datetime import datetime

from gateleg.model import GSI, Attr, Entity, Key, Pattern, Table, required

songs_table = Table("Songs", hash="artist", range="title", indexes=[GSI("by-year", hash="year", range="title")])
charts_table = Table("SongCharts", hash="month", range="place")


class Song(Entity, table=songs_table):
    """A song in the collection."""

    artist: Attr[str] = required(min_length=1, max_length=200)
    title: Attr[str] = required(min_length=1, max_length=200)
    year: Attr[int] = required(ge=1860, le=2100)
    #: duration in seconds
    seconds: Attr[int] = required(ge=1)

    key = Key("{artist}", "{title}")
    of_artist = Pattern(title="Songs of an artist, by title")
    of_year = Pattern("by-year", title="Songs of a year, by title")


class ChartEntry(Entity, table=charts_table):
    """A position in the chart of a month."""

    #: such as 2026-10
    month: Attr[str] = required(pattern=r"^\d{4}-\d{2}$")
    #: 1 is the most played
    place: Attr[int] = required(ge=1)
    artist: Attr[str]
    title: Attr[str]
    plays: Attr[int]
    counted_at: Attr[datetime]

    key = Key("{month}", "{place}")
    of_month = Pattern(title="The chart of a month, most played first")
