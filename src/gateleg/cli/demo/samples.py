"""Sample tables for a new endpoint."""

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


def load(engine: "Engine") -> bool:
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
