"""What the golden files hold, written by the engine of any commit, and what an engine says of such a file.

This module imports nothing of this repository but the engine itself, and only what all of its versions have: `history.py` runs it with the
code of old commits. A step that a version does not know is left out, and named in the answer.
"""

import json
import os
import random
import secrets
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

Item = dict[str, Any]

#: When the scenario begins. Its clock moves by one second with each step.
START = 1_763_000_000.0
ACCOUNT, REGION = "123456789012", "us-east-1"

#: One item with a value of each type.
EVERY_TYPE: Item = {
    "artist": {"S": "Nina Simone"},
    "year": {"N": "1965"},
    "text": {"S": 'quotes " and \\ and \u0000 and \u00e9\U0001f3b9'},
    "empty": {"S": ""},
    "number": {"N": "-0.00000000000000000000000000000000000001234567890123456789"},
    "large": {"N": "99999999999999999999999999999999999999"},
    "bytes": {"B": "AAECA/8="},
    "texts": {"SS": ["b", "a"]},
    "numbers": {"NS": ["3", "1", "2.5"]},
    "binaries": {"BS": ["AQ==", "AA=="]},
    "map": {"M": {"inner": {"L": [{"S": "x"}, {"NULL": True}]}, "none": {"M": {}}}},
    "list": {"L": [{"N": "1"}, {"S": "two"}, {"L": []}]},
    "yes": {"BOOL": True},
    "no": {"BOOL": False},
    "nothing": {"NULL": True},
}


def songs() -> Iterator[Item]:
    """The items of the first table."""
    yield EVERY_TYPE
    for number in range(6):
        yield {
            "artist": {"S": f"artist\u0000{number % 2}"},
            "year": {"N": str(number * 10**number - 20)},
            "genre": {"S": ("jazz", "soul")[number % 2]},
            "rating": {"N": f"{number}.5"},
            "until": {"N": str(int(START) + 10_000_000 + number)},
            "note": {"S": "long " * (number * number * 12)},
        }


def _attributes(**types: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def _keys(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]


def _index(name: str, *keys: str, projection: str = "ALL", include: tuple[str, ...] = ()) -> dict[str, Any]:
    projected: dict[str, Any] = {"ProjectionType": projection}
    if include:
        projected["NonKeyAttributes"] = list(include)
    return {"IndexName": name, "KeySchema": _keys(*keys), "Projection": projected}


SONGS: dict[str, Any] = {
    "TableName": "Songs",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": _attributes(artist="S", year="N", genre="S", rating="N"),
    "KeySchema": _keys("artist", "year"),
    "GlobalSecondaryIndexes": [_index("ByGenre", "genre", "rating"), _index("ByRating", "rating", projection="INCLUDE", include=("note",))],
    "LocalSecondaryIndexes": [_index("ByLocalRating", "artist", "rating", projection="KEYS_ONLY")],
}


def _plain(name: str, kind: str) -> dict[str, Any]:
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": _attributes(id=kind),
        "KeySchema": _keys("id"),
    }


class _Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


def _make_repeatable(clock: _Clock) -> None:
    """Replace chance and time, so that two runs of the same code write the same."""
    chance = random.Random(0)
    uuid.uuid4 = lambda: uuid.UUID(int=chance.getrandbits(128), version=4)
    secrets.token_hex = lambda nbytes=None: chance.randbytes(nbytes or 32).hex()
    secrets.token_bytes = lambda nbytes=None: chance.randbytes(nbytes or 32)
    os.urandom = chance.randbytes
    time.time = clock


def _small_steps() -> None:
    """Let long work begin with tables of few rows, so that a small file holds work in progress."""
    for module in ("backfill", "copies", "drops", "expiry", "throttle", "online_copy", "chunked_drop", "long_work"):
        with suppress(ImportError):
            loaded = import_module(f"gateleg.engine.{module}")
            for name in ("CHUNK", "STEP", "SMALL_TABLE_ROWS", "CHUNK_ROWS", "INDEXED_CHUNK", "BACKUP_CHUNK_ROWS", "TABLE_CHUNK_ROWS"):
                if hasattr(loaded, name):
                    setattr(loaded, name, 3)


def open_engine(path: str, clock: Callable[[], float]) -> Any:
    """The engine of this version on a file, without a thread of its own where it has one."""
    engine_class = import_module("gateleg.engine").Engine
    known = signature(engine_class.__init__).parameters
    options = {"clock": clock, "background": False, "durability": "relaxed"}
    return engine_class(path, **{name: value for name, value in options.items() if name in known})


def write(path: str) -> list[str]:
    """Run the scenario on a new file; returns the steps that this version does not know."""
    clock = _Clock()
    _make_repeatable(clock)
    engine = open_engine(path, clock)
    unknown: list[str] = []

    def step(name: str, *calls: tuple[str, dict[str, Any]], namespace: Any = None) -> None:
        try:
            for operation, request in calls:
                clock.now += 1
                if namespace is None:
                    engine.call(operation, request)
                else:
                    engine.call(operation, request, namespace)
        except Exception as error:  # old commits fail in many ways where a feature is half made
            unknown.append(f"{name}: {error!r}")

    for name, calls in _steps(engine):
        step(name, *calls)
    far = ("PutItem", {"TableName": "Songs", "Item": {"id": {"S": "far"}}})
    step("another namespace", ("CreateTable", _plain("Songs", "S")), far, namespace=_other_namespace())
    _small_steps()
    for name, calls in _unfinished_steps():
        step(name, *calls)
    engine.close()
    return unknown


def _other_namespace() -> Any:
    """An account and a region besides the default ones."""
    schema = import_module("gateleg.engine.schema")
    named = schema.Namespace if hasattr(schema, "Namespace") else schema.Realm
    return named("999999999999", "eu-west-1")


def _puts(table: str, items: Iterator[Item] | list[Item]) -> list[tuple[str, dict[str, Any]]]:
    return [("PutItem", {"TableName": table, "Item": item}) for item in items]


def _arn(table: str) -> str:
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}"


def _steps(engine: Any) -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    yield "table", [("CreateTable", SONGS)]
    yield (
        "stream",
        [("UpdateTable", {"TableName": "Songs", "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}})],
    )
    yield "recovery", [_recovery("Songs")]
    yield (
        "tags",
        [("TagResource", {"ResourceArn": _arn("Songs"), "Tags": [{"Key": "system", "Value": "shop"}, {"Key": "team", "Value": "a"}]})],
    )
    yield "ttl", [("UpdateTimeToLive", {"TableName": "Songs", "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "until"}})]
    yield "items", _puts("Songs", songs())
    key = {"artist": {"S": "artist\u00001"}, "year": {"N": "-10"}}
    update = {
        "UpdateExpression": "SET genre = :g, rating = rating + :n",
        "ExpressionAttributeValues": {":g": {"S": "pop"}, ":n": {"N": "2"}},
    }
    yield "update", [("UpdateItem", {"TableName": "Songs", "Key": key, **update})]
    yield "delete", [("DeleteItem", {"TableName": "Songs", "Key": {"artist": {"S": "artist\u00000"}, "year": {"N": "180"}}})]
    for name, kind, values in (
        ("Binaries", "B", ["AAECAw==", "AA==", "/w==", "AAA="]),
        ("Numbers", "N", ["-1.5", "0", "7", "12345678901234567890", "-0.001", "1E+100"]),
        ("Texts", "S", ["a", "\u0000", "a\u0000b", "\u00e9"]),
    ):
        yield f"keys of type {kind}", [("CreateTable", _plain(name, kind)), *_puts(name, [{"id": {kind: value}} for value in values])]
    yield (
        "settings",
        [
            (
                "CreateTable",
                {
                    **_plain("Settings", "S"),
                    "BillingMode": "PROVISIONED",
                    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
                    "DeletionProtectionEnabled": True,
                    "TableClass": "STANDARD_INFREQUENT_ACCESS",
                    "SSESpecification": {"Enabled": True, "SSEType": "KMS"},
                },
            ),
            *_puts("Settings", [{"id": {"S": "only"}}]),
        ],
    )
    yield (
        "policy",
        [
            (
                "PutResourcePolicy",
                {
                    "ResourceArn": _arn("Settings"),
                    "Policy": json.dumps(
                        {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*"}]}
                    ),
                },
            )
        ],
    )
    yield (
        "a key of several attributes",
        [
            (
                "CreateTable",
                {
                    **_plain("Wide", "S"),
                    "AttributeDefinitions": _attributes(id="S", a="S", b="N", c="S"),
                    "GlobalSecondaryIndexes": [
                        {
                            "IndexName": "ByAll",
                            "KeySchema": [
                                {"AttributeName": "a", "KeyType": "HASH"},
                                {"AttributeName": "b", "KeyType": "HASH"},
                                {"AttributeName": "c", "KeyType": "RANGE"},
                            ],
                            "Projection": {"ProjectionType": "ALL"},
                        }
                    ],
                },
            ),
            *_puts("Wide", [{"id": {"S": str(n)}, "a": {"S": "x"}, "b": {"N": str(n % 2)}, "c": {"S": f"c{n}"}} for n in range(4)]),
        ],
    )
    yield "backup", [("CreateBackup", {"TableName": "Songs", "BackupName": "Kept"})]
    yield "changes after the backup", _puts("Songs", [{"artist": {"S": "late"}, "year": {"N": "1"}, "genre": {"S": "jazz"}}])
    yield (
        "backup of a deleted table",
        [
            ("CreateTable", _plain("Gone", "S")),
            _recovery("Gone"),
            *_puts("Gone", [{"id": {"S": "kept in a system backup"}}]),
            ("DeleteTable", {"TableName": "Gone"}),
        ],
    )
    yield (
        "stream of a deleted table",
        [
            ("CreateTable", {**_plain("Closed", "S"), "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}),
            *_puts("Closed", [{"id": {"S": "seen in the stream only"}}]),
            ("DeleteTable", {"TableName": "Closed"}),
        ],
    )
    yield (
        "transaction with a token",
        [
            (
                "TransactWriteItems",
                {
                    "ClientRequestToken": "token-1",
                    "TransactItems": [{"Put": {"TableName": "Texts", "Item": {"id": {"S": "in a transaction"}}}}],
                },
            )
        ],
    )
    yield (
        "restore",
        [
            (
                "RestoreTableToPointInTime",
                {"SourceTableName": "Songs", "TargetTableName": "Restored", "UseLatestRestorableTime": True},
            )
        ],
    )
    yield "export", [("ExportTableToPointInTime", {"TableArn": _arn("Songs"), "S3Bucket": "bucket", "ExportFormat": "DYNAMODB_JSON"})]


def _recovery(table: str) -> tuple[str, dict[str, Any]]:
    return "UpdateContinuousBackups", {"TableName": table, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}


def _unfinished_steps() -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """Long work that is only begun."""
    rows = [
        {"id": {"S": f"row {number}"}, "group": {"S": str(number % 2)}, "until": {"N": str(int(START) + 10_000_000)}} for number in range(8)
    ]
    for name in ("Filling", "Copied", "Expiring", "Dropped"):
        yield f"rows of {name}", [("CreateTable", _plain(name, "S")), *_puts(name, rows)]
    index = {**_index("ByGroup", "group")}
    yield (
        "unfinished index",
        [
            (
                "UpdateTable",
                {
                    "TableName": "Filling",
                    "AttributeDefinitions": _attributes(id="S", group="S"),
                    "GlobalSecondaryIndexUpdates": [{"Create": index}],
                },
            )
        ],
    )
    yield (
        "unfinished ttl",
        [("UpdateTimeToLive", {"TableName": "Expiring", "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "until"}})],
    )
    yield "unfinished backup", [("CreateBackup", {"TableName": "Copied", "BackupName": "Begun"})]
    yield "unfinished drop", [("DeleteTable", {"TableName": "Dropped"})]


def content(engine: Any) -> dict[str, Any]:
    """What an engine says that its file holds, in a form that does not depend on its version."""
    found: dict[str, Any] = {"tables": {}}
    for name in engine.call("ListTables", {})["TableNames"]:
        found["tables"][name] = _table_content(engine, name)
    with suppress(Exception):
        found["backups"] = sorted(
            (backup["TableName"], backup["BackupName"], backup["BackupType"], backup["BackupStatus"])
            for backup in engine.call("ListBackups", {"BackupType": "ALL"})["BackupSummaries"]
        )
    with suppress(Exception):
        found["streams"] = [_stream_content(engine, stream["StreamArn"]) for stream in engine.call("ListStreams", {})["Streams"]]
    with suppress(Exception):
        found["exports"] = [export["ExportStatus"] for export in engine.call("ListExports", {})["ExportSummaries"]]
    other = engine.call("Scan", {"TableName": "Songs"}, _other_namespace())
    found["another namespace"] = other["Items"]
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def _table_content(engine: Any, name: str) -> dict[str, Any]:
    described = engine.call("DescribeTable", {"TableName": name})["Table"]
    found: dict[str, Any] = {
        "keys": described["KeySchema"],
        "attributes": sorted((one["AttributeName"], one["AttributeType"]) for one in described["AttributeDefinitions"]),
        "id": described["TableId"],
        "created": described["CreationDateTime"],
        "stream": described.get("StreamSpecification"),
        "label": described.get("LatestStreamLabel"),
        "billing": described.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED"),
        "protected": described.get("DeletionProtectionEnabled", False),
        "items": _all_items(engine, {"TableName": name}),
        "indexes": {},
    }
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for index in described.get(kind, []):
            # An index in the making cannot be read yet.
            entries = (
                _all_items(engine, {"TableName": name, "IndexName": index["IndexName"]}) if index.get("IndexStatus") != "CREATING" else None
            )
            found["indexes"][index["IndexName"]] = [index["KeySchema"], index["Projection"], entries]
    found["ttl"] = engine.call("DescribeTimeToLive", {"TableName": name})["TimeToLiveDescription"]
    with suppress(Exception):
        found["tags"] = engine.call("ListTagsOfResource", {"ResourceArn": _arn(name)}).get("Tags", [])
    with suppress(Exception):
        recovery = engine.call("DescribeContinuousBackups", {"TableName": name})["ContinuousBackupsDescription"]
        found["recovery"] = recovery["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
    with suppress(Exception):
        found["policy"] = engine.call("GetResourcePolicy", {"ResourceArn": _arn(name)})["Policy"]
    return found


def _all_items(engine: Any, request: dict[str, Any]) -> list[Item]:
    return sorted(engine.call("Scan", request)["Items"], key=lambda item: json.dumps(item, sort_keys=True))


def _stream_content(engine: Any, arn: str) -> list[Any]:
    described = engine.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]
    records: list[Any] = []
    for shard in described["Shards"]:
        asked = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = engine.call("GetShardIterator", asked)["ShardIterator"]
        for record in engine.call("GetRecords", {"ShardIterator": iterator})["Records"]:
            change = record["dynamodb"]
            records.append([record["eventName"], change["SequenceNumber"], change["Keys"], change.get("OldImage"), change.get("NewImage")])
    return [described["TableName"], described["StreamLabel"], described["StreamViewType"], described["StreamStatus"], records]


def main(path: str) -> None:
    """Write the file, and print what the same code says of it."""
    unknown = write(path)
    assert Path(import_module("gateleg.engine").__file__ or "").is_relative_to(os.environ["PYTHONPATH"]), "another version was imported"
    clock = _Clock()
    clock.now = START + 3600
    engine = open_engine(path, clock)
    try:
        print(json.dumps({"unknown": unknown, "content": content(engine)}))
    finally:
        engine.close()


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()))
