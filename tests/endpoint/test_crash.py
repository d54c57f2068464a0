"""A killed server has kept every write that it answered."""

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gateleg.engine import Engine, check_integrity
from tests.endpoint.fakes import Wire

pytestmark = pytest.mark.crash

TABLE = {
    "TableName": "Songs",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {"IndexName": "ByN", "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
CLIENTS = 8


def put_until_killed(url: str, name: str, answered: list[str], enough: threading.Event, count: int) -> None:
    try:
        with Wire(url) as wire:
            while True:
                key = f"{name}-{len(answered)}"
                body = b'{"TableName":"Songs","Item":{"id":{"S":"%b"},"n":{"N":"%d"}}}' % (key.encode(), len(answered) % 7)
                if wire.ask(body, {"X-Amz-Target": "DynamoDB_20120810.PutItem"}).status == 200:
                    answered.append(key)
                if len(answered) >= count:
                    enough.set()
    except (OSError, AssertionError, ValueError, KeyError):
        # The connection broke in the middle of an answer: that write was not acknowledged.
        return


@pytest.mark.parametrize("durability", ["full", "relaxed"])
@pytest.mark.parametrize("seed", range(5))
def test_every_answered_write_survives_a_kill(tmp_path: Path, durability: str, seed: int) -> None:
    file = str(tmp_path / "gateleg.db")
    with Engine(file) as engine:
        engine.call("CreateTable", TABLE)
    program = [sys.executable, "-c", "from gateleg.cli import main; main()", "engine", "serve"]
    command = [*program, "--port", "0", "--path", file, "--durability", durability]
    answered: list[list[str]] = [[] for _ in range(CLIENTS)]
    enough = threading.Event()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}) as server:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]
        count = random.Random(seed).randint(5, 150)
        clients = [
            threading.Thread(target=put_until_killed, args=(url, f"c{n}", answered[n], enough, count), daemon=True) for n in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        assert enough.wait(60)
        server.send_signal(signal.SIGKILL)
        server.wait()
        for client in clients:
            client.join()
    acknowledged = {key for keys in answered for key in keys}
    with Engine(file) as engine:
        found = {item["id"]["S"] for item in engine.call("Scan", {"TableName": "Songs"})["Items"]}
        indexed = {item["id"]["S"] for item in engine.call("Scan", {"TableName": "Songs", "IndexName": "ByN"})["Items"]}
    assert acknowledged <= found
    assert indexed == found
    assert len(found) <= len(acknowledged) + CLIENTS
    assert check_integrity(file) == []
