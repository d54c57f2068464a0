"""Writes share commits, and nothing is answered before it is durable."""

import json
import select
from contextlib import ExitStack
from pathlib import Path

import pytest

from gateleg.endpoint import serve_in_thread
from gateleg.engine import Engine, EngineError
from tests.endpoint.fakes import FakeEngine, Wire, message

PUT = {"X-Amz-Target": "DynamoDB_20120810.PutItem"}
CREATE = {"X-Amz-Target": "DynamoDB_20120810.CreateTable"}
TABLE = {
    "TableName": "ServerState",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
}


def waits(wire: Wire) -> bool:
    return not select.select([wire.socket], [], [], 0)[0]


def test_writes_that_arrive_during_a_commit_share_the_next() -> None:
    fake = FakeEngine(durability="full")
    fake.commit_allowed.clear()
    with serve_in_thread(fake) as url, ExitStack() as stack:
        first, reader, *others = [stack.enter_context(Wire(url)) for _ in range(10)]
        first.send(message(headers=PUT))
        reader.ask()
        for wire in others:
            wire.send(message(headers=PUT))
        assert reader.ask().status == 200
        assert waits(first)
        assert all(waits(wire) for wire in others)
        fake.commit_allowed.set()
        assert all(wire.receive().status == 200 for wire in (first, *others))
    assert sum(fake.commits) == 9
    assert len(fake.commits) < 9


@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_a_failed_commit_fails_all_writes_of_its_group(durability: str) -> None:
    fake = FakeEngine(durability=durability, commit_error=EngineError("InternalServerError", "The disk is full"))
    with serve_in_thread(fake) as url, Wire(url) as wire:
        for body in (b"{}", b'{"refuse":true}'):
            response = wire.ask(body, PUT)
            assert (response.status, json.loads(response.body)["message"]) == (500, "The disk is full")
        fake.commit_error = None
        assert wire.ask(headers=PUT).status == 200


def test_an_internal_error_in_a_commit_reveals_no_details(caplog: pytest.LogCaptureFixture) -> None:
    fake = FakeEngine(commit_error=OSError("a secret detail"))
    with serve_in_thread(fake) as url, Wire(url) as wire:
        assert b"secret" not in wire.ask(headers=PUT).body
    assert "a secret detail" in caplog.text


def test_a_group_that_cannot_begin_fails_its_writes() -> None:
    fake = FakeEngine(begin_error=EngineError("InternalServerError", "Another process held the database for too long"))
    with serve_in_thread(fake) as url, Wire(url) as wire:
        assert wire.ask(headers=PUT).status == 500
        fake.begin_error = None
        assert wire.ask(headers=PUT).status == 200


def test_a_refused_write_does_not_harm_its_group() -> None:
    fake = FakeEngine(durability="full")
    with serve_in_thread(fake) as url, Wire(url) as wire:
        wire.send(message(b'{"refuse":true}', PUT) + message(headers=PUT))
        assert [wire.receive().status, wire.receive().status] == [400, 200]


def test_an_operation_on_tables_waits_for_the_commit_before_it_but_not_reads() -> None:
    fake = FakeEngine(durability="full")
    fake.commit_allowed.clear()
    with serve_in_thread(fake) as url, Wire(url) as writer, Wire(url) as creator, Wire(url) as reader:
        writer.send(message(headers=PUT))
        reader.ask()
        creator.send(message(b'{"create":1}', CREATE))
        assert reader.ask().status == 200
        assert "CreateTable" not in [operation for operation, _, _ in fake.calls]
        fake.commit_allowed.set()
        assert creator.receive().status == 200
        assert writer.receive().status == 200


def test_more_writes_than_fit_in_a_group_are_all_done() -> None:
    fake = FakeEngine()
    with serve_in_thread(fake) as url, ExitStack() as stack:
        wires = [stack.enter_context(Wire(url)) for _ in range(300)]
        for wire in wires:
            wire.send(message(headers=PUT))
        assert all(wire.receive().status == 200 for wire in wires)
    assert sum(fake.commits) == 300


def test_reads_go_on_while_another_process_writes(tmp_path: Path) -> None:
    path = str(tmp_path / "shared.db")
    with Engine(path) as engine, Engine(path) as other, serve_in_thread(engine) as url, Wire(url) as writer, Wire(url) as reader:
        engine.call("CreateTable", TABLE)
        held = other.begin_group()
        writer.send(message(b'{"TableName":"ServerState","Item":{"id":{"S":"a"}}}', PUT))
        assert reader.ask(b'{"TableName":"ServerState","Key":{"id":{"S":"a"}}}').body == b"{}"
        assert waits(writer)
        held.commit()
        assert writer.receive().status == 200
        assert reader.ask(b'{"TableName":"ServerState","Key":{"id":{"S":"a"}}}').body == b'{"Item":{"id":{"S":"a"}}}'


def test_writes_wait_for_another_writer_and_are_then_made() -> None:
    fake = FakeEngine(durability="full", busy=True)
    with serve_in_thread(fake) as url, Wire(url) as wire:
        assert wire.ask(headers=PUT).status == 200
    assert fake.commits == [1]
