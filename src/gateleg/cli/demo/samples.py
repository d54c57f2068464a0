"""Sample tables for a new endpoint.

A collection of songs and a listening log: deterministic, and large enough to be worth counting. Pure.
"""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gateleg.engine import Engine


TABLE = "Songs"

_SONGS = [
    ("Nina Simone", "Sinnerman", 1965, 622),
    ("Nina Simone", "Feeling Good", 1965, 178),
    ("Nina Simone", "Wild Is the Wind", 1966, 420),
    ("Miles Davis", "So What", 1959, 545),
    ("Miles Davis", "Blue in Green", 1959, 327),
    ("Kate Bush", "Cloudbusting", 1985, 309),
    ("Kate Bush", "Wuthering Heights", 1978, 269),
    ("Fela Kuti", "Zombie", 1976, 745),
]


def load(engine: Engine) -> bool:
    """Create and fill the sample table. Returns whether it was created."""
    if TABLE in engine.call("ListTables", {})["TableNames"]:
        return False
    engine.call(
        "CreateTable",
        {
            "TableName": TABLE,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": "artist", "AttributeType": "S"},
                {"AttributeName": "title", "AttributeType": "S"},
                {"AttributeName": "year", "AttributeType": "N"},
            ],
            "KeySchema": [{"AttributeName": "artist", "KeyType": "HASH"}, {"AttributeName": "title", "KeyType": "RANGE"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by-year",
                    "KeySchema": [{"AttributeName": "year", "KeyType": "HASH"}, {"AttributeName": "title", "KeyType": "RANGE"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        },
    )
    puts = [{"PutRequest": {"Item": _item(*song)}} for song in _SONGS]
    engine.call("BatchWriteItem", {"RequestItems": {TABLE: puts}})
    return True


def _item(artist: str, title: str, year: int, seconds: int) -> dict[str, Any]:
    return {"artist": {"S": artist}, "title": {"S": title}, "year": {"N": str(year)}, "seconds": {"N": str(seconds)}}


MONTHS = ("2026-08", "2026-09", "2026-10")
_PLAYS = 6000


@dataclass(frozen=True)
class Track:
    """A song of the collection."""

    artist: str
    title: str
    year: int
    seconds: int


def collection() -> list[Track]:
    """The songs of the demo application."""
    text = resources.files("gateleg.cli.demo").joinpath("songs.csv").read_text(encoding="utf-8")
    return [Track(row["artist"], row["title"], int(row["year"]), int(row["seconds"])) for row in csv.DictReader(io.StringIO(text))]


def listening_log(month: str, tracks: list[Track]) -> bytes:
    """The log of a month as CSV: a few songs are played often, most rarely."""
    chance = random.Random(f"gateleg {month}")
    order = chance.sample(tracks, len(tracks))
    weights = [1 / (place + 1) ** 0.8 for place in range(len(order))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["played_at", "listener", "artist", "title"])
    moments = sorted((chance.randint(1, 28), chance.randrange(86_400)) for _ in range(_PLAYS))
    for (day, second), track in zip(moments, chance.choices(order, weights, k=_PLAYS), strict=True):
        moment = f"{month}-{day:02d}T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"
        writer.writerow([moment, f"listener-{chance.randint(1, 200):03d}", track.artist, track.title])
    return out.getvalue().encode()


def counted(log: bytes) -> Counter[tuple[str, str]]:
    """How often each song was played, by artist and title."""
    rows = csv.DictReader(io.StringIO(log.decode("utf-8")))
    return Counter((row["artist"], row["title"]) for row in rows)
